"""The work of a Slurm controller, measured in its log: delays and phases of its threads, launches, ends."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from statistics import fmean, median
from typing import TYPE_CHECKING

import polars as pl

from batchlab.options.overheads import Overheads
from batchlab.policy.policy import Policy
from batchlab.workload.logs.node_events import hosts

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from batchlab.policy import SlurmParameters

__all__ = ["LOG_LEVEL", "Measured", "measure"]

LOG_LEVEL = "debug2"
"""The log level that has all lines that are read here."""

_LINE = re.compile(r"\[(\S+)\] (.*)")
_SUBMITTED = re.compile(r"_slurm_rpc_submit_batch_job: JobId=(\d+) ")
_STARTED = re.compile(
    r"(?:sched: Allocate|sched/backfill: _start_job: Started) JobId=(\d+) .*?(?:NodeList=| on )(\S+)"
)
_ENDED = re.compile(r"_job_complete: JobId=(\d+) done")
_ANSWERED = re.compile(r"debug2: node_did_resp (\S+)")
_FREED = re.compile(r"debug2: _slurm_rpc_epilog_complete: JobId=(\d+) Node=(\S+)")
_FULL = "debug:  sched: Running job scheduler for full queue"
_PERIOD = "debug2: Testing job time limits"
_CYCLE = "debug:  sched/backfill: _attempt_backfill: beginning"
_TRIED = "debug2: sched/backfill: _attempt_backfill: entering _try_sched"
# The main thread tests time limits each 30 of its seconds.
_TURN = 30
# Longest main_lag and bf_test_time of the policy, seconds.
_MOST = 0.999
_DIGITS = 1e5


@dataclass(frozen=True)
class Measured:
    """Times of a controller's work, seconds; instants count from the origin of the stream.

    Attributes
    ----------
    submitted, lasted
        By Slurm's job id: when the submission arrived; and the time from the allocation to the end, of jobs
        that completed.
    launch, completion
        Per completed job: the part of ``lasted`` in which it did not sleep; the time from the end to the
        release of its last node.
    first_cycle, first_full
        When backfill began its first cycle, and when the main loop first tested the whole queue; None if
        never.
    main_lag
        Delay of the main thread in each second.
    bf_test_time
        Mean time of a backfill cycle per tested job.
    """

    submitted: Mapping[int, float] = field(default_factory=dict)
    lasted: Mapping[int, float] = field(default_factory=dict)
    launch: Sequence[float] = ()
    completion: Sequence[float] = ()
    first_cycle: float | None = None
    first_full: float | None = None
    main_lag: float = 0.0
    bf_test_time: float = 0.0

    @property
    def overheads(self) -> Overheads:
        """The measured completions, from which a run draws; launches are part of the run times."""
        return Overheads(completion=[*self.completion] or 0.0, counted=False)

    def parameters(self, configured: SlurmParameters) -> dict[str, float]:
        """Return the measured parameters of the policy ``slurm``: delays, and the phases of the threads."""
        found = {"main_lag": min(self.main_lag, _MOST)} if self.main_lag else {}
        if self.first_full is not None:
            found["main_phase"] = self.first_full % configured.sched_interval
        if self.first_cycle is not None and configured.backfill:
            found["bf_test_time"] = min(self.bf_test_time, _MOST)
            found |= {"backfill_phase": self.first_cycle % 1, "backfill_start": max(self.first_cycle, 0.0)}
        # Rounded down, a phase stays within its period.
        return {name: math.floor(value * _DIGITS) / _DIGITS for name, value in found.items()}

    def policy(self, configured: str, origin: int | None = None) -> str:
        """Return the policy of a cluster with the measured parameters of its controller.

        Parameters
        ----------
        configured
            The spec string of the configured policy; returned as it is if it is not ``slurm``.
        origin
            The UNIX time that is 0 in the stream: backfill rounds absolute times.
        """
        parameters = Policy.parse(configured).slurm
        known = {} if parameters is None else self.parameters(parameters)
        if parameters is not None and parameters.backfill and origin is not None:
            known["epoch"] = origin
        given = ", ".join(f"{name}={value}" for name, value in known.items())
        return str(Policy.parse(f"slurm({given})").on(configured)) if known else configured

    def precise(self, stream: pl.DataFrame) -> pl.DataFrame:
        """Replace whole seconds of a returned stream by measured times: submissions and run times."""
        job = pl.col("slurm_id")
        measured = {"submit_time": self.submitted, "run_time": self.lasted}
        return stream.with_columns(
            job.replace_strict(times, default=pl.col(name), return_dtype=pl.Float64).alias(name)
            for name, times in measured.items()
            if times
        )


@dataclass
class _Log:
    """What has been read of a log so far; UNIX times."""

    sleeps: Mapping[int, float]
    submitted: dict[int, float] = field(default_factory=dict)
    lasted: dict[int, float] = field(default_factory=dict)
    started: dict[int, tuple[float, str]] = field(default_factory=dict)
    ended: dict[int, float] = field(default_factory=dict)
    leaving: dict[str, tuple[int, float]] = field(default_factory=dict)
    released: dict[int, float] = field(default_factory=dict)

    def read(self, time: float, text: str) -> None:
        """Read a line."""
        if found := _SUBMITTED.match(text):
            self.submitted[int(found[1])] = time
        elif found := _STARTED.match(text):
            self.started[int(found[1])] = time, found[2]
        elif (found := _ENDED.match(text)) and int(found[1]) in self.started:
            self._end(int(found[1]), time)
        elif (found := _ANSWERED.match(text)) and found[1] in self.leaving:
            job, ended = self.leaving.pop(found[1])
            self.released[job] = time - ended
        elif (found := _FREED.match(text)) and int(found[1]) in self.ended:
            # The node of the batch script answers at once, and reports later that its processes have ended.
            self.released[int(found[1])] = time - self.ended[int(found[1])]

    def _end(self, job: int, time: float) -> None:
        begun, nodes = self.started.pop(job)
        if job in self.sleeps:
            self.lasted[job] = time - begun
        self.ended[job] = time
        self.leaving |= dict.fromkeys(hosts(nodes) or (), (job, time))


def measure(text: str, stream: pl.DataFrame, origin: int) -> Measured:
    """Measure a controller's work.

    Parameters
    ----------
    text
        The log of slurmctld at `LOG_LEVEL`, with milliseconds, in UTC.
    stream
        The returned stream; see `returned_stream`. Only jobs that Slurm completed by themselves are measured.
    origin
        The UNIX time that is 0 in the stream.
    """
    completed = stream.filter(pl.col("slurm_state") == "COMPLETED")
    sleeps = dict(zip(completed["slurm_id"], completed["planned_run_time"], strict=True))
    log = _Log(sleeps)
    instants = dict[str, list[float]]((name, []) for name in (_FULL, _PERIOD, _CYCLE))
    tests, tested = list[float](), None
    for time, line in _lines(text):
        log.read(time, line)
        kind = next((name for name in instants if line.startswith(name)), None)
        if kind is not None:
            instants[kind].append(time)
        if line.startswith(_TRIED):
            tests += [] if tested is None else [time - tested]
            tested = time
        elif kind == _CYCLE:
            tested = None
    first_cycle, first_full = (
        instants[name][0] - origin if instants[name] else None for name in (_CYCLE, _FULL)
    )
    return Measured(
        {job: time - origin for job, time in log.submitted.items()},
        log.lasted,
        tuple(time - sleeps[job] for job, time in log.lasted.items()),
        tuple(log.released.values()),
        first_cycle,
        first_full,
        _lag(instants[_PERIOD]),
        fmean(tests) if tests else 0.0,
    )


def _lines(text: str) -> Iterator[tuple[float, str]]:
    """Yield the lines of a log with their UNIX times."""
    for line in text.splitlines():
        if found := _LINE.match(line):
            yield datetime.fromisoformat(found[1]).replace(tzinfo=UTC).timestamp(), found[2]


def _lag(turns: Sequence[float]) -> float:
    """Return the delay per second of a thread that tests limits each 30 of its seconds."""
    passed = [later - time for time, later in pairwise(turns)]
    # After delays of a whole second a turn is one second shorter.
    longer = [each / _TURN - 1 for each in passed if each >= _TURN]
    return median(longer) if longer else 0.0
