"""Compares a real Slurm in virtual time with the same Slurm in real time, on recorded streams.

`python benchmarks/real_slurm_recorded.py OUT [--runs 5] [--cases NAME …] [--busy 2]` feeds each recorded
stream to a real Slurm under its recorded configuration, with `--clock auto`, so many times. It prints P and
the mean turnaround against each recorded run, beside P of two recorded runs and what was lost. `--clock real`
does the same in real time; `--real OUT …` counts such runs among the recorded ones. `--busy N`
keeps N processes busy beside it. OUT gets the jobs of each run, and a line in `runs.jsonl`;
runs that are there are not made again.

All jobs are those of one user. Under fair share the users of the recorded runs become accounts with their
shares, each with one user: in a fair tree these get the same ranks. m3 is left out: its limits are those of
users, and its commands were chosen while it ran.
"""

import argparse
import getpass
import json
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean, median
from typing import Any

import polars as pl
from measure import ROOT
from real_slurm import known as known_runs
from real_slurm_cases import path_of

import batchlab as bl
from batchlab.bridge.slurm import VirtualCluster, read_configuration, run_real, submissions

sys.path.insert(0, str(ROOT / "tests"))
from support.slurm_free_runs import jobs_of, real_of, table

ORACLES = path_of("x").parents[1] / "oracles"
PATIENCE = 600.0
LATE = 5.0
"""By how many seconds submissions of two runs may differ on a loaded machine."""
QUALITIES = (
    "modify qos normal set priority=20",
    "add qos high priority=100 usagefactor=2",
    "add qos low priority=0",
)
SHARES = {
    "phys": ("root", 50),
    "chem": ("root", 30),
    "bio": ("root", 20),
    "genomics": ("bio", 3),
    "imaging": ("bio", 1),
    **{f"phys_u{user}": ("phys", share) for user, share in ((1, 3), (2, 2), (3, 1))},
    **{f"chem_u{user}": ("chem", share) for user, share in ((3, 1), (4, 2), (5, 1))},
    **{f"genomics_u{user}": ("genomics", 1) for user in (6, 7)},
    **{f"imaging_u{user}": ("imaging", share) for user, share in ((8, 1), (9, 4))},
}
"""The tree of m1: the parent and the raw shares of each account, users as accounts."""
TREE = tuple(
    f"add account {name} parent={parent} fairshare={share} description=a organization=a"
    for name, (parent, share) in SHARES.items()
)
ALLOWED = "modify account phys,chem,bio set qos+=low,high"
MEMBER = f"add user {getpass.getuser()} account={','.join(name for name in SHARES if '_' in name)}"
OWN = ("ClusterName", "Slurm", "Accounting", "JobComp", "StateSave", "NodeName", "Auth", "Cred", "Log")
"""What keys begin with that are the virtual cluster's own; nodes are written without ports."""


@dataclass(frozen=True)
class Recorded:
    """A stream, its configuration, and its real runs; P between two of them where only one is kept."""

    name: str
    stream: str
    configuration: str
    runs: tuple[str, ...]
    apart: float | None = None
    accounts: tuple[str, ...] = ()
    nodes: str = "NodeName=n[1-32] CPUs=1"

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return ORACLES / ("slurm-multifactor" if "/" in self.configuration else "slurm")

    def jobs(self) -> pl.DataFrame:
        """Return the jobs that ran, with accounts for users under fair share.

        One that was cancelled while it ran is so here, as long after its submission as in the first run.
        """
        jobs = jobs_of(table(self.folder / self.stream))
        if self.accounts:
            jobs = jobs.with_columns(account=pl.format("{}_{}", "account", "user"))
        else:
            jobs = jobs.drop("account", "qos", strict=False)
        if not self.nodes.count("RealMemory"):
            jobs = jobs.drop("mem").with_columns(exclusive=True)
        seen = table(self.folder / f"{self.runs[0]}{self.suffix}")
        ran = seen.filter(pl.col("start").is_not_null()).select(
            job_id="job",
            cancelled_after=pl.when(pl.col("state").str.starts_with("CANCELLED"))
            .then(pl.col("end") - pl.col("submit"))
            .cast(pl.Float64),
        )
        jobs = jobs.drop("user", strict=False).join(ran, on="job_id", maintain_order="left")
        if not ran["cancelled_after"].count():
            return jobs.drop("cancelled_after")
        return jobs.with_columns(run_time=pl.when(pl.col("cancelled_after").is_null()).then("run_time"))

    @property
    def suffix(self) -> str:
        """Return what the file of a real run ends with."""
        return "/jobs.csv" if "/" in self.configuration else ".csv"

    def real(self, run: str, jobs: pl.DataFrame) -> pl.DataFrame:
        """Return the recorded times of a run."""
        return real_of(self.folder / f"{run}{self.suffix}", jobs)

    def write(self, to: Path) -> None:
        """Write the configuration for a virtual cluster."""
        to.mkdir(parents=True, exist_ok=True)
        lines = (self.folder / self.configuration).read_text("utf-8").splitlines()
        kept = [line for line in lines if not line.startswith(OWN)]
        if self.accounts:
            kept += [
                "AccountingStorageType=accounting_storage/slurmdbd",
                "AccountingStorageEnforce=associations,limits,qos",
            ]
            (to / "sacctmgr.txt").write_text("\n".join(self.accounts) + "\n", "utf-8")
        (to / "slurm.conf").write_text("\n".join([*kept, self.nodes]) + "\n", "utf-8")


