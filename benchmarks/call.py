"""From Python: reading, `simulate` per policy, the table of jobs, the measures; then all of `batchlab run`.

`python benchmarks/call.py [--log FILE --nodes N --cores C] [POLICY …]`
"""

import argparse
import statistics
from pathlib import Path

from measure import BATCHLAB, SETH, cpu_time, median_cost, run_process, verdict

import batchlab as bl

USUAL = ["reject", "fcfs", "sjf", "first_fit", "easy", "easy(order=sjf, allocator=best_fit)", "conservative"]
PROCESS_TARGET = 1.0


def measure_calls(log: Path, system: bl.System, policies: list[str], rounds: int) -> None:
    """Print the medians over rounds of each call, and ratios of `simulate` to that of the first policy."""
    reading = statistics.median(cpu_time(lambda: bl.read_swf(log))[0] for _ in range(rounds))
    workload = bl.read_swf(log)
    bl.simulate(workload.head(1), system, "fcfs").metrics()  # imports what it needs
    print(f"{len(workload):,} jobs; read_swf: {reading:.4f} s\n")
    print(f"{'seconds of CPU time':<40} {'simulate':>10} {'ratio':>8} {'.jobs':>10} {'.metrics()':>10}")
    times: dict[str, list[tuple[float, ...]]] = {policy: [] for policy in policies}
    for _ in range(rounds):
        for policy in policies:
            times[policy].append(one_round(workload, system, policy))
    for policy, rows in times.items():
        call, jobs, metrics = map(statistics.median, zip(*rows, strict=True))
        ratio = statistics.median(
            row[0] / first[0] for row, first in zip(rows, times[policies[0]], strict=True)
        )
        print(f"{policy:<40} {call:10.4f} {ratio:8.2f} {jobs:10.4f} {metrics:10.4f}")


def one_round(workload: bl.Workload, system: bl.System, policy: str) -> tuple[float, float, float]:
    """Give the CPU times (s) of the call, of the table of jobs, and of the measures after it."""
    call, result = cpu_time(lambda: bl.simulate(workload, system, policy))
    jobs, _ = cpu_time(lambda: result.jobs)
    metrics, _ = cpu_time(result.metrics)
    return call, jobs, metrics


def measure_processes(log: Path, nodes: int, cores: int, rounds: int) -> None:
    """Print what the whole command takes under fcfs and easy, and what it takes to say its version."""
    machine = ["--nodes", str(nodes), "--cores", str(cores)]
    commands: dict[str, list[str | Path]] = {
        policy: ["run", log, *machine, "--policy", policy] for policy in ("fcfs", "easy")
    }
    commands["(--version)"] = ["--version"]
    for name, words in commands.items():
        cost = median_cost([run_process([BATCHLAB, *words])[0] for _ in range(rounds)])
        print(f"\nbatchlab run, {name:<12} {cost}")
        if name in ("fcfs", "easy"):
            verdict("  CPU time, user and system, s", cost.cpu, PROCESS_TARGET, at_least=False)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--log", type=Path, default=SETH)
    parser.add_argument("--nodes", type=int, default=120)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("policies", nargs="*", default=USUAL)
    options = parser.parse_args()
    system = bl.System.homogeneous(nodes=options.nodes, resources={"core": options.cores})
    measure_calls(options.log, system, options.policies, options.rounds)
    measure_processes(options.log, options.nodes, options.cores, options.rounds)


if __name__ == "__main__":
    main()
