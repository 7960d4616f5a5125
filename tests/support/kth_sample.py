"""400 jobs of a real log, as facts: when they came, how long they ran and asked to, how wide, and of whom.

They are those of rows 14,000 to 14,399 of KTH-SP2-1996-2.1-cln, the log of the IBM SP2 of KTH Stockholm in
March 1997, given to the Parallel Workloads Archive by Lars Malinowsky.
"""

from functools import cache
from pathlib import Path

import polars as pl

import batchlab as bl
from batchlab.workload.header import Header

__all__ = ["POLICIES", "kth_results", "kth_workload"]

POLICIES = ("easy", "fcfs", "easy(order=sjf)", "easy(order=saf)", "easy(order=wfp3)")
_FACTS = Path(__file__).parents[1] / "plot/kth_sample.csv"
_ORIGIN = 859128929


def kth_workload() -> bl.Workload:
    """Give the jobs, with the clock of their machine."""
    names = {"submit": "submit_time", "run": "run_time", "requested": "requested_time", "user": "user_id"}
    header = Header.from_fields({"UnixStartTime": _ORIGIN, "TimeZoneString": "Europe/Stockholm"})
    return bl.Workload.from_table(pl.read_csv(_FACTS).rename(names), header=header)


@cache
def kth_results() -> list[bl.Result]:
    """Run them on the 100 nodes that there were, under five policies."""
    system = bl.System.homogeneous(nodes=100, resources={"core": 1})
    return [bl.simulate(kth_workload(), system, policy) for policy in POLICIES]
