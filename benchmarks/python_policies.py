"""Policies in Python against AccaSim's own, and against the same in the kernel, on one log in one run.

`python benchmarks/python_policies.py` needs the network once, and 5 to 15 minutes for the log of Seth.
FIFO, SJF and EASY are written below as a user would; SJF also as a function of columns, which is asked once
for all jobs, or with the time at every pass. AccaSim runs its own three with first fit.
"""

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from accasim import Contest, copy_log, prepare, run_accasim
from measure import SETH, SHARED, cpu_time, verdict

import batchlab as bl

SUBCLASS_TARGET, VECTORISED_TARGET = 50.0, 200.0


class Fifo(bl.Scheduler):
    def schedule(self, view: bl.View) -> None:
        for job in view.queue:
            if not view.start(job):
                return


class Sjf(bl.Scheduler):
    def schedule(self, view: bl.View) -> None:
        if next(view.candidates(), None) is None:
            return  # No job can start: spare the sorting.
        queue = view.queue
        for row in queue.rows[np.argsort(queue.requested_time, kind="stable")]:
            if not view.start(view.job(row)):
                return


class Easy(bl.Scheduler):
    def schedule(self, view: bl.View) -> None:
        for job in view.queue:
            if not view.start(job):
                view.reserve(job)
                break
        for job in view.candidates():
            view.start(job)


def shortest(jobs: Any) -> Any:  # noqa: ANN401  # columns of any names
    return jobs.requested_time


def shortest_now(jobs: Any, now: float) -> Any:  # noqa: ANN401, ARG001  # an order may go by the time
    return jobs.requested_time


# AccaSim's name, the built-in policy, and the same written in Python with its target.
Ways = dict[str, tuple[bl.Policy | bl.Scheduler, float]]
CONTESTS: dict[str, tuple[str, Ways]] = {
    "fifo": ("fcfs", {"subclass": (Fifo(), SUBCLASS_TARGET)}),
    "sjf": (
        "sjf",
        {
            "subclass": (bl.Policy(scheduler=Fifo(), order="sjf"), SUBCLASS_TARGET),
            "subclass that sorts the queue itself": (Sjf(), SUBCLASS_TARGET),
            "order(jobs)": (bl.Policy(order=shortest), VECTORISED_TARGET),
            "order(jobs, now)": (bl.Policy(order=shortest_now), VECTORISED_TARGET),
        },
    ),
    "easy": ("easy", {"subclass": (Easy(), SUBCLASS_TARGET)}),
}


def measured(
    workload: bl.Workload, system: bl.System, policy: bl.Policy | bl.Scheduler | str, rounds: int
) -> tuple[float, bl.Result]:
    """Give the median CPU time (s) of a call of `simulate`, and its result."""
    calls = [cpu_time(lambda: bl.simulate(workload, system, policy)) for _ in range(rounds)]
    return statistics.median(seconds for seconds, _ in calls), calls[0][1]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--log", type=Path, default=SETH)
    parser.add_argument("--system", type=Path, default=SHARED / "oracles" / "accasim" / "seth.json")
    parser.add_argument("--jobs", type=int, help="only the log's first jobs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--version", default="1.1.3", help="of AccaSim")
    options = parser.parse_args()
    python = prepare(options.version)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        contest = Contest(python, folder / "log.swf", options.system, folder)
        copy_log(options.log, contest.log, options.jobs)
        workload = bl.read_swf(contest.log, overrun="keep")
        system = bl.read_system(options.system)
        for theirs, (built_in, ours) in CONTESTS.items():
            own, result = measured(workload, system, built_in, options.rounds)
            mine = {
                name: measured(workload, system, policy, options.rounds) for name, (policy, _) in ours.items()
            }
            _, simulation = run_accasim(contest, theirs)
            print(f"\n{theirs}: AccaSim {simulation:.2f} s CPU, built in {own:.3f} s")
            for way, (seconds, answer) in mine.items():
                differing = int((answer.outcome.start_time != result.outcome.start_time).sum())
                print(f"  {way}: {seconds:.3f} s, {differing} starts differ from the built-in policy's")
                verdict(f"  AccaSim : {way}", simulation / seconds, ours[way][1], at_least=True)


if __name__ == "__main__":
    main()
