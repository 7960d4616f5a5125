"""Free runs of recorded streams under the recorded configurations, beside real runs.

`PYTHONPATH=src:tests python -m support.slurm_free_runs FOLDER` prints a table of all recordings that are
there: FOLDER is `oracles/slurm` or `oracles/slurm-multifactor`. With `--parts` it prints mean waits with some
of what was measured on the machine.
"""

import gzip
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import fmean, median
from typing import Any

import polars as pl

import batchlab as bl
from batchlab.options.overheads import Delay
from batchlab.slurm import read_configuration
from batchlab.system.slurm import translate
from support.slurm_free_events import commands_of

__all__ = ["RECORDINGS", "Comparison", "Recording", "compared"]

SEEDS = range(20)
MANY_SEEDS = range(200)
"""Of the table: medians of 20 seeds of `bf` are from 48 s to 69 s."""
MEGABYTE = 1024
DEFAULT = 2000
"""DefMemPerCPU of m2, MB."""
ASKED = (
    *("nodes", "ntasks", "ntasks_per_node", "cpus_per_task"),
    *("mem_mb", "mem_per_cpu_mb", "exclusive", "nice", "requeue"),
)
"""Whole numbers that a stream may give."""


@dataclass(frozen=True)
class Recording:
    """A stream, a configuration and its real runs, with what was measured on the machine, seconds.

    `launch` is the mean time from the allocation to the begin of the script, `completion` from its end to the
    release of the last node, `lag` from the planned second of a submission to its arrival. `phases` has the
    real runs, each with the part of a second at which its stream began. With `commands`, what was done from
    outside is done in the twin's runs too.
    """

    stream: str
    configuration: str
    phases: dict[str, float]
    launch: float = 0.05
    completion: float | Delay = 0.04
    lag: float = 0.014
    controller: dict[str, float] = field(default_factory=dict)
    commands: bool = False

    @property
    def folder(self) -> str:
        """The folder of the oracles in which it is."""
        return "slurm-multifactor" if "/" in self.configuration else "slurm"

    @property
    def suffix(self) -> str:
        """What the file of a real run ends with."""
        return "/jobs.csv" if "/" in self.configuration else ".csv"

    def policy(self, folder: Path, epoch: int) -> str:
        """Give the policy of the configuration, with how fast its controller is."""
        own = read_configuration(folder / self.configuration).policy
        more = {"epoch": epoch, **self.controller}
        arguments = ", ".join(f"{name}={value}" for name, value in more.items())
        return f"{own[:-1]}, {arguments})" if own.endswith(")") else f"{own}({arguments})"


IDLE = {"main_lag": 0.0025, "bf_test_time": 0.0002}
"""A controller that writes few logs: measured on the calls of fifo_a, bf_a and bf30_a."""

RECORDINGS = (
    Recording("s1.csv", "fifo_a.slurm.conf", {"fifo_a": 0.1, "fifo_b": 0.25}, controller=IDLE),
    Recording("s1.csv", "bf_a.slurm.conf", {"bf_a": 0.4, "bf_b": 0.55}, controller=IDLE),
    Recording("s1.csv", "bf30_a.slurm.conf", {"bf30_a": 0.7}, controller=IDLE),
    Recording(
        "m1.stream.csv",
        "m1a/slurm.conf",
        {"m1a": 0.15, "m1b": 0.55},
        *(0.15, 0.09, 0.045),
        {"main_lag": 0.025, "bf_test_time": 0.0027},
    ),
    Recording(
        "m1.stream.csv",
        "m1d/slurm.conf",
        {"m1d": 0.45},
        *(0.11, 0.07, 0.045),
        {"main_lag": 0.0076, "bf_test_time": 0.002},
    ),
    Recording(
        "m2.stream.csv",
        "m2a/slurm.conf",
        {"m2a": 0.35},
        *(0.155, 0.11, 0.045),
        {"main_lag": 0.048, "bf_test_time": 0.0036},
    ),
    Recording(
        "m3.stream.csv",
        "m3a/slurm.conf",
        {"m3a": 0.25},
        *(0.147, 0.114, 0.049),
        {"main_lag": 0.029, "bf_test_time": 0.0055},
        commands=True,
    ),
)


NOTHING: dict[str, Any] = {"launch": 0.0, "completion": 0.0, "lag": 0.0, "controller": {}}
MESSAGES = Delay(per_task=0.002)
"""EpilogMsgTime, 2 ms for each node of a job: tasks are nodes but in m2."""
PARTS: dict[str, dict[str, Any]] = {
    "slurm.conf alone": NOTHING,
    "EpilogMsgTime": {**NOTHING, "completion": MESSAGES},
    "launch, completion, lag": {"controller": {}},
    "threads": {key: value for key, value in NOTHING.items() if key != "controller"},
    "all": {},
}
"""What of a recording stands in for what was measured."""


@dataclass(frozen=True)
class Comparison:
    """One real run, and as many of the twin as there are seeds: P and mean waits, seconds."""

    real_wait: float
    waits: list[float]
    distances: list[float]


