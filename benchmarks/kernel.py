"""The kernel alone, in Rust: policies on a log against a binary heap of ends, merged with submissions.

`python benchmarks/kernel.py [--log FILE --nodes N --cores C] [order+backfill+allocator …]`
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
from measure import ROOT, SETH, verdict

Floats = npt.NDArray[np.float64]

TARGETS = {"fcfs+none+first_fit": 10.0, "fcfs+easy+first_fit": 14.0, "fcfs+conservative+first_fit": 150.0}
COMMAND = ["cargo", "bench", "--quiet", "-p", "batchlab-kernel", "--bench", "replay", "--"]


def heap_time(submit_times: Floats, run_times: Floats) -> float:
    """Give the CPU time (s) that the heap takes for jobs that start when they are submitted."""
    events = np.column_stack([submit_times, run_times]).astype("<f8").tobytes()
    done = subprocess.run([*COMMAND, "heap"], cwd=ROOT, input=events, stdout=subprocess.PIPE, check=True)
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--log", type=Path, default=SETH)
    parser.add_argument("--nodes", type=int, default=120)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("policies", nargs="*")
    options = parser.parse_args()
    words = [options.log.resolve(), options.nodes, options.cores, *options.policies]
    command = [*COMMAND, *map(str, words)]
    environment = {**os.environ, "ROUNDS": str(options.rounds)}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout)
    rows = [line.split() for line in done.stdout.splitlines()]
    for policy, *numbers in (row for row in rows if row and row[0] in TARGETS):
        verdict(f"{policy}, times the heap", float(numbers[1]), TARGETS[policy], at_least=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
