"""The summary of a result, in a page of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from batchlab.core.late import core_markup as markup
from batchlab.core.text_tables import Facts, Table, render
from batchlab.core.units import (
    format_amounts,
    format_count,
    format_duration,
    format_energy,
    format_latency,
    format_power,
    format_rate,
)
from batchlab.result.aggregates import AGGREGATES, QUANTITIES, STATISTICS, number, of_resource, percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    import numpy.typing as npt
    import polars as pl

    from batchlab.core.markup import Html
    from batchlab.core.text_tables import Block
    from batchlab.options import RunOptions
    from batchlab.policy.policy import Policy
    from batchlab.system.system import System
    from batchlab.workload.event_stream import EventStream
    from batchlab.workload.workload import Workload


__all__ = [
    "blocks",
    "compare",
    "from_outside",
    "how_it_was_run",
    "page",
    "result_card",
    "submitted",
    "what_was_run",
]

# The columns of a comparison, and the rows of a comparison with the log, as they are named in tables of runs.
_COMPARED = ("wait_mean", "wait_median", "bounded_slowdown_mean", "makespan")
_NEAR = ("wait_mean", "wait_median", "wait_p95", "bounded_slowdown_mean")


def page(
    facts: Iterable[tuple[str, str]],
    metrics: Mapping[str, object],
    elapsed: float | None = None,
    warnings: Iterable[str] = (),
) -> str:
    """Write a page about a run.

    Parameters
    ----------
    facts
        Names and texts that describe the inputs of the run, a line each.
    metrics
        All aggregates, as `batchlab.metrics.overview` returns them.
    elapsed
        The duration of the simulation, in seconds.
    warnings
        The lines of `batchlab.result.warnings.warnings_of`.

    Returns
    -------
    str
        Lines of text without a newline at the end.
    """
    return render(blocks(facts, metrics, elapsed, warnings))


def blocks(
    facts: Iterable[tuple[str, str]],
    metrics: Mapping[str, object],
    elapsed: float | None = None,
    warnings: Iterable[str] = (),
) -> list[Block]:
    """Return the blocks of `page`, for a terminal of some width."""
    found: list[Block] = [
        Facts([*facts, *(("warning", text) for text in warnings)]),
        Facts([*_what_became(metrics, elapsed)]),
    ]
    if numbers := _statistics(metrics):
        found.append(Table(numbers))
    if "log" in metrics:
        found.append(_beside_log(cast("Mapping[str, Any]", metrics["log"])))
    classes = cast("Mapping[str, Mapping[str, float]]", metrics.get("messages", {})).get("classes")
    if classes:
        found.append(_by_class(cast("Mapping[str, Mapping[str, float]]", classes)))
    return found


def result_card(
    policy: str,
    facts: Iterable[tuple[str, str]],
    metrics: Mapping[str, object],
    elapsed: float | None,
    warnings: Iterable[str],
) -> Html:
    """Write the contents of `page` for a notebook."""
    notes = (("warning", text) for text in warnings)
    head, *rows = _statistics(metrics) or [()]
    near = _beside_log(cast("Mapping[str, Any]", metrics["log"])).rows[1:] if "log" in metrics else ()
    of_log = [(title, f"{log} in the log, {simulated} simulated") for title, log, simulated in near]
    return markup.card(
        f"Result of {policy}", [*facts, *notes, *_what_became(metrics, elapsed), *of_log], head, rows
    )


def compare(runs: Iterable[tuple[str, Mapping[str, object]]]) -> Table:
    """Write one line per run, to compare policies.

    Parameters
    ----------
    runs
        Policies, and the metrics of their runs of the same workload.

    Returns
    -------
    Table
        Policy, mean and median wait, mean bounded slowdown, makespan and utilisation.
    """
    columns = [AGGREGATES[name] for name in _COMPARED]
    rows: list[tuple[str, ...]] = [("policy", *(each.title for each in columns), "utilisation")]
    for policy, metrics in runs:
        first = next(iter(_of(metrics, "utilisation").values()))
        rows.append((policy, *(each.text(metrics) for each in columns), _percent(first)))
    return Table(rows)


def what_was_run(
    workload: Workload, system: System, policy: Policy, options: RunOptions
) -> Iterable[tuple[str, str]]:
    """Describe the workload, the changes by its reader, and how it was run.

    Yields
    ------
    tuple
        A name and a text.
    """
    yield "workload", _workload(workload.jobs)
    report = workload.report
    if report.dropped.height or report.mended.height or report.unit == "line":
        yield "", report.summary()
    yield from how_it_was_run(system, policy, options)


def from_outside(events: EventStream, applied: npt.NDArray[np.bool_] | None) -> tuple[str, str]:
    """Describe how many external events there were, and how many of them changed something."""
    changed = 0 if applied is None else int(applied.sum())
    return "events", f"{len(events):,} from outside, of which {changed:,} changed something"


def how_it_was_run(system: System, policy: Policy, options: RunOptions) -> Iterable[tuple[str, str]]:
    """Describe the system, the policy, and the options that differ from their defaults.

    Yields
    ------
    tuple
        A name and a text.
    """
    called = f"{system.name}, " if system.name else ""
    yield "system", f"{called}{format_count(system.nodes, 'node')}, {format_amounts(system.total)}"
    if system.note:
        yield "", system.note
    written = {"control": ", ".join(map(str, options.controls))}
    unusual = [
        f"{name} = {written.get(name, value)}"
        for name, value in options.unusual.items()
        if name != "overheads"
    ]
    yield "policy", ", ".join([str(policy), *unusual])
    if options.overheads is not None:
        yield "overheads", str(options.overheads)


def submitted(jobs: int, period: float) -> str:
    """Describe how many jobs were submitted in how many seconds."""
    return f"{format_count(jobs, 'job')} submitted over {format_duration(period)}"


def _workload(jobs: pl.DataFrame) -> str:
    if jobs.is_empty():
        return "no jobs"
    times = jobs["submit_time"].to_numpy()
    return submitted(len(jobs), float(times.max() - times.min()))


def _what_became(metrics: Mapping[str, object], elapsed: float | None) -> Iterable[tuple[str, str]]:
    """Describe the aggregates that are one number each, and the duration of the simulation (s)."""
    yield from _aggregates(metrics)
    if elapsed is not None:
        yield "simulated in", format_duration(elapsed)


def _aggregates(metrics: Mapping[str, object]) -> Iterable[tuple[str, str]]:
    jobs, queue = _of(metrics, "jobs"), _of(metrics, "queue_length")
    counted = [f"{count:,} {state}" for state, count in jobs.items() if count and state != "submitted"]
    yield "jobs", ", ".join(counted) or "none"
    if metrics["makespan"] is None:
        return
    yield "makespan", _duration(metrics["makespan"])
    throughput = metrics["throughput"]
    if isinstance(throughput, float):
        yield "throughput", f"{AGGREGATES['throughput'].text(metrics)} jobs a day"
    yield "utilisation", _percents(_of(metrics, "utilisation"))
    yield "lost", f"{_percents(_of(metrics, 'loss_of_capacity'))} idle while jobs waited for it"
    cut_short, energy = metrics.get("interrupted"), metrics.get("energy")
    if cut_short:
        yield "interrupted", _interrupted(_of(metrics, "interrupted"))
    if energy:
        yield "energy", _energy(_of(metrics, "energy"))
    yield from _rates(cast("Mapping[str, Mapping[str, object]]", metrics.get("rates", {})))
    if "service" in metrics:
        yield "service", _service(_of(metrics, "service"))
    yield "queue", f"{_number(queue['mean'])} jobs on average, {queue['max']:,} at most"
    if "messages" in metrics:
        yield "messages", _messages(_of(metrics, "messages"))
        yield from _links(_of(metrics, "links"))


def _interrupted(cut_short: Mapping[str, float | None]) -> str:
    runs, jobs = (format_count(int(cut_short[name] or 0), name[:-1]) for name in ("runs", "jobs"))
    return f"{runs} of {jobs}, {_duration(cut_short['lost_time'])} to be run again"


def _rates(rates: Mapping[str, Mapping[str, object]]) -> Iterable[tuple[str, str]]:
    """Describe the rates of each control, with its node groups if it does not control all nodes."""
    for groups, each in rates.items():
        mean, share = cast("float | None", each["mean"]), _of(each, "share")
        parts = [
            f"{_number(mean)} on average",
            format_count(cast("int", each["switches"]), "switch", "switches"),
        ]
        times = ", ".join(f"{_percent(part)} at {rate}" for rate, part in share.items())
        times = times.replace(" at ", " of time at ", 1)
        named = "" if groups == "all" else f"{groups}: "
        yield "rate", f"{named}{', '.join(parts)}; {times}"


def _service(measured: Mapping[str, float | None]) -> str:
    """Describe how jobs were served at rates, by the measures of `batchlab.service`."""
    delay, slowdown = measured["mean_delay"], measured["mean_slowdown"]
    parts = [f"delay {_duration(delay)}"] if delay is not None else []
    parts += [f"slowdown {_number(slowdown)}"] if slowdown is not None else []
    effective, potential = measured["effective_load"], measured["potential_load"]
    if effective is not None and potential is not None:
        parts.append(f"load {_number(effective)} of potential {_number(potential)}")
    if (wasted := measured["waste"]) is not None:
        parts.append(f"waste {_number(wasted)} units of work")
    return ", ".join(parts)


def _messages(sent: Mapping[str, float | None]) -> str:
    count = f"{format_count(int(sent['messages'] or 0), 'message')}, {format_rate(sent['bytes'] or 0.0, 'B')}"
    if sent["mean_hops"] is None:
        return "none"
    return f"{count}; {_number(sent['mean_hops'])} hops on average, {sent['max_hops']} at most"


def _by_class(classes: Mapping[str, Mapping[str, float]]) -> Table:
    rows: list[tuple[str, ...]] = [("messages", "number", "payload", "mean hops", "most", "hop-bytes")]
    for name, each in classes.items():
        payload, hop_bytes = (format_rate(each[part], "B") for part in ("bytes", "hop_bytes"))
        hops = _number(each["mean_hops"]), str(each["max_hops"])
        rows.append((name, f"{each['messages']:,}", payload, *hops, hop_bytes))
    return Table(rows)


def _links(links: Mapping[str, float | None]) -> Iterable[tuple[str, str]]:
    if not links["used"]:
        yield "links", "none used"
        return
    mean, peak = _percent(links["mean_utilisation"]), _percent(links["peak_utilisation"])
    yield "links", f"{links['used']:,} used, the fullest one {mean} on average, {peak} at a peak"
    full = format_latency(links["congested_time"] or 0.0)
    yield "congestion", f"{full} in which one link was full and shared"


def _energy(energy: Mapping[str, float | None]) -> str:
    parts: list[str] = [format_energy(energy["total"] or 0.0)]
    if energy["jobs"] is not None:
        parts.append(f"{format_energy(energy['jobs'])} of it by jobs")
    return ", ".join([*parts, f"{format_power(energy['peak_power'] or 0.0)} at most"])


def _statistics(metrics: Mapping[str, object]) -> list[tuple[str, ...]]:
    """Return the statistics of waits and slowdowns as rows of text, with their names first; or no rows."""
    if _of(metrics, "wait")["mean"] is None and _of(metrics, "turnaround")["mean"] is None:
        return []
    rows: list[tuple[str, ...]] = [("", *STATISTICS)]
    for name, quantity in QUANTITIES.items():
        found = [AGGREGATES[f"{name}_{statistic}"].text(metrics) for statistic in STATISTICS]
        rows.append((quantity.title, *found))
    return rows


def _beside_log(near: Mapping[str, Any]) -> Table:
    """Compare the measures of the log with those of the simulation, for the jobs that ran in both."""
    both = near, near["simulated"]
    rows: list[tuple[str, ...]] = [
        (f"{format_count(near['jobs'], 'job')} of the log", "in the log", "simulated")
    ]
    uses = [of_resource("utilisation", resource) for resource in near["utilisation"]]
    used = [use for use in uses if any(use.of(each) for each in both)]
    measures = (*(AGGREGATES[name] for name in _NEAR), *used)
    return Table([*rows, *((each.title, *map(each.text, both)) for each in measures)])


def _of(metrics: Mapping[str, object], name: str) -> Mapping[str, float | None]:
    return cast("Mapping[str, float | None]", metrics[name])


def _duration(value: object) -> str:
    return format_duration(value) if isinstance(value, float) else "–"


def _number(value: float | None) -> str:
    return "–" if value is None else number(value)


def _percent(share: float | None) -> str:
    return "–" if share is None else percent(share)


def _percents(shares: Mapping[str, float | None]) -> str:
    return ", ".join(f"{name} {_percent(share)}" for name, share in shares.items())
