"""The traffic of a skeleton's messages on a platform: hops, bytes by message class, link loads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from batchlab.core.arguments import checked
from batchlab.errors import ApplicationError, shown
from batchlab.platform.hops import distance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from batchlab.platform.platform import Platform
    from batchlab.skeleton.skeleton import SkeletonRun


class MessageClass(NamedTuple):
    """The messages of one class.

    Attributes
    ----------
    messages, bytes
        Number of messages, and their total payload.
    mean_hops, max_hops
        Links between routers on their routes: mean over messages, and maximum.
    hop_bytes
        The sum of hops × payload.
    """

    messages: int
    bytes: float
    mean_hops: float
    max_hops: int
    hop_bytes: float


@dataclass(frozen=True, eq=False)
class Traffic:
    """The traffic of a run on a platform.

    Attributes
    ----------
    classes
        By name: ``"send"`` for point-to-point messages, and each collective that was called.
    hops
        Hops of each message; shape (messages,).
    link_bytes
        Payload that crosses each link of the platform; shape (links,).
    mean_load
        `link_bytes` per second of the run, in bytes per second.
    peak_load
        The maximum bytes per second on each link; each message has its mean rate between begin and arrival.
    """

    classes: dict[str, MessageClass]
    hops: NDArray[np.int64]
    link_bytes: NDArray[np.float64]
    mean_load: NDArray[np.float64]
    peak_load: NDArray[np.float64]

    @property
    def total(self) -> MessageClass:
        """The totals of all messages."""
        parts = [*self.classes.values()]
        count = sum(part.messages for part in parts)
        hops = sum(part.mean_hops * part.messages for part in parts)
        return MessageClass(
            count,
            sum(part.bytes for part in parts),
            hops / count if count else 0.0,
            max((part.max_hops for part in parts), default=0),
            sum(part.hop_bytes for part in parts),
        )


@checked(ApplicationError)
def measure(run: SkeletonRun, platform: Platform) -> Traffic:
    """Measure the traffic of a run on its platform.

    Parameters
    ----------
    run
        The result of `run`.
    platform
        The platform of the run.

    Returns
    -------
    Traffic
        Hops are counted as in `batchlab.platform.hops`: the cable from a node to its switch does not count,
        and the distance within a node is 0. O(messages + total length of routes of distinct pairs of hosts).

    Raises
    ------
    ApplicationError
        If the platform is not that of the run.
    """
    count = len(platform.kernel.hosts)
    if run.hosts.max(initial=0) >= count:
        raise ApplicationError(
            f"platform has {count} hosts; must be that of the run, with {shown(int(run.hosts.max()))}."
        )
    pairs = run.hosts[run.source].astype(np.int64) * count + run.hosts[run.target]
    distinct, which = np.unique(pairs, return_inverse=True)
    between, routes, lengths = distance(platform), [], []
    for one, other in (divmod(pair, count) for pair in distinct.tolist()):
        found = platform.kernel.route(one, other)
        # A message within a node uses no link.
        routes.append([] if found is None or one == other else found[0])
        lengths.append(between(one, other))
    hops = np.array(lengths, np.int64)[which] if len(which) else np.zeros(0, np.int64)
    load = _Loads(run, routes, which, len(platform.links))
    return Traffic(_classes(run, hops), hops, load.bytes, load.bytes / (run.time or np.inf), load.peak())


def _classes(run: SkeletonRun, hops: NDArray[np.int64]) -> dict[str, MessageClass]:
    classes = {}
    for number, name in enumerate(run.classes):
        these = run.kind == number
        if these.any():
            size, far = run.bytes[these], hops[these]
            classes[name] = MessageClass(
                len(far), float(size.sum()), float(far.mean()), int(far.max()), float((far * size).sum())
            )
    return classes


class _Loads:
    """Bytes on each link, with their times."""

    def __init__(
        self, run: SkeletonRun, routes: list[list[int]], which: NDArray[np.int64], links: int
    ) -> None:
        lengths = np.array([len(route) for route in routes], np.int64)
        first = np.concatenate(([0], np.cumsum(lengths)))[:-1] if len(lengths) else lengths
        flat = np.array([link for route in routes for link in route], np.int64)
        of = lengths[which] if len(which) else np.zeros(0, np.int64)
        self.message = np.repeat(np.arange(len(of)), of)
        within = np.arange(len(self.message)) - np.repeat(np.cumsum(of) - of, of)
        self.link = flat[first[which][self.message] + within] if len(flat) else np.zeros(0, np.int64)
        self.bytes: NDArray[np.float64] = np.bincount(self.link, run.bytes[self.message], links).astype(
            np.float64
        )
        self.run, self.links = run, links

    def peak(self) -> NDArray[np.float64]:
        """Return the peak load of each link; messages that end are removed before others begin."""
        run, peak = self.run, np.zeros(self.links)
        duration = run.arrived - run.begun
        rate = np.divide(run.bytes, duration, out=np.zeros_like(duration), where=duration > 0)[self.message]
        link = np.concatenate((self.link, self.link))
        time = np.concatenate((run.begun[self.message], run.arrived[self.message]))
        change = np.concatenate((rate, -rate))
        order = np.lexsort((change, time, link))
        link, change = link[order], change[order]
        if len(link):
            # Cumulative sums per link, without the sum of the preceding links.
            running = np.cumsum(change)
            starts = np.flatnonzero(np.concatenate(([True], link[1:] != link[:-1])))
            before = np.concatenate(([0.0], running))[starts]
            np.maximum.at(peak, link, running - np.repeat(before, np.diff([*starts, len(link)])))
        return peak
