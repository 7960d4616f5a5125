"""How activities share resources: three rules, and time passing under them.

Links, processors and disks are all resources. One unit of an activity's work uses `weights[r]` units of each
resource r; a rule gives every activity its rate, in units of work per second.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np
from numpy.typing import NDArray

from reference.moments import Moment, lasted, later

Floats = NDArray[np.float64]

CLOSE = 1e-12  # relative: levels that differ by less are one level
NOTHING = 1e-5  # what SimGrid takes for no capacity left
SWEEPS = 100_000  # far more than any case has needed
ROUNDS = 10_000  # in which only fat pipes are left, before activities get what one of them alone would have


@dataclass(frozen=True)
class Resources:
    """What each resource gives per second: to all together or, if `fat`, to each."""

    capacity: Floats
    fat: NDArray[np.bool_]

    @classmethod
    def of(cls, capacities: Sequence[float], fat: Iterable[int] = ()) -> "Resources":
        return cls(np.array(capacities, float), np.isin(np.arange(len(capacities)), list(fat)))


@dataclass(eq=False)
class Activity:
    """Work under way: `bound` is its greatest rate, `penalty` divides its share, `latency` (s) delays it.

    With `whole`, what it does between two events counts in whole units, as in SimGrid's model of disks.
    """

    weights: Floats
    amount: float = 1.0
    bound: float = inf
    latency: float = 0.0
    penalty: float = 1.0
    whole: bool = False
    begin: Moment = field(default=0.0, init=False)
    since: Moment = field(default=0.0, init=False)
    rate: float = field(default=0.0, init=False)

    @property
    def end(self) -> Moment:
        """Foretell the end, if the rate stays."""
        if self.amount <= 0:
            return max(self.since, self.begin)
        return later(self.since, self.amount / self.rate) if self.rate > 0 else inf


Rule = Callable[[Resources, Floats, Floats, Floats], Floats]
"""rates(resources, weights[activity, resource], bounds, penalties)"""


def max_min(resources: Resources, weights: Floats, bounds: Floats, penalties: Floats) -> Floats:
    """Raise rate x penalty of all alike; who meets its bound or a full resource stays there."""
    rates, live = np.zeros(len(weights)), np.ones(len(weights), bool)
    slopes = weights / penalties[:, None]
    while live.any():
        left = np.maximum(resources.capacity - rates[~live] @ weights[~live], 0.0)
        room = np.where(resources.fat, resources.capacity, left)
        rising = np.where(resources.fat, slopes, slopes[live].sum(axis=0))
        full = np.where(weights > 0, divide(room, rising), inf)
        level = np.minimum(full.min(axis=1, initial=inf), bounds * penalties)
        lowest = level[live].min()
        stay = live & (level <= lowest * (1 + CLOSE))
        rates[stay] = lowest / penalties[stay]
        live &= ~stay
    return rates


def divide(numerators: Floats, denominators: Floats) -> Floats:
    """Divide; by zero gives infinity."""
    quotients = np.full(np.broadcast_shapes(numerators.shape, denominators.shape), inf)
    np.divide(numerators, denominators, out=quotients, where=denominators > 0)
    return quotients


def fair_bottleneck(resources: Resources, weights: Floats, bounds: Floats, penalties: Floats) -> Floats:
    """SimGrid's rule for parallel tasks: each resource is cut by heads, whatever the weights.

    The quirks: who has left goes on taking what it took in its last round, and a fat pipe loses what the
    activity that takes least of it takes. That can be next to nothing, so that rounds are counted.
    """
    del penalties
    rounds = 0
    rates, last = np.zeros(len(weights)), np.zeros(len(weights))
    live, left = np.ones(len(weights), bool), resources.capacity.copy()
    uses = weights > 0
    open_ = uses.any(axis=0)
    while live.any():
        heads = uses[live].sum(axis=0)
        open_ &= heads > 0
        rounds += bool((resources.fat | ~open_ | (uses.sum(axis=0) == 1)).all())
        if rounds > ROUNDS:
            alone = np.minimum(divide(resources.capacity, weights).min(axis=1, initial=inf), bounds)
            return np.where(live, np.minimum(rates, alone), rates)
        heads[resources.fat] = np.minimum(heads[resources.fat], 1)
        share = np.where(open_, left / np.maximum(heads, 1), 0.0)
        steps = np.minimum(divide(share, weights).min(axis=1, initial=inf), bounds - rates)
        last[live] = steps[live]
        rates[live] += steps[live]
        live &= rates != bounds
        least = np.where(uses, weights * last[:, None], share).min(axis=0, initial=inf)
        taken = np.where(resources.fat, np.minimum(share, least), last @ weights)
        left = np.where(open_, left - taken, left)
        left[left < NOTHING] = 0.0
        closed = open_ & (left <= 0)
        live &= ~uses[:, closed].any(axis=1)
        open_ &= ~closed
    return rates


def bottleneck_max_min(resources: Resources, weights: Floats, bounds: Floats, penalties: Floats) -> Floats:
    """Give everyone a full resource of which no activity uses more: bottleneck max fairness.

    A resource's limit is the most that one activity may use of it; each is set in turn to what just fills the
    resource, given the other limits, until none changes.
    """
    del penalties
    limits = np.full(weights.shape[1], inf)
    for _ in range(SWEEPS):
        before = limits.copy()
        for r in np.flatnonzero(weights.any(axis=0)):
            others = np.delete(divide(limits, weights), r, axis=1).min(axis=1, initial=inf)
            using = weights[:, r] > 0
            wanted = np.minimum(others, bounds)[using] * weights[using, r]
            capacity = float(resources.capacity[r])
            limits[r] = capacity if resources.fat[r] else water_level(wanted, capacity)
        if np.allclose(limits, before, rtol=CLOSE, atol=0):
            rates: Floats = np.minimum(divide(limits, weights).min(axis=1, initial=inf), bounds)
            return rates
    raise AssertionError("the limits go round in circles")


def water_level(wanted: Floats, capacity: float) -> float:
    """Give the limit with which the wants just fill the capacity; none is needed if they do not."""
    if wanted.sum() <= capacity:
        return inf
    wanted = np.sort(wanted)
    for index, want in enumerate(wanted):
        level = (capacity - wanted[:index].sum()) / (len(wanted) - index)
        if level <= want:
            return float(level)
    return float(wanted[-1])


RULES: dict[str, Rule] = {
    "max_min": max_min,
    "fair_bottleneck": fair_bottleneck,
    "bottleneck_max_min": bottleneck_max_min,
}


@dataclass
class Shared:
    """Activities on resources, as time goes by."""

    rule: Rule
    resources: Resources
    activities: list[Activity] = field(default_factory=list)

    def start(self, now: Moment, activity: Activity) -> None:
        activity.since = activity.begin = later(now, activity.latency)
        if not activity.weights.any() and activity.bound == inf:
            activity.amount = 0.0
        self.activities.append(activity)

    def next_time(self, now: Moment) -> Moment:
        """Give the next begin or end."""
        begins = [each.begin for each in self.activities if each.begin > now]
        return min([*begins, *(each.end for each in self.activities)], default=inf)

    def solve(self, now: Moment) -> None:
        """Give everyone that has begun its rate from now on."""
        running = [each for each in self.activities if each.begin <= now and each.amount > 0]
        if not running:
            return
        rates = self.rule(
            self.resources,
            np.array([each.weights for each in running]),
            np.array([each.bound for each in running]),
            np.array([each.penalty for each in running]),
        )
        for activity, rate in zip(running, rates.tolist(), strict=True):
            if rate != activity.rate:
                done = activity.rate * lasted(activity.since, now)
                activity.amount = max(0.0, activity.amount - done)
                activity.since, activity.rate = now, rate

    def progress(self, now: Moment) -> None:
        """Count what was done since the last event, where that is in whole units; half to even."""
        for activity in self.activities:
            if activity.whole and activity.rate > 0:
                done = round(activity.rate * lasted(activity.since, now))
                activity.amount, activity.since = max(0.0, activity.amount - done), now

    def finish(self, now: Moment) -> list[Activity]:
        """Take out what ends by now, in the order of ends, then of starts."""
        finished = sorted((each for each in self.activities if each.end <= now), key=lambda each: each.end)
        self.activities = [each for each in self.activities if each not in finished]
        return finished
