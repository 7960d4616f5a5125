"""``batchlab run`` with tables, for outputs, live views and observers that need all jobs in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from batchlab.cli.fitted import with_fitted
from batchlab.cli.log import check_counting, check_platform, read_log
from batchlab.cli.machine import machine_for
from batchlab.cli.monitored import keep_serving, monitored
from batchlab.cli.node_events import with_outages
from batchlab.cli.node_sleep import check_nodes
from batchlab.cli.output import print_result

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from batchlab.cli.request import RunRequest
    from batchlab.result.result import Result
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["replay"]


def replay(request: RunRequest) -> None:
    """Run, write and print.

    Parameters
    ----------
    request
        The arguments of ``batchlab run``.
    """
    # Check the system and the file names before a long log is read.
    if request.events is not None:
        _check_events(request.events)
    policy = request.policy
    workload, system = _read(request)
    workload, events = with_outages(
        request.node_events, request.log, request.machine, workload, request.external_events
    )
    if request.fitted is not None:
        workload, policy, options = with_fitted(request.fitted, workload, system, policy, request.options)
        request = replace(request, options=options)
    with monitored(request, workload, system, policy, events) as monitor:
        result = monitor.run()
        _write(request, result)
        print_result(result, request.form, request.out, _further(request))
        if request.watching.keep:
            keep_serving(monitor)


def _read(request: RunRequest) -> tuple[Workload, System]:
    described = request.machine.described
    workload = read_log(request.log, described)
    check_platform(workload, described)
    if request.options.messages:
        check_counting(described)
    system = machine_for(described, request.log, request.machine, lambda: workload.header)
    check_nodes(system, request.options)
    return workload, system


def _check_events(path: Path) -> None:
    """Raise if the suffix of a file of events is unknown."""
    from batchlab.workload.event_lines import check_form  # noqa: PLC0415  # the library, when it is needed

    check_form(path)


def _write(request: RunRequest, result: Result) -> None:
    """Write the requested files."""
    command = request.command
    if request.out is not None:
        result.write(request.out, inputs=request.inputs, command=command, parquet=request.parquet)
    if request.dispatch is not None:
        from batchlab.core.outputs import write_table_file  # noqa: PLC0415  # the library, when it is needed

        write_table_file(result.dispatch, request.dispatch)
    if request.events is not None:
        from batchlab.workload.event_stream import write_events  # noqa: PLC0415  # as above

        write_events(result.events, request.events)
    if request.report is not None:
        from batchlab import report  # noqa: PLC0415  # heavy, and an extra

        title = f"{request.log.name or request.log.trace.name} under {result.policy}"
        report.write(result, request.report, title=title, command=command)


def _further(request: RunRequest) -> Iterable[tuple[str, str]]:
    """Return the names of the observers, and the files outside the directory of ``--out``."""
    if request.observers:
        yield "observers", ", ".join(request.observers)
    files = {"dispatch": request.dispatch, "events": request.events, "report": request.report}
    for name, file in files.items():
        if file is not None:
            yield name, str(file)
