"""SimGrid's network models over the sharing of resources: what a flow uses, how long it waits, its bound."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from reference.sharing import Activity, Floats, Resources, Rule, Shared

if TYPE_CHECKING:
    from reference.moments import Moment


@dataclass(frozen=True)
class Model:
    """The options of a network model: factors, weight-S, TCP-gamma (bytes), cross traffic, the loopback."""

    bandwidth_factor: float = 1.0
    latency_factor: float = 1.0
    weight: float = 0.0
    gamma: float = 4194304.0
    crosstraffic: bool = True
    loopback_bandwidth: float = 1e10
    loopback_latency: float = 0.0


PARALLEL_TASKS = Model(crosstraffic=False)
"""What SimGrid's model of parallel tasks looks at."""
MAX_MIN = Model(gamma=0.0, crosstraffic=False)
CM02 = Model()
LV08 = Model(bandwidth_factor=0.97, latency_factor=13.01, weight=20537.0)


@dataclass(frozen=True)
class Network:
    """Links (bytes/s; fat pipes by index), routes (links, and latency in s), hosts of one speed (flops/s)."""

    bandwidths: Sequence[float]
    routes: Mapping[tuple[str, str], tuple[Sequence[int], float]]
    fat: Sequence[int] = ()
    hosts: Sequence[str] = ()
    speed: float = 0.0

    def resources(self) -> Resources:
        """Give the links, then the hosts."""
        return Resources.of([*self.bandwidths, *[self.speed] * len(self.hosts)], self.fat)

    def nothing(self) -> Floats:
        return np.zeros(len(self.bandwidths) + len(self.hosts))

    def use(self, weights: Floats, links: Sequence[int], amount: float) -> None:
        """Let an activity use links by so much more; of a fat pipe it uses what its greatest part does."""
        for link in links:
            weights[link] = max(weights[link], amount) if link in self.fat else weights[link] + amount

    def flow(self, source: str, target: str, amount: float, model: Model) -> Activity:
        """Give a flow under CM02 or LV08."""
        links, latency = self.routes[source, target]
        weights, penalty = self.nothing(), 1.0
        self.use(weights, links, 1.0)
        if model.crosstraffic:
            self.use(weights, self.routes[target, source][0], 0.05)
        bound = min((self.bandwidths[link] for link in links), default=inf)
        if latency > 0:
            bound = min(bound, model.gamma / (2 * latency)) if model.gamma > 0 else bound
            penalty = latency + sum(model.weight / self.bandwidths[link] for link in links)
        # The factor slows the flow, not the links: its window of data shrinks with it.
        return Activity(
            weights, amount / model.bandwidth_factor, bound, latency * model.latency_factor, penalty
        )

    def parallel_task(
        self, names: Sequence[str], flops: Sequence[float], amounts: Sequence[float], model: Model
    ) -> Activity:
        """Give a parallel task: flops by host, bytes by pair of hosts, row by row; a flow is one message."""
        weights, bound, latency = self.nothing(), inf, 0.0
        for name, amount in zip(names, flops, strict=True):
            if amount > 0:
                weights[len(self.bandwidths) + self.hosts.index(name)] += amount
                bound = min(bound, self.speed / amount)
        for index, amount in enumerate(amounts):
            pair = names[index // len(names)], names[index % len(names)]
            if amount > 0:
                moved = amount / model.bandwidth_factor
                links, delay = self.routes.get(pair, ((), model.loopback_latency))
                self.use(weights, links, moved)
                if not links:
                    bound = min(bound, model.loopback_bandwidth / moved)
                elif model.crosstraffic:
                    self.use(weights, self.routes[pair[::-1]][0], 0.05 * moved)
                latency = max(latency, delay * model.latency_factor)
                if delay > 0 and model.gamma > 0:
                    bound = min(bound, model.gamma / (2 * delay * moved))
        return Activity(weights, 1.0, bound, latency)


def ends(rule: Rule, resources: Resources, starts: Sequence[tuple[float, Activity]]) -> list[float]:
    """Let activities start when they do, and give when each ends (s)."""
    shared = Shared(rule, resources)
    now: Moment = 0.0
    to_come = sorted(starts, key=lambda start: start[0])
    found: dict[Activity, float] = {}
    while True:
        now = min(shared.next_time(now), to_come[0][0] if to_come else inf)
        if now == inf:
            return [found.get(activity, inf) for _, activity in starts]
        found.update((activity, float(now)) for activity in shared.finish(now))
        while to_come and to_come[0][0] <= now:
            shared.start(now, to_come.pop(0)[1])
        shared.solve(now)
