"""What a table says in all of processors, nodes, GPUs, memory and limits is what its jobs ask for in all.

Random tables in random units and forms, read by their mappings, against sums in plain Python.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import math
import os
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import polars as pl
import pytest

from batchlab.workload import LogMapping, Workload, read_mapped

if TYPE_CHECKING:
    from collections.abc import Callable

JOBS = 400
SEEDS = int(os.environ.get("BATCHLAB_FUZZ", "12"))
BEGIN = 1_700_000_000
YEAR = 365 * 86_400
TIME_UNITS = {"s": 1, "min": 60, "h": 3600, "ms": 0.001}
MEMORY_UNITS = {"B": 1 / 1024, "KiB": 1, "MiB": 1024, "GiB": 1024**2, "MB": 1e6 / 1024, "kB": 1000 / 1024}


@dataclass
class Job:
    """A job as it is, whatever the table calls it."""

    submit: int
    start: int | None
    end: int
    limit: int | None
    nodes: int
    cores: int
    gpus: int
    memory: int
    state: str


def job(chance: random.Random) -> Job:
    """Make a job of whole numbers: cores, GPUs and KiB divide evenly among its nodes and cores."""
    submit = BEGIN + chance.randrange(1_000_000)
    wait, run = chance.randrange(10_000), chance.randrange(1, 100_000)
    nodes = chance.choice((1, 1, 1, 2, 4, 32))
    cores = nodes * chance.choice((1, 2, 8))
    never = chance.random() < 0.05
    return Job(
        submit,
        None if never else submit + wait,
        submit + wait + (0 if never else run),
        None if chance.random() < 0.1 else 3600 * chance.randrange(1, 48),
        nodes,
        cores,
        nodes * chance.choice((0, 0, 1, 4)),
        cores * 1024**2 * 1000 * chance.randrange(1, 4),
        "CANCELLED" if never else chance.choice(("COMPLETED", "FAILED", "TIMEOUT")),
    )


def clock(seconds: int) -> str:
    """Write a duration as Slurm does."""
    days, rest = divmod(seconds, 86_400)
    return f"{days}-{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


def limit_text(limit: int | None, unit: str) -> str:
    """Write a limit in a unit, or the word for no limit."""
    if limit is None:
        return "none"
    return clock(limit) if unit == "clock" else repr(limit / TIME_UNITS[unit])


def stamp(form: str, zone: str) -> Callable[[int], str]:
    """Return a function that writes instants."""
    if form == "epoch":
        return str
    if form == "iso":
        return lambda seconds: dt.datetime.fromtimestamp(seconds, ZoneInfo(zone)).isoformat(" ")
    return lambda seconds: dt.datetime.fromtimestamp(seconds, dt.UTC).strftime(form)


def written(jobs: list[Job], chance: random.Random) -> tuple[str, LogMapping]:
    """Write a table of jobs in some units and forms, with the mapping that says which."""
    task = chance.choice(("node", "core", "gpu", "job"))
    form = chance.choice(("epoch", "iso", "%d/%m/%Y %H.%M.%S"))
    time_unit = chance.choice([*TIME_UNITS, "clock"])
    memory_unit = chance.choice(list(MEMORY_UNITS))
    per = chance.choice(("job", "node", "core"))
    number = stamp(form, "America/New_York")
    divisors: dict[str, Callable[[Job], int]] = {
        "job": lambda _: 1,
        "node": lambda each: each.nodes,
        "core": lambda each: each.cores,
    }
    divisor = divisors[per]
    words = {"COMPLETED": "7", "FAILED": "8", "TIMEOUT": "9", "CANCELLED": "10"}
    separator = chance.choice(",;\t|")
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator)
    writer.writerow(["id", "in", "began", "ended", "most", "n", "c", "g", "m", "how", "whole", "else"])
    for place, each in enumerate(jobs):
        size = [each.nodes, each.cores, each.gpus]
        memory = each.memory / divisor(each) / MEMORY_UNITS[memory_unit]
        times = [number(each.submit), "" if each.start is None else number(each.start), number(each.end)]
        others = [repr(memory), words[each.state], "yes" if each.cores > 8 else "no", "a b"]
        writer.writerow([place + 5, *times, limit_text(each.limit, time_unit), *size, *others])
    document = {
        "task": task,
        "columns": {
            "job_id": "id",
            "submit": "in",
            "start": "began",
            "end": "ended",
            "limit": {"column": "most", "unit": time_unit, "unlimited": ["none"]},
            "nodes": "n",
            "cores": "c",
            "gpus": "g",
            "memory": {"column": "m", "unit": memory_unit, "per": per},
            "state": "how",
            "exclusive": {"column": "whole", "values": ["yes"]},
        },
        "states": {number: word for word, number in words.items()},
        "times": {"format": form} if form.startswith("%") else {},
        "file": {"separator": separator},
    }
    return out.getvalue(), LogMapping.of(document)


def all_of(workload: Workload, name: str) -> int:
    """Sum what all tasks of all jobs ask for."""
    return int((workload.jobs[name] * workload.jobs["tasks"]).sum())


@pytest.mark.parametrize("seed", range(SEEDS))
def test_nothing_is_lost(seed: int) -> None:
    """Requests, limits, waits and run times, summed over the log."""
    chance = random.Random(seed)  # noqa: S311  # no secret
    jobs = [job(chance) for _ in range(JOBS)]
    text, mapping = written(jobs, chance)
    workload = read_mapped(io.BytesIO(text.encode()), mapping)
    table = workload.jobs
    assert table.height == JOBS
    tasks: dict[str, Callable[[Job], int]] = {
        "node": lambda each: each.nodes,
        "core": lambda each: each.cores,
        "gpu": lambda each: max(each.gpus, 1),
        "job": lambda _: 1,
    }
    of_job = tasks[mapping.task_kind]
    assert table["tasks"].sum() == sum(map(of_job, jobs))
    amounts: dict[str, Callable[[Job], int]] = {
        "core": lambda each: each.cores,
        "gpu": lambda each: each.gpus,
        "mem": lambda each: each.memory,
    }
    for name, amount in amounts.items():
        if name == "core" and mapping.task_kind == "core":
            continue
        # Each task takes a whole number, rounded up.
        expected = sum(of_job(each) * math.ceil(amount(each) / of_job(each)) for each in jobs)
        assert all_of(workload, name) == expected, name
    assert table["requested_processors"].sum() == sum(each.cores for each in jobs)
    assert table["requested_nodes"].sum() == sum(each.nodes for each in jobs)
    assert table["requested_gpus"].sum() == sum(each.gpus for each in jobs)
    assert table["exclusive"].sum() == sum(each.cores > 8 for each in jobs)
    limits = sum(YEAR if each.limit is None else each.limit for each in jobs)
    assert table["requested_time"].sum() == pytest.approx(limits, abs=1e-3)
    started = [each for each in jobs if each.start is not None]
    assert table["run_time"].sum() == sum(each.end - (each.start or 0) for each in started)
    waits = table.filter(pl.col("start_time").is_not_null())["logged_wait_time"].sum()
    assert waits == sum((each.start or 0) - each.submit for each in started)
    assert workload.header.unix_start_time == min(each.submit for each in jobs)
    assert dict(table["state"].value_counts().iter_rows()) == {
        state.lower(): sum(each.state == state for each in jobs) for state in {each.state for each in jobs}
    }
