"""The cost of `explain`: CPU time of a run that records gates and promised starts, in times of a plain run.

`python benchmarks/explain.py [--rounds N] [LOG:RULE …]`, such as `KTH:easy`. Both runs take turns, round by
round; ratios of the medians count. Seth is HPC2N of the Parallel Workloads Archive.
"""

import argparse
from functools import partial

from measure import SETH, SHARED, cpu_time, verdict
from rates import medians

import batchlab as bl

LOGS = {"KTH": (SHARED / "data" / "KTH-SP2-1996-2.1-cln.swf.gz", 100), "Seth": (SETH, 240)}
RULES = ("none", "first_fit", "easy", "conservative", "slurm")
TARGET, ROUNDS = 1.3, 5


def cost(workload: bl.Workload, system: bl.System, rule: str, *, explain: bool) -> float:
    """Return the CPU time (s) of a run."""
    policy = bl.Policy.parse(rule)
    return cpu_time(lambda: bl.simulate(workload, system, policy, explain=explain))[0]


def main() -> None:
    """Measure the cases, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=[f"{log}:{rule}" for log in LOGS for rule in RULES])
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    for case in options.cases:
        log, rule = case.split(":")
        path, processors = LOGS[log]
        workload, system = bl.read_swf(path), bl.System.homogeneous(nodes=processors, resources={"core": 1})
        runs = {
            name: partial(cost, workload, system, rule, explain=name == "explain")
            for name in ("plain", "explain")
        }
        times = medians(runs, options.rounds)
        verdict(
            f"{log}, {rule}: {times['plain']:.3f} s, explain",
            times["explain"] / times["plain"],
            TARGET,
            at_least=False,
        )


if __name__ == "__main__":
    main()
