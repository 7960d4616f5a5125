"""Run a simulation with live views."""

from __future__ import annotations

import contextlib
import math
import sys
import time
from typing import TYPE_CHECKING, Self, TextIO

from batchlab.core.late import monitor_panel as panel
from batchlab.core.late import monitor_runs as runs
from batchlab.core.late import monitor_server as server
from batchlab.errors import MonitorError
from batchlab.monitor.guard import Pace, PaceControl, Serving, drive
from batchlab.monitor.snapshot import (
    History,
    Phase,
    ResultExchange,
    RunFacts,
    Snapshot,
    SnapshotExchange,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from batchlab.monitor.panel import Display
    from batchlab.monitor.server import Server
    from batchlab.result.result import Result
    from batchlab.simulation import Simulation


__all__ = ["Monitor"]

# Runs shorter than this cannot be queried, and need no socket.
_PATIENCE = 1.0
_POINTS = 500
# Number of ended jobs in the page's chart of the schedule.
_LATEST = 400


class Monitor:
    """Runs a simulation to its end, and shows it meanwhile; use it in a ``with`` block.

    In any case, ``batchlab watch`` can query the run after its first second. The result of the run does not
    depend on the views.

    Parameters
    ----------
    simulation
        The simulation.
    title
        The name of the workload in the views.
    live
        True to show a panel on standard error; without a terminal, a line every ten seconds.
    serve
        True, or an address, to serve a page for browsers; needs the extra ``serve``.
    pace
        Simulated seconds per second; None for no limit. The page can change it, and pause the run.
    memory
        Returns the memory of this process, bytes.
    progress
        Called repeatedly with the number of finished jobs and the number of all jobs.
    stream
        The stream of the panel. [default: standard error]
    began
        Begin of the run, as ``time.monotonic()`` and ``time.process_time()``. [default: now]

    Raises
    ------
    MonitorError
        If the pace is not a positive number, or the page cannot be served at the address.
    MissingExtraError
        If packages for the page are not installed.

    Examples
    --------
    >>> import batchlab as bl
    >>> jobs = {"submit_time": [0, 9], "run_time": [60, 30], "tasks": [3, 2]}
    >>> system = bl.System.homogeneous(nodes=1, resources={"core": 4})
    >>> simulation = bl.Simulation(bl.Workload.from_table(jobs), system, "fcfs")
    >>> with bl.Monitor(simulation) as monitor:
    ...     result = monitor.run()
    >>> result.jobs["end_time"].to_list()
    [60.0, 90.0]
    """

    def __init__(
        self,
        simulation: Simulation,
        *,
        title: str = "",
        live: bool = False,
        serve: Serving | bool = False,
        pace: float | None = None,
        memory: Callable[[], int | None] | None = None,
        progress: Callable[[int, int], object] | None = None,
        stream: TextIO | None = None,
        began: tuple[float, float] | None = None,
    ) -> None:
        self._simulation = simulation
        self._facts = RunFacts.of(simulation, title)
        self._control = PaceControl(Pace(pace))
        self._memory = memory
        self._progress = progress
        self._began = began or (time.monotonic(), time.process_time())
        first = self._facts.first_submission
        self._begun_at = first if began else max(simulation.now, first)
        self._results = ResultExchange(simulation.result)
        self._exchange = SnapshotExchange(results=self._results)
        self._history = History(simulation.system.resources)
        self._stream = stream or sys.stderr
        self._display: Display | None = None
        self._server: Server | None = None
        self._at_once = live or serve is not False
        self._wishes = (live, Serving() if serve is True else serve)
        self._stack = contextlib.ExitStack()
        self._asked = False

    @property
    def url(self) -> str | None:
        """The page's address including the token; None without a page."""
        return None if self._server is None else self._server.url

    def __enter__(self) -> Self:
        live, serve = self._wishes
        with contextlib.ExitStack() as stack:
            if serve:
                self._exchange.publish(self._snapshot("running"))

                self._server = stack.enter_context(
                    server.Server(self._exchange, self._history, serve, self._control)
                )
            if live:
                self._display = stack.enter_context(panel.Display(self._stream))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def run(self) -> Result:
        """Run the simulation to its end.

        Returns
        -------
        Result
            The outcome of every job.
        """
        self._began = (time.monotonic(), time.process_time())
        self._begun_at = max(self._simulation.now, self._facts.first_submission)
        self._note()
        try:
            drive(
                self._simulation,
                self._note,
                meanwhile=self.answer,
                longest=self._longest(),
                control=self._control,
            )
        except BaseException:
            self.finish("stopped")
            raise
        self.finish("done")
        return self._simulation.result()

    def keep(self) -> None:
        """Keep answering after the end, until Ctrl-C."""
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                time.sleep(3600)

    def _note(self) -> None:
        """Add a point to the curves after a slice, and answer requests."""
        self._remember()
        self.answer()

    def answer(self) -> None:
        """Update the views; may be called in the middle of an instant.

        `run` calls it. A caller that drives the simulation itself calls it about every 0.1 s, and `finish` at
        the end.
        """
        if self._progress is not None:
            self._progress(self._simulation.finished, len(self._facts.workload))
        if not self._asked and (self._at_once or time.monotonic() - self._began[0] > _PATIENCE):
            self._listen()
        if self._results.is_wanted:
            self._results.publish()
        due = self._display is not None and self._display.is_due()
        if due or self._exchange.is_wanted:
            snapshot = self._snapshot("running")
            self._exchange.publish(snapshot)
            if self._display is not None and due:
                self._display.show(snapshot)

    def finish(self, phase: Phase) -> None:
        """Publish the end of the run.

        Parameters
        ----------
        phase
            ``"done"``, or ``"stopped"`` before its end.
        """
        self._remember()
        self._results.close()
        if not self._asked:
            # The run ended before it could be queried: no snapshot is made.
            return
        last = self._snapshot(phase)
        self._exchange.close(last)
        if self._display is not None:
            self._display.finish(last)

    def _remember(self) -> None:
        """Add a point to the page's curves, which begin with the first submission."""
        if self._server is not None and self._simulation.now >= self._facts.first_submission:
            self._history.add(self._simulation.gauges())

    def _listen(self) -> None:
        """Start to answer queries; a failure to listen does not stop the run."""
        self._asked = True
        self._exchange.publish(self._snapshot("running"))
        with contextlib.suppress(OSError, MonitorError):
            self._stack.enter_context(
                runs.Endpoint(self._exchange, workload=self._facts.title, policy=self._facts.policy)
            )

    def _longest(self) -> float:
        """Return the maximum length of a slice that yields enough points for a curve."""
        if self._server is None:
            return math.inf
        length = self._facts.last_submission - self._facts.first_submission
        return max(length / _POINTS, 1.0)

    def _snapshot(self, phase: Phase) -> Snapshot:
        began, cpu_began = self._began
        return Snapshot(
            self._facts,
            self._simulation.status(latest=0 if self._server is None else _LATEST),
            phase,
            begun_at=self._begun_at,
            elapsed=time.monotonic() - began,
            cpu_time=time.process_time() - cpu_began,
            memory=None if self._memory is None else self._memory(),
            pace=self._control.pace,
        )
