"""What whole processes cost: `batchlab --help`, and `batchlab run` on the log of Seth, streamed or not.

`python benchmarks/start.py [--rounds 7]` prints medians of CPU time and peak memory. `accasim.py` has the
same processes against AccaSim.
"""

import argparse
from collections.abc import Sequence

from measure import BATCHLAB, SETH, median_cost, run_process, verdict

MACHINE = ("--nodes", "120", "--cores", "4")
TARGETS = {
    ("--help",): 0.12,
    ("run", str(SETH), *MACHINE): 0.6,
    ("run", str(SETH), *MACHINE, "--policy", "easy"): 0.6,
    ("run", str(SETH), *MACHINE, "--stream"): 0.45,
    ("run", str(SETH), *MACHINE, "--stream", "--policy", "easy"): 0.45,
}


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args(words).rounds
    for command, target in TARGETS.items():
        cost = median_cost([run_process([BATCHLAB, *command])[0] for _ in range(rounds)])
        name = " ".join(word for word in command if word not in (str(SETH), *MACHINE))
        print(f"{name:30}{cost}")
        verdict(f"{name}, s CPU", cost.cpu, target, at_least=False)


if __name__ == "__main__":
    main()
