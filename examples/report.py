"""Write a report on policies, one of them random and replicated, as one HTML file."""

import batchlab as bl
from batchlab.generate import demo_system, demo_workload

SEEDS = range(5)


def main() -> None:
    """Write ``report.html``."""
    workload, system = demo_workload(400), demo_system()
    results: dict[str, bl.Result | list[bl.Result]] = {
        "random order": [bl.simulate(workload, system, f"random({seed})") for seed in SEEDS],
        "EASY": bl.simulate(workload, system, "easy"),
        "EASY, shortest first": bl.simulate(workload, system, "easy(order=sjf)"),
    }
    path = bl.report.write(results, "report.html", title="Does order matter?", baseline="EASY")
    text = path.read_text("utf-8")
    charts = text.count('class="chart"')
    print(f"{path}: {text.count('<section')} sections, {charts} charts")


if __name__ == "__main__":
    main()
