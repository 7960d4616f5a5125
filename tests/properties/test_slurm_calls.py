"""The kernel decides each call of Slurm's controller as the reference does."""

from random import Random

import pytest

from batchlab.slurm import Allotment, Controller, Entry, Held, NodePartition, Outcome, Situation
from reference.slurm import Machine, Verdict, backfill, main_loop

CASES = 1200
CHUNKS = 4


def random_machine(rng: Random) -> Machine:
    """Give equal or different nodes, in one partition or in several that may overlap."""
    count = rng.randint(1, 24)
    nodes = [(rng.choice((4, 8)), rng.choice((8, 16))) for _ in range(count)]
    nodes = nodes if rng.random() < 0.3 else [nodes[0]] * count
    partitions = [(frozenset(range(count)), count)]
    for _ in range(rng.choice((0, 0, 1, 2))):
        first = rng.randrange(count)
        members = frozenset(range(first, rng.randint(first + 1, count)))
        partitions.append((members, rng.randint(1, len(members))))
    return Machine(
        nodes,
        partitions,
        select=rng.choice(("linear", "cores")),
        resolution=rng.choice((1.0, 60.0)),
        window=rng.choice((600.0, 86_400.0)),
        epoch=float(rng.randrange(100)),
    )


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
        exclusive=kind == 3,
        is_open=rng.random() < 0.9,
    )


def random_situation(machine: Machine, rng: Random) -> Situation:
    """Let jobs run where the main loop puts them, some of them over; others wait."""
    count = len(machine.nodes)
    available = [node for node in range(count) if rng.random() < 0.95]
    queue = [random_entry(job, machine, rng) for job in range(rng.randint(1, 30))]
    running: list[Held] = []
    for entry in queue[: rng.randint(0, len(queue))]:
        place = main_loop(machine, Situation(0.0, available, running, [], [entry]))[0]
        if place[0] == "started":
            # Some are late.
            running.append(Held(1000 + entry.job, float(rng.randint(90, 500)), place[2]))
    completing = [held for held in running if rng.random() < 0.15]
    running = [held for held in running if held not in completing]
    now = float(rng.randint(100, 200))
    return Situation(now, available, running, completing, queue)


def as_verdicts(found: list[Outcome]) -> list[Verdict]:
    """Give the outcomes as the reference does."""
    return [(each.verdict, each.start, list(each.allotments)) for each in found]


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_call(chunk: int) -> None:
    """What starts, on which nodes with how many CPUs, and what is planned are equal."""
    for number in range(chunk, CASES, CHUNKS):
        rng = Random(number)  # noqa: S311  # no secret
        machine = random_machine(rng)
        situation = random_situation(machine, rng)
        partitions = [NodePartition(sorted(members), most) for members, most in machine.partitions]
        controller = Controller(
            machine.nodes,
            partitions,
            select="linear" if machine.select == "linear" else "cores",
            resolution=machine.resolution,
            window=machine.window,
            epoch=machine.epoch,
        )
        assert as_verdicts(controller.main_loop(situation)) == main_loop(machine, situation), number
        assert as_verdicts(controller.backfill(situation)) == backfill(machine, situation), number


def test_refusals() -> None:
    """Nodes and partitions that are not there are refused by name."""
    with pytest.raises(ValueError, match="there is no node 3: they are 2"):
        Controller([(1, 0)] * 2, [NodePartition([3])])
    controller = Controller([(1, 0)] * 2)
    with pytest.raises(ValueError, match="job 7: there is no partition 1"):
        controller.main_loop(Situation(0.0, [0, 1], [], [], [Entry(7, 60.0, 1)]))
    with pytest.raises(ValueError, match="there is no node 9"):
        controller.main_loop(Situation(0.0, [0, 1], [Held(1, 60.0, [Allotment(9, 1)])], [], []))
