"""Policies and observers of the user's own Python files, and the built-in observers, on the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from batchlab.cli import main

if TYPE_CHECKING:
    from collections.abc import Iterator

MINE = '''
import batchlab as bl

class Mine(bl.Scheduler):
    """The shortest first, the given number of jobs at once."""
    def __init__(self, most=100):
        if most < 1:
            raise ValueError("most must be >= 1")
        self.most = most

    def schedule(self, view):
        for job in sorted(view.queue, key=lambda job: job.requested_time)[: self.most]:
            if not view.start(job):
                break

class Seen(bl.Observer):
    name = "seen"

    def begin(self, view):
        self.count = 0

    def ended(self, job, view):
        self.count += 1

    def observations(self, view):
        import polars as pl
        return pl.DataFrame({"ended": [self.count]})

class Divides(bl.Scheduler):
    def schedule(self, view):
        return 1 // 0

def shortest():
    return bl.Policy(order=lambda columns: columns["requested_time"])

PLAIN = "easy(order=sjf)"
GENTLE = bl.Policy.parse("easy")
NUMBER = 7
'''


@pytest.fixture
def mine(log: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Write a file of policies and observers into the working directory, which is that of the log."""
    monkeypatch.chdir(log.parent)
    (log.parent / "my_own_policies.py").write_text(MINE)
    known, path = set(sys.modules), [*sys.path]
    yield "my_own_policies.py"
    for name in set(sys.modules) - known:
        if name.startswith("my_own"):
            del sys.modules[name]
    sys.path[:] = path


