"""Predict quantiles of run times for EASY with scikit-learn during the simulation.

High quantiles are seldom outlived, low ones leave more holes to fill. Needs pip install 'batchlab[predict]'.
"""

import polars as pl

import batchlab as bl
from batchlab.generate import demo_system, demo_workload
from batchlab.predictor import Quantile


class Watched(Quantile):
    """A quantile that keeps count of its first estimates and of the jobs that outlived them."""

    def begin(self, view: bl.View) -> None:
        """Begin to count."""
        super().begin(view)
        self.outlived: set[int] = set()

    def correct(self, job: bl.Job, view: bl.View) -> float:
        """Note who outlived an estimate."""
        self.outlived.add(job.row)
        return super().correct(job, view)


def main() -> None:
    """Print mean bounded slowdowns, and how many jobs outlived their first estimates."""
    workload, system = demo_workload(3000, seed=7), demo_system()
    # Users of the demonstration request round numbers; here they request a multiple of the run time.
    factor = 1 + pl.col("user_id") % 7
    workload = bl.Workload.from_table(workload.jobs.with_columns(requested_time=pl.col("run_time") * factor))
    print(f"{'EASY goes by':22}{'bounded slowdown':>18}{'outlived':>10}")
    plain = bl.simulate(workload, system, "easy")
    print(f"{'requested times':22}{slowdown(plain):18.1f}{0:10.0%}")
    for quantile in (0.5, 0.75, 0.95):
        predictor = Watched(quantile, batch=200)
        result = bl.simulate(workload, system, bl.Policy(backfill="easy", predictor=predictor))
        share = len(predictor.outlived) / len(workload)
        print(f"{f'quantile {quantile}':22}{slowdown(result):18.1f}{share:10.0%}")
    perfect = bl.simulate(workload, system, "easy(predictor=clairvoyant)")
    print(f"{'true run times':22}{slowdown(perfect):18.1f}{0:10.0%}")


def slowdown(result: bl.Result) -> float:
    """Return the mean bounded slowdown."""
    return bl.metrics.describe(bl.metrics.bounded_slowdown(result.jobs))["mean"] or 0.0


if __name__ == "__main__":
    main()
