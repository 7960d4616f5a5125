"""``batchlab run --stream``: simulate a log while it is read, in memory for the jobs alive."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

from batchlab.cli.answer import tell
from batchlab.cli.failure import wrong_usage
from batchlab.cli.log import catalogued_machine
from batchlab.cli.machine import check_memory, described_machine, machine_of_log
from batchlab.errors import PolicyError, WorkloadError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from batchlab._kernel import StreamedMachine, StreamedRun, StreamNotes, SwfStream
    from batchlab.cli.request import RunRequest
    from batchlab.policy import Policy
    from batchlab.result.manifest import OutputFiles
    from batchlab.system import System

__all__ = ["stream"]


def stream(request: RunRequest) -> None:
    """Run, write and tell, without a table of all jobs.

    Parameters
    ----------
    request
        What ``batchlab run`` was asked to do.
    """
    from batchlab.policy import Policy  # noqa: PLC0415  # --help does without

    if request.trace.suffix.lower() in (".csv", ".parquet", ".json"):
        raise wrong_usage(f"reads SWF logs; {request.trace} is none. Leave it out.", "--stream")
    policy = Policy.parse(request.policy)
    system = described_machine(request.system, request.nodes, request.cores)
    log = _open(request)
    system = system or catalogued_machine(request.name, request.cores) or _machine_of(log, request.cores)
    check_memory(system, request.use_memory)
    began = time.perf_counter()
    with _files(request) as files:
        run = _run(log, request, policy, system, files)
        if files is not None:
            files.complete(run["metrics"], _manifest(request, policy, system, run["notes"]))
    elapsed = time.perf_counter() - began
    tell(
        lambda: _page(request, policy, system, run, elapsed),
        lambda: run["metrics"],
        request.form,
        request.out,
    )


def _open(request: RunRequest) -> SwfStream:
    from batchlab._kernel import SwfStream  # noqa: PLC0415  # --help does without

    try:
        return SwfStream(
            str(request.trace),
            overrun=request.overrun,
            invalid=request.invalid,
            processors=request.processors,
            use_memory=request.use_memory,
        )
    except ValueError as error:
        raise _explained(error, request) from error
    except OSError as error:
        raise WorkloadError(f"{request.trace}: cannot be read: {error.strerror or error}.") from error


def _machine_of(log: SwfStream, cores: int | None) -> System:
    from batchlab.workload.header import Header  # noqa: PLC0415  # --help does without

    return machine_of_log(Header(tuple(log.comments)), cores)


def _run(
    log: SwfStream, request: RunRequest, policy: Policy, system: System, files: OutputFiles | None
) -> StreamedRun:
    from batchlab.policy.kernel import policy_names  # noqa: PLC0415  # --help does without

    try:
        return log.run(
            _machine(system),
            policy_names(policy, request.seed),
            walltime=request.walltime,
            order_at_instant=request.order_at_instant,
            answer=None if files is None else files.jobs.name,
            progress=_count if sys.stderr.isatty() else None,
        )
    except ValueError as error:
        raise _explained(error, request) from error
    finally:
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")


def _explained(error: ValueError, request: RunRequest) -> Exception:
    """Make an error of the kernel's ``ValueError(line, message)``, or of a message alone."""
    if len(error.args) != 2:  # noqa: PLR2004  # a message alone is about the policy
        return PolicyError(f"{request.policy}: {error}")
    line, message = error.args
    place = f"{request.trace}:{line}" if line is not None else f"{request.trace}"
    return WorkloadError(f"{place}: {message}. Run without --stream, or mend the log.")


def _machine(system: System) -> StreamedMachine:
    groups = [
        (group.count, [group.resources.get(resource, 0) for resource in system.resources])
        for group in system.groups
    ]
    processor = [system.equivalence.get(resource, 0) for resource in system.resources]
    return {"resources": list(system.resources), "groups": groups, "processor": processor}


def _count(finished: int, _now: float) -> None:
    sys.stderr.write(f"\r{finished:,} jobs done")
    sys.stderr.flush()


def _files(request: RunRequest) -> AbstractContextManager[OutputFiles | None]:
    if request.out is None:
        return nullcontext()
    from batchlab.result.manifest import output_files  # noqa: PLC0415  # not needed without --out

    return output_files(request.out)


def _options(request: RunRequest) -> dict[str, object]:
    return {
        "seed": request.seed,
        "walltime": request.walltime,
        "order_at_instant": request.order_at_instant,
    }


def _manifest(request: RunRequest, policy: Policy, system: System, notes: StreamNotes) -> dict[str, object]:
    from batchlab.result.manifest import manifest  # noqa: PLC0415  # not needed without --out

    inputs = {"trace": request.trace} | ({"system": request.system} if request.system else {})
    return manifest(
        policy,
        system,
        options={**_options(request), "stream": True},
        workload={"jobs": notes["kept"], "report": notes},
        inputs=inputs,
        command=request.command,
    )


def _page(request: RunRequest, policy: Policy, system: System, run: StreamedRun, elapsed: float) -> str:
    from batchlab.result.summary import how_it_was_run, page  # noqa: PLC0415  # --help does without

    notes = run["notes"]
    changed = [f"{sum(notes[kind].values()):,} {kind}" for kind in ("dropped", "mended") if notes[kind]]
    read = (
        f"{request.trace.name}: {notes['read']:,} jobs read, {', '.join(changed) or 'all kept as they are'}"
    )
    facts = [("workload", read), *how_it_was_run(system, policy, _options(request))]
    return page(facts, run["metrics"], elapsed)
