"""``batchlab run --stream``: read and simulate a log in one pass, with memory for the jobs alive only."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from inspect import signature
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from batchlab._kernel import SwfStream
from batchlab.cli.failure import wrong_usage
from batchlab.cli.output import count_bar, print_answer
from batchlab.cli.request import (
    check_nodes,
    data_set_warnings,
    format_of,
    is_log,
    machine_for,
    not_streamed,
)
from batchlab.core.declared import NeedsTables, declared
from batchlab.core.late import options_drawing as drawing
from batchlab.core.late import options_overheads, result_manifest
from batchlab.core.late import simulation_nodes as nodes
from batchlab.core.late import workload_calendar_time as calendar_time
from batchlab.core.late import workload_event_rules as event_rules
from batchlab.core.node_ranges import node_beyond, node_ranges
from batchlab.core.vocabulary import INTERNAL_EVENTS
from batchlab.errors import BatchlabError, PolicyError, WorkloadError
from batchlab.options import RunOptions
from batchlab.options.run_inputs import RunInputs
from batchlab.policy.registry import ORDERS
from batchlab.result.summary import blocks, how_it_was_run
from batchlab.result.unused_by_policy import unused_by_policy
from batchlab.result.warnings import LogFacts, no_jobs, warnings_by, warnings_of_log
from batchlab.workload.header import Header
from batchlab.workload.log_options import ReadingOptions
from batchlab.workload.packing import is_plain_or_gzip
from batchlab.workload.reasons import none_kept

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from datetime import datetime
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from batchlab._kernel import SleepInputs, StreamedOverheads, StreamedRun, StreamNotes
    from batchlab.cli.request import RunRequest
    from batchlab.options import Overheads
    from batchlab.policy import Policy
    from batchlab.result.manifest import OutputFiles
    from batchlab.system import System

    EventTuple = tuple[float, str, int | None, list[tuple[int, int]], float | None, bool]


__all__ = ["check_streamed", "scanned", "stream"]


def streamed_overheads(overheads: Overheads, seed: int) -> StreamedOverheads:
    """Build the overheads for the kernel.

    Parameters
    ----------
    overheads
        The described overheads.
    seed
        The seed of the run.

    Returns
    -------
    dict
        The seconds of all phases in blocks of jobs, and the seconds that each task adds.

    Raises
    ------
    Failure
        If an overhead refers to a column of the jobs.
    """
    for phase in options_overheads.PHASES:
        base = overheads.delay(phase).base
        if isinstance(base, str) and base.isidentifier():
            rule = "has no table of jobs, whose column this would be. Name a time or a distribution"
            raise wrong_usage(f"{phase} = {base!r}: --stream {rule}.", "--overhead")
    return {
        "blocks": _blocks(overheads, seed),
        "per_task": tuple(overheads.delay(phase).per_task for phase in options_overheads.PHASES),
        "counted": overheads.counted,
        "billed": overheads.billed,
    }


def _blocks(overheads: Overheads, seed: int) -> Iterator[tuple[npt.NDArray[np.float64], ...]]:

    phases = [
        drawing.sample_blocks(phase, overheads.delay(phase), seed) for phase in options_overheads.PHASES
    ]
    for block in zip(*phases, strict=True):
        for phase, drawn in zip(options_overheads.PHASES, block, strict=True):
            drawing.refuse_infinite(phase, drawn, "a job")
        yield tuple(drawn.clip(min=0.0) for drawn in block)

    # Time, kind, job_id, ranges of nodes, value, and whether jobs are killed.


_AT_ONCE = 256


@dataclass(frozen=True)
class StreamedEvents:
    """External events in a checked file.

    `system` is the machine, `count` the number of events. The nodes of `absent` are added before they are
    removed, so they are missing at the beginning.
    """

    path: Path
    system: System
    count: int
    absent: list[int]

    def lists(self) -> Iterator[list[EventTuple]]:
        """Yield the events as tuples for the kernel, in blocks."""
        # Submissions come from the log.
        events = (event for event in _checked(self.path, self.system) if event["event"] != "submit")
        while some := [_for_kernel(event) for event in islice(events, _AT_ONCE)]:
            yield some


def scanned(path: Path, system: System) -> StreamedEvents:
    """Check all events of a file, with memory for the nodes that are added and removed only.

    Parameters
    ----------
    path
        The file.
    system
        The machine. Events may name its nodes.

    Returns
    -------
    StreamedEvents

    Raises
    ------
    WorkloadError
        If an event is invalid, or the events are not sorted by time.
    """
    # The file is read twice; an option copies a pipe to a file.
    count = 0

    def changes() -> Iterator[tuple[str, str]]:
        nonlocal count
        for event in _checked(path, system):
            count += 1
            yield event["event"], event.get("nodes", "")

    absent = event_rules.nodes_to_come(changes())
    return StreamedEvents(path, system, count, absent)


def _checked(path: Path, system: System) -> Iterator[dict[str, Any]]:
    """Yield the events, checked as far as possible without the jobs."""
    before = float("-inf")
    for line, event in event_rules.event_lines(path):
        place, time, kind = f"{path}:{line}", event["time"], event["event"]
        if kind in INTERNAL_EVENTS:
            rule = "is a decision of a scheduler. Leave such events out"
            raise WorkloadError(f"{place}: event = {kind!r} {rule}.")
        if time < before:
            rule = f"must be >= {before:g}, the time of the event before, with --stream. Sort the events"
            raise WorkloadError(f"{place}: time = {time:g}; {rule}, or run without --stream.")
        beyond = node_beyond(event.get("nodes", ""), system.nodes)
        if beyond is not None:
            rule = f"the system has nodes 0 to {system.nodes - 1}"
            raise WorkloadError(f"{place}: {kind} of node {beyond}; {rule}.")
        _check_subject(event, system, place)
        before = time
        yield event


def _check_subject(event: dict[str, Any], system: System, place: str) -> None:
    """Raise for events on limits and reservations: a streamed system has none."""
    try:
        if event["event"] == "limit":
            event_rules.changed_limit(event, system)
        elif event["event"] in event_rules.RESERVATION_EVENTS:
            event_rules.changed_reservation(event, system)
    except WorkloadError as error:
        raise WorkloadError(f"{place}: {error}") from None


def _for_kernel(event: dict[str, Any]) -> EventTuple:

    kind = event["event"]
    job = event["job_id"] if kind in event_rules.JOB_EVENTS else None
    value = event.get("value") if kind in event_rules.EVENT_VALUES else None
    ranges = node_ranges(event.get("nodes", ""))
    return event["time"], kind, job, ranges, value, event.get("jobs") == "kill"


class _Parts(NamedTuple):
    """Parts of a run that the kernel reads while it simulates, or that its machine has."""

    events: StreamedEvents | None
    overheads: StreamedOverheads | None
    sleep: SleepInputs | None

    def absent(self, system: System) -> list[int]:
        """Return the nodes that are missing at the beginning."""
        down = [node for begin, end in node_ranges(system.down) for node in range(begin, end)]
        return sorted({*down, *(() if self.events is None else self.events.absent)})


def check_streamed(
    options: RunOptions,
    command: Callable[..., object] | None = None,
    given: Mapping[str, object] | None = None,
) -> None:
    """Refuse options that need a table of all jobs, as their declarations say.

    Parameters
    ----------
    options
        Those of the run.
    command, given
        The command, and the values of its own options by parameter; None and False were not given.
    """
    for name, option in declared(RunOptions).items():
        if option.help.tables is not None and getattr(options, name) != option.default:
            raise _refused(option.option, option.help.tables)
    if command is None or given is None:
        return
    for name, (word, reason) in _needing_tables(command).items():
        value = given[name]
        if value is not None and value is not False and value not in ([], ()):
            raise _refused(word, reason)


def _refused(option: str, reason: str) -> Exception:
    return wrong_usage(f"{reason}, which --stream does without; leave one out.", option)


def _needing_tables(command: Callable[..., object]) -> dict[str, tuple[str, str]]:
    """Return the options of a command that need tables: spelling and reason by parameter."""
    found = {}
    for name, parameter in signature(command).parameters.items():
        marks = getattr(parameter.annotation, "__metadata__", ())
        reasons = [mark.reason for mark in marks if isinstance(mark, NeedsTables)]
        words = [word for mark in marks for word in getattr(mark, "param_decls", None) or ()]
        for reason in reasons:
            found[name] = (next(iter(words), f"--{name.replace('_', '-')}"), reason)
    return found


def stream(request: RunRequest) -> None:
    """Run, write and print without a table of all jobs.

    Parameters
    ----------
    request
        The arguments of ``batchlab run``.
    """
    if not is_log(request.log) or format_of(request.log) != "swf":
        raise wrong_usage(
            f"reads SWF logs only; {request.log.trace} has another format. Leave it out.", "--stream"
        )
    for option in (declared(ReadingOptions)[name] for name in request.log.given):
        if option.help.tables is not None:
            raise _refused(option.option, option.help.tables)
    policy = request.policy
    if not policy.is_named:
        raise wrong_usage(f"runs built-in policies; {policy} is written in Python. Leave it out.", "--stream")
    described = request.machine.described
    needing = [] if ORDERS[policy.order_name].needs in {"", "formula"} else [f"order {policy.order_name}"]
    needing += [] if policy.predictor == "requested" else [f"predictor {policy.predictor}"]
    if needing:
        raise wrong_usage(f"has no table of jobs, which the {needing[0]} goes by. Leave it out.", "--stream")
    overheads = _overheads(request)
    log = _open(request)
    system = machine_for(described, request.log, request.machine, lambda: _header(log))
    _check_streamable(system)
    sleep = _sleep(request, system)

    began = time.perf_counter()
    events = _events(request, system)
    with _files(request) as files:
        parts = _Parts(events, overheads, sleep)
        run = _run(log, request, policy, system, parts=parts, files=files)
        if run["log"] is not None:
            run["metrics"]["log"] = run["log"]
        _check_kept(request, run["notes"])
        if files is not None:
            files.complete(run["metrics"], _manifest(request, policy, system, events, run["notes"]))
    elapsed = time.perf_counter() - began
    notes = run["notes"]
    warnings = [
        *data_set_warnings(request.log),
        *warnings_by(_header(log), system, run["metrics"]),
        *unused_by_policy(system, policy, request.options),
    ]
    without_limit, with_memory = run["asked"]
    ignored = 0 if request.log.use_memory else with_memory
    facts = LogFacts(notes["read"], without_limit, notes["kept"], ignored)
    warnings += warnings_of_log(facts, run["log"], system, policy)
    if not notes["kept"]:
        warnings.append(no_jobs(str(request.log.trace), notes["read"], notes["kept"]))
    print_answer(
        lambda: blocks([*_facts(request, policy, system, run["notes"])], run["metrics"], elapsed, warnings),
        lambda: run["metrics"],
        request.form,
        request.out,
        warnings=warnings,
    )


def _check_streamable(system: System) -> None:
    """Raise if a streamed run would ignore a part of the machine."""
    found = not_streamed(system)
    if found:
        raise wrong_usage(
            f"does not know {', '.join(found)} yet, which the system has. Leave it out.", "--stream"
        )


def _open(request: RunRequest) -> SwfStream:

    log = request.log
    if not is_plain_or_gzip(str(log.trace)):
        rule = "reads logs that are plain or gzip; unpack this one, or leave it out"
        raise wrong_usage(f"{rule}.", "--stream")
    try:
        return SwfStream(log.trace, log.swf_reading)
    except ValueError as error:
        raise _explained(error, request) from error
    except OSError as error:
        raise WorkloadError(f"{log.trace}: cannot be read: {error.strerror or error}.") from error


def _header(log: SwfStream) -> Header:

    return Header(tuple(log.comments))


def _overheads(request: RunRequest) -> StreamedOverheads | None:
    overheads = request.options.job_overheads
    if overheads is None:
        return None

    return streamed_overheads(overheads, request.options.seed)


def _sleep(request: RunRequest, system: System) -> SleepInputs | None:
    rules = request.options.node_sleep
    if rules is None:
        return None
    if rules.is_daily:
        rule = "by the time of day needs the last submit time first; run without --stream"
        raise wrong_usage(f"{rule}.", "--sleep")
    check_nodes(system, request.options)
    return nodes.sleep_inputs(system, request.options)


def _events(request: RunRequest, system: System) -> StreamedEvents | None:
    if request.external_events is None:
        return None

    return scanned(request.external_events, system)


def _run(
    log: SwfStream,
    request: RunRequest,
    policy: Policy,
    system: System,
    *,
    parts: _Parts,
    files: OutputFiles | None,
) -> StreamedRun:

    # Read it now: the log cannot be read during its run.
    header = _header(log)

    def date(time: float) -> datetime | None:

        return calendar_time.CalendarTime.of(header, system.start_time).date(time)

    try:
        with count_bar(str(policy), date) as count:
            return log.run(
                replace(RunInputs.on(system, policy, request.options), sleep=parts.sleep),
                answer=None if files is None else files.jobs.name,
                progress=count,
                events=None if parts.events is None else parts.events.lists(),
                absent=parts.absent(system),
                requeue=system.requeue,
                overheads=parts.overheads,
            )
    except BatchlabError:
        # An invalid event in a file that has changed meanwhile, or an invalid overhead.
        raise
    except ValueError as error:
        raise _explained(error, request) from error


def _check_kept(request: RunRequest, notes: StreamNotes) -> None:
    """Raise if all jobs of a log were dropped."""
    if notes["read"] and not notes["kept"]:
        raise WorkloadError(none_kept(str(request.log.trace), notes["read"], notes["dropped"]))


def _explained(error: ValueError, request: RunRequest) -> Exception:
    """Convert the kernel's ``ValueError(line, message)``, or one with a message alone, to an error."""
    if len(error.args) != 2:  # noqa: PLR2004  # a message alone is about the policy
        return PolicyError(f"{request.policy}: {error}")
    line, message = error.args
    trace = request.log.trace
    place = f"{trace}:{line}" if line is not None else f"{trace}"
    return WorkloadError(f"{place}: {message}. Run without --stream, or mend the log.")


def _files(request: RunRequest) -> AbstractContextManager[OutputFiles | None]:
    if request.out is None:
        return nullcontext()

    return result_manifest.output_files(request.out)


def _manifest(
    request: RunRequest, policy: Policy, system: System, events: StreamedEvents | None, notes: StreamNotes
) -> dict[str, object]:

    known = {} if events is None else {"external_events": events.count}
    return result_manifest.manifest(
        policy,
        system,
        options=request.options,
        workload={"jobs": notes["kept"], "report": notes} | known,
        inputs=request.inputs,
        command=request.command,
        stream=True,
    )


def _facts(
    request: RunRequest, policy: Policy, system: System, notes: StreamNotes
) -> Iterable[tuple[str, str]]:

    changed = [f"{sum(notes[kind].values()):,} {kind}" for kind in ("dropped", "mended") if notes[kind]]
    is_one = notes["read"] == 1
    read, unchanged = ("job read", "kept as it is") if is_one else ("jobs read", "all kept as they are")
    kept = ", ".join(changed) or unchanged
    yield "workload", f"{request.log.trace.name}: {notes['read']:,} {read}, {kept}"
    yield from how_it_was_run(system, policy, request.options)
