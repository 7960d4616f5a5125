"""Nodes that sleep: when they fall asleep, when they wake, and when the nodes of a job are on (S21)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING

from reference.limits import over_limit
from reference.room import slots

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reference.model import Job, Machine, NodeSleep, Placement, SleepState
    from reference.room import Node, Room
    from reference.state import Running, State

Interval = tuple[int, str, float, float]


@dataclass
class PowerState:
    """What a node is in: "on", or "entering", "asleep" in or "waking" from the sleep state of a number.

    `until` is when that ends, `idle_since` since when it has been on offer with no job there.
    """

    name: str = "on"
    level: int = -1
    until: float = inf
    idle_since: float = 0.0

    @property
    def is_awake(self) -> bool:
        """Whether it is on, or will be without being woken."""
        return self.name in {"on", "waking"}


@dataclass
class Sleeping:
    """The power states of the nodes, and what they were before: node, state, start, end."""

    rules: NodeSleep
    levels: list[tuple[SleepState, ...]]
    begin: float
    nodes: list[PowerState] = field(init=False)
    over: list[Interval] = field(default_factory=list)
    since: list[float] = field(init=False)
    head: Job | None = None

    def __post_init__(self) -> None:
        self.nodes = [PowerState(idle_since=self.begin) for _ in self.levels]
        self.since = [self.begin for _ in self.levels]

    # What a node does.

    def label(self, node: int) -> str:
        """Write the state of a node as results do."""
        at = self.nodes[node]
        if at.name == "on":
            return "on"
        sleep = self.levels[node][at.level].name
        return {"entering": f"entering {sleep}", "asleep": sleep, "waking": f"waking from {sleep}"}[at.name]

    def put(self, node: int, name: str, level: int, until: float, now: float) -> None:
        """Let a node be in another state from now on."""
        if now > self.since[node]:
            self.over.append((node, self.label(node), self.since[node], now))
        self.since[node] = now
        self.nodes[node] = replace(self.nodes[node], name=name, level=level, until=until)

    def wake(self, node: int, now: float) -> None:
        """Let a sleeping node wake."""
        level = self.nodes[node].level
        seconds = self.levels[node][level].wake_time
        self.put(node, "waking", level, now + seconds, now)
        if not seconds:
            self.end_transition(node, now, has_jobs=False)

    def enter(self, node: int, level: int, now: float) -> None:
        """Let a node go to a sleep state."""
        seconds = self.levels[node][level].enter_time
        self.put(node, "entering", level, now + seconds, now)
        if not seconds:
            self.end_transition(node, now, has_jobs=False)

    def end_transition(self, node: int, now: float, *, has_jobs: bool) -> None:
        at = self.nodes[node]
        if at.name == "waking":
            self.put(node, "on", -1, inf, now)
            self.nodes[node].idle_since = max(now, self.begin)
        else:
            self.put(node, "asleep", at.level, inf, now)
            if has_jobs:
                self.wake(node, now)

    # What the kernel asks.

    def advance(self, state: State) -> None:
        """End the transitions that are over by now: an instant begins."""
        ending = [node for node, at in enumerate(self.nodes) if at.until <= state.now]
        for node in ending:
            self.end_transition(node, state.now, has_jobs=has_jobs(state, node))

    def ready(self, placement: Placement, now: float) -> float:
        """Give when all nodes are on if a job starts on them now."""
        ready = now
        for node, _ in placement:
            at = self.nodes[node]
            if at.name == "waking":
                ready = max(ready, at.until)
            elif at.name != "on":
                # One on its way down is woken as soon as it is asleep.
                asleep = at.until if at.name == "entering" else now
                ready = max(ready, asleep + self.levels[node][at.level].wake_time)
        return ready

    def take(self, placement: Placement, now: float) -> float:
        """Wake the nodes of a job that starts: when all of them are on."""
        ready = self.ready(placement, now)
        for node, _ in placement:
            if self.nodes[node].name == "asleep":
                self.wake(node, now)
        return ready

    def touch(self, nodes: Iterable[int], now: float) -> None:
        """Nodes come to be idle at the earliest now: jobs left them, or they were closed or opened."""
        for node in nodes:
            self.nodes[node].idle_since = max(now, self.begin)

    def look(self, state: State) -> None:
        """Find the first waiting job after a pass: what nodes may be woken for."""
        waiting = state.ordered_queue() if self.rules.wake == "queue" else []
        self.head = next((job for job in waiting if over_limit(state, job) is None), None)

    def next_instant(self, state: State) -> float:
        """Give when a transition ends, an idle time is over, or another number of nodes is to be warm."""
        times = [at.until for at in self.nodes]
        times += [self.due(node, level) for node in range(len(self.nodes)) for level in self.deeper(node)]
        times.append(self.rules.keep_changes_after(state.now))
        return min((time for time in times if time > state.now), default=inf)

    def deeper(self, node: int) -> range:
        """Give the sleep states below the present one of a node that is not in a transition."""
        at = self.nodes[node]
        below = at.level + 1 if at.name in {"on", "asleep"} else len(self.levels[node])
        return range(below, len(self.levels[node]))

    def due(self, node: int, level: int) -> float:
        after = self.rules.after_of(self.levels[node], level)
        return self.nodes[node].idle_since + after

    def is_warm(self, state: State, node: int) -> bool:
        return is_idle(state, node) and self.nodes[node].is_awake

    def decide(self, state: State) -> None:
        """Wake nodes, and let others fall asleep: an instant ends."""
        if self.head is not None and self.head not in state.queue:
            self.head = None
        numbers = range(len(self.nodes))
        wanted = self.wake_for_head(state)
        keep = self.rules.keep_at(state.now)
        warm = [node for node in numbers if self.is_warm(state, node)]
        for node in numbers:
            if len(warm) < keep and is_idle(state, node) and self.nodes[node].name == "asleep":
                self.wake(node, state.now)
                warm.append(node)
        left = len(warm)
        due = [node for node in warm if self.nodes[node].name == "on" and self.reached(node, state.now)]
        for node in sorted(due, key=lambda node: (self.due(node, self.first_level(node)), -node)):
            if left > keep and node not in wanted:
                self.enter(node, max(self.reached(node, state.now)), state.now)
                left -= 1
        for node in numbers:
            is_deeper = self.nodes[node].name == "asleep" and self.reached(node, state.now)
            if is_deeper and is_idle(state, node):
                self.enter(node, max(self.reached(node, state.now)), state.now)

    def first_level(self, node: int) -> int:
        return min(self.deeper(node), key=lambda level: self.due(node, level))

    def reached(self, node: int, now: float) -> list[int]:
        """List the deeper states of a node whose idle times are over."""
        return [level for level in self.deeper(node) if self.due(node, level) <= now]

    def wake_for_head(self, state: State) -> set[int]:
        """Wake nodes for the first waiting job until it would have slots enough on those that are awake."""
        if self.head is None:
            return set()
        room = state.room_now()
        jobs = self.head.in_each_set
        has = {node.number: max(slots(job, node) for job in jobs) for node in room}
        awake = sum(count for node, count in has.items() if self.nodes[node].is_awake)
        for node, count in has.items():
            if awake < self.head.tasks and count and self.nodes[node].name == "asleep":
                self.wake(node, state.now)
                awake += count
        return {node for node, count in has.items() if count}

    def intervals(self, now: float) -> list[Interval]:
        """Give all intervals by node and time, those of one state one after the other as one."""
        present = [
            (node, self.label(node), since, now) for node, since in enumerate(self.since) if now > since
        ]
        found: list[Interval] = []
        for node, label, start, end in sorted([*self.over, *present], key=lambda each: (each[0], each[2])):
            if found and found[-1][:2] == (node, label):
                found[-1] = (node, label, found[-1][2], end)
            else:
                found.append((node, label, start, end))
        return found


def sleeping_of(machine: Machine, rules: NodeSleep | None, begin: float) -> Sleeping | None:
    """Give the nodes, all of them on; None where no rule lets them sleep."""
    if rules is None:
        return None
    counts = machine.groups or (len(machine.capacity),)
    groups = [group for group, count in enumerate(counts) for _ in range(count)]
    states = machine.sleep_states or ((),) * len(counts)
    return Sleeping(rules, [states[group] for group in groups], begin)


def has_jobs(state: State, node: int) -> bool:
    return any(each.holds and node in dict(each.placement) for each in state.running)


def is_idle(state: State, node: int) -> bool:
    """Tell whether a node is on offer with no job there."""
    return node not in state.machine.closed and not has_jobs(state, node)


def counts_from(state: State, running: Running) -> float:
    """Give from when the estimate of a running job counts, and its limit."""
    return running.start if state.sleep and state.sleep.rules.counted else running.ready


def room_awake(state: State, room: Room) -> Room:
    """Close the nodes that are not on."""

    def seen(node: Node) -> Node:
        is_on = state.sleep is None or state.sleep.nodes[node.number].name == "on"
        return node if is_on else node._replace(closed=True)

    return [seen(node) for node in room]


__all__ = ["Interval", "Sleeping", "counts_from", "room_awake", "sleeping_of"]