def table(path: Path) -> pl.DataFrame:
    """Read a table, which may be compressed."""
    given = path if path.exists() else path.with_name(f"{path.name}.gz")
    text = gzip.decompress(given.read_bytes()) if given.suffix == ".gz" else given.read_bytes()
    return pl.read_csv(text, infer_schema_length=None)


def jobs_of(stream: pl.DataFrame) -> pl.DataFrame:
    """Give the jobs of a stream; submissions are seconds after its begin."""
    given = stream.with_columns(
        pl.lit(None, pl.Int64).alias(name) for name in ASKED if name not in stream.columns
    )
    # A column without values has no numbers.
    given = given.with_columns(pl.col(name).cast(pl.Int64) for name in ASKED)
    # A job that asks for nodes alone has a task on each.
    asks_nodes = pl.col("ntasks").is_null() & pl.col("nodes").is_not_null()
    per_node = pl.col("ntasks_per_node").fill_null(pl.when(asks_nodes).then(1).otherwise(0))
    cpus = pl.col("cpus_per_task").fill_null(1)
    tasks = pl.col("ntasks").fill_null(pl.col("nodes").fill_null(1) * pl.max_horizontal(per_node, 1))
    of_node = pl.col("mem_mb") / pl.max_horizontal(per_node, 1)
    memory = pl.coalesce(of_node, pl.col("mem_per_cpu_mb") * cpus, DEFAULT * cpus) * MEGABYTE
    own = [name for name in ("user", "account", "qos") if name in stream.columns]
    has_partitions = "partition" in stream.columns
    where = pl.col("partition").str.replace_all(",", "|") if has_partitions else pl.lit("batch")
    return given.select(
        *own,
        *waiting(stream),
        job_id="job",
        submit_time=pl.col("submit").cast(pl.Float64),
        run_time=pl.col("sleep").cast(pl.Float64),
        requested_time=pl.col("limit_min") * 60.0,
        tasks=tasks,
        tasks_per_node=per_node,
        core=cpus,
        mem=(memory / cpus).floor().cast(pl.Int64) * cpus,
        exclusive=pl.col("exclusive").fill_null(0) == 1,
        nice=pl.col("nice").fill_null(0),
        requeue=pl.col("requeue").fill_null(1) == 1,
        partition=where,
    )


def waiting(stream: pl.DataFrame) -> list[pl.Expr]:
    """Give what jobs of a stream wait for: others, a time, places in their array, a reservation."""
    found = [pl.col(name).cast(pl.String) for name in ("array", "reservation") if has_some(stream, name)]
    if has_some(stream, "dependency"):
        # Each job had a name of its own.
        found += [pl.col("dependency").cast(pl.String), pl.col("job").cast(pl.String).alias("job_name")]
    if has_some(stream, "begin"):
        found.append((pl.col("submit") + pl.col("begin")).cast(pl.Float64).alias("begin_time"))
    return found


def has_some(stream: pl.DataFrame, name: str) -> bool:
    """Tell whether a stream has values in a column."""
    return name in stream.columns and stream[name].null_count() < stream.height


def without_failures(stream: pl.DataFrame) -> pl.DataFrame:
    """Let jobs complete that failed: what waited for their failure waits for their end.

    What waited for their success never ran, and is not there.
    """
    if not has_some(stream, "exit_code"):
        return stream
    for job in stream.filter(pl.col("exit_code").fill_null(0) != 0)["job"]:
        stream = stream.filter(pl.col("dependency").fill_null("") != f"afterok:{job}")
        ended = pl.col("dependency").str.replace_all(f"afternotok:{job}", f"afterany:{job}")
        stream = stream.with_columns(ended)
    return stream


def real_of(path: Path, jobs: pl.DataFrame) -> pl.DataFrame:
    """Give the times of a real run, whole seconds: those of the jobs of a workload that completed.

    A job that ran several times was submitted once, and started and ended with its last run.
    """
    seen = table(path)
    if "attempt" in seen.columns:
        first = seen.group_by("job", "slurm_id").agg(pl.col("submit").min())
        seen = seen.filter(pl.col("state") == "COMPLETED").drop("submit").join(first, on=("job", "slurm_id"))
    times = {"submit": "submit_time", "start": "start_time", "end": "end_time"}
    if "array_id" in jobs.columns:
        index = pl.col("slurm_id").cast(pl.String).str.extract(r"_(\d+)$").cast(pl.Int64)
        keys, own = (
            ["job", "index"],
            {"job": pl.coalesce("array_id", "job_id"), "index": pl.col("array_index")},
        )
        seen = seen.with_columns(index=index)
    else:
        keys, own = ["job"], {"job": pl.col("job_id")}
    found = seen.rename(times).select(*keys, *times.values())
    known = jobs.select("job_id", "requested_time", "tasks", **own)
    return known.join(found, on=keys, nulls_equal=True).drop(keys)


