"""Invented lines of public data sets, with every field of each, and their sums, counted by hand.

Texts are in the folder ``data_sets``; Parquet files are made here.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SAMPLES", "Sample"]

FOLDER = Path(__file__).with_name("data_sets")
GIB = 1024**2
MINUTE, HOUR = 60.0, 3600.0


@dataclass(frozen=True, eq=False)
class Sample:
    """Lines of a data set, and the sums over its jobs.

    Parameters
    ----------
    name
        Of the mapping.
    file
        What the file is called.
    jobs, waits, runs, limits
        How many jobs are kept, and the sums of their waits, run times and time limits (s).
    asked
        The sums of what jobs ask for, by resource: an amount times the tasks of the job. ``tasks`` and
        ``exclusive`` too: how many.
    dropped
        How many rows are no jobs that can be taken.
    rows
        The columns of a Parquet file.
    """

    name: str
    file: str
    jobs: int
    waits: float
    runs: float
    limits: float
    asked: Mapping[str, float] = field(default_factory=dict)
    dropped: int = 0
    rows: dict[str, pl.Series] | None = None

    @property
    def text(self) -> str:
        """The lines; empty for Parquet."""
        return "" if self.rows else (FOLDER / self.name / self.file).read_text("utf-8")

    def write(self, folder: Path) -> Path:
        """Write the file."""
        path = folder / self.file
        if self.rows:
            pl.DataFrame(self.rows).write_parquet(path)
        else:
            path.write_text(self.text, "utf-8")
        return path


def _times(*texts: str, zone: str = "UTC") -> pl.Series:
    return pl.Series([dt.datetime.fromisoformat(text) for text in texts]).dt.replace_time_zone(zone)


def _mountain(*clocks: str) -> pl.Series:
    return _times(*(f"2024-07-01T{clock}" for clock in clocks), zone="America/Denver")


def _seconds(*numbers: int) -> pl.Series:
    return pl.Series([dt.timedelta(seconds=number) for number in numbers])


def _pm100() -> dict[str, pl.Series]:
    text = {
        "cores_alloc_layout": ["{}", "{}"],
        "cores_allocated": ["{}", "{}"],
        "derived_ec": ["0:0", "0:0"],
        "job_state": ["COMPLETED", "TIMEOUT"],
        "nodes": ["[1, 2]", "[3]"],
        "partition": ["1", "2"],
        "qos": ["0", "1"],
        "req_nodes": ["", ""],
        "shared": ["0", "0"],
        "state_reason": ["None", "TimeLimit"],
    }
    numbers = {
        "cores_per_task": [4, 128],
        "group_id": [25200, 25200],
        "job_id": [1001, 1002],
        "num_cores_req": [256, 128],
        "num_cores_alloc": [256, 128],
        "num_gpus_req": [8, 3],
        "num_gpus_alloc": [8, 4],
        "num_nodes_req": [2, 1],
        "num_nodes_alloc": [2, 1],
        "mem_req": [400, 230],
        "mem_alloc": [400, 230],
        "num_tasks": [64, 1],
        "power_flags": [0, 0],
        "priority": [10, 20],
        "run_time": [3600, 1800],
        "threads_per_core": [4, 4],
        "time_limit": [120, 30],
        "user_id": [7, 8],
    }
    times = {
        "submit_time": _times("2020-05-05T10:00:00", "2020-05-05T10:01:00"),
        "eligible_time": _times("2020-05-05T10:00:00", "2020-05-05T10:05:00"),
        "start_time": _times("2020-05-05T10:10:00", "2020-05-05T10:31:00"),
        "end_time": _times("2020-05-05T11:10:00", "2020-05-05T11:01:00"),
    }
    lists = {"power_consumption": [[1.0, 2.0], [3.0]]}
    columns: dict[str, Any] = {**text, **numbers, **lists}
    return {name: pl.Series(values) for name, values in columns.items()} | times


def _kestrel(suffix: str = "") -> dict[str, pl.Series]:
    return {
        "id": pl.Series(["5001", "5002", "5003"]),
        f"submit_time{suffix}": _mountain("08:00:00", "08:00:30", "08:01:00"),
        f"start_time{suffix}": _mountain("08:10:00", "08:00:30", "08:11:00"),
        f"end_time{suffix}": _mountain("09:10:00", "08:30:30", "08:11:40"),
        "wallclock_req": _seconds(7200, 3600, 60),
        "nodes_req": pl.Series([2, 1, 1]),
        "processors_req": pl.Series([208, 52, 1]),
        "nodes_used": pl.Series([2, 1, 1]),
        "processors_used": pl.Series([208, 104, 2]),
        "gpus_requested": pl.Series([0, 2, 0]),
        "memory_req": pl.Series(["240Gn", "1Gc", "2048M"]),
        "partition": pl.Series(["short", "gpu-h100", "debug"]),
        "qos": pl.Series(["normal", "high", "normal"]),
        "state_simple": pl.Series(["COMPLETED", "CANCELLED", "FAILED"]),
        "user_hash": pl.Series(["a", "b", "c"]),
        "account_hash": pl.Series(["p", "p", "q"]),
        "ConsumedEnergyRaw": pl.Series([10.5, None, 3.0]),
        "submit_script_hash": pl.Series(["x", "y", "z"]),
    }


_OF_KESTREL = {
    "tasks": 4,
    "core": 261,
    "gpu": 2,
    "mem": 2 * 240 * GIB + 52 * GIB + 2 * GIB,
}

SAMPLES = (
    Sample(
        "acme",
        "trace_kalos.csv",
        jobs=2,
        waits=70,
        runs=4200,
        limits=4200,
        asked={"tasks": 9, "core": 992, "gpu": 64},
    ),
    Sample(
        "alcf-djc",
        "ANL-ALCF-DJC-POLARIS_20230101_20231231.csv",
        jobs=2,
        waits=610,
        runs=3660,
        limits=7800,
        asked={"tasks": 11, "core": 704},
    ),
    Sample(
        "alibaba-pai",
        "pai_task_table.csv",
        jobs=3,
        waits=0,
        runs=148,
        limits=148,
        dropped=2,
        # 4.5 cores of an instance take 5.
        asked={
            "tasks": 4,
            "core": 6 + 2 * 5 + 1,
            "gpu_percent": 2 * 50 + 800,
            "mem": 29.296875 * GIB + 2 * GIB + 2 * GIB,
        },
    ),
    Sample(
        "cc-in2p3",
        "01.tsv",
        jobs=2,
        waits=60,
        runs=3660,
        limits=612000,
        asked={"tasks": 17},
    ),
    Sample(
        "eagle",
        "eagle_jobs_202407_0.parquet",
        rows=_kestrel("_tz"),
        jobs=3,
        waits=1200,
        runs=5440,
        limits=10860,
        asked=_OF_KESTREL,
    ),
    Sample(
        "eagle-oedi",
        "eagle_data.csv",
        jobs=2,
        waits=600,
        runs=3660,
        limits=7800,
        asked={"tasks": 3, "core": 90, "gpu": 2},
    ),
    Sample(
        "f-data",
        "23_07.csv",
        jobs=2,
        waits=610,
        runs=3660,
        limits=7800,
        asked={"tasks": 5, "core": 204},
    ),
    Sample(
        "fresco-anvil",
        "job_accounting_july2022_anon.csv",
        jobs=2,
        waits=600,
        runs=3660,
        limits=7800,
        asked={"tasks": 3, "core": 288, "gpu": 2},
    ),
    Sample(
        "fresco-conte",
        "2015-03.csv",
        jobs=2,
        waits=600,
        runs=3660,
        limits=7800,
        dropped=1,
        asked={"tasks": 3, "core": 48},
    ),
    Sample(
        "fresco-stampede",
        "stampede_accounting.csv",
        jobs=2,
        waits=610,
        runs=4200,
        limits=7800,
        asked={"tasks": 5, "core": 80},
    ),
    Sample(
        "frontier",
        "frontier-2024.swf",
        jobs=3,
        waits=600,
        runs=3660,
        limits=8400,
        asked={"tasks": 2500 + 9216 + 1, "exclusive": 2},
    ),
    Sample(
        "helios",
        "cluster_log.csv",
        jobs=3,
        waits=60,
        runs=37107,
        limits=37107,
        # 3 CPUs on 2 nodes take 2 on each.
        asked={"tasks": 5, "core": 1 + 64 + 4, "gpu": 17},
    ),
    Sample(
        "kestrel",
        "kestrel_jobs_202407_0.parquet",
        rows=_kestrel(),
        jobs=3,
        waits=1200,
        runs=5440,
        limits=10860,
        asked=_OF_KESTREL,
    ),
    Sample(
        "lassen",
        "final_csm_allocation_history_hashed.csv",
        jobs=2,
        waits=600,
        runs=3660,
        limits=7200 + 365 * 86400,
        asked={"tasks": 17, "exclusive": 2},
    ),
    Sample(
        "mit-supercloud",
        "slurm-log.csv",
        jobs=3,
        waits=600,
        runs=3660,
        limits=1440 * MINUTE + 365 * 86400 + 10 * MINUTE,
        dropped=1,
        asked={"tasks": 4, "core": 88, "gpu": 4},
    ),
    Sample(
        "mustang",
        "mustang_release_v1.0beta.csv",
        jobs=2,
        waits=610,
        runs=3660,
        limits=26 * HOUR,
        asked={"tasks": 9, "exclusive": 2},
    ),
    Sample(
        "openb",
        "openb_pod_list_default.csv",
        jobs=3,
        waits=15,
        runs=1332357 + 294641 + 1512,
        limits=1332357 + 294641 + 1512,
        dropped=1,
        asked={
            "tasks": 3,
            "core": 88 + 4 + 16,
            "gpu_milli": 8000 + 220 + 1000,
            "mem": (327680 + 15258 + 32768) * 1024,
        },
    ),
    Sample(
        "philly",
        "cluster_job_log",
        jobs=2,
        waits=30,
        runs=MINUTE + HOUR + 30 * MINUTE,
        limits=MINUTE + HOUR + 30 * MINUTE,
        dropped=2,
        asked={"tasks": 4, "gpu": 4},
    ),
    # 3 GPUs on one node; the memory is in no known unit.
    Sample(
        "pm100",
        "job_table.parquet",
        rows=_pm100(),
        jobs=2,
        waits=2400,
        runs=5400,
        limits=9000,
        asked={"tasks": 3, "core": 384, "gpu": 11, "exclusive": 2},
    ),
    Sample(
        "trinity",
        "trinity_formatted_release_v1.0beta.csv",
        jobs=1,
        waits=600,
        runs=3600,
        limits=7200,
        asked={"tasks": 9000, "exclusive": 1},
    ),
)
