"""A large machine and a long log, both made up: 100,000 nodes × 1,000,000 jobs; all of `batchlab run`.

`python benchmarks/scale.py [--nodes N] [--jobs N] [POLICY …]`
"""

import argparse
import tempfile
from pathlib import Path

from generated import Recipe, write_log
from measure import BATCHLAB, run_process, verdict

CORES = 4
TARGET = 300.0


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--jobs", type=int, default=1_000_000)
    parser.add_argument("--largest", type=int, default=8192, help="processors of the largest jobs")
    parser.add_argument("--load", type=float, default=0.95)
    parser.add_argument("policies", nargs="*", default=["fcfs", "easy"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.swf"
        write_log(Recipe(options.jobs, options.nodes * CORES, options.largest, options.load), log)
        machine = ["--nodes", str(options.nodes), "--cores", str(CORES)]
        for policy in options.policies:
            cost, output = run_process([BATCHLAB, "run", log, *machine, "--policy", policy])
            print(f"{output}\n\n{policy}: {options.jobs:,} jobs, {options.nodes:,} nodes: {cost}", flush=True)
            verdict(f"{policy}: CPU time, s", cost.cpu, TARGET, at_least=False)


if __name__ == "__main__":
    main()
