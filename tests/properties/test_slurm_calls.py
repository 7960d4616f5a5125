"""The kernel decides each call of Slurm's controller as the reference does."""

from collections import Counter
from dataclasses import replace
from math import inf
from random import Random

import pytest

from batchlab.policy import SlurmParameters
from batchlab.slurm import (
    Allotment,
    Controller,
    Entry,
    Held,
    NodePartition,
    Outcome,
    Precedence,
    ReservedNodes,
    Situation,
)
from reference.slurm import NOT_TRIED, Verdict, backfill, main_loop, suitable_of
from reference.slurm_selection import Machine, evaluate
from support.slurm_machine_parameters import parameters_on

CASES = 1200
CHUNKS = 4


def random_machine(rng: Random) -> Machine:
    """Give equal or different nodes, in one partition or in several that may overlap."""
    count = rng.randint(1, 24)
    plain = [(rng.choice((4, 8)), rng.choice((8, 16))) for _ in range(count)]
    plain = plain if rng.random() < 0.3 else [plain[0]] * count
    select = rng.choice(("linear", "cores"))
    kinds = rng.choice((0, 0, 1, 2)) if select == "cores" else 0
    nodes = [(*node, *(rng.choice((0, 2, 4)) for _ in range(kinds))) for node in plain]
    partitions = [(frozenset(range(count)), count)]
    for _ in range(rng.choice((0, 0, 1, 2))):
        first = rng.randrange(count)
        members = frozenset(range(first, rng.randint(first + 1, count)))
        partitions.append((members, rng.randint(1, len(members))))
    machine = Machine(
        nodes,
        partitions,
        select=select,
        bf_resolution=rng.choice((1.0, 60.0)),
        bf_window=rng.choice((600.0, 86_400.0)),
        epoch=float(rng.randrange(100)),
        kill_wait=rng.choice((30.0, 5.0)),
        node_weights=[rng.choice((1, 2)) for _ in range(count)] if rng.random() < 0.3 else [],
        precedence=random_preemptions(rng) if rng.random() < 0.6 else None,
        gpu=rng.randrange(kinds) if kinds and rng.random() < 0.8 else None,
        cr_lln=select == "cores" and rng.random() < 0.2,
        pack_serial_at_end=select == "cores" and rng.random() < 0.3,
        bf_busy_nodes=select == "cores" and rng.random() < 0.3,
        bf_max_job_test=500,
    )
    return with_depths(machine, rng) if rng.random() < 0.4 else machine


def with_depths(machine: Machine, rng: Random) -> Machine:
    """Bound what calls look at, start and plan."""
    return replace(
        machine,
        bf_max_job_test=rng.choice((500, 4)),
        bf_max_job_part=rng.choice((0, 0, 3)),
        bf_max_job_user=rng.choice((0, 0, 2)),
        bf_max_job_user_part=rng.choice((0, 0, 1)),
        bf_max_job_assoc=rng.choice((0, 0, 2)),
        bf_job_part_count_reserve=rng.choice((0, 1, 2)),
        bf_min_prio_reserve=rng.choice((0.0, 5.0)),
        bf_min_age_reserve=rng.choice((0.0, 60.0)),
        bf_one_resv_per_job=rng.random() < 0.3,
        bf_max_job_array_resv=rng.choice((0, 1, 20)),
        bf_max_job_start=rng.choice((0, 0, 1)),
        partition_job_depth=rng.choice((0, 0, 2)),
        sched_max_job_start=rng.choice((0, 0, 1)),
    )


def random_preemptions(rng: Random) -> Precedence:
    """Let the last of three classes preempt some of the others."""
    below = rng.choice(([0], [0, 1], [1]))
    return Precedence(
        [[], [0] if rng.random() < 0.3 else [], below],
        [1.0, 1.0, 3.0],
        youngest_first=rng.random() < 0.3,
        grace_time=rng.choice((0.0, 0.0, 60.0)),
    )


def random_groups(rng: Random) -> tuple[int, ...]:
    """Give the limits on nodes that count a job."""
    return rng.choice(((), (), (0,), (1,), (0, 1)))


