"""Place long jobs on reliable nodes: an allocator that learns from failures."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import batchlab as bl
from batchlab.core.units import format_duration
from batchlab.generate import Constant, Weibull, demo_system, demo_workload
from batchlab.seam import View

FRAGILE = range(0, 32, 4)


class FewestFailures(bl.Allocator):
    """Fills the nodes that have failed least so far first; nodes that are down offer no slots."""

    def begin(self, view: View) -> None:  # noqa: ARG002 - the seam's
        """Forget what earlier runs have shown."""
        self.failures: Counter[int] = Counter()
        self.down: frozenset[int] = frozenset()

    def allocate(self, job: bl.Job, view: View) -> Mapping[int, int] | None:
        """Return the nodes of the job, if it fits."""
        down = view.values["failures"]
        self.failures.update(down - self.down)
        self.down = down
        nodes: dict[int, int] = {}
        left = job.tasks
        for node in sorted(range(view.system.nodes), key=self.failures.__getitem__):
            taken = min(view.slots(job, node), left)
            if taken:
                nodes[node] = taken
                left -= taken
            if not left:
                return nodes
        return None


def main() -> None:
    """Run the same jobs beside the same failures, of every fourth node, under two allocators."""
    for allocator in ("first_fit", FewestFailures()):
        failures = bl.Failures.from_distributions(
            Weibull(shape=0.8, scale=20_000),
            Constant(1_800),
            seed=7,
            nodes=FRAGILE,
            on_failure="checkpoint",
            every=600,
        )
        policy = bl.Policy(backfill="first_fit", allocator=allocator)
        result = bl.simulate(demo_workload(400), demo_system(), policy, observers=[failures])
        measured: dict[str, Any] = result.metrics()
        lost = format_duration(measured["interrupted"]["lost_time"])
        name = allocator if isinstance(allocator, str) else type(allocator).__name__
        print(f"{name:15} {len(result.interruptions):4} runs cut short, {lost} of them to be run again")


if __name__ == "__main__":
    main()
