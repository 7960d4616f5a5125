"""Streams of events: their checks, their files, and what they tell of jobs."""

from __future__ import annotations

import gzip
import re
from typing import TYPE_CHECKING

import polars as pl
import pytest

import batchlab as bl
from batchlab import _kernel
from batchlab.core.vocabulary import EXTERNAL_EVENTS, INTERNAL_EVENTS
from batchlab.workload.event_rules import EVENT_VALUES, JOB_EVENTS, NODE_EVENTS, RESERVATION_EVENTS

if TYPE_CHECKING:
    from pathlib import Path

EVENTS = [
    {"time": 7, "event": "down", "nodes": [0, 2], "jobs": "kill"},
    {"time": 5.5, "event": "requested_time", "job_id": 3, "value": 60},
    {"time": 5.5, "event": "cancel", "job_id": 2},
    {"time": 0, "event": "scheduler_stop"},
    {"time": 1, "event": "submit", "job_id": 2, "tasks": 4, "requested_time": 30},
]


def test_kinds_are_those_of_the_kernel() -> None:
    """Names stand once; each external event is about a job, nodes or the scheduler."""
    assert _kernel.names()["event"] == list(EXTERNAL_EVENTS)
    others = set(EXTERNAL_EVENTS) - JOB_EVENTS - NODE_EVENTS - RESERVATION_EVENTS
    assert others == {"limit", "scheduler_stop", "scheduler_start"}
    assert not JOB_EVENTS & NODE_EVENTS
    assert set(EVENT_VALUES) <= set(EXTERNAL_EVENTS)
    assert not set(EXTERNAL_EVENTS) & set(INTERNAL_EVENTS)


def test_events_are_sorted_by_time() -> None:
    """Those of one instant stay in their order; nodes are written as ranges or numbers."""
    stream = bl.EventStream(EVENTS)
    assert stream.table["event"].to_list() == [
        "scheduler_stop",
        "submit",
        "requested_time",
        "cancel",
        "down",
    ]
    assert stream.table["nodes"][-1] == "0,2"
    assert repr(bl.EventStream(EVENTS[:1])) == "<EventStream of 1 event: 1 down>"
    assert bl.EventStream(stream) == stream
    assert bl.EventStream(stream.table) == stream
    assert bl.EventStream(stream.to_dicts()) == stream
    assert len(bl.EventStream()) == 0
    assert repr(bl.EventStream()) == "<EventStream of 0 events>"


@pytest.mark.parametrize("name", ["events.jsonl", "events.csv", "events.ndjson", "events"])
def test_what_is_written_is_read_back(name: str, tmp_path: Path) -> None:
    """As lines of JSON and as CSV, with the columns that ride along."""
    stream = bl.EventStream(EVENTS)
    bl.write_events(stream, tmp_path / name)
    read = bl.read_events(tmp_path / name)
    assert (
        read.table.select(stream.table.columns)
        .select(pl.all().exclude("tasks", "requested_time"))
        .equals(stream.table.select(pl.all().exclude("tasks", "requested_time")))
    )
    assert [float(each) for each in read.table["tasks"].drop_nulls()] == [4.0]