def random_entry(job: int, machine: Machine, rng: Random) -> Entry:
    """Give a job of any kind that the options of sbatch can describe."""
    partition = rng.randrange(len(machine.partitions))
    kind = rng.randrange(5)
    nodes = rng.randint(1, machine.partitions[partition][1]) if kind in (1, 2, 3) else 0
    return Entry(
        job,
        60.0 * rng.randint(1, 6),
        partition,
        nodes=max(nodes, 1) if machine.select == "linear" else nodes,
        tasks=rng.randint(1, 20) if kind in (0, 4) else 0,
        cpus_per_task=rng.choice((1, 1, 2, 3)),
        tasks_per_node=rng.choice((1, 2)) if kind == 2 else 0,  # kinds are numbered
        memory=rng.choice((0, 1, 2, 5)),
        memory_is_per_cpu=rng.random() < 0.5,
        generic=random_generic(machine, rng),
        generic_is_per_task=rng.random() < 0.6,
        exclusive=kind == 3,
        suitable=random_suitable(machine, rng),
        is_open=rng.random() < 0.9,
        is_evaluated=rng.random() < 0.5,
        preemption_class=rng.randrange(3),
        may_preempt=rng.random() < 0.9,
        counted_in=random_groups(rng),
        user=rng.choice((0, 1, None)),
        association=rng.choice((0, 1, 2, None)),
        array=rng.choice((0, None, None)),
        priority=float(rng.randrange(10)),
        eligible=float(rng.randrange(200)),
    )


def random_generic(machine: Machine, rng: Random) -> tuple[int, ...]:
    """Ask for generic resources, or for none."""
    kinds = len(machine.nodes[0]) - 2
    return tuple(rng.choice((0, 1, 1, 2)) for _ in range(kinds)) if rng.random() < 0.6 else ()


def random_suitable(machine: Machine, rng: Random) -> tuple[int, ...] | None:
    """Give the nodes with some feature, or None."""
    if rng.random() < 0.7:
        return None
    return tuple(node for node in range(len(machine.nodes)) if rng.random() < 0.7)


def random_situation(machine: Machine, rng: Random) -> Situation:
    """Let jobs run where the main loop puts them, some of them over; others wait."""
    count = len(machine.nodes)
    available = [node for node in range(count) if rng.random() < 0.95]
    queue = [random_entry(job, machine, rng) for job in range(rng.randint(1, 30))]
    running: list[Held] = []
    for entry in queue[: rng.randint(0, len(queue))]:
        alone = replace(machine, precedence=None)
        place = main_loop(alone, Situation(0.0, available, running, [], [entry]), machine.weights())[0]
        if place[0] == "started":
            # Some are late.
            end, own = float(rng.randint(90, 500)), random_groups(rng)
            running.append(
                Held(
                    1000 + entry.job,
                    end,
                    place[2],
                    preemption_class=rng.randrange(3),
                    started=float(rng.randrange(90)),
                    may_be_preempted=rng.random() < 0.9,
                    counted_in=own,
                    noticed=rng.random() < 0.1,
                )
            )
    completing = [held for held in running if rng.random() < 0.15]
    running = [held for held in running if held not in completing]
    now = float(rng.randint(100, 200))
    reservations = [random_reservation(count, now, rng) for _ in range(rng.choice((0, 0, 1, 2)))]
    begun = [None, *(number for number, each in enumerate(reservations) if each.begin <= now < each.end)]
    queue = [replace(entry, reservation=rng.choice((None, rng.choice(begun)))) for entry in queue]
    return Situation(now, available, running, completing, queue, reservations)


def random_reservation(count: int, now: float, rng: Random) -> ReservedNodes:
    """Reserve neighbours from before or after now on, or for ever."""
    first = rng.randrange(count)
    begin = now + rng.randint(-60, 300)
    end = begin + rng.randint(1, 300) if rng.random() < 0.9 else inf
    return ReservedNodes(range(first, rng.randint(first + 1, count)), begin, end)


