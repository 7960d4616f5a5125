"""Placements as ranges: the same nodes as one by one, in tables and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

import batchlab as bl
from batchlab.core.node_ranges import node_ranges

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def result() -> bl.Result:
    """Run wide jobs on nodes that fragment, one of which waits for ever."""
    rows = range(60)
    table = {
        "submit_time": [9 * row for row in rows],
        "run_time": [30 + 41 * (row % 7) for row in rows],
        "requested_time": [400 for _ in rows],
        "tasks": [1 + row * 13 % 37 for row in rows[:-1]] + [500],
    }
    system = bl.System.homogeneous(nodes=32, resources={"core": 2})
    return bl.simulate(bl.Workload.from_table(table), system, "easy")


def test_ranges_are_the_nodes(result: bl.Result) -> None:
    """Row by row; each range is as long as it can be, and there are fewer ranges than nodes."""
    outcome = result.outcome
    assert 0 < len(outcome.range_first) < len(outcome.placement_nodes) / 3
    for row, nodes in enumerate(result.jobs["nodes"]):
        part = slice(outcome.range_offsets[row], outcome.range_offsets[row + 1])
        columns = outcome.range_first[part], outcome.range_count[part], outcome.range_tasks[part]
        listed = [
            (first + k, tasks) for first, count, tasks in zip(*columns, strict=True) for k in range(count)
        ]
        assert [node for node, _ in listed] == nodes.to_list()
        ran = result.jobs["state"][row] == "completed"
        assert sum(tasks for _, tasks in listed) == (result.jobs["tasks"][row] if ran else 0)


def test_tables_and_files_have_the_same_nodes(result: bl.Result, tmp_path: Path) -> None:
    """`placements`, `jobs` and jobs.csv."""
    lists = result.jobs["nodes"].to_list()
    each = result.placements.group_by("row", maintain_order=True).agg("node")
    assert [row for row in lists if row] == each["node"].to_list()
    result.write(tmp_path)
    texts = pl.read_csv(tmp_path / "jobs.csv")["nodes"].to_list()
    written = [
        [node for begin, end in node_ranges(text or "") for node in range(begin, end)] for text in texts
    ]
    assert written == lists


def test_no_jobs_have_no_ranges() -> None:
    """Not even of their columns' kinds anything is lost."""
    table = {name: np.empty(0) for name in ("submit_time", "run_time", "tasks")}
    system = bl.System.homogeneous(nodes=1, resources={"core": 1})
    outcome = bl.simulate(bl.Workload.from_table(table), system, "fcfs").outcome
    assert outcome.placement_nodes.dtype == np.uint32
    assert len(outcome.placement_nodes) == 0
    assert outcome.placement_offsets.tolist() == [0]