@pytest.mark.parametrize("name", ["events.xlsx", "events.csv.gz", "events.parquet"])
def test_other_forms_are_not_written(name: str, tmp_path: Path) -> None:
    """The error names those that are."""
    rule = "is no form of events; events are written as lines of JSON or as CSV, by the suffix: .jsonl"
    with pytest.raises(bl.WorkloadError, match=re.escape(rule)):
        bl.write_events(bl.EventStream(EVENTS), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_columns_that_ride_along_have_their_types(tmp_path: Path) -> None:
    """Numbers and truth values of CSV are no texts; those of JSON stay what they are."""
    (tmp_path / "a.csv").write_text("time,event,job_id,tasks,cores,applied,user\n1,kill,1,2,0.5,true,ann\n")
    assert bl.read_events(tmp_path / "a.csv").table.select("tasks", "cores", "applied", "user").rows() == [
        (2, 0.5, True, "ann")
    ]
    line = '{"time": 1, "event": "kill", "job_id": 1, "user": "12"}'
    assert bl.read_events([line]).table["user"].to_list() == ["12"]


def test_packed_files_and_lines(tmp_path: Path) -> None:
    """A file may be packed; lines and open files are read too."""
    lines = ['{"time": 1, "event": "up", "nodes": "0-3"}', "", '{"time": 0, "event": "kill", "job_id": 1}']
    path = tmp_path / "events.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    assert bl.read_events(path) == bl.read_events(lines)
    assert bl.read_events(path).table["event"].to_list() == ["kill", "up"]


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (
            {"time": 1, "event": "cancle", "job_id": 1},
            "event = 'cancle'; must be one of submit, cancel",
        ),
        ({"time": 1}, "event 1: event = None; must be one of"),
        (
            {"event": "cancel", "job_id": 1},
            "event 1 (cancel): time = None; must be a finite",
        ),
        ({"time": float("nan"), "event": "cancel", "job_id": 1}, "time = nan; must be a finite number"),
        ({"time": 1, "event": "cancel"}, "(cancel): job_id = None; must be a whole number."),
        ({"time": 1, "event": "cancel", "job_id": "x"}, "job_id = 'x'; must be a whole number."),
        ({"time": 1, "event": "cancel", "job_id": 2**63}, "must fit in 64 bits."),
        ({"time": 1, "event": "down"}, 'nodes = None; must name nodes, e.g. "0-3,7".'),
        ({"time": 1, "event": "down", "nodes": "3-1"}, "nodes = '3-1'; must be node numbers"),
        ({"time": 1, "event": "down", "nodes": "a"}, "nodes = 'a'; must be node numbers"),
        ({"time": 1, "event": "down", "nodes": "1", "jobs": "stay"}, "jobs = 'stay'; must be"),
        ({"time": 1, "event": "drain", "nodes": "1", "jobs": "kill"}, "of events down only"),
        (
            {"time": 1, "event": "requested_time", "job_id": 1},
            "value = None; must be a finite number of seconds",
        ),
        (
            {"time": 1, "event": "requested_time", "job_id": 1, "value": -1},
            "value = -1; must be a finite number",
        ),
        (
            {"time": 1, "event": "priority", "job_id": 1, "value": float("inf")},
            "value = inf; must be a finite",
        ),
        ("cancel", "event 1 = 'cancel'; must be a mapping"),
    ],
)
def test_wrong_events(event: object, message: str) -> None:
    """One line names the event, the value and the rule."""
    with pytest.raises(bl.WorkloadError, match=re.escape(message)):
        bl.EventStream([event])  # type: ignore[list-item]  # it is wrong


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", '{"time": 1}\n', "a.jsonl:1: event 1: event = None"),
        (
            "a.jsonl",
            '{"time": 1,\n',
            "a.jsonl:1: '{\"time\": 1,'; must be an object of JSON",
        ),
        (
            "a.jsonl",
            '{"time": 1, "event": "cancel", "job_id": 1}\n{"time": 2, "time": 3, "event": "end"}\n',
            "a.jsonl:2: key 'time' appears twice in one object; keep one of them.",
        ),
        ("a.jsonl", "[1]\n", "a.jsonl:1: '[1]'; must be an object of JSON."),
        ("a.csv", "time\n1\n", "a.csv: there is no column 'event'; the columns are time, event, job_id"),
        ("a.csv", "time,event,job_id\n1,cancel,x\n", "a.csv:2: job_id = 'x'; must be a number."),
        ("a.csv", "", "a.csv: is no CSV table"),
    ],
)
def test_wrong_files(name: str, text: str, message: str, tmp_path: Path) -> None:
    """One line names the file and the line."""
    (tmp_path / name).write_text(text)
    with pytest.raises(bl.WorkloadError, match=re.escape(message)):
        bl.read_events(tmp_path / name)


def test_what_became_of_jobs() -> None:
    """Of an internal stream: state, start and end of each job's last run."""
    rows = [
        *({"time": 0, "event": "submit", "job_id": job, "tasks": 2} for job in range(1, 7)),
        {"time": 1, "event": "start", "job_id": 1, "nodes": "0"},
        {"time": 1, "event": "start", "job_id": 2, "nodes": "1"},
        {"time": 2, "event": "interrupted", "job_id": 2, "nodes": "1"},
        {"time": 3, "event": "start", "job_id": 2, "nodes": "0-1"},
        {"time": 3, "event": "start", "job_id": 3},
        {"time": 4, "event": "interrupted", "job_id": 3},
        {"time": 4, "event": "start", "job_id": 6},
        {"time": 9, "event": "completed", "job_id": 1},
        {"time": 9, "event": "killed", "job_id": 2},
        {"time": 9, "event": "killed", "job_id": 4},
        {"time": 9, "event": "rejected", "job_id": 5},
    ]
    jobs = bl.EventStream(rows).jobs
    assert jobs.select("job_id", "state", "start_time", "end_time").rows() == [
        (1, "completed", 1.0, 9.0),
        (2, "killed", 3.0, 9.0),
        (3, "queued", None, None),
        (4, "killed", None, 9.0),
        (5, "rejected", None, None),
        (6, "running", 4.0, None),
    ]
    assert jobs["tasks"].to_list() == [2] * 6
    assert jobs["nodes"].to_list()[:2] == ["0", "0-1"]
