"""The machine that applications run on: hosts, links, disks, a clock, and ranks that wait.

A rank is a generator: it yields what it waits for, and goes on when that has come.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import floor, inf

import numpy as np

from reference.moments import Moment, later
from reference.network import PARALLEL_TASKS, Model
from reference.sharing import Activity, Resources, Rule, Shared, max_min


@dataclass
class Signal:
    """Something to wait for: it comes once."""

    come: bool = False
    then: Callable[[], None] | None = None
    waiting: list[Callable[[], None]] = field(default_factory=list)


Steps = Generator[Signal, None, None]


@dataclass
class Barrier:
    """A place where `ranks` meet; it can be used again and again."""

    world: "World"
    ranks: int
    here: int = 0
    signal: Signal = field(default_factory=Signal)

    def wait(self) -> Signal:
        signal = self.signal
        self.here += 1
        if self.here == self.ranks:
            self.here, self.signal = 0, Signal()
            self.world.give(signal)
        return signal


@dataclass(frozen=True)
class Host:
    """A compute node; speeds per core, and per GPU, in flops/s, bandwidths in bytes/s.

    With `whole_bytes` its disk counts what is done in whole bytes at every event. As a cache it holds
    `capacity` bytes.
    """

    speed: float
    cores: int = 1
    targets: tuple[int, ...] = ()
    gpus: int = 0
    gpu_speed: float = 0.0
    gpu_bandwidth: float = 0.0
    disk: tuple[float, float] | None = None
    striping: float | None = None
    whole_bytes: bool = False
    capacity: float = inf


@dataclass(frozen=True)
class Link:
    """A link in one direction."""

    bandwidth: float
    fat: bool = False


Route = Callable[[int, int], tuple[Sequence[int], float]]


@dataclass(frozen=True)
class Platform:
    """Hosts and links, and for each pair of hosts the links of the route and its latency (s)."""

    hosts: Sequence[Host]
    links: Sequence[Link]
    route: Route
    model: Model = PARALLEL_TASKS

    def resources(self) -> Resources:
        """Give the links, then the processors."""
        processors = [host.speed * host.cores for host in self.hosts]
        fat = [index for index, link in enumerate(self.links) if link.fat]
        return Resources.of([*(link.bandwidth for link in self.links), *processors], fat)

    def disks(self) -> Resources:
        """Give for each host: reading, writing, both."""
        disks = [host.disk or (0.0, 0.0) for host in self.hosts]
        return Resources.of([capacity for disk in disks for capacity in (*disk, max(disk))])

    def parallel_task(self, flops: Mapping[int, float], traffic: Mapping[tuple[int, int], float]) -> Activity:
        """All flops on hosts and all bytes between hosts go on together, from 0 to 1."""
        uses: dict[int, float] = defaultdict(float)
        bound, latency = inf, 0.0
        for host, amount in flops.items():
            if amount > 0:
                uses[len(self.links) + host] += amount
                bound = min(bound, self.hosts[host].speed / amount)
        for (source, target), amount in traffic.items():
            if amount > 0:
                moved = amount / self.model.bandwidth_factor
                links, delay = self.way(source, target)
                self.use(uses, links, moved)
                if not links:
                    bound = min(bound, self.model.loopback_bandwidth / moved)
                elif self.model.crosstraffic:
                    self.use(uses, self.way(target, source)[0], 0.05 * moved)
                latency = max(latency, delay * self.model.latency_factor)
                if delay > 0 and self.model.gamma > 0:
                    bound = min(bound, self.model.gamma / (2 * delay * moved))
        weights = np.zeros(len(self.links) + len(self.hosts))
        weights[list(uses)] = list(uses.values())
        return Activity(weights, bound=bound, latency=latency)

    def way(self, source: int, target: int) -> tuple[Sequence[int], float]:
        """Give the links and the latency of a route; a host reaches itself over the loopback."""
        return self.route(source, target) if source != target else ((), self.model.loopback_latency)

    def use(self, uses: dict[int, float], links: Sequence[int], amount: float) -> None:
        for link in links:
            uses[link] = max(uses[link], amount) if self.links[link].fat else uses[link] + amount

    def disk_operation(self, host: int, read: bool, amount: float) -> Activity:
        weights = np.zeros(3 * len(self.hosts))
        weights[[3 * host + (not read), 3 * host + 2]] = 1.0
        return Activity(weights, amount=float(floor(amount)), whole=self.hosts[host].whole_bytes)


@dataclass
class World:
    """The clock, the activities on the platform and its disks, sleeps, and the ranks that wait."""

    platform: Platform
    rule: Rule
    now: Moment = 0.0
    ready: deque[Callable[[], None]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.machine = Shared(self.rule, self.platform.resources())
        self.disks = Shared(max_min, self.platform.disks())
        self.ends: dict[Activity, Signal] = {}
        self.sleeps: list[tuple[Moment, Signal]] = []
        # Until when each GPU of each host is busy, and the link between them.
        self.gpus: list[list[Moment]] = [[0.0] * host.gpus for host in self.platform.hosts]
        self.gpu_links: list[list[Moment]] = [[0.0] for _ in self.platform.hosts]
        # Bytes on each host's disk that are to migrate; what begins once all ends of an instant are known.
        self.dirty = [0.0] * len(self.platform.hosts)
        self.afterwards: list[Callable[[], None]] = []

    def give(self, signal: Signal) -> None:
        """Let come what is waited for."""
        signal.come = True
        if signal.then:
            signal.then()
        self.ready.extend(signal.waiting)

    def start(self, activity: Activity, *, on_disk: bool = False) -> Signal:
        (self.disks if on_disk else self.machine).start(self.now, activity)
        return self.ends.setdefault(activity, Signal())

    def forget(self, activities: Iterable[Activity], sleeps: Iterable[Signal]) -> None:
        """Stop the activities and sleeps of a job that was killed."""
        killed = set(map(id, sleeps))
        self.sleeps = [sleep for sleep in self.sleeps if id(sleep[1]) not in killed]
        for activity in activities:
            if self.ends.pop(activity, None):
                for shared in (self.machine, self.disks):
                    shared.activities = [each for each in shared.activities if each is not activity]

    def sleep(self, seconds: float) -> Signal:
        return self.wake(later(self.now, max(0.0, seconds)))

    def wake(self, time: Moment) -> Signal:
        self.sleeps.append((time, Signal()))
        return self.sleeps[-1][1]

    def occupy(self, busy_until: list[Moment], number: int, seconds: float) -> Signal:
        """Use GPUs (or a link), free ones first, each after what it has to do; killed jobs' kernels go on."""
        chosen = sorted(range(len(busy_until)), key=lambda gpu: busy_until[gpu] > self.now)[:number]
        for gpu in chosen:
            busy_until[gpu] = later(max(self.now, busy_until[gpu]), seconds)
            # The end of each is an event, whether or not it is waited for.
            self.wake(busy_until[gpu])
        return self.wake(max(busy_until[gpu] for gpu in chosen))

    def begin(self, steps: Steps, stopped: Callable[[], bool]) -> None:
        self.ready.append(lambda: self.run(steps, stopped))

    def run(self, steps: Steps, stopped: Callable[[], bool]) -> None:
        """Go on with a rank until it waits for what has not come."""
        for signal in iter(lambda: None if stopped() else next(steps, None), None):
            if not signal.come:
                signal.waiting.append(lambda: self.run(steps, stopped))
                return

    def next_time(self) -> Moment:
        """Solve what has changed, and give the time at which something happens next."""
        for shared in (self.machine, self.disks):
            shared.solve(self.now)
        sleeps = min((end for end, _ in self.sleeps), default=inf)
        return min(sleeps, self.machine.next_time(self.now), self.disks.next_time(self.now))

    def take(self, now: Moment) -> bool:
        """Let all that ends by now end, and the ranks that wait for it go on; tell whether any did."""
        self.now = now
        self.disks.progress(now)
        ended = [self.ends.pop(activity) for activity in [*self.machine.finish(now), *self.disks.finish(now)]]
        ended += [signal for end, signal in self.sleeps if end <= now]
        self.sleeps = [sleep for sleep in self.sleeps if sleep[0] > now]
        for signal in ended:
            self.give(signal)
        while self.afterwards:
            self.afterwards.pop(0)()
        self.settle()
        return bool(ended)

    def settle(self) -> None:
        while self.ready:
            self.ready.popleft()()
