"""A result told to people."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from batchlab.core.text_tables import render
from batchlab.options import RunOptions
from batchlab.result.summary import compare
from support.results import Job, make_result

if TYPE_CHECKING:
    from batchlab.result.result import Result

SUMMARY = """\
workload      4 jobs submitted over 30 s
system        4 nodes, 8 cores
policy        fcfs
warning       1 job was rejected: 1 would not fit even on empty nodes (never_fits)

jobs          3 completed, 1 rejected
makespan      00:02:40
throughput    1,620 jobs a day
utilisation   core 64.1 %
lost          core 28.1 % idle while jobs waited for it
queue         1.38 jobs on average, 2 at most
simulated in  0.25 s

                            mean    median       p95       p99       max
wait                    00:01:13  00:01:30  00:02:06  00:02:09  00:02:10
turnaround              00:02:07  00:02:20  00:02:20  00:02:20  00:02:20
slowdown                    5.93       2.8      12.9      13.8        14
bounded slowdown            5.93       2.8      12.9      13.8        14
per-processor slowdown         3         1       6.4      6.88         7"""


def test_the_summary_is_aligned_and_in_plain_words(three: Result) -> None:
    """The whole page, as it is printed."""
    assert replace(three, elapsed=0.25).summary() == SUMMARY


@pytest.mark.parametrize(
    ("jobs", "line"),
    [
        pytest.param([], "jobs          none", id="no jobs"),
        pytest.param([Job(3, state="rejected")], "jobs          1 rejected", id="all rejected"),
        pytest.param([Job(3, 3, 3, nodes=((0, 1),))], "utilisation   core –", id="no time"),
        pytest.param([Job(0, 0, nodes=((0, 1),), state="running")], "jobs          1 running", id="running"),
    ],
)
def test_little_to_tell_is_told(jobs: list[Job], line: str) -> None:
    """A summary never fails, and never says nan or None."""
    summary = make_result(jobs).summary()
    assert line in summary.splitlines()
    assert "nan" not in summary
    assert "None" not in summary


def test_options_and_names_are_shown(three: Result) -> None:
    """What differs from an ordinary run stands with the policy."""
    told = replace(three, options=RunOptions(seed=3, walltime="kill", dispatch=True)).summary()
    assert "policy        fcfs, seed = 3, walltime = kill\n" in told


def test_results_are_compared_line_by_line(three: Result) -> None:
    """One line per policy, under the names of the measures."""
    compared = compare((str(each.policy), each.metrics()) for each in (three, make_result([])))
    assert render([compared]).splitlines() == [
        "policy  mean wait  median wait  mean bounded slowdown  makespan  utilisation",
        "fcfs     00:01:13     00:01:30                   5.93  00:02:40       64.1 %",
        "fcfs            –            –                      –         –            –",
    ]
