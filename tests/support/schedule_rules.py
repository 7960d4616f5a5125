"""Built-in policies, each rule by itself and in the combinations that users run, and options of runs."""

from dataclasses import replace
from itertools import product
from typing import Any

import polars as pl

import batchlab as bl
from batchlab.policy.registry import ALLOCATORS, BACKFILLS, DISCIPLINES, ORDERS, PREDICTORS, SCHEDULERS

__all__ = ["EVERY_POLICY", "OPTIONS", "SLOW", "with_scores"]

# Rules with parameters, and values of them.
_ORDERS = {
    "random": "random(7, {})",
    "expression": 'expression("requested_time * tasks - wait_time", {})',
    "sbp": "sbp(growth=0.1, {})",
    "multifactor": "multifactor(age=1000, job_size=500, max_age=86400, {})",
}
_ALLOCATORS = {"dual_end": "dual_end(threshold=3600)", "blocks": "blocks(4)"}
_ON_PLATFORMS = ("compact", "hop_bytes", "fewest_groups", "sub_torus")

EVERY_POLICY = (
    *(
        _ORDERS.get(order, f"{order}({{}})").format(f"backfill={rule}")
        for order, rule in product(ORDERS, BACKFILLS)
        if order != "reject" and rule != "slurm"
    ),
    *(
        f"{rule}(allocator={_ALLOCATORS.get(allocator, allocator)})"
        for rule, allocator in product(("fcfs", "easy", "conservative"), ALLOCATORS)
        if allocator not in _ON_PLATFORMS
    ),
    *(f"easy(predictor={predictor})" for predictor in PREDICTORS),
    "reject",
    "easy(reservations=3)",
    "easy(order=sjf, reservations=3)",
    "slurm",
    "slurm(bf_interval=300)",
    *DISCIPLINES,
    *SCHEDULERS,
)
# A run of 100,000 jobs under these rules takes more than 10 s.
SLOW = ("malleable", "equipartition", "max_weight", "slurm", "slurm(bf_interval=300)")
OPTIONS: dict[str, dict[str, Any]] = {
    "kill": {"walltime": "kill"},
    "arrivals_first": {"order_at_instant": "arrivals_first"},
    "event_by_event": {"order_at_instant": "event_by_event"},
    "overheads": {"overheads": bl.Overheads(launch=10.0, completion=5.0)},
}


def with_scores(workload: bl.Workload) -> bl.Workload:
    """Return the workload with a score of every job, which the order sbp takes."""
    return replace(workload, jobs=workload.jobs.with_columns(score=pl.col("job_id") % 10 * 1.0))
