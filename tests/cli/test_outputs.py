"""The outputs of all commands: none replaces an input, or a file that batchlab did not write."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, get_args

import polars as pl
import pytest
import typer
from matplotlib.figure import Figure

import batchlab as bl
from batchlab.cli import main
from batchlab.cli.application import application, command_of
from batchlab.cli.commands import COMMANDS
from batchlab.cli.guarded import OUTPUTS, output_parameters
from cli.conftest import LOG, SPEC
from support.elastisim_projects import write_project
from support.small_centre import configured, submitted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

STRANGE = b"a stranger's file\n"
# Parameters of type Path that name what is read, or a store of batchlab's own, which refuses other folders.
INPUTS = {
    *("trace", "system", "external_events", "node_events", "fitted", "applications", "like", "specification"),
    *("configuration", "algorithm", "replay", "conf", "path", "accounts", "qos", "real", "model", "file"),
    *("store", "cache", "initial_state", "folder", "squeue", "nodes", "reservations", "sprio", "history"),
}


ALGORITHM = """\
from elastisim_python import JobState, pass_algorithm


def schedule(jobs, nodes, system):
    free = list(nodes)
    for job in jobs:
        if job.state == JobState.PENDING:
            job.assign([free.pop()])


pass_algorithm(schedule, "")
"""


class Case(NamedTuple):
    """A command line with an output, and what it reads."""

    words: str
    written: str
    option: str
    read: str = ""


RUN = "run small.swf --nodes 8"
COMPARE = "compare small.swf --nodes 8"
GENERATE = "generate --like made.swf --jobs 5 --nodes 8"
MIX = "mix jobs.csv --background ring"
VIRTUAL = "vnodes jobs.csv --conf now --nodes 8 --mode model"
ELASTISIM = "elastisim project/configuration.json --algorithm project/algorithm.py"
FIT = "slurm fit log.csv --conf now --trials 4 --seeds 1 --test-seeds 2"
WHAT_IF = "slurm what-if log.csv --conf now --conf other --resamples 2 --seeds 1"
CASES = {
    ("run", "out"): Case(RUN, "answer/jobs.csv", "--out answer", "small.swf"),
    ("run", "dispatch"): Case(RUN, "passes.csv", "--dispatch passes.csv", "small.swf"),
    ("run", "events"): Case(RUN, "happened.jsonl", "--events happened.jsonl", "small.swf"),
    ("run", "report"): Case(RUN, "page.html", "--report page.html", "small.swf"),
    ("compare", "out"): Case(COMPARE, "answer/table.csv", "--out answer", "small.swf"),
    ("compare", "report"): Case(COMPARE, "page.html", "--report page.html", "small.swf"),
    ("experiment", "out"): Case("experiment small.toml", "answer/slowdown.png", "--out answer", "small.toml"),
    ("experiment", "report"): Case("experiment small.toml", "page.html", "--report page.html", "small.swf"),
    ("report", "out"): Case("report done", "page.html", "--out page.html", "done/result.zip"),
    ("plot", "out"): Case("plot wait done", "wait.svg", "--out wait.svg", "done/result.zip"),
    ("make_bundle", "out"): Case("bundle make done", "fault.zip", "--out fault.zip", "done/result.zip"),
    ("demo", "out"): Case("demo --jobs 20", "answer/metrics.json", "--out answer"),
    ("elastisim", "out"): Case(ELASTISIM, "answer/jobs.csv", "--out answer", "project/jobs.json"),
    ("elastisim", "record"): Case(ELASTISIM, "said.jsonl", "--record said.jsonl", "project/jobs.json"),
    ("generate", "out"): Case(GENERATE, "new.csv", "--out new.csv", "made.swf"),
    ("anonymise", "out"): Case("anonymise jobs.csv", "without.csv", "--out without.csv", "jobs.csv"),
    ("mix", "out"): Case(MIX, "mixed.csv", "--out mixed.csv", "jobs.csv"),
    ("adequacy", "report"): Case("adequacy done done", "page.html", "--report page.html", "done/jobs.csv"),
    ("vnodes", "out"): Case(VIRTUAL, "answer/jobs.csv", "--out answer", "jobs.csv"),
    ("fit", "out"): Case(FIT, "fitted.toml", "--out fitted.toml", "log.csv"),
    ("fit", "report"): Case(FIT, "page.html", "--report page.html", "log.csv"),
    ("what_if", "report"): Case(WHAT_IF, "page.html", "--report page.html", "log.csv"),
}  # fmt: skip


def commands() -> Iterator[Callable[..., Any]]:
    """Find the functions of all commands, those in groups too."""
    for name in COMMANDS:
        command = command_of(name)
        found = command.registered_commands if isinstance(command, typer.Typer) else ()
        yield from (inspect.unwrap(each.callback) for each in found if each.callback is not None)
        if not isinstance(command, typer.Typer):
            yield command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with what the commands read."""
    monkeypatch.chdir(tmp_path)
    Path("small.swf").write_text(LOG)
    Path("small.toml").write_text(SPEC)
    log = bl.read_swf("small.swf")
    bl.write_swf(log, "made.swf")
    bl.write_table(log, "jobs.csv")
    bl.simulate(log, bl.System.homogeneous(nodes=8, resources={"core": 1}), "fcfs").write("done")
    return tmp_path


