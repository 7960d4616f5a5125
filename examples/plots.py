"""Draw a page of plots: three policies side by side, and the schedule of one of them."""

from pathlib import Path

from matplotlib.figure import Figure

import batchlab as bl
from batchlab.generate import demo_system, demo_workload

POLICIES = {"FCFS": "fcfs", "EASY": "easy", "EASY, shortest first": "easy(order=sjf)"}


def main() -> None:
    """Write ``policies.png``."""
    workload = demo_workload(800)
    results = {label: bl.simulate(workload, demo_system(), policy) for label, policy in POLICIES.items()}
    figure = Figure(figsize=(10, 8), layout="constrained")
    axes = figure.subplot_mosaic([["slowdown", "wait"], ["queue", "use"], ["gantt", "gantt"]])
    bl.plot.slowdown(results, ax=axes["slowdown"], title="Slowdown")
    bl.plot.wait(results, ax=axes["wait"], kind="cdf", title="Wait")
    bl.plot.queue_size(results, ax=axes["queue"], kind="time", title="Queue")
    bl.plot.utilisation(results, ax=axes["use"], title="Utilisation")
    bl.plot.gantt(results["EASY"], ax=axes["gantt"], title="Jobs under EASY")
    figure.savefig("policies.png", dpi=120)
    print(
        f"policies.png: {len(figure.axes)} plots, {'written' if Path('policies.png').exists() else 'missing'}"
    )


if __name__ == "__main__":
    main()
