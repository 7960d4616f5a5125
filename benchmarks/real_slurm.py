"""Tells how near the twin of a `slurm.conf` comes to a real Slurm in virtual time, stream by stream.

`python benchmarks/real_slurm.py OUT [--jobs N] [--runs N] [--cases NAME …] [--clock auto]` runs each stream
under its configuration on a real Slurm, so many times, and then in the twin with 20 seeds. The twin has what
`slurm.conf` and `sacctmgr` say, and what was measured on the real runs: how long launching, ending and the
controller's threads take. It goes on where it stopped: OUT has a line in `runs.jsonl` for each run, and its
jobs and the controller's log in a folder of the case. `--table` prints what is there.

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
from real_slurm_log import measured

import batchlab as bl
from batchlab.bridge.slurm import VirtualCluster, read_configuration, run_real, submissions
from batchlab.errors import BatchlabError

SEEDS = range(20)
APART = 60.0
PHASE = 0.05
"""When in its second a stream begins."""
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
        self.log = ""
        self.listings: dict[str, str] = {}

    def start(self) -> None:
        """Let the controller tell what it does, and make the reservations."""
        super().start()
        self.command("scontrol", "setdebug", "debug2")
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

    def stop(self) -> None:
        """Keep the controller's log."""
        log = self.directory / "log/slurmctld.log"
        if self.supervisor is not None and log.is_file():
            self.log = log.read_text("utf-8", "replace")
        super().stop()


@dataclass(frozen=True)
class Row:
    """A run: what it was, how it went, and what was measured."""

    case: str
    run: int
    jobs: int
    seconds: float
    factor: float
    lateness: float
    overhead: float | None
    states: dict[str, int]
    kept: dict[str, float]
    launch: list[float]
    completion: list[float]
    lag: float
    test: float
    load: float


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
    planned = submissions(workload_of(stream), configuration)
    begin = time.monotonic()
    cluster = Watched(case, given, clock)
    real = run_real(cluster, planned)
    seconds = time.monotonic() - begin
    for name, text in {"slurm.conf": real.configuration, **cluster.listings}.items():
        (twin / name).write_text(text, "utf-8")
    real.jobs.write_parquet(folder / f"run-{number}.parquet")
    (folder / f"run-{number}.log.gz").write_bytes(gzip.compress(cluster.log.encode()))
    ended = real.jobs.filter(slurm_state="COMPLETED")
    sleeps = dict(zip(ended["slurm_id"], ended["planned_run_time"], strict=True))
    found = measured(cluster.log, sleeps)
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
        found.launch,
        found.completion,
        found.lag,
        found.test,
        float(Path("/proc/loadavg").read_text("ascii").split()[0]),
    )


def workload_of(stream: pl.DataFrame) -> bl.Workload:
    """Make the workload of a stream."""
    return bl.Workload.from_table(stream, overrun="keep")


def twin_runs(case: Case, rows: list[dict[str, Any]], out: Path) -> list[pl.DataFrame]:
    """Run the stream in the twin with each seed, with what was measured on the real runs."""
    system = bl.read_system(out / case.name / "twin")
    starts = {name: fmean(row["kept"][name] for row in rows) for name in rows[0]["kept"]}
    kept = tuple(
        bl.Reservation(
            each.name,
            start=starts[each.name],
            duration=60.0 * each.minutes,
            nodes=f"{each.nodes[0] - 1}-{each.nodes[1] - 1}",
            admits=None,
        )
        for each in case.kept
    )
    stream = case.stream(rows[0]["jobs"])
    if "mem" in stream.columns and "mem" not in system.resources:
        stream = stream.drop("mem")
    if case.accounts:
        stream = stream.with_columns(user=pl.lit("root"))
    late = PHASE + fmean(row["lateness"] for row in rows)
    workload = workload_of(stream.with_columns(pl.col("submit_time") + late))
    measures = {name: fmean(row[name] for row in rows) for name in ("lag", "test")}
    policy = f"slurm(main_lag={measures['lag']:.5f}, bf_test_time={measures['test']:.5f})"
    overheads = bl.Overheads(
        launch=[max(each, 0.0) for row in rows for each in row["launch"]],
        completion=[max(each, 0.0) for row in rows for each in row["completion"]],
    )
    system = replace(system, reservations=kept)
    on_system = bl.Policy.parse(policy).on(system.policy)
    return [
        bl.simulate(workload, system, on_system, seed=seed, overheads=overheads, walltime="kill").jobs
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
    """Write a median with its range."""
    return f"{median(values):.1f} ({min(values):.1f}–{max(values):.1f})"


def line_of(case: Case, rows: list[dict[str, Any]], out: Path) -> str:
    """Write the line of the table of a case."""
    real = [times_of(pl.read_parquet(out / case.name / f"run-{row['run']}.parquet")) for row in rows]
    twin = [times_of(each) for each in twin_runs(case, rows, out)]
    pairs = [distance(one, other) for one, other in combinations(real, 2)]
    against = [distance(one, other) for one in real for other in twin]
    waits = ", ".join(f"{mean_wait(each):.1f}" for each in real)
    of_twin = [mean_wait(each) for each in twin]
    overhead = fmean(each for row in rows for each in row["launch"])
    between = span([each[0] for each in pairs]) if pairs else ""
    starts = f"{median([each[1] for each in pairs]):.0f}" if pairs else ""
    return (
        f"| {case.name} | {rows[0]['jobs']} | {between} | {span([each[0] for each in against])} | "
        f"{starts} | {median([each[1] for each in against]):.0f} | {waits} | "
        f"{min(of_twin):.1f}–{max(of_twin):.1f} ({fmean(of_twin):.1f}) | "
        f"{fmean(row['factor'] for row in rows):.0f} | {overhead:.2f} |"
    )


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