def without_drawing(_: Figure, file: BinaryIO, **__: object) -> None:
    """Take the place of `Figure.savefig` in pages, most of whose time goes into their pictures."""
    file.write(b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>')


def prepare(command: str) -> None:
    """Add what only some commands read."""
    if command == "elastisim":
        Path("project").mkdir()
        write_project(Path("project"), [{}], job_statistics="jobs.csv")
        Path("project/algorithm.py").write_text(ALGORITHM)
    if command in {"fit", "what_if"}:
        twin = bl.twin.read_twin(configured(Path("now")), overheads=bl.Overheads(completion=25))
        configured(Path("other"))
        jobs = submitted(120, load=0.6)
        start_time = pl.Series("start_time", twin.run(jobs).outcome.start_time)
        jobs.jobs.with_columns(start_time).write_csv("log.csv")
    if command == "vnodes":
        Path("now").mkdir()
        Path("now/slurm.conf").write_text("")


def test_all_outputs_are_known() -> None:
    """Each parameter of a command that takes a path is an input or an output, and each output has a case."""
    outputs = set()
    for command in commands():
        found = inspect.signature(command, eval_str=True).parameters
        paths = {name for name, each in found.items() if Path in types_of(each)}
        assert paths <= {*INPUTS, *OUTPUTS}, f"{command.__name__}: say in OUTPUTS or INPUTS what these are"
        outputs |= {(command.__name__, name) for name in output_parameters(command)}
    assert outputs == set(CASES)


def types_of(parameter: inspect.Parameter) -> set[object]:
    kinds = get_args(parameter.annotation)[:1] or (parameter.annotation,)
    return {inner for kind in kinds for inner in (kind, *get_args(kind))}


def test_all_commands_that_write_have_the_option() -> None:
    """The option is added where commands are put together, so that none is without it."""
    made = application([])
    groups = [each.typer_instance for each in made.registered_groups if each.typer_instance is not None]
    infos = [info for group in (made, *groups) for info in group.registered_commands]
    functions = [info.callback for info in infos if info.callback is not None]
    with_option = {inspect.unwrap(each).__name__ for each in functions if "overwrite" in signature(each)}
    assert with_option == {command for command, _ in CASES}


def signature(command: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(command).parameters


@pytest.mark.parametrize("key", CASES)
@pytest.mark.usefixtures("folder")
def test_strange_files_stay(
    key: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They are replaced with --overwrite only, and then the same command runs again without it."""
    prepare(key[0])
    case = CASES[key]
    if case.written.endswith(".html"):
        monkeypatch.setattr(Figure, "savefig", without_drawing)
    words = [*case.words.split(), *case.option.split()]
    target = Path(case.written)
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(STRANGE)
    assert main(words) == 2
    said = capsys.readouterr()
    assert f"{target}: exists, and batchlab did not write it" in said.err
    assert "--overwrite" in said.err
    assert not said.out
    assert target.read_bytes() == STRANGE
    assert main([*words, "--overwrite"]) == 0, capsys.readouterr().err
    assert target.read_bytes() != STRANGE
    assert main(words) == 0, capsys.readouterr().err


@pytest.mark.parametrize("key", [key for key, case in CASES.items() if case.read])
@pytest.mark.usefixtures("folder")
def test_inputs_stay(key: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """No option replaces them, under whatever name they are given."""
    prepare(key[0])
    case = CASES[key]
    read = Path(case.read)
    before = read.read_bytes()
    target = Path(case.written)
    target.parent.mkdir(exist_ok=True)
    target.symlink_to(read.absolute())
    assert main([*case.words.split(), *case.option.split(), "--overwrite"]) == 2
    said = capsys.readouterr().err
    assert f"{target}: is an input" in said
    assert read.read_bytes() == before


@pytest.mark.usefixtures("folder")
def test_a_run_replaces_the_set_of_another(capsys: pytest.CaptureFixture[str]) -> None:
    """Tables of an earlier run do not stay beside another's jobs; what one has added stays."""
    assert main([*RUN.split(), "--out", "answer", "--explain", "--power", "idle=90"]) == 0
    Path("answer/notes.txt").write_text("mine")
    Path("answer/gates.csv").write_text("changed")
    assert main([*RUN.split(), "--out", "answer"]) == 2
    assert "answer/gates.csv: exists" in capsys.readouterr().err
    assert main([*RUN.split(), "--out", "answer", "--overwrite"]) == 0
    assert sorted(each.name for each in Path("answer").iterdir()) == [
        *("jobs.csv", "manifest.json", "metrics.json", "notes.txt", "result.zip")
    ]


@pytest.mark.parametrize("name", ["jobs.csv", "metrics.json"])
def test_the_log_itself_is_no_place_for_an_answer(name: str, folder: Path) -> None:
    """`run jobs.csv --out .` replaced the log; files of these names of one's own stay as well."""
    before = (folder / "jobs.csv").read_bytes()
    (folder / "metrics.json").write_text("{}")
    for more in ([], ["--overwrite"]) if name == "jobs.csv" else ([],):
        assert main(["run", "jobs.csv", "--nodes", "8", "--out", ".", *more]) == 2
    assert (folder / "jobs.csv").read_bytes() == before
    assert (folder / "metrics.json").read_text() == "{}"


def test_what_an_experiment_names_is_checked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The description names its folder and its page itself."""
    (folder / "small.toml").write_text(f'{SPEC}[output]\ndirectory = "answer"\nreport = "small.swf"\n')
    assert main(["experiment", "small.toml", "--overwrite"]) == 2
    assert "small.swf: is an input" in capsys.readouterr().err


def test_files_of_elastisim_stay(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What ElastiSim itself has written where the configuration says is not removed."""
    prepare("elastisim")
    configuration = bl.bridge.elastisim.read_configuration(folder / "project/configuration.json")
    path = next(iter(configuration.outputs.values()))
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(STRANGE)
    assert main(ELASTISIM.split()) == 2
    assert f"{path}: exists" in capsys.readouterr().err
    assert path.read_bytes() == STRANGE
    assert main([*ELASTISIM.split(), "--out", "answer", "--overwrite"]) == 0
    assert main(ELASTISIM.split()) in {0, 2}
