"""Convert ElastiSim's jobs to a batchlab workload, which can run under any policy."""

from __future__ import annotations

import json
import math
import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from batchlab.bridge.elastisim.jobs import read_jobs
from batchlab.bridge.elastisim.project import Models, dependencies_of, unknown_keys
from batchlab.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["read_workload"]


def read_workload(path: str | Path, *, folder: str | Path | None = None) -> Workload:
    """Read an ElastiSim jobs file as a workload.

    Jobs have whole nodes, with one task each, and run on `System.of(platform)` under any policy. To run an
    ElastiSim project with its own algorithm and ElastiSim's exact behaviour, see `open_project`.

    Parameters
    ----------
    path
        The JSON file, ``{"jobs": [...]}``.
    folder
        The base of the paths of application models. By default the folder of the jobs file, its parent, or
        the working directory: the first in which the file exists.

    Returns
    -------
    Workload
        Sorted by submission; ``job_id`` counts from 0, as in ElastiSim. Jobs that may have different numbers
        of GPUs per node request the maximum.

    Raises
    ------
    BridgeError, ApplicationError
        If the file is invalid; the message names the file, the job and the key.

    Warns
    -----
    UserWarning
        If jobs or application models have unknown keys; the message lists them with their first position.
    """
    jobs = read_jobs(Path(path))
    home = Path(path).absolute().parent
    homes = (home, home.parent, Path()) if folder is None else (Path(folder),)
    models = Models(lambda name: _located(name, homes))
    programs = [models.program(job) for job in jobs]
    gpus = [job.gpus_per_node[1] for job in jobs]
    table = pl.DataFrame(
        {
            "job_id": range(len(jobs)),
            "submit_time": pl.Series([job.submit_time for job in jobs], dtype=pl.Float64),
            "run_time": pl.Series([None] * len(jobs), dtype=pl.Float64),
            "requested_time": [job.walltime or math.inf for job in jobs],
            "tasks": [job.nodes[0] for job in jobs],
            "tasks_per_node": [1] * len(jobs),
            "exclusive": [True] * len(jobs),
            "core": [1] * len(jobs),
            **({"gpu": gpus} if any(gpus) else {}),
            "application": [program.application for program in programs],
            "job_type": [job.type for job in jobs],
            "tasks_min": [job.nodes[0] for job in jobs],
            "tasks_max": [job.nodes[1] for job in jobs],
            "arguments": [json.dumps(program.arguments) for program in programs],
            **dependencies_of(jobs),
        }
    )
    for note in unknown_keys(jobs, models):
        warnings.warn(f"{path}: {note}", stacklevel=2)
    resources: list[str] = [name for name in ("core", "gpu") if name in table.columns]
    return Workload.from_table(
        table, resources=resources, invalid="raise", overrun="keep", applications=models.applications
    )


def _located(name: str, homes: Sequence[Path]) -> Path:
    return next((home / name for home in homes if os.path.exists(home / name)), homes[0] / name)  # noqa: PTH110  # never raises
