"""Compares forecasts from the dumps of a real Slurm with the starts that followed (docs/live.md).

`python benchmarks/live.py OUT [--clock auto] [--picture FILE]` runs a stream of 120 jobs on a real Slurm with
eight virtual nodes: multifactor priority, two partitions, time limits of 3 to 10 times the run times. Every
30 s of the cluster's clock it keeps `squeue --json` and `sinfo --json`. Then it forecasts from each of these
dumps alone, in the order of Slurm's priorities, and prints one table: coverage and error of the forecasts,
beside the error of the starts that `squeue --start` shows, which are in the same dumps. OUT has the
recording; with a recording there, only the forecasts are made. The clusters' files are in TMPDIR.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.figure import Figure

import batchlab as bl
from batchlab.bridge.slurm import VirtualCluster, run_real, submissions
from batchlab.bridge.slurm import read_configuration as read_cluster
from batchlab.workload import Header

CONFIGURATION = """SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
PriorityType=priority/multifactor
PriorityMaxAge=00:30:00
PriorityCalcPeriod=1
PriorityWeightAge=1000
PriorityWeightJobSize=500
PriorityWeightPartition=300
NodeName=n[1-8] CPUs=4
PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE PriorityJobFactor=1
PartitionName=short Nodes=n[5-8] MaxTime=30 PriorityJobFactor=10
"""
JOBS, SEED, EVERY = 120, 7, 30.0
SPAN = 2400.0
"""Seconds within which jobs are submitted."""
LOAD = 1.3
"""Work offered within that time, of the capacity."""
CORES = 32
SHORT_LIMIT, SHORT_CORES, SHORT_SHARE = 1800.0, 8, 0.5
"""Such a share of the jobs within these limits goes to the partition short."""
PATIENCE = 1800.0
ROWS = {
    "forecast": "forecast, run times as shares of the limits",
    "learned": "forecast, run times of jobs that ended before",
    "slurm": "`squeue --start`",
}
COLUMNS = ("start of a waiting job by", "cases", "80 % interval covers", "median error, s", "mean error, s")


def stream() -> pl.DataFrame:
    """Return the jobs: sizes of 1 to 16 cores, and time limits of 3 to 10 times the run times."""
    random = np.random.default_rng(SEED)
    submit = np.floor(np.sort(random.uniform(0.0, SPAN, JOBS)))
    tasks = np.minimum(2 ** random.integers(0, 5, JOBS), 16)
    run_time = np.exp(random.normal(0.0, 0.8, JOBS))
    run_time *= LOAD * SPAN * CORES / float((run_time * tasks).sum())
    run_time = np.floor(run_time.clip(20.0, 900.0))
    limit = np.ceil(run_time * random.uniform(3.0, 10.0, JOBS) / 60.0) * 60.0
    fits = (limit <= SHORT_LIMIT) & (tasks <= SHORT_CORES)
    is_short = fits & (random.random(JOBS) < SHORT_SHARE)
    return pl.DataFrame(
        {
            "job_id": np.arange(1, JOBS + 1),
            "submit_time": submit,
            "run_time": run_time,
            "requested_time": limit,
            "tasks": tasks,
            "partition": np.where(is_short, "short", "batch"),
        }
    )


def record(out: Path, clock: str) -> None:
    """Run the stream on a real Slurm, and keep its dumps and the starts."""
    given = out / "conf"
    given.mkdir(parents=True, exist_ok=True)
    (given / "slurm.conf").write_text(CONFIGURATION, "utf-8")
    workload = bl.Workload.from_table(stream(), overrun="keep")
    planned = submissions(workload, read_cluster(given))
    begin = time.monotonic()
    instants = np.arange(EVERY, 1.7 * SPAN, EVERY).tolist()
    real = run_real(VirtualCluster(given, clock=clock), planned, dumps=instants, patience=PATIENCE)
    for dump in real.dumps:
        for name, text in dump.files.items():
            (out / name).write_text(text, "utf-8")
    taken = [(dump.instant, dump.taken + real.origin) for dump in real.dumps]
    real.jobs.write_parquet(out / "jobs.parquet")
    about = {
        "origin": real.origin,
        "slurm": real.slurm,
        "dumps": taken,
        "seconds": time.monotonic() - begin,
        "factor": 1.0 if real.course is None else real.course.factor,
        "overhead": real.overhead(),
        "states": dict(real.jobs["slurm_state"].value_counts().rows()),
    }
    (out / "run.json").write_text(json.dumps(about, indent=1), "utf-8")


class Past:
    """The jobs that ended between two dumps, with their ends to half the time between the dumps."""

    def __init__(self, origin: int) -> None:
        self._origin = origin
        self._before = float(origin)
        self._known: dict[int, dict[str, float | int | str]] = {}

    def add(self, state: bl.slurm.LiveState) -> bl.Workload | None:
        """Add a dump. Return the jobs that have ended until then, or None."""
        for job in state.jobs:
            if job.phase == "ended" and job.start_time is not None and job.job_id not in self._known:
                start, limit = job.start_time - self._origin, job.time_limit or 0.0
                end = (max(job.start_time, self._before) + state.now) / 2 - self._origin
                self._known[job.job_id] = {
                    "submit_time": min((job.submit_time or job.start_time) - self._origin, start),
                    "start_time": start,
                    "end_time": end,
                    "run_time": end - start,
                    "requested_time": limit,
                    "tasks": max(job.cpus, 1),
                    "user": job.user or "",
                }
        self._before = state.now
        if not self._known:
            return None
        header = Header.from_fields({"UnixStartTime": self._origin})
        return bl.Workload.from_table(pl.DataFrame([*self._known.values()]), header=header, overrun="keep")


def forecasts(out: Path, samples: int, step: int) -> pl.DataFrame:
    """Forecast from each step-th dump: a row for each waiting job, in seconds from the time of the dump."""
    about = json.loads((out / "run.json").read_text("utf-8"))
    real = pl.read_parquet(out / "jobs.parquet").select("slurm_id", "start_time")
    starts = {str(job): start + about["origin"] for job, start in real.drop_nulls().rows()}
    configuration, past, found = bl.slurm.read_configuration(out / "conf"), Past(about["origin"]), []
    for number, (instant, now) in enumerate(about["dumps"]):
        jobs, nodes = (out / f"{name}-{instant:.15g}.json" for name in ("squeue", "sinfo"))
        state = bl.slurm.read_dump(jobs, now=now, nodes=nodes)
        history = past.add(state)
        if not state.waiting or number % step:
            continue
        if state.unexplained:
            # A job started or ended between the two commands: an operator would repeat them.
            print(f"the dumps of {instant:g} s differ, and are left out")
            continue
        tables = {}
        for name, known in (("forecast", None), ("learned", history)):
            live = bl.slurm.translate_dump(state, configuration, order="dump", history=known)
            answer = live.forecast(samples, limits=False).table
            levels = {f"start_{each}": f"{name}_{each}" for each in ("0.1", "0.5", "0.9")}
            tables[name] = answer.select("slurm_id", *levels).rename(levels)
        slurm = {str(job.job_id): job.planned_start for job in state.waiting}
        both = tables["forecast"].join(tables["learned"], on="slurm_id", maintain_order="left")
        for row in both.iter_rows(named=True):
            planned = slurm[row["slurm_id"]]
            after = None if planned is None else max(planned - now, 0.0)
            found.append({"instant": instant, **row, "slurm": after, "real": starts[row["slurm_id"]] - now})
    return pl.DataFrame(found, infer_schema_length=None)


def table(cases: pl.DataFrame) -> list[tuple[str, ...]]:
    """Return the rows of the table; all are about the cases in which Slurm shows a start."""
    shown = cases.drop_nulls("slurm")
    rows: list[tuple[str, ...]] = []
    for name, title in ROWS.items():
        middle = pl.col(name if name == "slurm" else f"{name}_0.5")
        error = shown.select((middle - pl.col("real")).abs()).to_series()
        covers = ""
        if name != "slurm":
            # Slurm's starts are whole seconds.
            low, high = pl.col(f"{name}_0.1").floor() - 1.0, pl.col(f"{name}_0.9").ceil() + 1.0
            share = shown.select(pl.col("real").is_between(low, high).mean()).item()
            covers = f"{100 * share:.0f} %"
        median, mean = (
            float(error.to_numpy().mean()) if each else float(np.median(error)) for each in (0, 1)
        )
        rows.append((title, f"{len(shown):,}", covers, f"{median:,.0f}", f"{mean:,.0f}"))
    return rows


def draw(cases: pl.DataFrame, path: Path) -> None:
    """Draw forecast and real waits to come, beside the starts that Slurm shows."""
    shown = cases.drop_nulls("slurm")
    figure = Figure(figsize=(9.0, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    real = shown["real"].to_numpy() / 60.0
    low, middle, high = (shown[f"learned_{each}"].to_numpy() / 60.0 for each in ("0.1", "0.5", "0.9"))
    left.vlines(real, low, high, color="C0", alpha=0.15, linewidth=1.5, label="80 % interval")
    left.plot(real, middle, ".", color="C0", markersize=3, label="median")
    right.plot(real, shown["slurm"].to_numpy() / 60.0, ".", color="C1", markersize=3, label="squeue --start")
    for axes, title in ((left, "Forecast from the dump"), (right, "Start that Slurm shows")):
        axes.axline((0.0, 0.0), slope=1.0, color="0.4", linewidth=0.8)
        axes.set(title=title, xlabel="real wait to come (min)")
        axes.legend(loc="upper right")
    left.set_ylabel("forecast wait to come (min)")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160)


def main() -> None:
    """Record the stream unless it is recorded, forecast, and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--clock", default="auto")
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--step", type=int, default=1, help="forecast from each step-th dump")
    parser.add_argument("--picture", type=Path)
    options = parser.parse_args()
    if not (options.out / "run.json").exists():
        record(options.out, options.clock)
    begin = time.process_time()
    cases = forecasts(options.out, options.samples, options.step)
    cases.write_parquet(options.out / "cases.parquet")
    print("| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS))
    for row in table(cases):
        print("| " + " | ".join(row) + " |")
    print(f"\n{time.process_time() - begin:.0f} s of CPU time for the forecasts")
    if options.picture:
        draw(cases, options.picture)


if __name__ == "__main__":
    main()
