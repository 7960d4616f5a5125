"""Runs of a few jobs under Slurm's controller."""

from typing import Any

import batchlab as bl

SYSTEM = bl.System.homogeneous(nodes=2, resources={"core": 2, "mem": 8, "gpu": 1})


def starts(spec: str, system: bl.System = SYSTEM, **columns: Any) -> list[float | None]:  # noqa: ANN401  # columns of several types
    """Run jobs that come at once unless `columns` say otherwise: when each starts."""
    return _simulate(spec, system, columns).jobs["start_time"].to_list()


def nodes_of(spec: str, system: bl.System, **columns: Any) -> list[list[int]]:  # noqa: ANN401  # columns of several types
    """Run them: the nodes of each."""
    return _simulate(spec, system, columns).jobs["nodes"].to_list()


def contested(**options: Any) -> bl.System:  # noqa: ANN401  # options of several types
    """Give a system of two nodes where jobs of `high` preempt those of `low`."""
    quality = bl.QualityOfService("high", 10, preempts=("low",)), bl.QualityOfService("low")
    return bl.System.homogeneous(nodes=2, resources={"core": 1}, qos=quality, **options)


def _simulate(spec: str, system: bl.System, columns: dict[str, Any]) -> bl.Result:
    count = len(columns["tasks"])
    usual = {
        "submit_time": [10.0] * count,
        "run_time": [30.0] * count,
        "requested_time": [60.0] * count,
    }
    return bl.simulate(bl.Workload.from_table(usual | columns), system, spec)
