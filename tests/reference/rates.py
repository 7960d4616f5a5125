"""Service at rates that are controlled (S19): clocks of service time, the workload, the rules of control."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import floor, inf, nextafter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference.model import Job, Machine, Placement
    from reference.state import Running

__all__ = ["Clock", "Control", "Service", "processors"]


def processors(job: Job, machine: Machine) -> float:
    """Give the processors of a job: its cores, or its tasks where the machine has none."""
    return job.tasks * dict(zip(machine.resources, job.request, strict=True)).get("core", 1)


@dataclass
class Clock:
    """What has been served by a time, the integral of a rate; `jobs` and their `width` are what it serves."""

    rate: float
    service: float = 0.0
    since: float = 0.0
    jobs: int = 0
    width: float = 0.0

    def at(self, now: float) -> float:
        return self.service + (now - self.since) * self.rate

    def time_of(self, service: float) -> float:
        if self.rate == 0:
            return inf
        return self.since + max(0.0, service - self.service) / self.rate

    def turn(self, now: float, rate: float) -> None:
        self.service, self.since, self.rate = self.at(now), now, rate


@dataclass(frozen=True)
class Control:
    """A ladder of rates and its rule: "constant", "random", "count", "workload", "ondemand" or "schedutil".

    `groups` are those of its nodes; none: all nodes.
    """

    rule: str
    rates: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    up: float = 0.0
    down: float = 0.0
    coins: tuple[float, ...] = ()
    weighted: bool = False
    printed: bool = False
    threshold: float = 0.0
    window: float = 0.0
    interval: float = 0.0
    groups: tuple[int, ...] = ()


@dataclass
class Ruled:
    """A control as it stands: its level, and for governors how busy its nodes were."""

    control: Control
    capacity: float
    level: int = 0
    coins: int = 0
    event_time: float = 0.0
    event_workload: list[float] = field(default_factory=lambda: [0.0, 0.0])
    look: float = inf
    busy: float = 0.0
    since: float = 0.0
    area: float = 0.0
    began: float = 0.0
    utilisation: float = 0.0

    @property
    def rate(self) -> float:
        return self.control.rates[self.level]

    @property
    def governs(self) -> bool:
        return self.control.rule in ("ondemand", "schedutil")

    def settle(self, now: float) -> None:
        """Add up the load until now."""
        elapsed = now - self.since
        if self.governs and elapsed > 0 and self.capacity > 0:
            self.area += self.busy * elapsed
            if self.control.rule == "schedutil":
                share = self.busy / self.capacity * self.rate / self.control.rates[-1]
                fading = 2.0 ** (-elapsed / self.control.window)
                self.utilisation = share + (self.utilisation - share) * fading
        self.since = now

    def stepped(self, event: str, present: int, workload: float) -> int:
        """Give the level after an event."""
        control, level, top = self.control, self.level, len(self.control.rates) - 1
        if event in ("switch", "look"):
            return level - 1 if event == "switch" else self.looked()
        if control.rule == "random":
            coin = control.coins[self.coins]
            self.coins += 1
            up, down = event == "arrival" and coin < control.up, event == "departure" and coin < control.down
            return max(0, min(level + up - down, top))
        is_count = control.rule == "count"
        if control.rule not in ("count", "workload"):
            return level
        seen = present if is_count else workload
        if not (is_count and event == "departure"):
            level += sum(seen > threshold for threshold in control.high[level:])
        if not (is_count and event == "arrival"):
            level -= sum(seen <= threshold for threshold in control.low[:level])
        return level

    def looked(self) -> int:
        """Give the level that a governor chooses."""
        rates, elapsed = self.control.rates, self.since - self.began
        busy = self.area / elapsed / self.capacity if elapsed > 0 and self.capacity > 0 else 0.0
        if self.control.rule == "schedutil":
            target = 1.25 * rates[-1] * self.utilisation
        elif busy > self.control.threshold:
            target = rates[-1]
        else:
            target = rates[0] + busy * (rates[-1] - rates[0])
        return next((level for level, rate in enumerate(rates) if rate >= target), len(rates) - 1)


class Service:
    """What serves the jobs of a run."""

    def __init__(self, controls: Sequence[Control], machine: Machine, begin: float) -> None:
        self.machine, self.first_submission = machine, begin
        # The number of its group, node by node.
        self.groups = [group for group, count in enumerate(machine.groups) for _ in range(count)]
        self.controls = [Ruled(control, self.capacity_of(control)) for control in controls]
        self.clocks: dict[tuple[int, ...], Clock] = {}
        self.present = 0
        self.workload = [0.0, 0.0]
        self.since = begin
        self.switches: list[tuple[float, int, float]] = []

    def control_of(self, node: int) -> int | None:
        """Find the control of a node."""
        for place, ruled in enumerate(self.controls):
            groups = ruled.control.groups
            if not groups or self.groups[node] in groups:
                return place
        return None

    def capacity_of(self, control: Control) -> float:
        """Add up the processors of a control's nodes."""
        machine, total = self.machine, 0.0
        for node, capacity in enumerate(machine.capacity):
            if not control.groups or self.groups[node] in control.groups:
                total += capacity[machine.resources.index("core")] if "core" in machine.resources else 1
        return total

    def clock_for(self, placement: Placement) -> Clock:
        """Give the clock of a job on these nodes: one for each set of controls, at the slowest rate."""
        last = len(self.controls)
        places = {place if (place := self.control_of(node)) is not None else last for node, _ in placement}
        key = tuple(sorted(places))
        if key not in self.clocks:
            self.clocks[key] = Clock(self.slowest(key))
        return self.clocks[key]

    def slowest(self, key: tuple[int, ...]) -> float:
        return min(self.controls[place].rate if place < len(self.controls) else 1.0 for place in key)

    def slope(self) -> list[float]:
        """Give how fast the workload falls."""
        slope = [0.0, 0.0]
        for clock in self.clocks.values():
            slope[0] += clock.jobs * clock.rate
            slope[1] += clock.width * clock.rate
        return slope

    def settle(self, now: float) -> None:
        """Bring the workload up to date."""
        if now > self.since:
            slope, elapsed = self.slope(), now - self.since
            self.workload = [self.workload[each] - slope[each] * elapsed for each in (0, 1)]
            self.since = now

    def change_work(self, now: float, job: Job, amount: float) -> None:
        """Let a job that is there have more work left, or less."""
        self.settle(now)
        self.workload[0] += amount
        self.workload[1] += amount * processors(job, self.machine)

    def serve(self, now: float, job: Job, clock: Clock, sign: int) -> None:
        """Let a clock serve a job, or no more."""
        self.settle(now)
        clock.jobs += sign
        clock.width += sign * processors(job, self.machine)

    def count_busy(self, now: float, job: Job, placement: Placement, sign: int) -> None:
        """Let governors see that a job takes its nodes, or gives them back."""
        for node, tasks in placement:
            place = self.control_of(node)
            if place is not None:
                held = float(processors(job, self.machine) / job.tasks * tasks)
                if job.exclusive and "core" in self.machine.resources:
                    held = self.machine.capacity[node][self.machine.resources.index("core")]
                self.controls[place].settle(now)
                self.controls[place].busy += sign * held

    def key_event(self, now: float, event: str, job: Job, work: float) -> None:
        """Count a job that arrives with this work, or departs with so much of it left."""
        self.settle(now)
        self.present += 1 if event == "arrival" else -1
        self.change_work(now, job, work if event == "arrival" else -work)
        if self.present == 0:
            self.workload = [0.0, 0.0]
        self.step([(ruled, event) for ruled in self.controls], now)

    def step(self, due: Sequence[tuple[Ruled, str]], now: float) -> None:
        """Let controls take note of an event, then set the rates that change."""
        changed = set()
        for ruled, event in due:
            if event == "look":
                ruled.settle(now)
            seen = self.workload[ruled.control.weighted]
            level = ruled.stepped(event, self.present, seen)
            ruled.settle(now)
            if level != ruled.level:
                changed.add(self.controls.index(ruled))
            ruled.level, ruled.event_time, ruled.event_workload = level, now, list(self.workload)
        for place in sorted(changed):
            self.switches.append((now, place, self.controls[place].rate))
        if changed:
            self.settle(now)
            for key, clock in self.clocks.items():
                if changed.intersection(key):
                    clock.turn(now, self.slowest(key))

    def switch_time(self, ruled: Ruled) -> float:
        """Give when a control switches at a time of its own, or looks."""
        control = ruled.control
        if control.rule != "workload":
            return ruled.look
        threshold = control.low[ruled.level - 1] if ruled.level else 0.0
        since, workload, slope = self.since, self.workload, self.slope()[control.weighted]
        if control.printed:
            since, workload, slope = ruled.event_time, ruled.event_workload, ruled.rate
        left = workload[control.weighted] - threshold
        return since + left / slope if threshold > 0 and slope > 0 and left > 0 else inf

    def next_switch(self) -> float:
        return min(map(self.switch_time, self.controls), default=inf)

    def switch(self, now: float) -> None:
        """Let the controls that are due switch or look."""
        due = [ruled for ruled in self.controls if self.switch_time(ruled) <= now]
        self.settle(now)
        self.step([(ruled, "look" if ruled.governs else "switch") for ruled in due], now)
        for ruled in due:
            if ruled.governs:
                ruled.area, ruled.began = 0.0, now
                self.arm(ruled, now)

    def begin(self, now: float, running: Running) -> None:
        """Begin the service of a job, whose launch is over."""
        self.settle(now)
        clock = self.clock_for(running.placement)
        if running.work > 0:
            if clock.jobs == 0:
                clock.service, clock.since = 0.0, now
            running.clock, running.begun_service = clock, clock.at(now)
            running.end_service = running.begun_service + running.work
            self.serve(now, running.job, clock, 1)
        for ruled in self.controls:
            self.arm(ruled, now)

    def end(self, now: float, running: Running) -> None:
        """Serve a job no more."""
        if running.clock is not None:
            self.serve(now, running.job, running.clock, -1)
            running.clock = None

    def arm(self, ruled: Ruled, now: float) -> None:
        """Let a governor look again as long as jobs are served, or its rate is not the lowest."""
        if not ruled.governs or now < ruled.look < inf:
            return
        at_work = ruled.level > 0 or any(clock.jobs for clock in self.clocks.values())
        if ruled.look == inf and at_work:
            ruled.began, ruled.area = max(ruled.since, now), 0.0
        passed = floor((now - self.first_submission) / ruled.control.interval) + 1
        following = self.first_submission + passed * ruled.control.interval
        ruled.look = max(following, nextafter(now, inf)) if at_work else inf
