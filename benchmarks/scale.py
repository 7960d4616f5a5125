"""Large machines and long logs, all made up; the whole of `batchlab run`.

Without options, fcfs and easy on 100,000 nodes × 1,000,000 jobs, then conservative on 10,000 nodes ×
100,000 jobs.

`python benchmarks/scale.py [--nodes N] [--jobs N] [POLICY …]`
"""

import argparse
import tempfile
from pathlib import Path

from generated import Recipe, write_log
from measure import BATCHLAB, run_process, verdict

CORES = 4
# Seconds of CPU time, and MiB.
TARGETS = {"fcfs": 30.0, "easy": 30.0, "conservative": 300.0}
MEMORY = 1536.0


def run(log: Path, nodes: int, jobs: int, policy: str) -> None:
    """Run a policy and print what it cost."""
    machine = ["--nodes", str(nodes), "--cores", str(CORES)]
    cost, output = run_process([BATCHLAB, "run", log, *machine, "--policy", policy])
    print(f"{output}\n\n{policy}: {jobs:,} jobs, {nodes:,} nodes: {cost}", flush=True)
    if policy in TARGETS:
        verdict(f"{policy}: CPU time, s", cost.cpu, TARGETS[policy], at_least=False)
    verdict(f"{policy}: memory, MiB", cost.peak / 2**20, MEMORY, at_least=False)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--largest", type=int, default=8192, help="processors of the largest jobs")
    parser.add_argument("--load", type=float, default=0.95)
    parser.add_argument("policies", nargs="*", default=["fcfs", "easy", "conservative"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for policy in options.policies:
            scale = 10 if policy == "conservative" else 1
            nodes, jobs = options.nodes or 100_000 // scale, options.jobs or 1_000_000 // scale
            log = Path(folder) / f"{jobs}x{nodes}.swf"
            if not log.exists():
                write_log(Recipe(jobs, nodes * CORES, options.largest, options.load), log)
            run(log, nodes, jobs, policy)


if __name__ == "__main__":
    main()
