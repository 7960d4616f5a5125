"""The deep-learning study: CPU time per policy, and training steps simulated in a second of it.

`python benchmarks/deep_learning.py [--jobs N] [--seed N]`. A training step counts once, whatever the number
of its nodes. Steps are counted in a run of their own, epoch by epoch; last epochs as if on the nodes that the
job had at its end. Beside each policy stands its time per step, in times of that of rigid FCFS, which the
kernel decides by itself.
"""

import argparse
import importlib.util
import json
import sys
from functools import partial
from types import ModuleType

from measure import ROOT, cpu_time, verdict

import batchlab as bl

SCRIPT = ROOT / "examples/deep_learning_study.py"
TARGET = 120.0


class Counting(bl.Scheduler):
    """Counts training steps at the points between epochs; decides as another does."""

    every_instant = True

    def __init__(self, other: bl.Scheduler) -> None:
        self.other = other
        self.steps = 0

    def schedule(self, view: bl.View) -> None:
        """Count, then decide."""
        self.steps += sum(steps_of_epoch(job["arguments"], job.tasks) for job in view.at_scheduling_point)
        self.other.schedule(view)


def load() -> ModuleType:
    """Load the example."""
    spec = importlib.util.spec_from_file_location("deep_learning_study", SCRIPT)
    if spec is None or spec.loader is None:
        sys.exit(f"cannot load {SCRIPT}.")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def steps_of_epoch(arguments: str, nodes: int) -> int:
    """Give the training steps of one epoch on so many nodes of four GPUs."""
    given: dict[str, int] = json.loads(arguments)
    return -(-given["training_images"] // (given["batch_size"] * 4 * nodes))


def steps_of(study: ModuleType, name: str, count: int, seed: int) -> int:
    """Count the training steps that a policy makes the jobs take."""
    malleable, policy = study.POLICIES[name]
    jobs = study.workload(count, seed, malleable=malleable)
    if not malleable:
        rows = jobs.jobs.select("arguments", "tasks").iter_rows()
        return sum(json.loads(text)["epochs"] * steps_of_epoch(text, nodes) for text, nodes in rows)
    counting = Counting(bl.Policy.parse(policy).scheduler or bl.Malleable())
    result = bl.simulate(jobs, study.cluster(), counting)
    ends = result.jobs.select("arguments", "nodes").iter_rows()
    return counting.steps + sum(steps_of_epoch(text, len(nodes)) for text, nodes in ends)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    study = load()
    total, reference = 0.0, 0.0
    print(f"{'':16}{'CPU s':>8}{'steps':>12}{'steps/s':>12}{'time per step':>15}")
    for name in study.POLICIES:
        seconds, _ = cpu_time(partial(study.run, name, count=options.jobs, seed=options.seed))
        steps = steps_of(study, name, options.jobs, options.seed)
        total += seconds
        reference = reference or seconds / steps
        ratio = seconds / steps / reference
        print(f"{name:16}{seconds:8.2f}{steps:12,}{steps / seconds:12,.0f}{ratio:13.2f} ×", flush=True)
    verdict(f"all policies, {options.jobs} jobs, CPU s", total, TARGET, at_least=False)


if __name__ == "__main__":
    main()
