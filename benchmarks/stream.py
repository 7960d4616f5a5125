"""Peak memory of `batchlab run --stream` on logs of 200,000 and of 5,000,000 made-up jobs.

The machine is given by options, and as a file.

`python benchmarks/stream.py [--jobs N …] [POLICY …]`: the longer log takes 300 MB in the temporary folder.
"""

import argparse
import tempfile
from itertools import product
from pathlib import Path

from generated import Recipe, write_log
from measure import BATCHLAB, run_process, verdict

NODES, CORES, LARGEST = 120, 4, 256
TARGET = 45.0  # MiB


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, nargs="+", default=[200_000, 5_000_000])
    parser.add_argument("--load", type=float, default=0.7, help="the queue must not grow without bound")
    parser.add_argument("policies", nargs="*", default=["fcfs", "easy"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        system = Path(folder) / "system.toml"
        system.write_text(f'[[groups]]\nname = "node"\ncount = {NODES}\nresources = {{ core = {CORES} }}\n')
        by_options, by_file = ["--nodes", str(NODES), "--cores", str(CORES)], ["--system", str(system)]
        for jobs in options.jobs:
            log = Path(folder) / f"{jobs}.swf"
            write_log(Recipe(jobs, NODES * CORES, LARGEST, options.load), log)
            for policy, machine in product(options.policies, (by_options, by_file)):
                command = [BATCHLAB, "run", log, *machine, "--policy", policy, "--stream"]
                cost, output = run_process(command)
                print(f"{output}\n\n{policy}, {machine[0]}: {jobs:,} jobs: {cost}")
                verdict(
                    f"{policy}, {machine[0]}: peak resident memory, MiB",
                    cost.peak / 2**20,
                    TARGET,
                    at_least=False,
                )
            log.unlink()


if __name__ == "__main__":
    main()
