"""`batchlab traces`, and `batchlab run` with the name of a log."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from batchlab.cli import main, output
from batchlab.trace import catalogue, store, traces
from batchlab.workload.mappings import catalogue as mappings
from support.trace_archive import Archive, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def archive() -> Iterator[Archive]:
    """Serve small logs under the names of all that the catalogue has."""
    with serving() as archive:
        yield archive


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the directory of fetched logs, which is not there yet."""
    monkeypatch.setenv(store.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.delenv(traces.MIRROR_VARIABLE, raising=False)
    return tmp_path / "cache"


def test_the_list(archive: Archive, capsys: pytest.CaptureFixture[str]) -> None:
    """One line per log with what is known of it, and a mark on those that are here."""
    assert main(["traces", "fetch", "lcg", "--mirror", archive.address]) == 0
    capsys.readouterr()
    assert main(["traces", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (
        "   HPC2N-2002-2.2-cln         2002–2006    527,371        120 × 2  Linux cluster Seth"
        in "\n".join(lines)
    )
    assert [line for line in lines[1:42] if line.startswith("✓  LCG-2005-1 ")]
    assert len([line for line in lines if line.startswith(("  ", "✓  LCG"))]) == 1 + len(catalogue.entries())


def test_the_list_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    """The same as one JSON document."""
    assert main(["traces", "list", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == len(catalogue.entries()) + len(mappings.entries())
    assert rows[-1]["name"] == mappings.entries()[-1].name
    assert rows[0]["name"] == "ANL-Intrepid-2009-1"
    assert not rows[0]["fetched"]
    assert rows[1]["last"] is None


def test_fetching_prints_paths_alone(
    archive: Archive, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On standard output; whom to cite and to thank is said beside it."""
    logs = tmp_path / "logs"
    names = ["lcg", "llnl-t3d", "pik-iplex"]
    assert main(["traces", "fetch", *names, "--mirror", archive.address, "--cache", str(logs)]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines() == [str(logs / catalogue.find(name).file) for name in names]
    assert "Cite: D. G. Feitelson" in said.err
    assert "Thank: Ciaron Linstead." in said.err


def test_failures_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """With what to do by hand."""
    assert main(["traces", "fetch", "lcg", "--mirror", "http://127.0.0.1:9"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(
        "batchlab: http://127.0.0.1:9/l_lcg/LCG-2005-1.swf.gz: Connection refused. Download"
    )
    assert said.err.count("\n") == 1


def test_traces_alone_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    """As `batchlab` does."""
    assert main(["traces"]) == 0
    assert "Usage: batchlab traces" in capsys.readouterr().out


@pytest.mark.parametrize("stream", [[], ["--stream"]])
def test_fetched_logs_run_by_name(
    stream: list[str], archive: Archive, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the catalogue's machine where it knows one, else on the header's, unless one is described."""
    assert main(["traces", "fetch", "lcg", "pik", "--mirror", archive.address]) == 0
    for name, options, machine in [
        ("pik", [], "Climate Impact Research, 320 nodes, 2,560 cores"),
        ("pik", ["--nodes", "5"], "5 nodes, 5 cores"),
        ("pik", ["--cores", "2"], "(MaxNodes 2, MaxProcs 4), 2 nodes, 4 cores"),
        ("lcg", [], "(MaxNodes 2, MaxProcs 4), 2 nodes, 4 cores"),
    ]:
        assert main(["run", name, *options, *stream]) == 0
        assert f"{machine}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("lcg", "batchlab traces fetch LCG-2005-1"),
        ("hpc2", "'hpc2' does not exist; no log named 'hpc2' in the catalogue. Did you mean 'HPC2N-2002"),
        ("folder/lcg", "File 'folder/lcg' does not exist."),
        (".", "File '.' is a directory"),
    ],
)
def test_names_that_are_not_there(name: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The next step is said; a path is never taken for a name."""
    assert main(["run", name]) == 2
    assert said in capsys.readouterr().err


def test_downloads_show_their_progress(
    archive: Archive, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a terminal, after a while."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(output, "_PATIENCE", 0.0)
    with output.transfer_bar("LCG-2005-1") as advance:
        assert advance is not None
        advance(1, None)
        advance(50_000, 100_000)
    assert archive.asked == []
    assert "LCG-2005-1" in capsys.readouterr().err


def test_the_example_runs_without_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    """On its own slurm.conf, as the files of its folder do; the simulated mean wait is near the real one."""
    assert main(["traces", "example", "slurm"]) == 0
    folder = capsys.readouterr().out.strip()
    answers = []
    for words in (["--example", "slurm"], [f"{folder}/sacct.txt", "--system", folder]):
        assert main(["run", *words, "--format", "json"]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0] == answers[1]
    assert answers[0]["jobs"]["completed"] == 300
    assert answers[0]["wait"]["mean"] == pytest.approx(answers[0]["log"]["wait"]["mean"], rel=0.1)


def test_the_example_takes_the_place_of_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    """Another machine may be given; a log beside it may not. The machine of its files must be given."""
    folder = traces.example("slurm")
    assert main(["run", "--example", "slurm", "--nodes", "32", "--cores", "8", "-p", "easy"]) == 0
    assert "system        32 nodes, 256 cores" in capsys.readouterr().out
    for words, said in (
        (["x.swf", "--example", "slurm"], "slurm takes the place of TRACE; leave one of the two out"),
        (["--example", "slum"], "no example named 'slum'. Did you mean 'slurm'?"),
        ([], "Missing argument 'TRACE'. Name a log, or pass --example slurm"),
        ([f"{folder}/sacct.txt"], f"has no MaxProcs. Pass --system {folder}."),
    ):
        assert main(["run", *words]) == 2
        assert said in capsys.readouterr().err