CASES = (
    Recorded("fifo", "s1.csv", "fifo_a.slurm.conf", ("fifo_a", "fifo_b")),
    Recorded("backfill", "s1.csv", "bf_a.slurm.conf", ("bf_a", "bf_b")),
    Recorded("backfill-30", "s1.csv", "bf30_a.slurm.conf", ("bf30_a",)),
    Recorded(
        "m1",
        "m1.stream.csv",
        "m1a/slurm.conf",
        ("m1a", "m1b"),
        accounts=(*QUALITIES, *TREE, ALLOWED, MEMBER),
    ),
    Recorded(
        "m2",
        "m2.stream.csv",
        "m2a/slurm.conf",
        ("m2a",),
        apart=48.9,
        nodes="NodeName=n[1-16] CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=32000",
    ),
)


def run(case: Recorded, number: int, out: Path, clock: str) -> dict[str, Any]:
    """Run a stream on a real Slurm, in virtual time or in real time."""
    folder = out / case.name
    case.write(folder / "conf")
    configuration = read_configuration(folder / "conf")
    planned = submissions(bl.Workload.from_table(case.jobs(), overrun="keep"), configuration)
    begin = time.monotonic()
    real = run_real(VirtualCluster(folder / "conf", clock=clock), planned, patience=PATIENCE)
    real.jobs.write_parquet(folder / f"run-{number}.parquet")
    course = real.course
    return {
        "case": case.name,
        "run": number,
        "jobs": len(planned),
        "seconds": time.monotonic() - begin,
        "factor": 1.0 if course is None else course.factor,
        "late": real.lateness()["mean"],
        "overhead": real.overhead(),
        "states": dict(real.jobs["slurm_state"].value_counts().sort("slurm_state").rows()),
    }


def completed(jobs: pl.DataFrame) -> pl.DataFrame:
    """Return the whole seconds of the jobs that completed."""
    whole = pl.col("submit_time", "start_time", "end_time").floor()
    return jobs.filter(state="completed").select("job_id", whole, "requested_time", "tasks")


def distance(one: pl.DataFrame, other: pl.DataFrame) -> float:
    """Return P of the jobs that completed in both."""
    shared = one.join(other, on="job_id", how="semi"), other.join(one, on="job_id", how="semi")
    return bl.adequacy.compare(*shared, tolerance={"submit_time": LATE}).P


def turnaround(jobs: pl.DataFrame) -> float:
    """Return the mean of end - submission."""
    return fmean((jobs["end_time"] - jobs["submit_time"]).to_list())


def line_of(case: Recorded, rows: list[dict[str, Any]], out: Path, more: list[Path]) -> str:
    """Write the line of the table of a case."""
    jobs = case.jobs()
    recorded = [case.real(run, jobs) for run in case.runs]
    later = (path for folder in more for path in sorted((folder / case.name).glob("run-*.parquet")))
    recorded += [completed(pl.read_parquet(path)) for path in later]
    made = [completed(pl.read_parquet(out / case.name / f"run-{row['run']}.parquet")) for row in rows]
    apart = [distance(*pair) for pair in combinations(recorded, 2)]
    against = [distance(one, other) for one in recorded for other in made]
    among = [distance(*pair) for pair in combinations(made, 2)]
    real, virtual = fmean(map(turnaround, recorded)), [turnaround(each) for each in made]
    reference = median(apart) if apart else case.apart
    ratio = f" ({median(against) / reference:.2f})" if reference else ""
    cells = (
        case.name,
        len(rows),
        f"{reference:.1f}" if reference else "",
        f"{median(against):.1f}{ratio}",
        f"{median(among):.1f}" if among else "",
        f"{real:.1f}",
        f"{median(virtual):.1f} ({median(virtual) / real - 1:+.1%})",
        f"{median(row['factor'] for row in rows):.0f}",
        f"{median(row['overhead'] or 0.0 for row in rows):.2f}",
        f"{max(row['late'] for row in rows):.2f}",
        sum(row["jobs"] - row["states"].get("COMPLETED", 0) for row in rows),
    )
    return f"| {' | '.join(map(str, cells))} |"


COLUMNS = (
    *("stream", "runs", "P real, real", "P virtual, real", "P virtual, virtual", "turnaround, real"),
    *("virtual", "factor", "overhead, s", "late, s", "not completed"),
)


def main() -> None:
    """Run what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--busy", type=int, default=0, metavar="N", help="number of busy processes beside")
    parser.add_argument("--real", nargs="*", type=Path, default=[], metavar="OUT")
    parser.add_argument("--clock", default="auto", choices=["auto", "real"])
    parser.add_argument("--cases", nargs="+", metavar="NAME", choices=[case.name for case in CASES])
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    path = given.out / "runs.jsonl"
    known = known_runs(path)
    cases = [case for case in CASES if given.cases is None or case.name in given.cases]
    with ExitStack() as stack:
        for _ in range(given.busy):
            beside = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(beside.kill)
        for number in range(1, given.runs + 1):
            for case in cases:
                if any((row["case"], row["run"]) == (case.name, number) for row in known):
                    continue
                known.append(run(case, number, given.out, given.clock))
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(known[-1]) + "\n")
                print(
                    {key: known[-1][key] for key in ("case", "run", "seconds", "factor", "states")},
                    flush=True,
                )
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for case in cases:
        if own := [row for row in known if row["case"] == case.name]:
            print(line_of(case, own, given.out, given.real))


if __name__ == "__main__":
    main()
