"""``batchlab run --stream``: simulate a log while it is read, with memory for the active jobs only."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

from batchlab.cli.failure import wrong_usage
from batchlab.cli.log import data_set_warnings, format_of, is_log
from batchlab.cli.machine import machine_for
from batchlab.cli.output import print_answer
from batchlab.cli.progress import count_bar
from batchlab.core.declared import declared, option_of
from batchlab.errors import BatchlabError, PolicyError, WorkloadError
from batchlab.options import RunOptions
from batchlab.options.run_options import RECORDED
from batchlab.workload.log_options import ReadingOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from contextlib import AbstractContextManager
    from datetime import datetime

    from batchlab._kernel import (
        StreamedMachine,
        StreamedOverheads,
        StreamedRun,
        StreamNotes,
        SwfStream,
    )
    from batchlab.cli.request import RunRequest
    from batchlab.cli.streamed_events import StreamedEvents
    from batchlab.policy import Policy
    from batchlab.result.manifest import OutputFiles
    from batchlab.system import System
    from batchlab.workload.header import Header

__all__ = ["STREAMED", "check_streamed", "machine_columns", "not_streamed", "stream"]

STREAMED = frozenset({"overrun", "invalid", "processors", "use_memory", "log_events", "log_format"})
"""Reading options of the kernel's reader, which builds no table."""

_STREAMED_OPTIONS = frozenset({"seed", "walltime", "order_at_instant", "job_check", "odd_jobs", "overheads"})
# Why a streamed run does not have an option.
_TABLES_ONLY = {
    **dict.fromkeys(RECORDED, "records the run"),
    **dict.fromkeys(("control", "reference_rate"), "needs the work of each job"),
    "sleep": "keeps what every node was when",
    "messages": "counts on a platform",
    **dict.fromkeys(("sharing", "clip_requests"), "is about applications"),
    "invocation": "is about policies of Python files",
    "--parquet": "records the run",
    "--dispatch": "records every pass",
    "--fitted": "shifts submissions",
    "--report": "shows all jobs",
    "--node-events": "is about logs of Slurm",
    "--events": "keeps what happened to all jobs",
}
_TABLES = ("partitions", "queues", "limits", "reservations", "preemption", "down")


def check_streamed(options: RunOptions, given: Mapping[str, object]) -> None:
    """Refuse options that need a table of all jobs.

    Parameters
    ----------
    options
        Those of the run.
    given
        Other options of the command, by their spelling; None and False were not given.
    """
    known = declared(RunOptions)
    asked = {
        option.option: _TABLES_ONLY[name]
        for name, option in known.items()
        if name not in _STREAMED_OPTIONS and getattr(options, name) != option.default
    }
    asked |= {name: _TABLES_ONLY[name] for name, value in given.items() if value not in (None, False)}
    for option, reason in asked.items():
        raise wrong_usage(f"{reason}, which --stream does without; leave one out.", option)


def not_streamed(system: System) -> list[str]:
    """Return the parts of a machine that a run without tables ignores."""
    return [name for name in _TABLES if getattr(system, name)] + ([] if system.requeue else ["requeue"])


def stream(request: RunRequest) -> None:
    """Run, write and print without a table of all jobs.

    Parameters
    ----------
    request
        The arguments of ``batchlab run``.
    """
    from batchlab.policy.kernel import OF_COLUMNS  # noqa: PLC0415  # --help does without

    if not is_log(request.log) or format_of(request.log) != "swf":
        raise wrong_usage(f"reads SWF logs; {request.log.trace} is none. Leave it out.", "--stream")
    for name in request.log.given:
        if name not in STREAMED:
            option = option_of(ReadingOptions, name)
            raise wrong_usage("is no option of --stream; leave one of the two out.", option)
    policy = request.policy
    if not policy.is_named:
        raise wrong_usage(f"runs built-in policies; {policy} is written in Python. Leave it out.", "--stream")
    described = request.machine.described
    needing = [f"order {policy.order_name}"] if policy.order_name in OF_COLUMNS - {"expression"} else []
    needing += [] if policy.predictor == "requested" else [f"predictor {policy.predictor}"]
    if needing:
        raise wrong_usage(f"has no table of jobs, which the {needing[0]} goes by. Leave it out.", "--stream")
    overheads = _overheads(request)
    log = _open(request)
    system = machine_for(described, request.log, request.machine, lambda: _header(log))
    _check_streamable(system)
    from batchlab.result.summary import blocks  # noqa: PLC0415  # --help does without
    from batchlab.result.unused_by_policy import unused_by_policy  # noqa: PLC0415  # --help does without
    from batchlab.result.warnings import no_jobs, warnings_by  # noqa: PLC0415  # --help does without

    began = time.perf_counter()
    events = _events(request, system)
    with _files(request) as files:
        run = _run(log, request, policy, system, events=events, overheads=overheads, files=files)
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
    warnings += _warnings_of_log(request, run, policy, system)
    if not notes["kept"]:
        warnings.append(no_jobs(str(request.log.trace), notes["read"], notes["kept"]))
    print_answer(
        lambda: blocks([*_facts(request, policy, system, run["notes"])], run["metrics"], elapsed, warnings),
        lambda: run["metrics"],
        request.form,
        request.out,
        warnings=warnings,
    )


