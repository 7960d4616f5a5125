"""The rule for outputs, and all public functions that write files."""

from __future__ import annotations

import inspect
import re
import subprocess
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any

import pytest

import batchlab as bl
from batchlab.bridge import elastisim, slurm
from batchlab.core import outputs
from batchlab.core.outputs import check_output, is_written_by_batchlab, output
from batchlab.errors import OutputError
from batchlab.twin import Fitted, read_fitted, write_fitted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SOURCE = Path(bl.__file__).parent
# What writes files of its own: by names that are hashes, in a folder that it has made, or temporary ones.
OWN = {
    *("core/outputs.py", "result/manifest.py", "result/archive.py", "experiment/runs.py"),
    *("experiment/store.py", "trace/traces.py", "trace/store.py", "monitor/runs.py"),
    *("slurm/virtual/layout.py", "slurm/virtual/supervisor.py"),
    *("plot/canvas.py", "report/page.py", "bridge/elastisim/runner.py"),
    # Copies of standard input, and the null device.
    *("cli/spooled.py", "cli/process.py"),
}
_WRITES = re.compile(r"atomic_write\(|savefig\(|\.write_text\(|\.write_bytes\(|open\([^)]*\"[wax]b?\"")

LOG = "; MaxProcs: 8\n1 0 -1 100 8 -1 -1 8 200 -1 1 1 1 -1 -1 -1 -1 -1\n"


class Lines(bl.Writer):
    """A form of one's own."""

    def line(self, job: Any) -> str:  # noqa: ANN401  # as the base class
        return str(job["job_id"])


def workload() -> bl.Workload:
    return bl.Workload.from_table({"submit_time": [0], "run_time": [5], "tasks": [1]})


def system() -> bl.System:
    return bl.System.homogeneous(nodes=2, resources={"core": 1})


def result() -> bl.Result:
    return bl.simulate(workload(), system(), "fcfs")


def application() -> bl.Application:
    return bl.Application([bl.Phase([bl.tasks.Idle(1)])])


def events() -> bl.EventStream:
    return bl.EventStream([{"time": 0, "event": "drain", "nodes": "0"}])


# Each function that writes a file, by what it writes; and where there is one, the function that reads it.
FILES: dict[Callable[..., object], tuple[Callable[[], object], str, Callable[..., Any] | None]] = {
    bl.write_swf: (workload, "log.swf", bl.read_swf),
    bl.write_table: (workload, "table.csv", bl.read_table),
    bl.write_workload: (workload, "log.swf.gz", bl.read_swf),
    bl.Writer.write: (workload, "lines.txt", None),
    bl.write_events: (events, "events.jsonl", bl.read_events),
    bl.write_system: (system, "system.toml", bl.read_system),
    bl.write_application: (application, "application.json", bl.read_application),
    write_fitted: (lambda: Fitted({"completion": 1.0}, {"completion": None}), "fitted.toml", read_fitted),
    bl.InitialState.write: (lambda: bl.InitialState(0), "state.csv", bl.InitialState.read),
    bl.report.write: (result, "page.html", None),
    bl.report.write_bundle: (result, "fault.zip", lambda path: bl.report.read_bundle(path).result),
}
# Those that write folders, and pages on what takes long to compute; they are tried by their commands.
BY_COMMANDS = {
    *(bl.report.write_adequacy, bl.report.write_fit, bl.report.write_what_if),
    *(bl.Result.write, bl.Runs.write, slurm.Outcome.write, slurm.Repeated.write, elastisim.Run.write),
}


def write(function: Callable[..., object], value: object, path: str, **options: bool) -> object:
    return function(*((Lines(),) if function is bl.Writer.write else ()), value, path, **options)


def public() -> Iterator[Callable[..., object]]:
    """Find all public functions that write, and methods of public classes."""
    for module in (bl, bl.report, bl.twin, bl.plot, bl.generate, bl.adequacy, elastisim, slurm):
        for name in dir(module):
            value = getattr(module, name)
            if inspect.isfunction(value) and name.startswith("write"):
                yield value
            if inspect.isclass(value) and value.__module__.startswith("batchlab") and hasattr(value, "write"):
                yield value.write


def test_all_functions_that_write_are_known() -> None:
    """A new one needs a case here, and the keyword `overwrite`."""
    found = {*public()}
    assert found == {*FILES, *BY_COMMANDS}
    for function in found:
        assert inspect.signature(function).parameters["overwrite"].default is False


