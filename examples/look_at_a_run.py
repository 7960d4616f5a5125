"""Inspect a run from noon to noon: queue length, utilisation, and the users of the first node."""

import batchlab as bl
from batchlab.generate import demo_system, demo_workload

DAY = 86400.0


def main() -> None:
    """Drive a simulation in steps of a day, and print what it says of itself at each noon."""
    workload, system = demo_workload(600, seed=3), demo_system()
    simulation = bl.Simulation(workload, system, "easy")
    noon = DAY / 2
    while simulation.next_time is not None:
        simulation.run_until(noon)
        status = simulation.status()
        shares = ", ".join(f"{name} {100 * share:3.0f} %" for name, share in status.utilisation.items())
        first = [
            int(workload.jobs["job_id"][int(row)])
            for index, row in enumerate(status.running)
            if 0 in status.placement(index)[0]
        ]
        print(f"day {noon // DAY:.0f}: {status.counts['queued']:3} queued, {shares}, jobs on node 0: {first}")
        noon += DAY


if __name__ == "__main__":
    main()
