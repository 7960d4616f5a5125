"""ElastiSim's projects in batchlab: CPU time, and how many times as much ElastiSim took.

`python benchmarks/elastisim.py` runs each project beside the repository (`../shared/oracles/elastisim`) in
this process, and over ZeroMQ with the algorithm in a process of its own. ElastiSim's times are not measured
here: they were recorded when the projects were, on a machine like this one (user and system time of its
process, and user time of the algorithm's).
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from measure import BATCHLAB, SHARED, cpu_time, run_process, verdict

from batchlab.bridge import elastisim

TARGET = 20.0
EXAMPLE = Path(__file__).with_name("elastisim_example.py")


class Recorded(NamedTuple):
    """What ElastiSim took: CPU time of the simulator, and of the algorithm's process (s)."""

    simulator: float
    algorithm: float


RECORDED = {
    "microA_crossbar": Recorded(0.32 + 0.1, 0.4),
    "torus192_mall100": Recorded(7.21 + 0.9, 0.7),
    "example500": Recorded(7.71 + 0.8, 3.2),
}


def algorithm_of(project: Path) -> Path:
    """Give the project's own algorithm; of ElastiSim's example there is only a description."""
    own = project / "algorithm.py"
    return own if own.exists() else EXAMPLE


def in_process(project: Path) -> None:
    """Run a project with its algorithm in this process."""
    elastisim.run(project / "input/configuration.json", algorithm_of(project))


def over_zeromq(project: Path) -> float:
    """Give the CPU time of the command and of the algorithm's process (s)."""
    with tempfile.TemporaryDirectory() as folder:
        # ElastiSim's files go where the configuration says: not into the folder of the recorded ones.
        copied = Path(folder, "input")
        shutil.copytree(project / "input", copied)
        command: list[str | Path] = [
            BATCHLAB,
            "elastisim",
            copied / "configuration.json",
            "--algorithm",
            algorithm_of(project),
            "--protocol",
        ]
        cost, _ = run_process(command)
    return cost.cpu


def median(work: Callable[[], float], rounds: int) -> float:
    return statistics.median(work() for _ in range(rounds))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("projects", nargs="*", default=list(RECORDED))
    options = parser.parse_args()
    for name in options.projects:
        project = SHARED / "oracles/elastisim" / name
        if not project.exists():
            sys.exit(f"no folder {project}")
        recorded = RECORDED[name]
        in_process(project)  # The first call also imports what it needs.
        here = median(lambda: cpu_time(lambda: in_process(project))[0], options.rounds)  # noqa: B023
        there = median(lambda: over_zeromq(project), options.rounds)  # noqa: B023
        print(
            f"{name}: ElastiSim took {recorded.simulator:.2f} s, "
            f"and its algorithm's process {recorded.algorithm:.2f} s"
        )
        print(f"  in process   {here:8.3f} s CPU: files, simulation and algorithm")
        print(f"  over ZeroMQ  {there:8.3f} s CPU: both processes, start-up and output files included")
        verdict(
            f"  {name}: ElastiSim's simulator ÷ in process", recorded.simulator / here, TARGET, at_least=True
        )
        both = sum(recorded)
        verdict(f"  {name}: ElastiSim's two processes ÷ over ZeroMQ", both / there, 1.0, at_least=True)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONHASHSEED", "0")
    main()
