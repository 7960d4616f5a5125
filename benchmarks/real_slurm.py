"""Tells how near the twin of a `slurm.conf` comes to a real Slurm in virtual time, stream by stream.

`python benchmarks/real_slurm.py OUT [--jobs N] [--runs N] [--cases NAME …] [--clock auto]` runs each stream
under its configuration on a real Slurm, so many times, and then in the twin with 20 seeds. The twin has what
`slurm.conf` and `sacctmgr` say, and what was measured on the real run: when its jobs arrived and how long
they lasted, when nodes were free again, how long the controller's threads took, and when they woke first. It
goes on where it stopped: OUT has a line in `runs.jsonl` for each run, and its jobs and the controller's log
in a folder of the case. `--table` prints what is there.

The clusters' files are in TMPDIR. On a busy disk this should be one in memory: while Slurm waits for a disk,
virtual time goes on.
"""

import argparse
import gzip
import json
import time
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
import polars as pl
from real_slurm_cases import CASES, Case

import batchlab as bl
from batchlab.bridge.slurm import (
    Measured,
    VirtualCluster,
    measure,
    read_configuration,
    run_real,
    submissions,
)
from batchlab.errors import BatchlabError

SEEDS = range(20)
APART = 60.0
PATIENCE = 1800.0
COLUMNS = (
    *("stream", "jobs", "P real, real", "P model, real", "starts > 60 s, real", "model"),
    *("mean waits, real", "twin", "factor", "launch, s"),
)


class Watched(VirtualCluster):
    """A virtual cluster that keeps what is asked of it at its begin and its end."""

    def __init__(self, case: Case, folder: Path, clock: str) -> None:
        super().__init__(folder, clock=clock)
        self.case = case
        self.kept: dict[str, float] = {}
        self.listings: dict[str, str] = {}

    def start(self) -> None:
        """Make the reservations."""
        super().start()
        for each in self.case.kept:
            begin = int(self.clock.now()) + each.after
            text = datetime.fromtimestamp(begin, UTC).strftime("%Y-%m-%dT%H:%M:%S")
            nodes = f"n[{each.nodes[0]}-{each.nodes[1]}]"
            options = (f"StartTime={text}", f"Duration={each.minutes}", f"Nodes={nodes}", "Users=root")
            self.command("scontrol", "create", "reservation", f"ReservationName={each.name}", *options)
            self.kept[each.name] = float(begin)
        if self.configuration.accounts:
            dump = self.directory / "dump.cfg"
            self.command("sacctmgr", "dump", "vnodes", f"file={dump}")
            qualities = self.command("sacctmgr", "show", "qos", "--parsable2")
            self.listings = {"vnodes.cfg": dump.read_text("utf-8"), "qos.txt": qualities}


@dataclass(frozen=True)
class Row:
    """A run: what it was, and how it went."""

    case: str
    run: int
    jobs: int
    seconds: float
    factor: float
    lateness: float
    overhead: float | None
    states: dict[str, int]
    kept: dict[str, float]
    load: float
    origin: int


def run(case: Case, number: int, jobs: int, out: Path, clock: str) -> Row:
    """Run a stream on a real Slurm, and write what came of it."""
    folder = out / case.name
    given, twin = folder / "conf", folder / "twin"
    for each in (given, twin):
        each.mkdir(parents=True, exist_ok=True)
    (given / "slurm.conf").write_text(case.configuration(), "utf-8")
    if case.accounts:
        (given / "sacctmgr.txt").write_text("\n".join(case.accounts) + "\n", "utf-8")
    configuration = read_configuration(given)
    stream = case.stream(jobs)
    planned = submissions(bl.Workload.from_table(stream, overrun="keep"), configuration)
    begin = time.monotonic()
    cluster = Watched(case, given, clock)
    # While nodes are kept, nothing may run for long.
    real = run_real(cluster, planned, patience=PATIENCE)
    seconds = time.monotonic() - begin
    for name, text in {"slurm.conf": real.configuration, **cluster.listings}.items():
        (twin / name).write_text(text, "utf-8")
    real.jobs.write_parquet(folder / f"run-{number}.parquet")
    (folder / f"run-{number}.log.gz").write_bytes(gzip.compress(real.log.encode()))
    return Row(
        case.name,
        number,
        jobs,
        seconds,
        1.0 if real.course is None else real.course.factor,
        real.lateness()["mean"],
        real.overhead(),
        dict(real.jobs["slurm_state"].value_counts().rows()),
        {name: instant - real.origin for name, instant in cluster.kept.items()},
        float(Path("/proc/loadavg").read_text("ascii").split()[0]),
        real.origin,
    )


def measured_in(folder: Path, row: dict[str, Any]) -> Measured:
    """Measure the controller's work in a run."""
    jobs = pl.read_parquet(folder / f"run-{row['run']}.parquet")
    log = gzip.decompress((folder / f"run-{row['run']}.log.gz").read_bytes()).decode()
    return measure(log, jobs, row["origin"])