def as_verdicts(found: list[Outcome]) -> list[Verdict]:
    """Give the outcomes as the reference does."""
    return [(each.verdict, each.start, list(each.allotments), list(each.preempted)) for each in found]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_call(chunk: int) -> None:
    """What starts, on which nodes with how many CPUs, and what is planned are equal."""
    seen = Counter[str]()
    for number in range(chunk, CASES, CHUNKS):
        rng = Random(number)  # noqa: S311  # no secret
        machine = random_machine(rng)
        situation = random_situation(machine, rng)
        partitions = [NodePartition(sorted(members), most) for members, most in machine.partitions]
        controller = Controller(
            [(cpus, memory) for cpus, memory, *_ in machine.nodes],
            partitions,
            generic=[generic for _, _, *generic in machine.nodes],
            gpu=machine.gpu,
            parameters=parameters_on(machine),
            weights=machine.weights(),
            precedence=machine.precedence,
        )
        weights = machine.weights()
        submitted = replace(situation, queue=situation.queue[:1])
        controller.submit(submitted)
        for entry in submitted.queue:
            members = suitable_of(entry, machine.partitions[entry.partition][0])
            evaluate(machine, situation.running, entry, members, weights)
        for decide, expected in ((controller.main_loop, main_loop), (controller.backfill, backfill)):
            found = as_verdicts(decide(situation))
            assert found == expected(machine, situation, weights), number
            seen.update(verdict[0] for verdict in found)
    assert min(seen[verdict] for verdict in ("started", "planned", "preempts", "waits", "not_tried")) > 20


def test_calls_of_a_few_entries() -> None:
    """A call that does not look at the whole queue looks at one entry more than `default_queue_depth`."""
    rng = Random(1)  # noqa: S311  # no secret
    machine = Machine([(4, 0)] * 8, [(frozenset(range(8)), 8)], select="cores", bf_max_job_test=500)
    queue = [Entry(job, 60.0, tasks=rng.randint(1, 9)) for job in range(9)]
    situation = Situation(0.0, range(8), [], [], queue)
    controller = Controller([(4, 0)] * 8, parameters=parameters_on(machine, default_queue_depth=3))
    found = as_verdicts(controller.main_loop(situation, full=False))
    first = replace(situation, queue=queue[:4])
    assert found == [*main_loop(machine, first, machine.weights()), *[NOT_TRIED] * 5]
    assert as_verdicts(controller.main_loop(situation)) == main_loop(machine, situation, machine.weights())


def test_refusals() -> None:
    """Nodes and partitions that are not there are refused by name."""
    usual = SlurmParameters()
    with pytest.raises(ValueError, match="there is no node 3: they are 2"):
        Controller([(1, 0)] * 2, [NodePartition([3])], parameters=usual)
    controller = Controller([(1, 0)] * 2, parameters=usual)
    with pytest.raises(ValueError, match="job 7: there is no partition 1"):
        controller.main_loop(Situation(0.0, [0, 1], [], [], [Entry(7, 60.0, 1)]))
    with pytest.raises(ValueError, match="job 7: there is no reservation 0"):
        controller.main_loop(Situation(0.0, [0, 1], [], [], [Entry(7, 60.0, reservation=0)]))
    with pytest.raises(ValueError, match="1 weights are given for 2 nodes"):
        Controller([(1, 0)] * 2, parameters=usual, weights=[1])
    with pytest.raises(ValueError, match="job 7: 2 generic resources are given, nodes have 0"):
        controller.main_loop(Situation(0.0, [0, 1], [], [], [Entry(7, 60.0, generic=(1, 2))]))
    with pytest.raises(ValueError, match="generic resources of 1 nodes; must be as many of each of 2 nodes"):
        Controller([(1, 0)] * 2, parameters=usual, generic=[[1]])
    with pytest.raises(ValueError, match="there is no generic resource 1: they are 1"):
        Controller([(1, 0)] * 2, parameters=usual, generic=[[1], [1]], gpu=1)
    with pytest.raises(ValueError, match="there is no node 9"):
        controller.main_loop(Situation(0.0, [0, 1], [Held(1, 60.0, [Allotment(9, 1)])], [], []))
