"""Which jobs go for another under Slurm, in plain Python (S26)."""

from collections.abc import Iterable, Sequence

from batchlab.slurm import Entry, Held
from reference.slurm_selection import Chosen, Machine, Weights, move

__all__ = ["candidates", "victims"]

# How often candidates for preemption are put in another order.
REORDERINGS = 2


def candidates(machine: Machine, held: Iterable[Held], entry: Entry) -> list[Held]:
    """Give the jobs that a job may preempt, in order."""
    rules = machine.precedence
    if rules is None:
        return []
    nodes = machine.partitions[entry.partition][0]
    found = [
        each
        for each in held
        if each.preemption_class in rules.preempts[entry.preemption_class]
        and nodes & {part.node for part in each.allotments}
        and each.may_be_preempted
    ]

    def key(each: Held) -> tuple[float, float, int]:
        within = -each.started if rules.youngest_first else len(each.allotments)
        return rules.importance[each.preemption_class], within, each.job

    return sorted(found, key=key)


def victims(
    machine: Machine,
    held: Sequence[Held],
    entry: Entry,
    *,
    free: set[int],
    usable: Iterable[int],
    weights: Weights,
) -> list[Held]:
    """Give the jobs that go so that a job fits; none where all are not enough."""
    order = candidates(machine, held, entry)
    nodes_of = {each.job: {part.node for part in each.allotments} for each in order}
    free = free | {node for nodes in nodes_of.values() for node in nodes if node in {*usable}}
    rounds = 0
    while True:
        left, gone = machine.left(held), list[Held]()
        chosen: Chosen | None = None
        for each in order:
            if not nodes_of[each.job] & free:
                continue
            move(left, each.allotments, 1)
            gone.append(each)
            chosen = machine.choose(entry, free, left, weights)
            if chosen is not None:
                break
        if chosen is None:
            return []
        own = {part.node for part in chosen}
        rounds += 1
        if rounds > REORDERINGS or len(order) <= rounds:
            return [each for each in gone if nodes_of[each.job] & own]
        last = gone.pop()
        use = {each.job: len(nodes_of[each.job] & own) for each in order[: order.index(last)]}
        use[last.job] = len(machine.nodes) + 1
        order = sorted(order, key=lambda each: -use.get(each.job, 0))
