"""The kernel alone, in Rust: every policy on a log against a bare binary heap that handles the same events.

`python benchmarks/kernel.py [--log FILE --nodes N --cores C] [order+backfill+allocator …]`
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from measure import ROOT, SETH, verdict

TARGETS = {"fcfs+none+first_fit": 4.0, "fcfs+easy+first_fit": 12.0, "fcfs+conservative+first_fit": 100.0}


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
    command = [
        "cargo",
        "bench",
        "--quiet",
        "-p",
        "batchlab-kernel",
        "--bench",
        "replay",
        "--",
        *map(str, words),
    ]
    environment = {**os.environ, "ROUNDS": str(options.rounds)}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout)
    rows = [line.split() for line in done.stdout.splitlines()]
    for policy, *numbers in (row for row in rows if row and row[0] in TARGETS):
        verdict(f"{policy}, times the heap", float(numbers[1]), TARGETS[policy], at_least=False)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