def epoch_of(folder: Path, run: str) -> int:
    """Give the second of the clock at the origin of a run's times."""
    log, about = folder / f"{run}.swf", folder / run / "run.json"
    if log.exists():
        return int(log.read_text().partition("UnixStartTime:")[2].split()[0])
    return int(pl.read_json(about)["T0_epoch"][0]) if about.exists() else 0


def compared(recording: Recording, folder: Path, run: str, seeds: range = SEEDS) -> Comparison:
    """Run the stream with phases of the threads from each seed."""
    shift = recording.phases[run] + recording.lag
    workload, system = inputs(recording, folder, run)
    seen = real_of(folder / f"{run}{recording.suffix}", workload.jobs)
    events = None
    if recording.commands:
        commands = commands_of(folder / run)
        system = replace(system, reservations=commands.reservations(shift))
        events = commands.events(workload.jobs, shift)
    policy = recording.policy(folder, epoch_of(folder, run))
    overheads = bl.Overheads(launch=recording.launch, completion=recording.completion)
    waits, distances = [], []
    for seed in seeds:
        found = bl.simulate(
            workload, system, policy, seed=seed, overheads=overheads, events=events, walltime="kill"
        ).jobs
        # Slurm's own times are whole seconds.
        times = pl.col("submit_time", "start_time", "end_time").floor()
        model = found.filter(state="completed").select("job_id", times, "requested_time", "tasks")
        real = seen.join(model, on="job_id", how="semi")
        waits.append(mean_wait(model))
        distances.append(bl.adequacy.compare(real, model.join(seen, on="job_id", how="semi")).P)
    return Comparison(mean_wait(seen), waits, distances)


def inputs(recording: Recording, folder: Path, run: str) -> tuple[bl.Workload, bl.System]:
    """Give the stream as it was submitted in a run, and the system of its configuration."""
    stream = jobs_of(without_failures(table(folder / recording.stream)))
    if not recording.commands:
        ran = real_of(folder / f"{run}{recording.suffix}", stream)
        stream = stream.join(ran, on="job_id", how="semi", maintain_order="left")
    system = translate(read_configuration(folder / recording.configuration)).system
    if "mem" not in system.resources:
        stream = stream.drop("mem", strict=False)
    shift = recording.phases[run] + recording.lag
    times = [name for name in ("submit_time", "begin_time") if name in stream.columns]
    return bl.Workload.from_table(stream.with_columns(pl.col(times) + shift), overrun="keep"), system


def mean_wait(jobs: pl.DataFrame) -> float:
    """Give the mean of start − submission."""
    return fmean((jobs["start_time"] - jobs["submit_time"]).to_list())


def print_parts(folder: Path) -> None:
    """Print the mean waits of 20 seeds with some of what was measured."""
    print("| run | real |", *(f"{name} |" for name in PARTS))  # noqa: T201
    print("|---|---|", *("---|" for _ in PARTS))  # noqa: T201
    for recording in filter(partial(is_there, folder), RECORDINGS):
        for run in recording.phases:
            cells = list[str]()
            for part in PARTS.values():
                found = compared(replace(recording, **part), folder, run)
                off = fmean(found.waits) / found.real_wait - 1
                cells.append(f"{min(found.waits):.1f}–{max(found.waits):.1f} ({off:+.1%})")
            print(f"| {run} | {found.real_wait:.1f} |", *(f"{cell} |" for cell in cells), flush=True)  # noqa: T201


def is_there(folder: Path, recording: Recording) -> bool:
    """Tell whether a folder has a recording."""
    return (folder / recording.stream).exists() and (folder / recording.configuration).exists()


def between(recording: Recording, folder: Path) -> Iterator[str]:
    """Say how far real runs of a recording are apart."""
    stream = jobs_of(table(folder / recording.stream))
    real = {run: real_of(folder / f"{run}{recording.suffix}", stream) for run in recording.phases}
    for one, other in combinations(real, 2):
        yield f"{one}–{other} {bl.adequacy.compare(real[one], real[other]).P:.1f}"


def main(folder: Path) -> None:
    """Print the table."""
    print("| configuration | real run | mean wait: real | twin | P | between real runs |")  # noqa: T201
    print("|---|---|---|---|---|---|")  # noqa: T201
    for recording in RECORDINGS:
        if not is_there(folder, recording):
            continue
        apart = ", ".join(between(recording, folder))
        for run in recording.phases:
            found = compared(recording, folder, run, MANY_SEEDS)
            low, high, mean = min(found.waits), max(found.waits), fmean(found.waits)
            least, most = min(found.distances), max(found.distances)
            print(  # noqa: T201
                f"| `{recording.configuration}` | {run} | {found.real_wait:.1f} | {low:.1f}–{high:.1f} "
                f"({mean:.1f}) | {median(found.distances):.1f} ({least:.1f}–{most:.1f}) | {apart} |",
                flush=True,
            )


if __name__ == "__main__":
    (print_parts if "--parts" in sys.argv else main)(Path(sys.argv[1]))
