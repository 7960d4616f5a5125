"""Fast path for a run without output files: the kernel reads, simulates and measures without tables.

NumPy, polars and the monitor take longer to import than most logs take to simulate. A run that takes more
than a second imports them later, so that `batchlab watch` can query it.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, cast

from batchlab._kernel import SwfLog
from batchlab.cli.output import print_answer, reading_bar, run_bar
from batchlab.cli.process import peak_memory
from batchlab.cli.request import (
    data_set_warnings,
    format_of,
    is_log,
    machine_for,
    not_streamed,
)
from batchlab.core.declared import declared
from batchlab.core.late import monitor, result_near
from batchlab.core.late import result_table as table
from batchlab.core.late import simulation_simulation as simulations
from batchlab.core.late import workload_calendar_time as calendar_time
from batchlab.core.late import workload_swf as swf
from batchlab.options import RunOptions
from batchlab.options.run_inputs import RunInputs
from batchlab.policy.registry import ORDERS
from batchlab.result.summary import blocks, how_it_was_run, submitted
from batchlab.result.unused_by_policy import unused_by_policy
from batchlab.result.warnings import LogFacts, warnings_by, warnings_of_log
from batchlab.workload.header import Header
from batchlab.workload.log_options import ReadingOptions
from batchlab.workload.packing import is_plain_or_gzip
from batchlab.workload.reasons import read_line

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from types import TracebackType
    from typing import Self

    from batchlab import _kernel
    from batchlab.cli.request import RunRequest
    from batchlab.monitor import Monitor
    from batchlab.policy import Policy
    from batchlab.simulation import Simulation
    from batchlab.system import System


__all__ = ["plain_run"]

PATIENCE = 1.0
"""Seconds of CPU time after which a run can be queried."""


def plain_run(request: RunRequest) -> bool:
    """Run and print, if the request needs only the text page of an SWF log.

    Parameters
    ----------
    request
        The arguments of ``batchlab run``.

    Returns
    -------
    bool
        False, without any effect, if tables are needed or an error must be explained.
    """
    if not _is_plain(request):
        return False

    policy = request.policy
    described = request.machine.described
    is_built_in = policy.is_named and policy.slurm is None
    if not is_built_in or ORDERS[policy.order_name].needs or policy.predictor != "requested":
        return False
    log = _read(request)
    if log is None or not log.facts["kept"]:
        return False
    header = _header(log)
    system = machine_for(described, request.log, request.machine, lambda: header)
    # With a fair share, tables are needed to know whether it is used.
    if system.platform is not None or not_streamed(system) or system.fair_share is not None:
        return False
    if system.down or not system.requeue:
        return False
    _simulate(request, log, header, system, policy)
    return True


def _is_plain(request: RunRequest) -> bool:
    """Return whether the request asks only for the text page of a replayed SWF log."""
    options, watching, log = request.options, request.watching, request.log
    usual = RunOptions(
        seed=options.seed,
        walltime=options.walltime,
        order_at_instant=options.order_at_instant,
        job_check=options.job_check,
    )
    files = (
        request.out,
        request.dispatch,
        request.events,
        request.external_events,
        request.node_events,
        request.initial_state,
        request.fitted,
        request.report,
        log.applications,
    )
    return (
        request.form == "text"
        and not request.observers
        and options == usual
        and all(file is None for file in files)
        and not (watching.live or watching.serve or watching.pace is not None)
        and all(declared(ReadingOptions)[name].help.tables is None for name in log.given)
        and is_log(log)
        and format_of(log) == "swf"
        and is_plain_or_gzip(str(log.trace))
    )


def _read(request: RunRequest) -> _kernel.SwfLog | None:

    log = request.log
    try:
        with reading_bar(log.trace):
            found = SwfLog(log.swf_reading)
            found.read(log.trace)
            return found
    except (OSError, ValueError):
        # The reader of tables explains the error.
        return None


def _header(log: _kernel.SwfLog) -> Header:

    return Header(tuple(log.comments))


def _simulate(
    request: RunRequest, log: _kernel.SwfLog, header: Header, system: System, policy: Policy
) -> None:

    facts, options = log.facts, request.options
    inputs = RunInputs.on(system, policy, options)
    kernel = log.simulation(inputs)
    began = time.perf_counter()
    with Watch(request, log, kernel, inputs, system=system, policy=policy) as watch:
        kernel.run_until(float("inf"), watch.look)
        elapsed = time.perf_counter() - began
        metrics = kernel.metrics(list(system.resources)) or {}
        near = watch.near()
    period = facts["last_submission"] - facts["first_submission"]
    said = [
        ("workload", submitted(facts["kept"], period)),
        ("", read_line(str(request.log.trace), facts["read"], facts["kept"], facts["mended_jobs"])),
        *how_it_was_run(system, policy, options),
    ]
    warnings = [*data_set_warnings(request.log), *warnings_by(header, system, metrics)]
    warnings += unused_by_policy(system, policy, options)
    ignored = 0 if request.log.use_memory else facts["with_memory"]
    of_log = LogFacts(facts["read"], facts["without_limit"], facts["kept"], ignored)
    warnings += warnings_of_log(of_log, near, system, policy)
    if near is not None:
        metrics["log"] = near
    print_answer(
        lambda: blocks(said, metrics, elapsed, warnings),
        lambda: metrics,
        request.form,
        request.out,
        warnings=warnings,
    )


class Watch:
    """Shows the progress of a run, and answers queries after its first second."""

    def __init__(
        self,
        request: RunRequest,
        log: _kernel.SwfLog,
        kernel: _kernel.Simulation,
        inputs: RunInputs,
        *,
        system: System,
        policy: Policy,
    ) -> None:
        self._request, self._log, self._kernel, self._machine = request, log, kernel, inputs.machine
        # Read it now: the log loses it when its columns are moved out.
        self._header = _header(log)
        self._system, self._policy, self._jobs = system, policy, log.facts["kept"]
        self._began = (time.monotonic(), time.process_time())
        self.monitor: Monitor | None = None
        self._simulation: Simulation | None = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._progress = self._stack.enter_context(run_bar(str(self._policy), self._date))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.monitor is not None:
            self.monitor.finish("done" if kind is None else "stopped")
        self._stack.close()

    def near(self) -> Mapping[str, Any] | None:
        """Return the log's own schedule next to the simulated one; None if no job ran in both."""
        if self._simulation is None:
            return self._log.beside(self._kernel, self._machine)
        # The columns were moved out of the log.
        result = self._simulation.result()
        jobs = table.jobs_table(result.workload, self._system, result.outcome)
        found = result_near.overview(result.workload, jobs, self._system).get("log")
        return cast("Mapping[str, Any] | None", found)

    def look(self, finished: int, now: float) -> None:
        """Show progress and answer queries; called about every 0.05 s."""
        if self._progress is not None:
            self._progress(finished, self._jobs, now)
        if self.monitor is None:
            # CPU time, because wall time on a busy machine says little about the remaining work.
            if time.process_time() - self._began[1] <= PATIENCE:
                return
            self.monitor = self._stack.enter_context(self._made())
        self.monitor.answer()

    def _date(self, time: float) -> datetime | None:

        return calendar_time.CalendarTime.of(self._header, self._system.start_time).date(time)

    def _made(self) -> Monitor:
        log = self._request.log
        workload = swf.workload_of_log(
            self._log.columns(), str(log.trace), ("mem",) if log.use_memory else ()
        )
        simulation = simulations.simulation_of_log(
            self._kernel, workload, self._system, self._policy, self._request.options
        )
        self._simulation = simulation
        return monitor.Monitor(simulation, title=log.trace.name, memory=peak_memory, began=self._began)
