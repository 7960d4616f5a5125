"""Every field of a system and of its nodes, and every order: a run without tables gives the same answer.

The fields and orders are those of the classes and registries. What a run without tables cannot do,
it refuses.
"""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from batchlab.cli import main
from batchlab.policy import ORDERS
from batchlab.system import NodeGroup, System

# Each field, in a way that changes a schedule or a measure if anything does.
OF_SYSTEM = {
    "equivalence": "equivalence = { core = 2 }",
    "name": 'name = "here"',
    "start_time": "start_time = 1000000000",
    "partitions": '[[partitions]]\nname = "short"\nnodes = "0-1"',
    "queues": '[[queues]]\nname = "one"\npriority = 1',
    "accounts": '[[accounts]]\nname = "all"\nshares = 1\nusers = { 1 = 3, 2 = 1 }',
    "qos": '[[qos]]\nname = "normal"\npriority = 7',
    "fair_share": '[fair_share]\nrule = "classic"',
    "limits": '[[limits]]\nname = "one"\nrunning_jobs = 1',
    "reservations": '[[reservations]]\nname = "r"\nstart = 50\nduration = 500\nnodes = "0-3"',
    "preemption": '[preemption]\nby = "qos"\n[[qos]]\nname = "a"\npreempts = ["b"]\n[[qos]]\nname = "b"',
    "requeue": "requeue = false",
    "down": 'down = "0-1"',
    "core_multiple": "core_multiple = 4",
    "policy": 'policy = "easy"',
    "note": 'note = "without a network"',
}
OF_GROUPS = {
    "name": 'name = "other"',
    "count": "count = 3",
    "resources": "resources = { core = 4, mem = 1000 }",
    "sleep_states": 'sleep_states = [{ name = "off", power = 5, wake_time = 60 }]',
    "weight": "weight = 7",
    "features": 'features = ["fast"]',
}
JOBS = 40
OF_THE_PROCESS = ("simulated in", "memory", "written to")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Write jobs of several users and groups, of 1 to 9 processors."""
    lines = ["; MaxNodes: 4", "; MaxProcs: 16"]
    for job in range(1, JOBS + 1):
        size, run_time = 1 + job * 7 % 9, 20 + job * 37 % 150
        lines.append(
            f"{job} {job * 5} -1 {run_time} {size} -1 -1 {size} {run_time + 60} 300 1 {job % 3} "
            f"{job % 2} 1 1 -1 -1 -1"
        )
    path = tmp_path / "log.swf"
    path.write_text("\n".join(lines) + "\n")
    return path


def text_of(system: str = "", group: str = "") -> str:
    """Return a system with a field in another way than usual; tables come after the groups."""
    usual = {"name": 'name = "n"', "count": "count = 4", "resources": "resources = { core = 4 }"}
    given = {**usual, **({group: OF_GROUPS[group]} if group else {})}
    text = "[[groups]]\n" + "\n".join(given.values()) + "\n"
    own = OF_SYSTEM.get(system, "")
    return f"{text}\n{own}\n" if own.startswith("[") else f"{own}\n{text}"


def answer(words: list[str], out: Path | None, capsys: pytest.CaptureFixture[str]) -> list[object] | None:
    """Return the page, the warnings, the measures and the table of a run; None if a stream is refused."""
    code = main([*words, *([] if out is None else ["--out", str(out)])])
    said = capsys.readouterr()
    if code and "--stream" in words:
        assert "--stream" in said.err
        return None
    assert code == 0, said.err
    # A stream does not know when the last job is submitted.
    page = said.out[said.out.index("\nsystem") :]
    lines = [line for line in page.splitlines() if not line.startswith(OF_THE_PROCESS)]
    written = [] if out is None else [(out / name).read_text() for name in ("metrics.json", "jobs.csv")]
    return [lines, said.err, *written]


def is_refused(log: Path, text: str, policy: str, capsys: pytest.CaptureFixture[str]) -> bool:
    """Compare a run with tables, the page alone and a stream; return whether the stream is refused."""
    system = log.with_name("system.toml")
    system.write_text(text)
    words = ["run", str(log), "--system", str(system), "--policy", policy]
    whole = answer(words, log.with_name("whole"), capsys)
    assert whole is not None
    assert answer(words, None, capsys) == whole[:2]
    streamed = answer([*words, "--stream"], log.with_name("streamed"), capsys)
    assert streamed in (None, whole)
    return streamed is None


def refused_by_the_page() -> set[str]:
    """Return the fields of a system that a stream refuses, as the page of the command line has them."""
    page = (Path(__file__).parents[2] / "docs/cli.md").read_text("utf-8")
    line = page.partition("- machines with ")[2].partition("\n")[0]
    return {*re.findall(r"`(\w+)`", line)}


@pytest.mark.parametrize("name", [each.name for each in fields(System) if each.metadata.get("in_file", True)])
def test_every_field_of_a_system(name: str, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those that need tables are refused by a stream, and the others give the same."""
    if name == "groups":
        return
    policy = "fcfs" if name != "policy" else "configured"
    assert is_refused(log, text_of(name), policy, capsys) == (name in refused_by_the_page())


@pytest.mark.parametrize("name", [each.name for each in fields(NodeGroup)])
def test_every_field_of_nodes(name: str, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A stream knows all of them."""
    assert not is_refused(log, text_of(group=name), "fcfs", capsys)


@pytest.mark.parametrize("name", ORDERS)
def test_every_order(name: str, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A stream refuses the orders that need more of the jobs than a formula's columns."""
    arguments = {"expression": '("requested_time * tasks")', "multifactor": "(age=1000, job_size=1)"}
    if name == "sbp":
        pytest.skip("needs a column that no SWF log has")
    policy = name if name == "reject" else f"easy(order={name}{arguments.get(name, '')})"
    assert is_refused(log, text_of(), policy, capsys) == (ORDERS[name].needs not in {"", "formula"})
