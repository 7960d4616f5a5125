"""The multifactor priority in a simulation: usage as it is charged, calculations, and keys (S12)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import expm1, inf, log

from reference import fair_share
from reference.fair_share import Member
from reference.model import Job, Machine, Multifactor, Placement, Sharing
from reference.multifactor import age, priority, size
from reference.queues import least_nodes

RULES: dict[str, Callable[[Member, Sharing], dict[str, float]]] = {
    "fair_tree": lambda root, _: fair_share.fair_tree(root),
    "classic": lambda root, sharing: fair_share.classic(root, sharing.damping),
    "depth_oblivious": lambda root, _: fair_share.depth_oblivious(root),
    "pbs": lambda root, sharing: fair_share.pbs(root, sharing.least_usage),
}


@dataclass
class Charge:
    """What a running job is charged per second, to a member and all that it is part of."""

    path: list[Member]
    rate: float
    start: float


@dataclass
class Counter:
    """The usage of a member as of a time, and what is charged to it now."""

    value: float = 0.0
    time: float = 0.0
    charges: int = 0
    rate: float = 0.0


@dataclass
class Priorities:
    """The priorities of a run; calculations are at `origin` and every period after it."""

    machine: Machine
    order: Multifactor
    origin: float
    done: int = 0
    latest: float = 0.0
    eligible: dict[int, float] = field(default_factory=dict)
    factors: dict[str, float] = field(default_factory=dict)
    charges: dict[int, Charge] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.latest = self.origin
        self.paths = paths(self.machine)
        self.counters = {id(path[0]): Counter(time=self.origin) for path in self.paths.values()}
        for account, user, amount in self.machine.sharing.usage:
            for member in self.paths[account, user]:
                self.counters[id(member)].value += amount

    def pass_time(self, now: float) -> None:
        """Make the calculations that are due by now, each as of its own time."""
        before = self.done
        while self.order.period and (due := self.origin + self.done * self.order.period) <= now:
            if self.machine.sharing.decay == "slurm":
                self.end_period(due)
            self.latest = due
            self.done += 1
        if self.done > before:
            self.compare()

    def calculate(self, now: float) -> None:
        """Make the calculation of a pass."""
        self.latest = now
        self.compare()

    def compare(self) -> None:
        """Compare usage with shares."""
        if not self.order.fair_share:
            return
        for path in self.paths.values():
            counter = self.counters[id(path[0])]
            path[0].counted = carried(self.machine.sharing, counter, self.latest)
        root = self.paths["root", None][0]
        self.factors = RULES[self.machine.sharing.rule](root, self.machine.sharing)

    def end_period(self, now: float) -> None:
        """Let usage fade, then charge running jobs for the period, all of it as old as its beginning."""
        left = remains(self.machine.sharing)
        for counter in self.counters.values():
            counter.value *= left ** (now - counter.time)
            counter.time = now
        last = self.latest
        for charge in self.charges.values():
            seconds = now - max(charge.start, last)
            for member in charge.path:
                self.counters[id(member)].value += seconds * left**seconds * charge.rate

    def start(self, job: Job, placement: Placement, now: float) -> None:
        """Charge a job from now on."""
        path = self.paths.get(association(self.machine, job))
        rate = billing(self.machine, job, placement)
        if path is None or not rate:
            return
        self.charges[job.row] = Charge(path, rate, now)
        if self.machine.sharing.decay != "slurm":
            self.change(path, rate, now)

    def end(self, job: Job, now: float) -> None:
        """Charge a job no more."""
        charge = self.charges.pop(job.row, None)
        if charge is None:
            return
        if self.machine.sharing.decay != "slurm":
            self.change(charge.path, -charge.rate, now)
            return
        seconds = now - max(charge.start, self.latest)
        for member in charge.path:
            left = remains(self.machine.sharing)
            self.counters[id(member)].value += seconds * left**seconds * charge.rate

    def change(self, path: list[Member], rate: float, now: float) -> None:
        for member in path:
            counter = self.counters[id(member)]
            counter.value, counter.time = carried(self.machine.sharing, counter, now), now
            counter.charges += 1 if rate > 0 else -1
            counter.rate = counter.rate + rate if counter.charges else 0.0

    def key(self, job: Job) -> float:
        """Give the key of a waiting job."""
        order, machine = self.order, self.machine
        processors = job.tasks * dict(zip(machine.resources, job.request, strict=True)).get("core", 1)
        qualities = {each.name: each.priority for each in machine.qualities}
        account, user = association(machine, job)
        named = {each.name: each.priority for each in machine.accounts}
        partitions = {each.name: each.priority_factor for each in machine.partitions}
        nodes = least_nodes(job, machine)
        terms = [
            order.age * age(self.latest - self.eligible[job.row], order.max_age),
            order.association * over(named.get(account or "", 0.0), max(named.values(), default=0.0)),
            order.fair_share * self.factors.get(f"{account}/{user}", 0.0),
            order.job_size * self.size(job, nodes, processors) if order.job_size else 0.0,
            order.partition
            * over(
                max((partitions[name] for name in job.in_partitions), default=0.0),
                max(partitions.values(), default=0.0),
            ),
            order.qos * over(qualities.get(job.qos or "", 0.0), max(qualities.values(), default=0.0)),
        ]
        fixed = 0.0
        for term in terms:
            fixed += term
        asked = 0.0
        for name, weight in order.tres:
            asked += weight * self.part(job, name)
        return -float(priority(fixed + asked - job.nice))

    def size(self, job: Job, nodes: float, processors: float) -> float:
        whole = self.machine.resources.index("core") if "core" in self.machine.resources else 0
        cores = sum(amounts[whole] for amounts in self.machine.capacity)
        machine = (len(self.machine.capacity), cores)
        return size(self.order.favour, nodes, processors, job.requested_time / 60, machine)

    def part(self, job: Job, name: str) -> float:
        """Give what a job asks of a resource over what its first partition has."""
        at = self.machine.resources.index(name)
        nodes = range(len(self.machine.capacity))
        first = next(
            (each.nodes for each in self.machine.partitions if each.name in job.in_partitions[:1]), nodes
        )
        total = sum(self.machine.capacity[node][at] for node in first)
        return over(job.tasks * job.request[at], total)


def over(part: float, whole: float) -> float:
    """Divide; 0 where there is nothing to divide by."""
    return part / whole if whole else 0.0


def remains(sharing: Sharing) -> float:
    """Give what Slurm leaves of usage after a second."""
    return max(0.0, 1 - 0.693 / sharing.half_life)


def carried(sharing: Sharing, counter: Counter, now: float) -> float:
    """Give what usage is worth now that went on from its time."""
    span, value, rate = now - counter.time, counter.value, counter.rate
    if sharing.decay == "slurm" or span == 0:
        return value
    if sharing.decay == "steps":
        time = counter.time
        # The first multiple of the period after the counter's time, however it is rounded.
        step = time // sharing.decay_period + 1
        while (end := step * sharing.decay_period) <= now:
            value, time, step = (value + rate * (end - time)) * sharing.decay_factor, end, step + 1
        return value + rate * (now - time)
    if sharing.half_life == inf:
        return value + rate * span
    gained = -expm1(-span / sharing.half_life * log(2)) * sharing.half_life / log(2)
    return value * 2 ** (-span / sharing.half_life) + rate * gained


def billing(machine: Machine, job: Job, placement: Placement) -> float:
    """Give what a job is charged per second for what it holds."""
    held = [0.0] * len(machine.resources)
    for node, tasks in placement:
        taken = machine.capacity[node] if job.exclusive else [tasks * asked for asked in job.request]
        held = [before + more for before, more in zip(held, taken, strict=True)]
    first = machine.resources.index("core") if "core" in machine.resources else 0
    usual = tuple(1.0 if at == first else 0.0 for at in range(len(held)))
    terms = [a * weight for a, weight in zip(held, machine.sharing.weights or usual, strict=True)]
    factors = {each.name: each.usage_factor for each in machine.qualities}
    summed = 0.0
    for term in terms:
        summed += term
    return (max(terms) if machine.sharing.max_tres else summed) * factors.get(job.qos or "", 1.0)


def association(machine: Machine, job: Job) -> tuple[str | None, str | None]:
    """Give the account that a job is charged to, and its user."""
    if job.account is None and job.user is not None:
        for account in machine.accounts:
            if job.user in dict(account.users):
                return account.name, job.user
    return job.account, job.user


def paths(machine: Machine) -> dict[tuple[str | None, str | None], list[Member]]:
    """Make the tree: for each account and user its member, and all that this is part of, the root last."""
    root = [Member("root")]
    found: dict[tuple[str | None, str | None], list[Member]] = {("root", None): root}
    waiting = list(machine.accounts)
    while waiting:
        account = waiting.pop(0)
        if account.name == "root":
            own = root
        elif (account.parent, None) in found:
            member = Member(account.name, account.shares)
            above = found[account.parent, None]
            above[0].members.append(member)
            own = found[account.name, None] = [member, *above]
        else:
            waiting.append(account)
            continue
        for user, shares in account.users:
            leaf = Member(f"{account.name}/{user}", shares, user=True)
            own[0].members.append(leaf)
            found[account.name, user] = [leaf, *own]
    return found
