"""The dispersion of numbers over replications: means, standard deviations, confidence intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from batchlab.core import rules
from batchlab.errors import ExperimentError, suggest

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["LABELS", "dispersion", "half_width"]

LABELS = ("workload", "system", "policy", "control")
"""Columns that name the parts of a run; ``control`` exists only if controls are compared."""

_GROUPS = (*LABELS, "seed", "replication")
_NOT_MEASURED = (*_GROUPS, "run", "run_seed", "status")


def dispersion(
    table: pl.DataFrame,
    by: str | Iterable[str] | None,
    metrics: str | Iterable[str] | None,
    confidence: float,
) -> pl.DataFrame:
    """Summarise a table of runs; see `Runs.summary`.

    Parameters
    ----------
    table
        As `Runs.table`.
    by, metrics, confidence
        As for `Runs.summary`.
    """
    confidence = rules.check(ExperimentError, "confidence", confidence, rules.CONFIDENCE)
    known = [name for name in _GROUPS if name in table.columns]
    groups = _chosen("by", [name for name in LABELS if name in known] if by is None else by, known)
    measured = [name for name in table.columns if name not in _NOT_MEASURED]
    chosen = measured if metrics is None else _chosen("metrics", metrics, measured)
    value = pl.col("value")
    found = (
        table.select(*groups, *(pl.col(name).cast(pl.Float64) for name in chosen))
        .unpivot(chosen, index=groups, variable_name="metric", value_name="value")
        .group_by(*groups, "metric", maintain_order=True)
        .agg(
            value.count().cast(pl.Int64).alias("runs"),
            value.mean().alias("mean"),
            value.std().alias("standard_deviation"),
        )
    )
    half = pl.Series(
        "half", half_width(found["runs"], found["standard_deviation"], confidence), dtype=pl.Float64
    )
    method = f"Student's t, {100 * confidence:g} %"
    return found.with_columns(
        low=pl.col("mean") - half,
        high=pl.col("mean") + half,
        method=pl.when(half.is_not_null()).then(pl.lit(method)),
    )


def half_width(runs: pl.Series, deviation: pl.Series, confidence: float) -> list[float | None]:
    """Compute half the width of Student's confidence interval for a mean.

    Parameters
    ----------
    runs, deviation
        The size and the standard deviation of each sample.
    confidence
        The level.

    Returns
    -------
    list
        t · s / √n, where t is the quantile at (1 + confidence) / 2 with n - 1 degrees of freedom; None
        without a standard deviation.
    """
    from scipy.special import stdtrit  # noqa: PLC0415  # not needed for the table

    quantiles = {count: float(stdtrit(count - 1, (1 + confidence) / 2)) for count in set(runs) if count > 1}
    pairs = zip(runs, deviation, strict=True)
    return [None if each is None else quantiles[count] * each / count**0.5 for count, each in pairs]


def _chosen(argument: str, names: str | Iterable[str], known: Sequence[str]) -> list[str]:
    chosen = [names] if isinstance(names, str) else [*names]
    for name in chosen:
        if name not in known:
            raise ExperimentError(f"{argument}: no column {name!r}.{suggest(str(name), known)}")
    if not chosen:
        raise ExperimentError(f"{argument} is empty; name at least one of {', '.join(known[:8])}.")
    return list(dict.fromkeys(chosen))
