"""S24: what messages put on links, as plain Python: counts of messages, and loads from instant to instant."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from reference.moments import Moment, lasted
from reference.sharing import Activity, Floats, Resources, Rule, Shared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["Loads", "Sent", "counts", "loads"]

ROUNDING = 8 * 2.0**-52


@dataclass(frozen=True)
class Sent:
    """A message that has set out: the job's row, its class, the nodes, and bytes without the envelope."""

    row: int
    kind: str
    source: int
    target: int
    payload: float


def counts(
    messages: Iterable[Sent], hops: Callable[[int, int], int]
) -> dict[tuple[int, str], tuple[int, float, float, int, float]]:
    """Give number, bytes, mean hops, greatest hops and hop-bytes of each job and class."""
    found: dict[tuple[int, str], list[tuple[int, float]]] = {}
    for each in messages:
        found.setdefault((each.row, each.kind), []).append((hops(each.source, each.target), each.payload))
    return {
        key: (
            len(of),
            sum(payload for _, payload in of),
            sum(far for far, _ in of) / len(of),
            max(far for far, _ in of),
            sum(far * payload for far, payload in of),
        )
        for key, of in found.items()
    }


@dataclass
class Loads:
    """Of each resource: units taken, the greatest load, seconds with any, and seconds full and shared."""

    units: Floats
    peak: Floats
    busy: Floats
    congested: Floats
    ends: list[float] = field(default_factory=list)
    begin: Moment = inf


def loads(
    rule: Rule, resources: Resources, flows: Sequence[tuple[float, float, Activity]], until: float = inf
) -> Loads:
    """Let flows share resources; each has a begin, a time at which it is broken off, and what it does."""
    count, shared = len(resources.capacity), Shared(rule, resources)
    now: Moment = 0.0
    none = np.zeros(count)
    found = Loads(none, none.copy(), none.copy(), none.copy(), [inf] * len(flows))
    left = sorted(range(len(flows)), key=lambda at: flows[at][0])
    under_way: dict[int, Activity] = {}
    while (left or under_way) and now < until:
        stops = [flows[at][1] for at in under_way]
        begins = [flows[at][0] for at in left[:1]]
        then = min([*stops, *begins, shared.next_time(now), until])
        _count(found, resources, shared.activities, now, then)
        now = then
        over = shared.finish(now)
        for at, each in list(under_way.items()):
            if each in over or flows[at][1] <= now:
                found.ends[at] = float(now)
                shared.activities = [other for other in shared.activities if other is not each]
                del under_way[at]
        while left and flows[left[0]][0] <= now:
            at = left.pop(0)
            under_way[at] = flows[at][2]
            shared.start(now, flows[at][2])
        shared.solve(now)
    return found


def _count(found: Loads, resources: Resources, activities: list[Activity], now: Moment, then: Moment) -> None:
    seconds = lasted(now, then)
    running = [each for each in activities if each.rate > 0 and each.begin <= now]
    if seconds <= 0 or not running:
        return
    found.begin = min(found.begin, now)
    load = np.sum([each.weights * each.rate for each in running], axis=0)
    users = np.sum([each.weights > 0 for each in running], axis=0)
    full = (load >= resources.capacity * (1 - 1e-9)) & ~resources.fat
    found.units += load * seconds
    found.busy += np.where(load > 0, seconds, 0.0)
    found.congested += np.where(full & (users > 1), seconds, 0.0)
    if seconds > ROUNDING * lasted(found.begin, then):
        found.peak = np.maximum(found.peak, load)
