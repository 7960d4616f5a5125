"""Files of R's package hpcwld, and what was recorded of a recursion of its authors' model."""

from __future__ import annotations

import gzip

import polars as pl

import batchlab as bl
from support.oracles import find

__all__ = ["PRINTED", "SERVERS", "SWAPPED", "content", "machine", "table", "trace", "workload_of"]

SERVERS = 80
# The second paper price of a busy core is below the first; it is swapped where "swapped" is recorded.
IDLE = {1.0: 0.014, 2.0: 0.014, 2.66: 0.018}
PRINTED = bl.service.RatePrices(busy={1.0: 0.041, 2.0: 0.041, 2.66: 0.034}, idle=IDLE)
SWAPPED = bl.service.RatePrices(busy={1.0: 0.034, 2.0: 0.034, 2.66: 0.041}, idle=IDLE)


def content(name: str, folder: str = "hpcwld") -> bytes:
    """Read a file, packed or not."""
    found = find(f"oracles/{folder}/{name}").read_bytes()
    return gzip.decompress(found) if found[:2] == b"\x1f\x8b" else found


def table(name: str) -> pl.DataFrame:
    """Read a table of hpcwld's."""
    return pl.read_csv(content(name), infer_schema_length=None, null_values="NA")


def trace(name: str) -> tuple[pl.Series, pl.Series, pl.Series]:
    """Make the arrivals (s), service times (s) and cores of a trace from the package's own data."""
    if name in {"HPC_KRC_model_cores_used", "HPC_KRC2_cleanA_subset"}:
        log = table(f"{name}.csv.gz")
        return log["t"], log["S"], log["N"]
    log = table("HPC_KRC.csv.gz" if name.startswith("HPC_KRC_") else "HPC_KRC2.csv.gz")
    cores = "cores_requested" if name.endswith("requested") else "cores_used"
    # Gaps are those after each job; the third cleaning takes them for gaps between starts.
    clock = pl.col("interarrival").cum_sum() - pl.col("interarrival")
    arrival = clock - pl.col("delays") if name.endswith("startgaps") else clock
    jobs = log.with_columns(arrival=arrival).filter(pl.col(cores) >= 1).sort("arrival", maintain_order=True)
    return jobs["arrival"], jobs["service"], jobs[cores]


def workload_of(name: str, scale: float = 1.0) -> bl.Workload:
    """Make a workload of a trace; `scale` is the work of a second of service."""
    arrival, service, cores = trace(name)
    return bl.Workload.from_table(
        {"submit_time": arrival, "run_time": service, "work": service * scale, "tasks": cores}
    )


def machine(servers: int = SERVERS) -> bl.System:
    """Make a machine of one node with as many cores."""
    return bl.System.homogeneous(nodes=1, resources={"core": servers})