def twin_runs(case: Case, row: dict[str, Any], found: Measured, out: Path) -> list[pl.DataFrame]:
    """Run the stream of a real run in the twin with each seed, with its submissions and durations."""
    system = bl.read_system(out / case.name / "twin")
    kept = tuple(
        bl.Reservation(
            each.name,
            start=row["kept"][each.name],
            duration=60.0 * each.minutes,
            nodes=f"{each.nodes[0] - 1}-{each.nodes[1] - 1}",
            admits=None,
        )
        for each in case.kept
    )
    stream = case.stream(row["jobs"])
    if case.accounts:
        stream = stream.with_columns(user=pl.lit("root"))
    numbers = pl.read_parquet(out / case.name / f"run-{row['run']}.parquet").select("job_id", "slurm_id")
    stream = found.precise(stream.join(numbers, on="job_id", how="left", maintain_order="left"))
    workload = bl.Workload.from_table(stream.drop("slurm_id"), overrun="keep")
    policy = found.policy(system.policy, row["origin"])
    return [
        bl.simulate(
            workload,
            replace(system, reservations=kept),
            policy,
            seed=seed,
            overheads=found.overheads,
            walltime="kill",
        ).jobs.with_columns(pl.col("end_time") - pl.col("completion_time"))
        for seed in SEEDS
    ]


def times_of(jobs: pl.DataFrame) -> pl.DataFrame:
    """Give the whole seconds of the jobs that completed."""
    whole = pl.col("submit_time", "start_time", "end_time").floor()
    return jobs.filter(state="completed").select("job_id", whole).sort("job_id")


def distance(one: pl.DataFrame, other: pl.DataFrame) -> tuple[float, int]:
    """Give P, and how many jobs start more than a minute apart, of those that completed in both."""
    both = one.join(other, on="job_id", suffix="_other")
    ends, starts = ((both[name] - both[f"{name}_other"]).to_numpy() for name in ("end_time", "start_time"))
    return float(np.sqrt((ends**2).mean())), int((np.abs(starts) > APART).sum())


def mean_wait(jobs: pl.DataFrame) -> float:
    """Give the mean of start - submission."""
    return fmean((jobs["start_time"] - jobs["submit_time"]).to_list())


def span(values: list[float]) -> str:
    """Write a median with its range; nothing of nothing."""
    if not values:
        return ""
    return f"{median(values):.1f} ({min(values):.1f}–{max(values):.1f})"


def line_of(case: Case, rows: list[dict[str, Any]], out: Path) -> str:
    """Write the line of the table of a case."""
    folder = out / case.name
    real = [times_of(pl.read_parquet(folder / f"run-{row['run']}.parquet")) for row in rows]
    found = [measured_in(folder, row) for row in rows]
    twins = [
        [times_of(each) for each in twin_runs(case, row, measure, out)]
        for row, measure in zip(rows, found, strict=True)
    ]
    pairs = [distance(one, other) for one, other in combinations(real, 2)]
    against = [distance(one, each) for one, twin in zip(real, twins, strict=True) for each in twin]
    waits = [mean_wait(each) for twin in twins for each in twin]
    cells = (
        case.name,
        rows[0]["jobs"],
        span([each[0] for each in pairs]),
        span([each[0] for each in against]),
        f"{median([each[1] for each in pairs]):.0f}" if pairs else "",
        f"{median([each[1] for each in against]):.0f}",
        ", ".join(f"{mean_wait(each):.1f}" for each in real),
        f"{min(waits):.1f}–{max(waits):.1f} ({fmean(waits):.1f})",
        f"{fmean(row['factor'] for row in rows):.0f}",
        f"{median(time for each in found for time in each.launch):.2f}",
    )
    return f"| {' | '.join(map(str, cells))} |"


def table(rows: list[dict[str, Any]], cases: list[Case], out: Path) -> None:
    """Print what is there."""
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for case in cases:
        if own := [row for row in rows if row["case"] == case.name]:
            print(line_of(case, own, out), flush=True)


def known(path: Path) -> list[dict[str, Any]]:
    """Read the runs that were made."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--cases", nargs="+", metavar="NAME", choices=[case.name for case in CASES])
    parser.add_argument("--clock", default="auto")
    parser.add_argument("--table", action="store_true", help="run nothing")
    given = parser.parse_args()
    cases = [case for case in CASES if given.cases is None or case.name in given.cases]
    path = given.out / "runs.jsonl"
    given.out.mkdir(parents=True, exist_ok=True)
    for number in range(1, 1 if given.table else given.runs + 1):
        for case in cases:
            if any((row["case"], row["run"]) == (case.name, number) for row in known(path)):
                continue
            try:
                row = run(case, number, given.jobs, given.out, given.clock)
            except BatchlabError as error:
                print(f"{case.name}, run {number}: {error}", flush=True)
                continue
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(row)) + "\n")
            print(
                f"{case.name}, run {number}: {row.seconds:.0f} s, factor {row.factor:.0f}, {row.states}",
                flush=True,
            )
    table(known(path), cases, given.out)


if __name__ == "__main__":
    main()
