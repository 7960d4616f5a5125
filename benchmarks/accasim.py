"""batchlab against AccaSim, from PyPI and in an environment of its own, on one log in one run.

`python benchmarks/accasim.py [--jobs N]` needs the network once, and 5 to 15 minutes for the log of Seth.
Both run FIFO and EASY with first fit on the same log and system file. batchlab is measured before and after
AccaSim.

`python benchmarks/accasim.py --starts [--jobs 20000]` measures nothing: both run FIFO, SJF and LJF, each with
first fit and best fit, and it exits with 1 if a job starts at another time.
"""

import argparse
import gzip
import json
import statistics
import subprocess
import sys
import tempfile
import venv
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from measure import BATCHLAB, ROOT, SETH, SHARED, Cost, median_cost, run_process, verdict

ENVIRONMENT = ROOT / "target" / "benchmarks" / "accasim"
DRIVER = Path(__file__).with_name("accasim_driver.py")
CALL = Path(__file__).with_name("call_once.py")
POLICIES = {"fifo": "fcfs", "easy": "easy"}
SAME_STARTS = {
    "fifo": "fcfs",
    "sjf": "sjf",
    "ljf": "ljf",
    "fifo+best_fit": "fcfs(allocator=best_fit)",
    "sjf+best_fit": "sjf(allocator=best_fit)",
    "ljf+best_fit": "ljf(allocator=best_fit)",
}
CALL_TARGET, PROCESS_TARGET = 600.0, 150.0


def prepare(version: str) -> Path:
    """Give the Python of an environment in which AccaSim is installed."""
    python = ENVIRONMENT / "bin" / "python"
    wanted = f"accasim=={version}"
    if not python.exists():
        venv.create(ENVIRONMENT, with_pip=True)
    done = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wanted], check=False
    )
    if done.returncode:
        sys.exit(f"{wanted} could not be installed from PyPI; nothing was compared.")
    return python


def copy_log(log: Path, target: Path, jobs: int | None) -> None:
    """Unpack a log, or its first jobs: AccaSim reads plain text, and may rewrite what it reads."""
    opened = gzip.open if log.suffix == ".gz" else open
    with opened(log, "rt", encoding="ascii") as source, target.open("w", encoding="ascii") as file:
        file.writelines(islice((line for line in source if not line.startswith(";")), jobs))


class Contest(NamedTuple):
    """What both are given."""

    python: Path
    log: Path
    system: Path
    folder: Path


def run_accasim(contest: Contest, policy: str) -> tuple[Cost, float]:
    """Run AccaSim; give what the process took, and the CPU time (s) of the simulation alone."""
    python, log, system, folder = contest
    cost, output = run_process(
        [python, "-I", DRIVER, log, system, policy, folder / f"accasim-{policy}.csv", folder]
    )
    return cost, json.loads(output.splitlines()[-1])["simulation"]


def run_batchlab(contest: Contest, policy: str) -> tuple[list[float], Cost]:
    """Give the CPU times (s) of reading, of two calls of `simulate`, and the cost of the whole process."""
    _, log, system, folder = contest
    rule = {**SAME_STARTS, **POLICIES}[policy]
    _, output = run_process([sys.executable, CALL, log, system, rule, folder / f"batchlab-{policy}.csv"])
    options: list[str | Path] = ["--system", system, "--policy", rule, "--overrun", "keep"]
    return json.loads(output.splitlines()[-1]), run_process([BATCHLAB, "run", log, *options])[0]


def differing_starts(folder: Path, policy: str) -> tuple[int, int]:
    """Count the jobs of AccaSim, and those that batchlab starts at another time."""
    theirs, ours = (
        dict(
            line.split(",") for line in (folder / f"{name}-{policy}.csv").read_text("ascii").splitlines()[1:]
        )
        for name in ("accasim", "batchlab")
    )
    return len(theirs), sum(ours.get(job) != start for job, start in theirs.items())


def compare(contest: Contest, policy: str, rounds: int) -> None:
    """Measure both under one policy, and print the ratios."""
    own = [run_batchlab(contest, policy) for _ in range(rounds)]
    cost, simulation = run_accasim(contest, policy)
    own += [run_batchlab(contest, policy) for _ in range(rounds)]
    read, first, call = map(statistics.median, zip(*(times for times, _ in own), strict=True))
    process = median_cost([one for _, one in own])
    jobs, differing = differing_starts(contest.folder, policy)
    print(f"\n{policy}: {jobs} jobs, {differing} of them start at different times")
    print(f"  AccaSim, the process        {cost}")
    print(f"  AccaSim, its simulation     {simulation:8.3f} s CPU")
    print(f"  batchlab run, the process   {process}")
    print(f"  batchlab, simulate()        {call:8.4f} s CPU (first call {first:.4f}; read_swf {read:.4f})")
    verdict("  AccaSim's simulation : simulate()", simulation / call, CALL_TARGET, at_least=True)
    print(f"{'  AccaSim’s simulation : read_swf() + simulate()':<60} {simulation / (read + call):12,.2f}")
    ratio = cost.user / process.user
    verdict("  AccaSim's process : batchlab run, user CPU", ratio, PROCESS_TARGET, at_least=True)
    print(f"{'  the same with system CPU':<60} {cost.cpu / process.cpu:12,.2f}", flush=True)


def compare_starts(contest: Contest) -> int:
    """Run both under each policy; give how many jobs start at different times in all."""
    all_differing = 0
    for policy, rule in SAME_STARTS.items():
        run_accasim(contest, policy)
        ours = contest.folder / f"batchlab-{policy}.csv"
        run_process([sys.executable, CALL, contest.log, contest.system, rule, ours])
        jobs, differing = differing_starts(contest.folder, policy)
        print(f"{policy:<16} {jobs:>8,} jobs, {differing} of them start at different times", flush=True)
        all_differing += differing
    return all_differing


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--log", type=Path, default=SETH)
    parser.add_argument("--system", type=Path, default=SHARED / "oracles" / "accasim" / "seth.json")
    parser.add_argument("--jobs", type=int, help="only the log's first jobs")
    parser.add_argument("--policies", nargs="+", choices=POLICIES, default=list(POLICIES))
    parser.add_argument("--rounds", type=int, default=5, help="of batchlab, before and again after AccaSim")
    parser.add_argument("--version", default="1.1.3", help="of AccaSim")
    parser.add_argument("--starts", action="store_true", help="compare starts under six policies only")
    options = parser.parse_args()
    python = prepare(options.version)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        contest = Contest(python, folder / "log.swf", options.system, folder)
        copy_log(options.log, contest.log, options.jobs)
        if options.starts:
            sys.exit(compare_starts(contest) > 0)
        for policy in options.policies:
            compare(contest, policy, options.rounds)


if __name__ == "__main__":
    main()
