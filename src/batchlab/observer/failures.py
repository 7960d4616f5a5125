"""Failures of nodes: outages from a trace or drawn at random, and the observer that carries them out."""

from __future__ import annotations

import heapq
import zlib
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf, isfinite, isnan
from typing import TYPE_CHECKING, Literal, Protocol, Self, get_args

import numpy as np
import polars as pl

from batchlab.core import rules
from batchlab.errors import ObserverError, SimulationError, shown
from batchlab.observer.steps import table_of
from batchlab.seam.components import Observer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

    from batchlab._kernel import Job
    from batchlab.seam.view import View

__all__ = [
    "Distribution",
    "Failures",
    "Outage",
    "Outages",
    "RandomOutages",
    "Trace",
]


@dataclass(frozen=True, order=True)
class Outage:
    """A node is down from `begin` until `end`, seconds; `end` is infinite if it is never repaired."""

    begin: float
    node: int
    end: float


class Outages(Protocol):
    """A sequence of outages in order of time."""

    def begin(self, nodes: int, since: float) -> None:
        """Restart the sequence for a number of nodes, which are all up at the first submission (s)."""
        ...

    @property
    def next_time(self) -> float:
        """Begin of the next outage; infinite after the last."""
        ...

    def take(self, time: float) -> list[Outage]:
        """Remove and return the outages that begin at the next time, sorted by node."""
        ...


