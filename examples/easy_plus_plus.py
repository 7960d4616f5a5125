"""EASY++: predict run times from earlier jobs of the user, and backfill the shortest jobs first.

After D. Tsafrir, Y. Etsion, D. G. Feitelson: Backfilling using system-generated predictions rather than user
runtime estimates. IEEE TPDS 18(6), 2007.
"""

import batchlab as bl
from batchlab.generate import demo_system, demo_workload


class EasyPlusPlus(bl.Scheduler):
    """EASY in the order of submission, whose holes go to the jobs that are predicted to be shortest."""

    def schedule(self, view: bl.View) -> None:
        """Start in order, reserve for the first that does not fit, and fill the holes."""
        for job in view.queue:
            if not view.start(job):
                view.reserve(job)
                break
        for job in sorted(view.candidates(), key=lambda job: job.estimate):
            view.start(job)


def main() -> None:
    """Print mean bounded slowdowns with requested, predicted and perfect run times."""
    workload, system = demo_workload(2000, seed=7), demo_system()
    policies = {
        "EASY": bl.Policy.parse("easy"),
        "EASY, predicted": bl.Policy.parse("easy(predictor=last_two)"),
        "EASY++": bl.Policy(scheduler=EasyPlusPlus(), predictor="last_two"),
        "EASY++, clairvoyant": bl.Policy(scheduler=EasyPlusPlus(), predictor="clairvoyant"),
    }
    for name, policy in policies.items():
        jobs = bl.simulate(workload, system, policy).jobs
        slowdown = bl.metrics.describe(bl.metrics.bounded_slowdown(jobs))["mean"] or 0.0
        print(f"{name:20} {slowdown:6.1f}")


if __name__ == "__main__":
    main()
