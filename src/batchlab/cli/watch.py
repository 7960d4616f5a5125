"""``batchlab watch``: query a run in another terminal."""

from __future__ import annotations

import json
import math
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from batchlab.cli.failure import is_pace
from batchlab.cli.options import FormatOption  # noqa: TC001  # typer reads the annotations
from batchlab.core.late import monitor_questions as questions
from batchlab.core.late import monitor_runs as runs
from batchlab.core.units import format_count, format_duration
from batchlab.core.vocabulary import JOB_STATES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from batchlab.monitor.runs import Run


__all__ = ["watch"]

_LONGEST = 40
_OLD = 1.0
_ROW = "{:>10} {:>8} {:>14} {:>14}  {}"


def watch(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN] [status|queued|running|job ID|node ID|utilisation|runs]",
            help="Run, if there are several, and question. [default: status]",
            show_default=False,
        ),
    ] = None,
    *,
    form: FormatOption = "text",
    every: Annotated[
        float | None,
        typer.Option(
            metavar="S", callback=is_pace, help="Repeat the question every S seconds until the run ends."
        ),
    ] = None,
) -> None:
    """Show the state of a running simulation: waiting and running jobs, utilisation."""
    as_json = form == "json"
    if words == ["runs"]:
        _print_runs(runs.runs(), as_json=as_json)
        return
    name, question = _parsed(words or [])
    run = runs.choose(name)
    while True:
        answer = runs.ask(run, question)
        typer.echo(
            json.dumps(answer, ensure_ascii=False)
            if as_json
            else "\n".join([*_lines(question[0], answer), *_age(answer)])
        )
        if every is None or answer.get("phase", "running") != "running":
            return
        time.sleep(every)
        if run.name not in {other.name for other in runs.runs()}:
            return


def _parsed(words: Sequence[str]) -> tuple[str | None, list[str]]:
    """Split words into the run and the question: a first word that is no question names a run."""
    is_run = bool(words) and words[0] not in questions.QUESTIONS and words[0][:1].isdecimal()
    name = words[0] if is_run else None
    return name, list(words[is_run:]) or ["status"]


def _print_runs(found: Sequence[Run], *, as_json: bool) -> None:
    if as_json:
        rows = [{"run": run.name, "workload": run.workload, "policy": run.policy} for run in found]
        typer.echo(json.dumps(rows, ensure_ascii=False))
        return
    typer.echo("\n".join(f"{run.name:10} {run.workload}  {run.policy}" for run in found) or "no runs")


def _lines(kind: str, answer: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of an answer."""
    if kind == "status":
        yield from (f"{label:13} {text}" for label, text in _status(answer))
    elif kind == "job":
        yield from (f"{label:13} {text}" for label, text in _job(answer))
    elif kind == "utilisation":
        for name, use in answer["resources"].items():
            yield f"{name:13} {_percent(use['utilisation']):>7}, {use['used']:,} of {use['capacity']:,}"
    else:
        if kind == "node":
            free = answer["free"]
            held = (f"{free[name]:,} of {amount:,} {name}" for name, amount in answer["capacity"].items())
            drained = ", drained" if answer["drained"] else ""
            yield f"node {answer['node']}: {', '.join(held)} free{drained}"
        yield from _table(answer["jobs"])


def _age(answer: dict[str, Any]) -> Iterator[str]:
    """Yield the age of an answer: during a long decision of a policy, a run returns its latest answer."""
    age = answer["age"]
    # For lists, only if the answer is old.
    if answer.get("phase", "running") == "running" and ("phase" in answer or age >= _OLD):
        yield f"{'answer':13} {format_duration(round(age, 1))} old"


def _status(answer: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "workload", answer["workload"]
    yield "policy", answer["policy"]
    share = 100 * answer["finished"] // max(answer["jobs"], 1)
    done = f"{answer['finished']:,} of {format_count(answer['jobs'], 'job')} done"
    yield "progress", f"{share} %, {done}, {answer['phase']}"
    yield "time", format_duration(answer["simulated"]) + _date(answer)
    counts = [f"{answer[state]:,} {state}" for state in JOB_STATES[1:] if answer[state]]
    yield "jobs", ", ".join(counts) or "none yet"
    used = (f"{name} {_percent(share)}" for name, share in answer["utilisation"].items())
    yield "utilisation", ", ".join(used)
    if answer["drained_nodes"]:
        yield "drained", format_count(answer["drained_nodes"], "node")
    cost = [
        format_duration(round(answer["elapsed"], 1)),
        f"CPU {format_duration(round(answer['cpu_time'], 1))}",
    ]
    if answer["memory"] is not None:
        cost.append(f"{answer['memory'] / 1e6:,.0f} MB")
    yield "cost", ", ".join(cost)


def _job(answer: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield "job", f"{answer['job_id']}, {answer['state']}"
    tasks = format_count(answer["tasks"], "task")
    yield "asks for", f"{tasks} for {_limit(answer['requested_time'])}"
    if answer["state"] not in ("loaded", "rejected"):
        yield "waits for" if answer["state"] == "queued" else "waited", format_duration(answer["wait"])
    if "reason" in answer:
        yield "reason", answer["reason"]
    if answer["state"] == "running":
        yield "runs for", format_duration(answer["time"] - answer["start_time"])
        yield "nodes", answer["nodes"]
    if "end_time" in answer:
        yield "ran for", format_duration(answer["end_time"] - answer["start_time"])


def _table(jobs: Sequence[dict[str, Any]]) -> Iterator[str]:
    if not jobs:
        yield "no jobs"
        return
    last = "nodes" if "nodes" in jobs[0] else ""
    yield _ROW.format("job", "tasks", "waited", "asks for", last).rstrip()
    for job in jobs[:_LONGEST]:
        times = format_duration(job["wait"]), _limit(job["requested_time"])
        yield _ROW.format(job["job_id"], f"{job['tasks']:,}", *times, job.get("nodes", "")).rstrip()
    if len(jobs) > _LONGEST:
        yield f"… and {len(jobs) - _LONGEST:,} more; --format json lists all"


def _limit(seconds: float | None) -> str:
    return format_duration(math.inf if seconds is None else seconds)


def _date(answer: dict[str, Any]) -> str:
    return "" if answer["date"] is None else f" ({answer['date'][:16].replace('T', ' ')})"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"