class Distribution(Protocol):
    """A distribution to draw numbers from, such as ``batchlab.generate.Weibull``."""

    def sample(
        self, random: np.random.Generator, count: int, /
    ) -> Sequence[float] | np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Draw `count` numbers."""
        ...


class Trace:
    """Outages from a table.

    Parameters
    ----------
    source
        A table, or the path of a CSV file, with the columns ``node``, ``time`` and ``repair_time`` (duration
        in s; missing or infinite if the node stays down).

    Raises
    ------
    ObserverError
        If a row is invalid.
    """

    def __init__(self, source: object) -> None:
        columns = table_of(source, ("node", "time", "repair_time"))
        rows = []
        for row, (node, time, repair_time) in enumerate(columns.iter_rows()):
            lasts = inf if isnan(repair_time) else repair_time
            if not (node >= 0 and node.is_integer() and 0 <= time < inf and lasts >= 0):
                found = f"node = {node:g}, time = {time:g}, repair_time = {repair_time:g}"
                rule = "must be a whole number and two durations >= 0"
                raise ObserverError(f"row {row} of the failures: {found}; {rule}.")
            rows.append(Outage(time, int(node), time + lasts))
        self._all = merged(rows)
        self._next = 0

    def begin(self, nodes: int, since: float) -> None:  # noqa: ARG002  # they are written down
        """Restart the sequence, and check the nodes against their number."""
        self._next = 0
        for outage in self._all:
            if outage.node >= nodes:
                raise ObserverError(
                    f"the failures name node {outage.node}; the system has nodes 0 to {nodes - 1}."
                )

    @property
    def next_time(self) -> float:
        """Begin of the next outage; infinite after the last."""
        return self._all[self._next].begin if self._next < len(self._all) else inf

    def take(self, time: float) -> list[Outage]:
        """Remove and return the outages that begin at the next time, sorted by node."""
        first = self._next
        while self._next < len(self._all) and self._all[self._next].begin <= time:
            self._next += 1
        return self._all[first : self._next]


def merged(outages: Iterable[Outage]) -> list[Outage]:
    """Merge outages of a node that overlap or touch; return all, sorted by time, then node."""
    latest: dict[int, Outage] = {}
    done = []
    for outage in sorted(outages):
        before = latest.get(outage.node)
        if before is not None and outage.begin <= before.end:
            latest[outage.node] = Outage(before.begin, before.node, max(before.end, outage.end))
            continue
        if before is not None:
            done.append(before)
        latest[outage.node] = outage
    return sorted([*done, *latest.values()])


@dataclass
class RandomOutages:
    """Random outages: each node is alternately up and down, for random durations.

    Parameters
    ----------
    uptime, repair_time
        The distributions, seconds.
    seed
        An integer >= 0. Each node has its own random streams for uptimes and repair times, so changes of
        other nodes or of repair times do not change its uptimes.
    nodes
        The nodes that may fail. [default: all]

    Raises
    ------
    ObserverError
        If the seed is invalid, or (in a run) a drawn value is not a duration.
    """

    uptime: Distribution
    repair_time: Distribution
    seed: int
    nodes: Sequence[int] | None = None
    _coming: list[Outage] = field(default_factory=list)
    _streams: dict[int, tuple[np.random.Generator, np.random.Generator]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.seed = rules.check(ObserverError, "seed", self.seed, rules.WHOLE)

    def begin(self, nodes: int, since: float) -> None:
        """Restart the sequence for a number of nodes, which are all up at the first submission (s)."""
        chosen = range(nodes) if self.nodes is None else self.nodes
        for node in chosen:
            if not 0 <= node < nodes:
                raise ObserverError(f"node {node} shall fail; the system has nodes 0 to {nodes - 1}.")
        self._streams = {node: (self._stream(node, "up"), self._stream(node, "repair")) for node in chosen}
        self._coming = [self._draw(node, since) for node in chosen]
        heapq.heapify(self._coming)

    @property
    def next_time(self) -> float:
        """Begin of the next outage; infinite after the last."""
        return self._coming[0].begin if self._coming else inf

    def take(self, time: float) -> list[Outage]:
        """Remove and return the outages that begin at the next time, sorted by node."""
        taken = []
        while self._coming and self._coming[0].begin <= time:
            outage = heapq.heappop(self._coming)
            taken.append(outage)
            if outage.end < inf:
                heapq.heappush(self._coming, self._draw(outage.node, outage.end))
        return taken

    @property
    def number_of_nodes(self) -> int:
        """Number of nodes that may fail, in a run that has begun."""
        return len(self._streams)

    def survival(self, seconds: float) -> float:
        """Estimate the probability that a node stays up for some time (s)."""
        try:
            known = _survival(self.uptime)  # type: ignore[arg-type]  # most are hashable
        except TypeError:
            # Not hashable.
            known = _Survival(self.uptime)
        return known(seconds)

    def _stream(self, node: int, use: str) -> np.random.Generator:
        key = (zlib.crc32(use.encode()), node)
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self.seed, spawn_key=key)))

    def _draw(self, node: int, since: float) -> Outage:
        """Draw the next outage of a node that is up since a time."""
        up, repair = self._streams[node]
        begin = since + _duration(self.uptime, up, "uptime")
        end = begin + _duration(self.repair_time, repair, "repair_time")
        if end <= since:
            raise ObserverError(f"node {node} is neither up nor down for any time after {since:g} s.")
        return Outage(begin, node, end)


def _duration(distribution: Distribution, random: np.random.Generator, what: str) -> float:
    seconds = float(distribution.sample(random, 1)[0])
    if isnan(seconds) or seconds < 0:
        raise ObserverError(f"{what} was drawn as {seconds:g}; must be a duration in seconds.")
    return seconds


class _Survival:
    """The probability that a node stays up for some time, by many draws of its uptime.

    A job may start at any time, or just after a repair. The greater of both probabilities counts.
    """

    def __init__(self, uptime: Distribution) -> None:
        random = np.random.Generator(np.random.PCG64(0))
        drawn = np.sort(np.asarray(uptime.sample(random, _DRAWS), dtype=np.float64))
        self._drawn = drawn
        self._sums = np.append(np.cumsum(drawn[::-1])[::-1], 0.0)

    def __call__(self, seconds: float) -> float:
        """Return the probability for this time."""
        if not self._sums[0] < inf:
            return 1.0
        first = int(np.searchsorted(self._drawn, seconds, side="right"))
        longer = len(self._drawn) - first
        since_repair = longer / len(self._drawn)
        # The rest of an uptime that contains an arbitrary instant.
        at_any_time = (self._sums[first] - longer * seconds) / self._sums[0] if self._sums[0] else 0.0
        return max(since_repair, at_any_time)


# Outside of the observers, which forks copy and snapshots contain.
@lru_cache(maxsize=8)
def _survival(uptime: Distribution) -> _Survival:
    return _Survival(uptime)


OnFailure = Literal["kill", "requeue", "checkpoint"]
_CHOICES: tuple[OnFailure, ...] = get_args(OnFailure)
_DRAWS = 100_000
# Runs of a job until random failures spare one, in the mean, and restarts of a job. One that needs more
# hardly ever ends.
_MOST_RUNS = 100_000
_NEXT = (
    "Let jobs continue from checkpoints (on_failure=checkpoint, every=SECONDS), limit their restarts "
    "(restarts=NUMBER), or take longer uptimes."
)


class Failures(Observer):
    """Makes nodes fail, and repairs them.

    A node that is down accepts no jobs; jobs with tasks on it are its victims. Outages of one node that
    overlap or are adjacent are merged.

    Parameters
    ----------
    trace
        A table, or the path of a CSV file, with the columns ``node`` (from 0), ``time`` (s) and
        ``repair_time`` (duration in s; missing if the node stays down).
    on_failure
        What happens to the victims: ``"kill"``; ``"requeue"``: they return to the queue and run from their
        start; ``"checkpoint"``: they return to the queue and resume from their latest checkpoint (jobs
        with applications run from their start).
    every
        Seconds of run time between two checkpoints.
    restarts
        Maximum number of restarts of a job; the next failure kills it. [default: unlimited]

    Raises
    ------
    ObserverError
        If a row of the trace or an argument is invalid.

    Notes
    -----
    Without `restarts`, a run ends with a `SimulationError` when a job is interrupted that needs more than
    100,000 runs, in the mean, until random failures spare one; and after 100,000 restarts of any job.

    ``view.values["failures"]`` is the set `down`. ``result.observations["failures"]`` has a row per outage:
    ``time`` and ``node``, ``end_time`` (s; null while the node is down), ``victims`` (their ``job_id``).
    ``result.jobs["restarts"]`` counts the interrupted runs of each job, for any cause of interruption;
    ``result.interruptions`` lists them.

    Examples
    --------
    >>> import batchlab as bl
    >>> workload = bl.Workload.from_table({"submit_time": [0], "run_time": [3600], "tasks": [1]})
    >>> system = bl.System.homogeneous(nodes=2, resources={"core": 4})
    >>> trace = {"node": [0], "time": [2000], "repair_time": [500]}
    >>> failures = Failures(trace, on_failure="checkpoint", every=600)
    >>> result = bl.simulate(workload, system, "easy", observers=[failures])
    >>> result.jobs.select("start_time", "end_time", "nodes", "restarts").rows()
    [(2000.0, 3800.0, [1], 1)]
    """

    name = "failures"

    def __init__(
        self,
        trace: pl.DataFrame | Mapping[str, object] | str | PathLike[str] | Outages,
        *,
        on_failure: OnFailure = "requeue",
        every: float | None = None,
        restarts: int | None = None,
    ) -> None:
        if on_failure not in _CHOICES:
            raise ObserverError(
                f"on_failure = {shown(on_failure)}; must be one of {', '.join(map(repr, _CHOICES))}."
            )
        if (on_failure == "checkpoint") != (every is not None):
            raise ObserverError(
                f"on_failure = {on_failure!r} with every = {shown(every)}; checkpoints are taken "
                "every = seconds."
            )
        every = rules.check(ObserverError, "every", every, rules.Optional(rules.SECONDS_ABOVE_0))
        restarts = rules.check(ObserverError, "restarts", restarts, rules.Optional(rules.WHOLE))
        self.outages: Outages = trace if isinstance(trace, RandomOutages) else Trace(trace)
        self.on_failure = on_failure
        self.every = every
        self.restarts = restarts
        self._reset()

    @classmethod
    def from_distributions(
        cls,
        uptime: Distribution,
        repair_time: Distribution,
        *,
        seed: int,
        nodes: Sequence[int] | None = None,
        on_failure: OnFailure = "requeue",
        every: float | None = None,
        restarts: int | None = None,
    ) -> Self:
        """Draw failures at random: from the first submission on, nodes alternate between up and down.

        Parameters
        ----------
        uptime, repair_time
            Seconds, as distributions: those of `batchlab.generate` (``Weibull``, ``Exponential``,
            ``Lognormal``, ``Constant``, …), or any object with a method ``sample(random, count)``.
        seed
            Seed of the draws, an integer >= 0. Every node has its own random streams.
        nodes
            The nodes that may fail. [default: all]
        on_failure, every, restarts
            As above.

        Returns
        -------
        Failures
            The observer.
        """
        return cls(
            RandomOutages(uptime, repair_time, seed, nodes),
            on_failure=on_failure,
            every=every,
            restarts=restarts,
        )

    def begin(self, view: View) -> None:
        """Schedule the first failure."""
        self._reset()
        self.outages.begin(view.system.nodes, view.first_submission)
        self._restarts = np.zeros(len(view.columns["job_id"]), np.int64)
        self._await_next(view)

    def wake(self, view: View) -> None:
        """Reopen repaired nodes, close failing nodes, and handle their victims."""
        while self._repairs and self._repairs[0][0] <= view.now:
            node = heapq.heappop(self._repairs)[1]
            self._down.discard(node)
            view.resume(node)
        failing = self.outages.take(view.now)
        for outage in failing:
            self._down.add(outage.node)
            view.drain(outage.node)
            if isfinite(outage.end):
                heapq.heappush(self._repairs, (outage.end, outage.node))
        for outage in failing:
            victims = view.jobs_on(outage.node)
            self._seen.append((outage, [job.id for job in victims]))
            for job in victims:
                self._hit(job, view)
        self._await_next(view)

    def interrupted(self, job: Job, view: View) -> None:
        """Count the interrupted runs of each job."""
        self._restarts[job.row] += 1
        count = self._restarts[job.row]
        if self._restarts_for_ever and count >= _MOST_RUNS:
            raise SimulationError(
                f"job {job.id} was cut short {count} times until {view.now:g} s; it hardly ever will end. "
                f"{_NEXT}"
            )

    @property
    def _restarts_for_ever(self) -> bool:
        return self.restarts is None and self.on_failure != "kill"

    def _check_hope(self, job: Job, view: View) -> None:
        """Raise if a running job can hardly ever end under failures as they are drawn.

        Raises
        ------
        SimulationError
            If the expected number of its runs is too great.
        """
        left = view._work_left(job)  # noqa: SLF001  # hidden from policies
        if left is None or not isinstance(self.outages, RandomOutages):
            return
        if self.on_failure == "checkpoint" and self.every is not None:
            left = min(left, self.every)
        # Any placement has at least this number of nodes that may fail.
        spared = view.system.nodes - self.outages.number_of_nodes
        nodes = len(job.nodes) - spared
        probability = self.outages.survival(left) ** max(nodes, 0)
        if probability * _MOST_RUNS >= 1:
            return
        shown = f"{probability:.1g}" if probability > 0 else f"less than {1 / _DRAWS:g}"
        raise SimulationError(
            f"job {job.id} needs {left:g} s without a failure of its {len(job.nodes)} nodes, which has a "
            f"probability of {shown}: more than {_MOST_RUNS:,} runs would be cut short in the mean. {_NEXT}"
        )

    def drop_future_events(self) -> None:
        """Remove all future failures; nodes that are down are still repaired as planned."""
        self.outages = Trace({"node": [], "time": [], "repair_time": []})

    @property
    def down(self) -> frozenset[int]:
        """The failed nodes that are not repaired yet."""
        return frozenset(self._down)

    def value(self, view: View) -> frozenset[int]:  # noqa: ARG002  # others look at the machine
        """Return the nodes that are down."""
        return self.down

    def observations(self, view: View) -> dict[str, pl.DataFrame]:
        """Return the outages so far, and the number of interrupted runs of each job."""
        ends = [outage.end if outage.end <= view.now else None for outage, _ in self._seen]
        victims = pl.Series("victims", [ids for _, ids in self._seen], dtype=pl.List(pl.Int64))
        columns = [
            pl.Series("time", [outage.begin for outage, _ in self._seen], dtype=pl.Float64),
            pl.Series("node", [outage.node for outage, _ in self._seen], dtype=pl.UInt32),
            pl.Series("end_time", ends, dtype=pl.Float64),
            victims,
        ]
        jobs = pl.DataFrame({"restarts": self._restarts})
        return {"failures": pl.DataFrame(columns), "jobs": jobs}

    def _reset(self) -> None:
        self._repairs: list[tuple[float, int]] = []
        self._down: set[int] = set()
        self._seen: list[tuple[Outage, list[int]]] = []
        self._restarts = np.zeros(0, np.int64)

    def _hit(self, job: Job, view: View) -> None:
        exhausted = self.restarts is not None and self._restarts[job.row] >= self.restarts
        if self._restarts_for_ever and not self._restarts[job.row]:
            self._check_hope(job, view)
        if self.on_failure == "kill" or exhausted:
            view.kill(job)
        elif self.on_failure == "requeue" or job.has_application:
            # Applications have no state that could be saved.
            view.preempt(job)
        else:
            view.preempt(job, mode="from_checkpoint", every=self.every)

    def _await_next(self, view: View) -> None:
        repair = self._repairs[0][0] if self._repairs else inf
        following = min(repair, self.outages.next_time)
        if isfinite(following):
            # Repairs may let waiting jobs start, failures cannot: only repairs keep a run going.
            view.wake(following, watching=not self._repairs, repairing=bool(self._repairs))
