"""Tune a formula that orders the queue: waiting against the size of a request."""

import batchlab as bl
from batchlab.generate import demo_system, demo_workload


def policy(weight: float) -> bl.Policy:
    """Return EASY with smaller areas first; each second of waiting counts as `weight` core seconds."""
    formula = f"requested_time * processors - {weight} * wait_time"
    return bl.Policy(order=f'expression("{formula}")', backfill="easy")


def main() -> None:
    """Print mean and worst wait for several weights."""
    workload, system = demo_workload(2000, seed=7), demo_system()
    print(f"{'weight':>8}{'mean wait, h':>16}{'longest wait, h':>20}")
    for weight in (0, 10, 100, 1000):
        wait = bl.metrics.describe(bl.metrics.wait(bl.simulate(workload, system, policy(weight)).jobs))
        print(f"{weight:8}{(wait['mean'] or 0) / 3600:16.2f}{(wait['max'] or 0) / 3600:20.1f}")


if __name__ == "__main__":
    main()