def test_files_are_written_in_one_place() -> None:
    """What writes a file by other means than `output` is listed above, with the reason."""
    writing = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if any(_WRITES.search(line) for line in path.read_text("utf-8").splitlines() if ">>>" not in line)
    }
    examples = {"slurm/twin/twin.py", "skeleton/message_log.py"}
    examples |= {"slurm/configuration/reading.py", "slurm/dumps/reading.py"}
    assert writing - examples <= OWN


@pytest.mark.parametrize("function", FILES)
def test_strange_files_stay(
    function: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only with `overwrite` they are replaced; batchlab's own are replaced without."""
    monkeypatch.chdir(tmp_path)
    make, name, _ = FILES[function]
    Path(name).write_text("a stranger's")
    with pytest.raises(OutputError, match=r"exists, and batchlab did not write it.*overwrite=True"):
        write(function, make(), name)
    assert Path(name).read_text() == "a stranger's"
    write(function, make(), name, overwrite=True)
    assert is_written_by_batchlab(Path(name))
    write(function, make(), name)
    Path(name).write_bytes(b"changed, without any mark\n")
    with pytest.raises(OutputError, match="changed since"):
        write(function, make(), name)


@pytest.mark.parametrize("function", [each for each, case in FILES.items() if case[2] is not None])
def test_sources_stay(
    function: Callable[..., object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read from a file is never written to it, under whatever name, even with `overwrite`."""
    monkeypatch.chdir(tmp_path)
    make, name, read = FILES[function]
    assert read is not None
    write(function, make(), name)
    value = read(name)
    Path("again").mkdir()
    Path("again", name).hardlink_to(name)
    for path in (name, f"again/../{name}", f"again/{name}"):
        with pytest.raises(OutputError, match="is an input"):
            write(function, value, path, overwrite=True)
    write(function, value, f"other-{name}")


def test_a_log_of_others_stays(tmp_path: Path) -> None:
    """A part of a workload knows the log as well as the whole."""
    path = tmp_path / "log.swf"
    path.write_text(LOG)
    log = bl.read_swf(path)
    for each in (log, log.head(1), log.shift(5)):
        with pytest.raises(OutputError, match="is an input"):
            bl.write_swf(each, path, overwrite=True)
    with pytest.raises(OutputError, match="did not write it"):
        bl.write_swf(workload(), path)
    assert path.read_text() == LOG


def test_a_result_does_not_replace_what_it_was_read_from(tmp_path: Path) -> None:
    """Nor a file of one's own; and no table of the earlier run stays."""
    made = bl.simulate(workload(), system(), "fcfs", explain=True)
    made.write(tmp_path)
    with pytest.raises(OutputError, match=r"result\.zip: is an input"):
        bl.read_result(tmp_path).write(tmp_path)
    result().write(tmp_path)
    assert not (tmp_path / "gates.csv").exists()
    (tmp_path / "metrics.json").write_text("{}")
    with pytest.raises(OutputError, match=r"metrics\.json: exists"):
        result().write(tmp_path)
    result().write(tmp_path, overwrite=True)


def test_hashes_are_those_of_sha256sum(tmp_path: Path) -> None:
    """The file with the hashes can be checked by others, whatever the names are."""
    program = which("sha256sum") or pytest.skip("needs sha256sum")
    for name in ("a.csv", "b\\c.csv", "ü.csv", "a.csv"):
        with output(tmp_path / name) as file:
            file.write(f"x\n{len(list(tmp_path.iterdir()))}\n")
        assert is_written_by_batchlab(tmp_path / name)
    done = subprocess.run(  # noqa: S603  # our own file
        [program, "--check", outputs.RECORD],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("OK") == 3


def test_pipes_and_empty_files_are_written_to(tmp_path: Path) -> None:
    """They hold nothing that could be lost."""
    (tmp_path / "empty").touch()
    check_output(tmp_path / "empty")
    check_output("/dev/null")
    with output("/dev/null") as file:
        file.write("x")


def test_a_text_that_mentions_batchlab_is_no_file_of_its_own(tmp_path: Path) -> None:
    """The mark is a line of its own in a form that has such comments."""
    for text in ("Generator: batchlab\n", "a,b\n# Generator: batchlab\n", "# by Generator: batchlab 2\n"):
        (tmp_path / "notes").write_text(text)
        assert not is_written_by_batchlab(tmp_path / "notes")
