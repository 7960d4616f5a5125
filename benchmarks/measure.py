"""What the benchmarks share: CPU time of a call, CPU time and peak memory of a process, medians, ratios.

CPU time, not wall time, since others may use the machine. As a program, `python measure.py COMMAND …` runs a
command and prints its cost as JSON on the last line. `run_process` goes through it, since Linux counts the
pages of the parent of a process into the peak memory of the child, and this program is a small parent.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
SETH = SHARED / "data" / "HPC2N-2002-2.2-cln.swf.gz"
BATCHLAB = Path(sys.executable).parent / "batchlab"

Answer = TypeVar("Answer")


class Cost(NamedTuple):
    """What a process took: CPU time in user and in system mode, wall time (s), peak memory (bytes)."""

    user: float
    system: float
    wall: float
    peak: int

    @property
    def cpu(self) -> float:
        return self.user + self.system

    def __str__(self) -> str:
        return f"{self.cpu:8.3f} s CPU, {self.wall:8.3f} s wall, {self.peak / 2**20:7.1f} MiB peak"


def run_process(
    command: Sequence[str | Path], environment: Mapping[str, str] | None = None
) -> tuple[Cost, str]:
    """Run a command to its end; give its cost and what it printed."""
    words = [sys.executable, "-I", "-S", __file__, *map(str, command)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        sys.exit(
            f"{done.stdout}{done.stderr}\nThis failed with exit code {done.returncode}: {' '.join(words[4:])}"
        )
    *output, cost = done.stdout.splitlines()
    return Cost(*json.loads(cost)), "\n".join(output)


def median_cost(costs: Sequence[Cost]) -> Cost:
    """Give the medians, each by itself, of what runs of one command took."""
    user, system, wall, peak = (statistics.median(values) for values in zip(*costs, strict=True))
    return Cost(user, system, wall, int(peak))


def cpu_time(work: Callable[[], Answer]) -> tuple[float, Answer]:
    """Give the CPU time (s) of a call, all threads together, and its answer."""
    begin = time.process_time()
    answer = work()
    return time.process_time() - begin, answer


def verdict(name: str, value: float, target: float, *, at_least: bool) -> None:
    """Print a number, its target, and whether it is met: 80 columns for a name of 46."""
    met = value >= target if at_least else value <= target
    sign = "≥" if at_least else "≤"
    print(f"{name:<46} {value:11,.2f}  {sign} {target:,.4g}: {'met' if met else 'MISSED'}")


def _main() -> int:
    begin = time.perf_counter()
    process = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ)
    _, status, usage = os.wait4(process, 0)
    wall = time.perf_counter() - begin
    print(f"\n{json.dumps([usage.ru_utime, usage.ru_stime, wall, usage.ru_maxrss * 1024])}")
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(_main())
