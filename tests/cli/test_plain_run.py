"""`batchlab run` where only its page is wanted: the answer of a run with tables, without any."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from batchlab.cli import main, plain_run
from batchlab.twin import Fitted, write_fitted

if TYPE_CHECKING:
    from pathlib import Path

LEFT_OUT = {"batchlab.monitor", "matplotlib", "numpy", "polars", "pydantic", "rich", "scipy"}
UNUSED = {
    "batchlab.control",
    "batchlab.core.documents",
    "batchlab.core.markup",
    "batchlab.options.overheads",
    "batchlab.options.sensing",
    "batchlab.options.sleep",
    "batchlab.policy.schedulers",
    "batchlab.policy.orders",
    "batchlab.policy.slurm",
    "batchlab.seam.invocation",
    "batchlab.system.accounts",
    "batchlab.system.machines",
    "batchlab.system.queues",
    "batchlab.system.read",
    "batchlab.system.reservations",
    "batchlab.workload.dates",
}
TELL_MODULES = """
import sys
from batchlab.cli import main
code = main(sys.argv[1:])
print("loaded:", *sorted(sys.modules))
sys.exit(code)
"""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Write three hundred jobs, out of order, some of them odd: dropped, mended, too large."""
    chance = random.Random(7)  # noqa: S311  # no secrets here
    lines = ["; MaxNodes: 16", "; MaxProcs: 16"]
    for number in range(1, 301):
        run, tasks = chance.choice([0, 7, 60, 900]), chance.choice([1, 2, 5, 16, 30])
        asked = chance.choice([run, 2 * run + 1, 1, -1])
        submitted = max(0, number * 20 - chance.choice([0, 0, 90]))
        lines.append(f"{number} {submitted} -1 {run} {tasks} -1 9 {tasks} {asked} -1 1 1 1 1 1 1 -1 -1")
    lines[40] = "41 800 -1 -1 2 -1 -1 2 10 -1 1 1 1 1 1 1 -1 -1"
    path = tmp_path / "odd.swf"
    path.write_text("\n".join(lines) + "\n")
    return path


def page(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[str]:
    """Give the answer without what differs from run to run."""
    assert main(["run", *map(str, arguments)]) == 0
    written = capsys.readouterr()
    assert written.err == ""
    return [line for line in written.out.splitlines() if not re.match("simulated in|memory ", line)]


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--policy", "easy(order=sjf, allocator=best_fit)", "--walltime", "kill"],
        ["--policy", "conservative", "--nodes", "8", "--cores", "2"],
        ["--policy", "random", "--seed", "3", "--overrun", "keep", "--order-at-instant", "arrivals_first"],
        ["--policy", "reject"],
    ],
    ids=" ".join,
)
def test_the_page_is_that_of_a_run_with_tables(
    options: list[str], log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Line by line."""
    plain = page(capsys, log, *options)
    asked: list[object] = []

    def refuse(request: object) -> bool:
        asked.append(request)
        return False

    monkeypatch.setattr(plain_run, "plain_run", refuse)
    assert page(capsys, log, *options) == plain
    assert asked


def test_fitted_values_are_heard(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They change jobs and overheads, so that such a run is not plain."""
    fitted = Fitted({"completion": 600.0}, {"completion": 0.0})
    write_fitted(fitted, tmp_path / "fitted.toml")
    without = page(capsys, log)
    assert page(capsys, log, "--fitted", tmp_path / "fitted.toml") != without


def modules_of(*arguments: object) -> list[str]:
    """Run a command in a process of its own; give the modules that were loaded at its end."""
    command = [sys.executable, "-c", TELL_MODULES, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # our own code
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()[1:]


@pytest.mark.parametrize(
    "options", [[], ["--stream"], ["--nodes", "8", "--cores", "2", "--stream"]], ids=" ".join
)
def test_nothing_is_imported_that_is_not_used(options: list[str], log: Path) -> None:
    """Neither what makes tables, nor what shows runs, nor what the run has none of."""
    jobs = sorted(log.read_text().splitlines()[2:], key=lambda line: int(line.split()[1]))
    log.write_text("; MaxNodes: 16\n; MaxProcs: 16\n" + "\n".join(jobs) + "\n")
    loaded = modules_of("run", log, "--policy", "easy", *options)
    assert not (LEFT_OUT | UNUSED).intersection(loaded)
    assert not [name for name in loaded if name.startswith("batchlab.monitor")]


@pytest.mark.parametrize("options", [[], ["--stream"]], ids=" ".join)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("machine.json", '{"groups": [{"name": "n", "count": 16, "resources": {"core": 1}}]}'),
        ("machine.toml", '[[groups]]\nname = "n"\ncount = 16\nresources = { core = 1 }\n'),
    ],
    ids=["json", "toml"],
)
def test_a_described_machine_needs_no_platform(
    name: str, text: str, options: list[str], log: Path, tmp_path: Path
) -> None:
    """A description is read without pydantic, and without what reads platforms or Slurm's files."""
    jobs = sorted(log.read_text().splitlines()[2:], key=lambda line: int(line.split()[1]))
    log.write_text("\n".join(jobs) + "\n")
    machine = tmp_path / name
    machine.write_text(text)
    loaded = modules_of("run", log, "--system", machine, *options)
    others = {"batchlab.platform", "batchlab.slurm", "batchlab.system.slurm"}
    assert not (LEFT_OUT | others).intersection(loaded)


def test_a_run_that_takes_long_can_be_asked(
    log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From then on it has all that shows a run; its answer is the same."""
    expected = page(capsys, log, "--policy", "easy")
    looks: list[int] = []
    look = plain_run.Watch.look

    def noted(watch: plain_run.Watch, finished: int, now: float) -> None:
        look(watch, finished, now)
        assert watch.monitor is not None
        looks.append(finished)

    monkeypatch.setattr(plain_run, "PATIENCE", -1.0)
    monkeypatch.setattr(plain_run.Watch, "look", noted)
    assert page(capsys, log, "--policy", "easy") == expected
    assert looks[-1] == 300 - 1


def test_cores_in_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A machine that a run without tables would not follow has tables."""
    log, system = tmp_path / "log.swf", tmp_path / "system.toml"
    line = "{} 0 -1 100 1 -1 -1 1 100 -1 1 1 1 1 1 1 -1 -1\n"
    log.write_text("; MaxProcs: 2\n" + line.format(1) + line.format(2))
    system.write_text('core_multiple = 2\ngroups = [{ name = "n", count = 1, resources = { core = 2 } }]\n')
    assert main(["run", str(log), "--system", str(system)]) == 0
    assert re.search(r"makespan +00:03:20", capsys.readouterr().out)
