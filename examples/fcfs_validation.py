"""Schedule a log like SDSC SP2's first come, first served: the validation of Obaida and Liu, section 3.1.

M. A. Obaida, J. Liu: Simulation of HPC job scheduling and large-scale parallel workloads, Winter Simulation
Conference 2017. Free nodes and running jobs over time are those that another program gives: here a recursion
over the jobs, which knows no events (Kiefer and Wolfowitz). docs/placement.md tells what the paper saw.

    python fcfs_validation.py                                    # 73,496 jobs of a model, in seconds
    python fcfs_validation.py --out figures                      # and the figure
    python fcfs_validation.py --log SDSC-SP2-1998-4.2-cln.swf.gz # with the log itself
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib.figure import Figure

import batchlab as bl

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

NODES, LOGGED = 128, 73_496  # of SDSC's SP2, and the jobs of its log from May 1998 to April 2000
DAY, HOUR = 86_400.0, 3600.0
SHOWN = (100, 110)  # days of the log in the figure


class Course(NamedTuple):
    """Free nodes and running jobs, and since when (s)."""

    time: Floats
    free: Floats
    running: Floats


def recursion(workload: bl.Workload) -> Floats:
    """Return the starts of jobs if no job starts before the job ahead of it; s, shape (jobs,)."""
    jobs = workload.jobs
    submitted, run_time, nodes = (jobs[name].to_numpy() for name in ("submit_time", "run_time", "tasks"))
    return submitted + bl.queueing.delays(submitted, run_time, nodes, NODES)


def course_of_starts(workload: bl.Workload, starts: Floats) -> Course:
    """Add up what starts and ends change."""
    run_time, nodes = (workload.jobs[name].to_numpy() for name in ("run_time", "tasks"))
    time, place = np.unique(np.concatenate((starts, starts + run_time)), return_inverse=True)
    taken = np.bincount(place, np.concatenate((nodes, -nodes)))
    begun = np.bincount(place, np.repeat((1.0, -1.0), len(nodes)))
    return Course(time, NODES - np.cumsum(taken, dtype=np.float64), np.cumsum(begun, dtype=np.float64))


def course_of(result: bl.Result) -> Course:
    """Take the course of a simulation."""
    time, used, running = (result.timeline[name].to_numpy() for name in ("time", "used_core", "running"))
    return Course(time, NODES - used, running)


def differing(ours: Course, theirs: Course) -> int:
    """Count the instants of a start or end at which free nodes or running jobs differ."""
    place = np.searchsorted(ours.time, theirs.time, side="right") - 1
    differs = (ours.free[place] != theirs.free) | (ours.running[place] != theirs.running)
    return int(np.count_nonzero(differs))


def draw(ours: Course, theirs: Course, folder: Path) -> None:
    """Draw the paper's Figure 2: both courses in ten days, one over the other."""
    figure = Figure(figsize=(11, 4), layout="constrained")
    places = figure.subplots(1, 2)
    for course, name, colour, width in (
        (theirs, "recursion", "#9ecae1", 3),
        (ours, "batchlab", "#d55e00", 0.8),
    ):
        for ax, values in zip(places, (course.free, course.running), strict=True):
            ax.step(course.time / DAY, values, where="post", label=name, color=colour, linewidth=width)
    for ax, label in zip(places, ("free nodes", "running jobs"), strict=True):
        ax.set(xlabel="day of the log", ylabel=label, xlim=SHOWN, ylim=(0, None), title=f"{label} under FCFS")
        ax.grid(axis="y", alpha=0.3)
    places[1].legend(loc="upper right")
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "fcfs_validation.png", dpi=150)


def main() -> None:
    """Simulate, compare with the recursion, and draw both if asked to."""
    parser = argparse.ArgumentParser(description="Compare FCFS on 128 nodes with a recursion.")
    parser.add_argument("--jobs", type=int, default=LOGGED, help="how many to make")
    parser.add_argument(
        "--log", type=Path, metavar="FILE", help="take these jobs: SDSC-SP2-1998-4.2-cln.swf.gz"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="draw the figure there")
    options = parser.parse_args()
    workload = bl.read_swf(options.log) if options.log else bl.generate.lublin(options.jobs, nodes=NODES)
    result = bl.simulate(workload, bl.System.homogeneous(nodes=NODES, resources={"core": 1}), "fcfs")
    starts = recursion(workload)
    ours, theirs = course_of(result), course_of_starts(workload, starts)
    others = np.count_nonzero(starts != result.jobs["start_time"].to_numpy())
    wait = bl.metrics.wait(result.jobs).to_numpy() / HOUR
    print(f"{len(workload):,} jobs on {NODES} nodes, first come, first served")
    print(f"wait: mean {wait.mean():,.0f} h, longest {wait.max():,.0f} h")
    print(f"jobs that start at another time than by the recursion: {others}")
    print(
        f"instants with other free nodes or running jobs: {differing(ours, theirs)} of {len(theirs.time):,}"
    )
    if options.out is not None:
        draw(ours, theirs, options.out)


if __name__ == "__main__":
    main()
