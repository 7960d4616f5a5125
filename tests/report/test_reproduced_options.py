"""The command of a report has each option with which the log was read."""

from __future__ import annotations

import shlex
from dataclasses import fields
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.core.declared import declared
from batchlab.plot.results import Group
from batchlab.report.runs import command_of
from batchlab.workload.formats import read_by
from batchlab.workload.log_options import ReadingOptions

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "JobID|User|State|Submit|Start|End|Timelimit|Dependency|ReqCPUS|AllocCPUS|ReqMem"
DAY = "2024-03-01T"
LINES = [
    f"1|ann|REQUEUED|{DAY}10:00:00|{DAY}10:00:00|{DAY}10:05:00|00:10:00||2|4|1Gn",
    f"1|ann|COMPLETED|{DAY}10:05:00|{DAY}10:06:00|{DAY}10:10:00|UNLIMITED||2|4|1Gn",
    f"2|ann|CANCELLED|{DAY}10:00:00|{DAY}10:00:00|{DAY}10:05:00|00:02:00|afterany:1|1|2|1Gn",
    f"3|ben|RUNNING|{DAY}10:01:00|{DAY}10:02:00|Unknown|00:10:00||1|1|1Gn",
]
VALUES: dict[str, object] = {
    "overrun": "extend",
    "invalid": "raise",
    "processors": "allocated",
    "use_memory": True,
    "log_events": False,
    "timezone": "Europe/Berlin",
    "time_format": "%Y-%m-%dT%H:%M:%S",
    "requeues": "each",
    "unfinished": "keep",
    "dependencies": True,
    "log_format": "sacct",
    "fields": HEAD.replace("|", ","),
    "delimiter": "|",
    "mapping": "own.toml",
    "unlimited": 3600.0,
    "max_jobs": 1,
}
"""A value of each option that is not the usual one; `ReadingOptions` has no other options."""
MAPPING = """
[columns]
submit = "in"
run_time = "ran"
cores = "n"
"""


@pytest.mark.parametrize("name", [each.name for each in fields(ReadingOptions)])
def test_each_option(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read with it, simulated, and asked for the command: it is there, and reads the same jobs."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "jobs.txt"
    lines = LINES if name == "fields" else [HEAD, *LINES]
    if name == "mapping":
        path = tmp_path / "jobs.csv"
        (tmp_path / "own.toml").write_text(MAPPING)
        lines = ["in,ran,n", "100,60,4", "130,60,2"]
    path.write_text("\n".join(lines))
    workload = read_by(path, {name: VALUES[name]})
    assert workload.report.options[name] == VALUES[name]
    result = bl.simulate(workload, bl.System.homogeneous(nodes=4, resources={"core": 4}), "fcfs")
    line = command_of([Group("fcfs", (result,))])
    assert line is not None
    words = shlex.split(line)
    option = declared(ReadingOptions)[name]
    if isinstance(VALUES[name], bool):
        assert (option.option if VALUES[name] else option.off) in words
    else:
        assert option.of_text(words[words.index(option.option) + 1]) == VALUES[name]


def test_options_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command has those that differ from their defaults; runs with different ones have no command."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jobs.txt").write_text("\n".join([HEAD, *LINES]))
    workload, system = (
        read_by(tmp_path / "jobs.txt", {}),
        bl.System.homogeneous(nodes=4, resources={"core": 4}),
    )
    options = bl.RunOptions(seed=3, walltime="kill", overheads={"launch": 2, "billed": False})
    result = bl.simulate(workload, system, "fcfs", options=options)
    line = command_of([Group("fcfs", (result,))])
    assert line is not None
    words = "--seed 3 --walltime kill --overhead 'launch=2, billed=false' --policy fcfs --report report.html"
    assert line.endswith(words)
    assert command_of([Group("a", (result,)), Group("b", (bl.simulate(workload, system, "fcfs"),))]) is None