def answer(*words: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(words) == 0, capsys.readouterr().err
    return capsys.readouterr().out


def refusal(*words: str, capsys: pytest.CaptureFixture[str], code: int = 2) -> str:
    assert main(words) == code
    return capsys.readouterr().err


def test_a_class_is_a_policy(mine: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It decides, and is named in the answer; its arguments are given to it."""
    written = answer("run", "small.swf", "--nodes", "8", "--policy", f"{mine}:Mine", capsys=capsys)
    assert "policy        my_own_policies.py:Mine\n" in written
    # Shortest first: the small job goes before the second large one.
    assert "00:01:40" in next(line for line in written.splitlines() if line.startswith("wait"))
    written = answer("run", "small.swf", "--policy", f"{mine}:Mine(most=1)", capsys=capsys)
    assert "policy        my_own_policies.py:Mine(most=1)\n" in written


@pytest.mark.parametrize(
    ("name", "shown"),
    [("shortest", "my_own_policies.py:shortest"), ("PLAIN", "easy(order=sjf)")],
)
def test_functions_and_objects_are_policies(
    name: str, shown: str, mine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is built in as a whole is named by its spec."""
    written = answer("run", "small.swf", "--policy", f"{mine}:{name}", capsys=capsys)
    assert f"policy        {shown}\n" in written


def test_files_are_in_the_manifest(mine: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Under their roles, with their hashes; what was written is read again under the policy's name."""
    words = ["--policy", f"{mine}:Mine", "--observer", f"{mine}:Seen", "--out", "out"]
    answer("run", "small.swf", *words, capsys=capsys)
    inputs = json.loads(Path("out/manifest.json").read_text("utf-8"))["inputs"]
    assert inputs["policy"]["sha256"] == inputs["observer"]["sha256"]
    import batchlab as bl  # noqa: PLC0415  # the command line comes first here

    assert str(bl.read_result("out").policy) == "my_own_policies.py:Mine"
    assert bl.read_result("out").observations["seen"]["ended"].item() == 3


def test_comparisons_take_them(mine: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With others, in threads and in processes; power is compared too."""
    own = ["--policy", f"{mine}:Mine", "--policy", f"{mine}:Mine(most=1)", "--policy", "fcfs"]
    watched = ["--observer", f"{mine}:Seen", "--power", "idle=90, busy=140"]
    written = answer("compare", "small.swf", *own, *watched, "--executor", "processes", capsys=capsys)
    lines = [line.split() for line in written.splitlines() if line]
    assert lines[1:4] == [["A", f"{mine}:Mine"], ["B", f"{mine}:Mine(most=1)"], ["C", "fcfs"]]
    assert lines[6][-1] == "energy"
    assert all(line[-1] == "Wh" for line in lines[7:10])


def test_experiments_take_them(mine: str, specification: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files count from the folder of the description."""
    text = specification.read_text()
    said = f'observers = ["{mine}:Seen"]\npower = "idle=90"\nfailures = "down.csv, on_failure=kill"\n'
    specification.write_text(said + text.replace('"fcfs"', f'"{mine}:Mine", "fcfs"'))
    (specification.parent / "down.csv").write_text("node,time,repair_time\n0,5,1\n")
    document = json.loads(answer("experiment", str(specification), "--format", "json", capsys=capsys))
    assert [row["policy"] for row in document["table"]] == [f"{mine}:Mine", "fcfs"]
    assert all(row["jobs_killed"] == 1 and row["energy_total"] > 0 for row in document["table"])


def test_built_in_observers(mine: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Power and failures are described in a line, and named in the answer."""
    assert mine
    (power, failures) = (
        "idle=90, busy=140, core=20",
        "uptime=weibull(shape=0.7, scale=40), repair_time=10, seed=3",
    )
    words = ["run", "small.swf", "--power", power, "--power", "cap=500", "--failures", failures]
    written = answer(*words, capsys=capsys)
    assert "Wh, " in written
    assert "observers     power, failures\n" in written
    assert "interrupted" in written
    # The seed of the run is that of failures that have none.
    failures = "uptime=expon(mean=40), repair_time=9"
    words = ["run", "small.swf", "--failures", failures, "--seed"]
    seeds = [answer(*words, seed, capsys=capsys) for seed in ("1", "1", "2")]
    counts = [next(line for line in each.splitlines() if "interrupted" in line) for each in seeds]
    assert counts[0] == counts[1] != counts[2]


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        pytest.param("nowhere.py:Mine", "nowhere.py: does not exist", id="no file"),
        pytest.param(
            "my_own_policies.py", "The file defines: Mine, Seen, Divides, shortest, GENTLE", id="no name"
        ),
        pytest.param("my_own_policies.py:Mien", "no 'Mien'. Did you mean 'Mine'?", id="another name"),
        pytest.param("my_own_policies.py:Seen", "is no policy: <my_own_policies.Seen", id="an observer"),
        pytest.param("my_own_policies.py:NUMBER", "is no policy: 7; must be", id="a number"),
        pytest.param("my_own_policies.py:NUMBER()", "leave out the parentheses", id="not to be called"),
        pytest.param(
            "my_own_policies.py:Mine(most=0)",
            "my_own_policies.py:8: my_own_policies.py:Mine(most=0): ValueError: most must be >= 1",
            id="constructor",
        ),
        pytest.param(
            "my_own_policies.py:Mine(least=0)", "unexpected keyword argument 'least'", id="argument"
        ),
        pytest.param("my_own_policies.py:Mine(7)", "must be as (share=0.5", id="no key"),
        pytest.param("my_own_wrong.py:Mine", "my_own_wrong.py:2: SyntaxError: ", id="syntax"),
        pytest.param("my_own_raising.py:Mine", "my_own_raising.py:1: NameError: ", id="raises"),
        pytest.param("my_own_ending.py:Mine", "my_own_ending.py:2: ends the process; ", id="ends"),
        pytest.param("json.py:Mine", "another module is called 'json' already; rename", id="a known module"),
        pytest.param("my-own.py:Mine", "'my-own' is no name of a module; rename", id="no module's name"),
    ],
)
@pytest.mark.usefixtures("mine")
def test_what_is_wrong_is_said(policy: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """With the place in the file, where there is one."""
    for name, text in {
        "my_own_wrong.py": "\nclass (:",
        "my_own_raising.py": "Mine",
        "my_own_ending.py": "import sys\nsys.exit(0)",
        "json.py": "",
        "my-own.py": "",
    }.items():
        Path(name).write_text(text)
    assert said in refusal("run", "small.swf", "--policy", policy, capsys=capsys)


def test_errors_in_a_run_have_a_place(mine: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The line of the user's own file that raised, and not an internal error; in comparisons too."""
    place = "my_own_policies.py:31"
    policy = ["small.swf", "--policy", f"{mine}:Divides"]
    said = refusal("run", *policy, capsys=capsys, code=1)
    assert said.startswith(f"batchlab: {place}: ZeroDivisionError: ")
    assert f"ZeroDivisionError: {place}: " in refusal("compare", *policy, capsys=capsys, code=1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--observer", "my_own_policies.py:Mine"], "is no observer: <my_own_policies.Mine"),
        (["--power", "busy=3"], "idle is missing"),
        (["--power", "idle=much"], "idle = much; must be watts"),
        (["--power", "idle=5, busy=3"], "must not be below idle"),
        (["--power", "cap=5"], "--power: 'cap=5'; idle is missing"),
        (["--power", "gpu: idle=5"], "no node group named 'gpu'"),
        (["--power", "idle=5", "--power", "idle=6"], "says twice"),
        (["--power", "idle=5, cap=9", "--power", "cap=8"], "gives a second cap"),
        (["--power", "idle=5)"], "')' is no ','"),
        (["--observer", "my_own_policies.py:Seen"] * 2, "my_own_policies.py:Seen is named twice"),
        (["--failures", "uptime=weibull(1, 2, repair_time=1"], "this '(' is not closed; add ')'"),
        (
            ["--failures", "uptime=5, repair_time"],
            "a value without a key must stand before",
        ),
        (["--failures", "uptime=nan, repair_time=1"], "uptime: no distribution named 'nan'"),
        (["--failures", "nowhere.csv"], "nowhere.csv"),
        (["--failures", "uptime=weibul(shape=1, scale=2), repair_time=1"], "Did you mean 'weibull'?"),
        (
            ["--failures", "uptime=weibull(shape=1), repair_time=1"],
            "scale is missing; write weibull(",
        ),
        (["--failures", "uptime=5"], "repair_time is missing"),
        (["--failures", "uptime=5, repair_time=1, mends=3"], "no such key: mends"),
        (["--failures", "uptime=5, repair_time=1, on_failure=lost"], "on_failure = 'lost'"),
        (["--power", "idle=5", "--stream"], "watches all jobs, which --stream does without"),
        (["--policy", "my_own_policies.py:Mine", "--stream"], "is written in Python"),
    ],
)
@pytest.mark.usefixtures("mine")
def test_wrong_observers_are_refused(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before the run, with what is right."""
    assert said in refusal("run", "small.swf", *options, capsys=capsys)


def test_costs_of_power_by_group(mine: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each group of nodes has its watts."""
    assert mine
    Path("two.toml").write_text(
        '[[groups]]\nname = "thin"\ncount = 2\nresources = { core = 4 }\n'
        '[[groups]]\nname = "fat"\ncount = 1\nresources = { core = 8 }\n'
    )
    words = ["--power", "thin: idle=10", "--power", "fat: idle=100", "--out", "out"]
    answer("run", "small.swf", "--system", "two.toml", *words, capsys=capsys)
    import batchlab as bl  # noqa: PLC0415  # the command line comes first here

    assert bl.read_result("out").observations["power"]["power"][0] == 120


def test_a_run_has_a_report(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One page about it, which says the command; a place where it cannot be written is refused before."""
    page = log.parent / "report.html"
    written = answer("run", str(log), "--nodes", "8", "--report", str(page), capsys=capsys)
    assert f"report        {page}\n" in written
    text = page.read_text("utf-8")
    assert "small.swf under fcfs" in text
    assert "batchlab run" in text
    assert "is no file in a directory" in refusal("run", str(log), "--report", str(log.parent), capsys=capsys)
    assert "shows all jobs" in refusal("run", str(log), "--report", "r.html", "--stream", capsys=capsys)
