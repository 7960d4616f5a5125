"""The configurations and streams of `real_slurm.py`: what a real Slurm and its twin are given."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from generated import Recipe, blocks
from measure import SHARED

import batchlab as bl

LOGS = {
    "KTH": ("KTH-SP2-1996-2.1-cln", 100, 2000),
    "CTC": ("CTC-SP2-1996-3.1-cln", 338, 10_000),
    "Seth": ("HPC2N-2002-2.2-cln", 240, 40_000),
}
"""Logs of the Parallel Workloads Archive: the file, the processors, and the first job that is taken."""

MADE = "made"
USERS = 12
SECONDS_A_JOB = 10.0
SHORT, FEW = 300, 4
LONGEST = 0.25
"""The longest run time, of the time within which jobs are submitted."""
MIB = 1024
LINEAR = "SelectType=select/linear"
CORES = "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core"
MEMORY = "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=1000"
BASIC = "PriorityType=priority/basic"
FIFO = "SchedulerType=sched/builtin"
BACKFILL = "SchedulerType=sched/backfill\nSchedulerParameters=bf_interval="
ACCOUNTS = (
    "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageEnforce=associations,limits,qos"
)
FACTORS = (
    "PriorityType=priority/multifactor\nPriorityMaxAge=00:30:00\nPriorityCalcPeriod=1\n"
    "PriorityDecayHalfLife=00:10:00\nPriorityWeightAge=1000\nPriorityWeightJobSize=500"
)
SHARES = f"{FACTORS}\nPriorityWeightFairshare=5000\n{ACCOUNTS}"
QUALITIES = f"{FACTORS}\nPriorityWeightQOS=5000\n{ACCOUNTS}"
THREE_ACCOUNTS = tuple(
    f"add account a{number} description=a organization=a fairshare={share}"
    for number, share in enumerate((1, 3, 6))
)
ONE_ACCOUNT = ("add account a0 description=a organization=a",)

Dress = Callable[[pl.DataFrame, np.random.Generator], pl.DataFrame]


@dataclass(frozen=True)
class Kept:
    """Nodes that are kept from a time on, seconds after the cluster is up, for some minutes."""

    name: str
    after: int
    minutes: int
    nodes: tuple[int, int]


@dataclass(frozen=True)
class Case:
    """A stream and a configuration.

    `lines` are those of `slurm.conf`, besides nodes and the one partition that is there without `partitions`;
    `accounts` are commands of sacctmgr. `dress` gives jobs what the log does not have.
    """

    name: str
    log: str
    lines: tuple[str, ...]
    nodes: int = 32
    cores: int = 1
    memory: int = 0
    load: float = 1.1
    partitions: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    dress: tuple[Dress, ...] = ()
    kept: tuple[Kept, ...] = ()
    seed: int = 0
    seconds_a_job: float = SECONDS_A_JOB

    def configuration(self) -> str:
        """Write `slurm.conf`."""
        memory = f" RealMemory={self.memory}" if self.memory else ""
        nodes = f"NodeName=n[1-{self.nodes}] CPUs={self.cores}{memory}"
        partitions = self.partitions or ("PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE",)
        return "\n".join([*self.lines, nodes, *partitions]) + "\n"

    def stream(self, jobs: int) -> pl.DataFrame:
        """Give so many jobs, in whole seconds from 0 on.

        Sizes are scaled to the machine, run times so that the load is offered within `seconds_a_job` for each
        job, requests with the run times.
        """
        capacity = self.nodes * self.cores
        given = made(jobs, capacity, self.seed) if self.log == MADE else logged(self.log, jobs, self.seed)
        span = self.seconds_a_job * jobs
        tasks = (given["share"] * capacity).ceil().clip(1, capacity)
        work = float((given["run_time"] * tasks).to_numpy().sum()) / capacity
        slower, later = self.load * span / work, span / float(given["submit_time"].to_numpy().max())
        table = given.select(
            job_id=pl.int_range(1, pl.len() + 1),
            submit_time=(pl.col("submit_time") * later).floor(),
            run_time=(pl.col("run_time") * slower).floor().clip(1.0, LONGEST * span),
            # Limits are whole minutes; jobs that would reach theirs are those of the log.
            requested_time=(pl.col("requested_time") * slower / 60).ceil().clip(1.0) * 60,
            tasks=tasks.cast(pl.Int64),
            person=pl.col("user_id") % USERS,
        )
        random = np.random.default_rng(self.seed)
        for step in self.dress:
            table = step(table, random)
        return table.drop("person")


def logged(name: str, jobs: int, window: int) -> pl.DataFrame:
    """Give a window of a log."""
    file, processors, first = LOGS[name]
    begin = first + 5000 * window
    table = bl.read_swf(path_of(file)).jobs[begin : begin + jobs]
    return table.select(
        pl.col("submit_time") - table["submit_time"].min(),
        pl.col("run_time").clip(1.0),
        pl.max_horizontal("requested_time", "run_time"),
        share=pl.col("tasks") / processors,
        user_id=pl.col("user_id").cast(pl.String).hash(1),
    )


def path_of(file: str) -> Path:
    """Give the file of a log; worktrees lie one folder deeper than the repository."""
    found = [folder / "data" / f"{file}.swf.gz" for folder in (SHARED, SHARED.parents[1] / "shared")]
    return next((path for path in found if path.exists()), found[0])


def made(jobs: int, capacity: int, seed: int) -> pl.DataFrame:
    """Give made-up jobs."""
    part = next(blocks(Recipe(jobs, capacity, largest=max(capacity // 2, 1), seed=seed)))
    users = np.random.default_rng(seed).zipf(1.5, jobs)
    return pl.DataFrame(
        {
            "submit_time": part.submit_time.astype(float),
            "run_time": part.run_time.astype(float),
            "requested_time": part.requested_time.astype(float),
            "share": part.processors / capacity,
            "user_id": users.astype(np.uint64),
        }
    )


def of_nodes(table: pl.DataFrame, _: np.random.Generator) -> pl.DataFrame:
    """Under select/linear a task is a node."""
    return table.with_columns(exclusive=True)


def owned(table: pl.DataFrame, _: np.random.Generator) -> pl.DataFrame:
    """Give each job the account of its owner."""
    return table.with_columns(account=pl.format("a{}", pl.col("person") % 3))


def in_one_account(table: pl.DataFrame, _: np.random.Generator) -> pl.DataFrame:
    """Give all jobs one account."""
    return table.with_columns(account=pl.lit("a0"))


def with_memory(table: pl.DataFrame, random: np.random.Generator) -> pl.DataFrame:
    """Let each task ask for 200 to 3,000 MB."""
    amounts = random.choice([200, 500, 1000, 2000, 3000], len(table)) * MIB
    return table.with_columns(mem=pl.Series(amounts, dtype=pl.Int64))


def by_chance(
    column: str, values: dict[str, float], table: pl.DataFrame, random: np.random.Generator
) -> pl.DataFrame:
    """Draw the values of a column."""
    drawn = random.choice(list(values), len(table), p=list(values.values()))
    return table.with_columns(pl.Series(column, drawn))


def where_it_fits(table: pl.DataFrame, _: np.random.Generator) -> pl.DataFrame:
    """Send short jobs of up to four tasks to the partition for those, and the others to the big one."""
    short = (pl.col("requested_time") <= SHORT) & (pl.col("tasks") <= FEW)
    return table.with_columns(partition=pl.when(short).then(pl.lit("short")).otherwise(pl.lit("batch")))


PREEMPTION = partial(by_chance, "qos", {"low": 0.6, "normal": 0.3, "high": 0.1})
TIERS = (
    "PartitionName=batch Nodes=n[1-24] Default=YES MaxTime=INFINITE PriorityTier=1",
    "PartitionName=short Nodes=n[17-32] MaxTime=10 PriorityTier=2",
)
PREEMPTING = (
    "PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE PriorityTier=1 PreemptMode=REQUEUE",
    "PartitionName=short Nodes=ALL MaxTime=INFINITE PriorityTier=2 PreemptMode=OFF",
)
THREE = (
    "PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE PriorityJobFactor=1",
    "PartitionName=short Nodes=ALL MaxTime=10 MaxNodes=4 PriorityJobFactor=10",
)
QOS = ("add qos low priority=0", "add qos high priority=100", "modify qos normal set priority=10")
ALLOWED = "modify account a0 set qos+=low,high"

CASES = (
    Case("fifo-kth", "KTH", (FIFO, LINEAR, BASIC), dress=(of_nodes,)),
    Case("backfill-kth", "KTH", (f"{BACKFILL}30", LINEAR, BASIC), dress=(of_nodes,)),
    Case("cores-seth", "Seth", (f"{BACKFILL}30", CORES, BASIC), 16, 4),
    Case(
        "share-ctc", "CTC", (f"{BACKFILL}30", CORES, SHARES), 16, 4, accounts=THREE_ACCOUNTS, dress=(owned,)
    ),
    Case("memory-made", MADE, (f"{BACKFILL}30", MEMORY, BASIC), 16, 4, 8000, dress=(with_memory,)),
    Case(
        "tiers-kth",
        "KTH",
        (f"{BACKFILL}30", LINEAR, BASIC),
        partitions=TIERS,
        dress=(of_nodes, where_it_fits),
        seed=1,
    ),
    Case(
        "preempt-made",
        MADE,
        (f"{BACKFILL}30", LINEAR, QUALITIES, "PreemptType=preempt/qos\nPreemptMode=REQUEUE"),
        accounts=(*QOS, "modify qos high set preempt=low", *ONE_ACCOUNT, ALLOWED),
        dress=(of_nodes, in_one_account, PREEMPTION),
        seed=1,
    ),
    Case(
        "reserved-ctc",
        "CTC",
        (f"{BACKFILL}30", LINEAR, BASIC),
        dress=(of_nodes,),
        kept=(Kept("half", 600, 10, (1, 16)), Kept("all", 1800, 5, (1, 32))),
        seed=1,
    ),
    Case(
        "limits-made",
        MADE,
        (f"{BACKFILL}30", CORES, QUALITIES),
        16,
        4,
        accounts=(
            *QOS,
            "modify qos low set grptres=cpu=24",
            "modify qos high set maxjobspu=3",
            *ONE_ACCOUNT,
            ALLOWED,
        ),
        dress=(in_one_account, PREEMPTION),
        seed=2,
    ),
    Case("fifo-made", MADE, (FIFO, LINEAR, BASIC), dress=(of_nodes,), seed=3),
    Case(
        "backfill10-ctc", "CTC", (f"{BACKFILL}10,bf_resolution=1", LINEAR, BASIC), dress=(of_nodes,), seed=2
    ),
    Case(
        "easy-seth",
        "Seth",
        (f"{BACKFILL}10,bf_job_part_count_reserve=1", LINEAR, BASIC),
        dress=(of_nodes,),
        seed=1,
    ),
    Case(
        "epilog-made", MADE, (f"{BACKFILL}10", LINEAR, BASIC, "Epilog=/bin/true"), dress=(of_nodes,), seed=4
    ),
    Case("continue-ctc", "CTC", (f"{BACKFILL}10,bf_continue", CORES, BASIC), 32, 4, seed=3),
    Case("loaded-made", MADE, (f"{BACKFILL}30", f"{CORES},CR_LLN", BASIC), 16, 4, seed=5),
    Case("memory-ctc", "CTC", (f"{BACKFILL}30", MEMORY, BASIC), 16, 4, 8000, dress=(with_memory,), seed=4),
    Case("factors-seth", "Seth", (f"{BACKFILL}30", LINEAR, FACTORS), dress=(of_nodes,), seed=2),
    Case(
        "partitions-seth",
        "Seth",
        (f"{BACKFILL}30", CORES, f"{FACTORS}\nPriorityWeightPartition=2000"),
        16,
        4,
        partitions=THREE,
        dress=(where_it_fits,),
        seed=3,
    ),
    Case(
        "share-kth",
        "KTH",
        (f"{BACKFILL}30", LINEAR, SHARES),
        accounts=THREE_ACCOUNTS,
        dress=(of_nodes, owned),
        seed=2,
    ),
    Case(
        "qos-made",
        MADE,
        (f"{BACKFILL}30", CORES, QUALITIES),
        16,
        4,
        accounts=(*QOS, *ONE_ACCOUNT, ALLOWED),
        dress=(in_one_account, PREEMPTION),
        seed=6,
    ),
    Case(
        "preempt-kth",
        "KTH",
        (f"{BACKFILL}30", LINEAR, BASIC, "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE"),
        partitions=PREEMPTING,
        dress=(of_nodes, where_it_fits),
        seed=3,
    ),
    Case(
        "limits-kth",
        "KTH",
        (f"{BACKFILL}30", LINEAR, SHARES),
        accounts=(
            *THREE_ACCOUNTS,
            "modify account a0 set grptres=node=12",
            "modify account a1 set maxjobs=4",
        ),
        dress=(of_nodes, owned),
        seed=4,
    ),
    Case(
        "shallow-seth",
        "Seth",
        (f"{BACKFILL}30,bf_max_job_test=10,default_queue_depth=5", LINEAR, BASIC),
        load=1.5,
        dress=(of_nodes,),
        seed=4,
    ),
    Case("wide-ctc", "CTC", (f"{BACKFILL}30", LINEAR, BASIC), 128, dress=(of_nodes,), seed=5),
)
"""Each in its place by what it tells: the first few are a short look."""