def _warnings_of_log(request: RunRequest, run: StreamedRun, policy: Policy, system: System) -> Iterable[str]:
    """Yield warnings about memory that is not used, and about waits that are far from those of the log."""
    from batchlab.result.unlike_log import LogFacts, unlike_log  # noqa: PLC0415  # --help does without
    from batchlab.workload.reasons import ignored_memory  # noqa: PLC0415  # as above

    notes, (without_limit, with_memory) = run["notes"], run["asked"]
    ignored = with_memory if not request.log.use_memory else 0
    if "mem" in system.resources and ignored:
        yield ignored_memory(ignored)
    if run["log"] is not None:
        facts = LogFacts(notes["read"], without_limit, notes["kept"], ignored > 0)
        yield from unlike_log(run["log"], lambda: facts, system, policy)


def _check_streamable(system: System) -> None:
    """Raise if a streamed run would ignore a part of the machine."""
    found = not_streamed(system)
    if found:
        raise wrong_usage(
            f"does not know {', '.join(found)} yet; the system has some. Leave it out.", "--stream"
        )


def _open(request: RunRequest) -> SwfStream:
    from batchlab._kernel import SwfStream  # noqa: PLC0415  # --help does without
    from batchlab.workload.packing import is_plain_or_gzip  # noqa: PLC0415  # here too

    log = request.log
    if not is_plain_or_gzip(str(log.trace)):
        rule = "reads logs that are plain or gzip; unpack this one, or leave it out"
        raise wrong_usage(f"{rule}.", "--stream")
    try:
        return SwfStream(
            str(log.trace),
            overrun=log.swf_overrun,
            invalid=log.invalid,
            processors=log.processors,
            use_memory=bool(log.use_memory),
            log_events=log.log_events,
        )
    except ValueError as error:
        raise _explained(error, request) from error
    except OSError as error:
        raise WorkloadError(f"{log.trace}: cannot be read: {error.strerror or error}.") from error


def _header(log: SwfStream) -> Header:
    from batchlab.workload.header import Header  # noqa: PLC0415  # --help does without

    return Header(tuple(log.comments))


def _overheads(request: RunRequest) -> StreamedOverheads | None:
    overheads = request.options.job_overheads
    if overheads is None:
        return None
    from batchlab.cli.streamed_overheads import streamed_overheads  # noqa: PLC0415  # most runs do without

    return streamed_overheads(overheads, request.options.seed)


def _events(request: RunRequest, system: System) -> StreamedEvents | None:
    if request.external_events is None:
        return None
    from batchlab.cli.streamed_events import scanned  # noqa: PLC0415  # most runs do without

    return scanned(request.external_events, system)


def _run(
    log: SwfStream,
    request: RunRequest,
    policy: Policy,
    system: System,
    *,
    events: StreamedEvents | None,
    overheads: StreamedOverheads | None,
    files: OutputFiles | None,
) -> StreamedRun:
    from batchlab.policy.kernel import policy_names  # noqa: PLC0415  # --help does without

    # Read it now: the log cannot be read during its run.
    header = _header(log)

    def date(time: float) -> datetime | None:
        from batchlab.workload.calendar_time import CalendarTime  # noqa: PLC0415  # for terminals only

        return CalendarTime.of(header, system.start_time).date(time)

    try:
        with count_bar(str(policy), date) as count:
            return log.run(
                machine_columns(system),
                policy_names(policy, request.options.seed, system),
                walltime=request.options.walltime,
                order_at_instant=request.options.order_at_instant,
                job_check=request.options.job_check,
                answer=None if files is None else files.jobs.name,
                progress=count,
                events=None if events is None else events.lists(),
                absent=[] if events is None else events.absent,
                overheads=overheads,
            )
    except BatchlabError:
        # An invalid event in a file that has changed meanwhile, or an invalid overhead.
        raise
    except ValueError as error:
        raise _explained(error, request) from error


def _check_kept(request: RunRequest, notes: StreamNotes) -> None:
    """Raise if all jobs of a log were dropped."""
    from batchlab.workload.reasons import none_kept  # noqa: PLC0415  # --help does without

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


def machine_columns(system: System) -> StreamedMachine:
    """Return the resources and node groups of a machine."""
    groups = [
        (group.count, [group.resources.get(resource, 0) for resource in system.resources])
        for group in system.groups
    ]
    processor = [system.equivalence.get(resource, 0) for resource in system.resources]
    return {"resources": list(system.resources), "groups": groups, "processor": processor}


def _files(request: RunRequest) -> AbstractContextManager[OutputFiles | None]:
    if request.out is None:
        return nullcontext()
    from batchlab.result.manifest import output_files  # noqa: PLC0415  # not needed without --out

    return output_files(request.out)


def _manifest(
    request: RunRequest, policy: Policy, system: System, events: StreamedEvents | None, notes: StreamNotes
) -> dict[str, object]:
    from batchlab.result.manifest import manifest  # noqa: PLC0415  # not needed without --out

    known = {} if events is None else {"external_events": events.count}
    return manifest(
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
    from batchlab.result.summary import how_it_was_run  # noqa: PLC0415  # --help does without

    changed = [f"{sum(notes[kind].values()):,} {kind}" for kind in ("dropped", "mended") if notes[kind]]
    is_one = notes["read"] == 1
    read, unchanged = ("job read", "kept as it is") if is_one else ("jobs read", "all kept as they are")
    kept = ", ".join(changed) or unchanged
    yield "workload", f"{request.log.trace.name}: {notes['read']:,} {read}, {kept}"
    yield from how_it_was_run(system, policy, request.options)
