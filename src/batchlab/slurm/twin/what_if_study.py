"""Compare the waits of the same jobs under several configurations, with confidence intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.errors import TwinError, shown
from batchlab.queueing.bootstrap import block_bootstrap
from batchlab.queueing.checks import positive, whole
from batchlab.queueing.intervals import confidence_level
from batchlab.slurm.twin.groups import groupings
from batchlab.slurm.twin.log import checked_name
from batchlab.slurm.twin.twin import waits_of
from batchlab.slurm.twin.waits import STATISTICS, GroupedWaits
from batchlab.slurm.twin.what_if_answer import WhatIf
from batchlab.workload.run_events import logged_times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy.typing as npt

    from batchlab.queueing.bootstrap import Bootstrap
    from batchlab.result.result import Result
    from batchlab.slurm.twin.groups import Grouping
    from batchlab.slurm.twin.twin import Twin
    from batchlab.workload import Workload
    from batchlab.workload.event_stream import EventStream

    Floats = npt.NDArray[np.float64]
    Integers = npt.NDArray[np.int64]

__all__ = ["what_if"]


def what_if(
    workload: Workload,
    twins: Iterable[Twin],
    *,
    seeds: Sequence[int] = (0,),
    block: float | None = None,
    resamples: int = 1000,
    confidence: float = 0.95,
    events: Mapping[str, EventStream] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> WhatIf:
    """Run the same jobs under several configurations, and compare their waits.

    Parameters
    ----------
    workload
        The jobs. If their log has starts, logged waits are also returned.
    twins
        The configurations, with different names. The others are compared with the first.
    seeds
        Each configuration is run once per seed, which determines the phases of the controller's threads and
        random overheads. The waits of all runs are pooled.
    block, resamples, confidence
        Parameters of the intervals, as for `batchlab.queueing.block_bootstrap`: blocks of time are resampled
        with the jobs submitted in them, equally for all configurations. The intervals reflect the variability
        of the workload, not errors of the model.
    events
        External events, such as node outages, by the name of the configuration.
    progress
        Called after each run with the number of completed runs and the total.

    Returns
    -------
    WhatIf
        Mean, median and 95 % quantile of the waits, for all jobs and by partition, QOS, account and size, as
        far as the log has them.

    Raises
    ------
    TwinError
        If there are no jobs, a configuration cannot run them, no job starts under all configurations that
        start any, or names are not unique.
    QueueingError
        If a parameter of the intervals breaks its rule.

    Examples
    --------
    >>> import batchlab as bl
    >>> workload, system = bl.generate.demo_workload(200), bl.generate.demo_system()
    >>> twins = [
    ...     bl.twin.Twin(name=name, system=system, policy=bl.Policy.parse(name))
    ...     for name in ("slurm", "slurm(backfill=false)")
    ... ]
    >>> found = bl.twin.what_if(workload, twins, resamples=100)
    >>> found.table.filter(by="all", statistic="mean")["difference"].to_list()[1] > 0
    True
    """
    named = _named(twins)
    if not seeds:
        raise TwinError("seeds is empty; give at least one.")
    # Check arguments before the runs, which take long.
    whole("resamples", resamples, 2)
    confidence_level(confidence)
    if block is not None:
        positive("block", block)
    log = checked_name(workload)
    waits, results = _run(workload, named, seeds, events or {}, progress)
    absent = {name: np.isnan(each).any(axis=0) for name, each in waits.items()}
    missing = {name: int(np.count_nonzero(each)) for name, each in absent.items()}
    # A configuration under which no job starts has no waits, and is excluded.
    compared_names = [name for name, each in absent.items() if not each.all()] or [*named]
    started = ~np.any([absent[name] for name in compared_names], axis=0)
    _check_started(log, started, missing)
    kept = {name: waits[name][:, started] for name in compared_names}
    compared = workload.filter(pl.lit(pl.Series(started)))
    grouped = groupings(compared)
    found = block_bootstrap(
        compared.jobs["submit_time"].to_numpy(),
        _statistic([[GroupedWaits(each, grouping) for each in kept.values()] for grouping in grouped]),
        block=block,
        resamples=resamples,
        confidence=confidence,
        seed=seeds[0],
    )
    return WhatIf(
        twins=named,
        table=_table(grouped, tuple(kept), found),
        jobs=len(compared),
        not_started=missing,
        seeds=tuple(seeds),
        mean_waits={name: tuple(kept[name].mean(axis=1).tolist()) if name in kept else () for name in named},
        confidence=found.confidence,
        block=found.block,
        resamples=found.resamples,
        results=results,
        log=_logged(compared, grouped),
    )


def _logged(workload: Workload, grouped: Sequence[Grouping]) -> pl.DataFrame | None:
    """Return the logged waits of each group of jobs; None if the log has no starts."""
    times = logged_times(workload.jobs)
    if times is None:
        return None
    waits = (times["start_time"] - workload.jobs["submit_time"]).to_numpy()
    known = np.isfinite(waits)
    if not known.any():
        return None
    rows = []
    for grouping in grouped:
        found = GroupedWaits(np.where(known, waits, 0.0)[None], grouping).statistics(known.astype(np.int64))
        counts = np.bincount(grouping.number[known], minlength=len(grouping.names))
        for place, name in enumerate(grouping.names):
            rows += [
                (grouping.by, name, int(counts[place]), statistic, float(found[place, column]))
                for column, statistic in enumerate(STATISTICS)
            ]
    return pl.DataFrame(rows, schema=["by", "group", "jobs", "statistic", "wait"], orient="row").fill_nan(
        None
    )


def _named(twins: Iterable[Twin]) -> dict[str, Twin]:
    given = [*twins]
    named = {each.name: each for each in given}
    if not given or len(named) < len(given):
        rule = "must be at least one, each with a name of its own"
        raise TwinError(f"twins = {shown([each.name for each in given])}; {rule}.")
    return named


def _run(
    workload: Workload,
    twins: Mapping[str, Twin],
    seeds: Sequence[int],
    events: Mapping[str, EventStream],
    progress: Callable[[int, int], object] | None,
) -> tuple[dict[str, Floats], dict[str, Result]]:
    """Return the waits of each configuration, shape (seeds, jobs), and its first result."""
    waits: dict[str, Floats] = {}
    results: dict[str, Result] = {}
    done = 0
    for name, twin in twins.items():
        rows = []
        for seed in seeds:
            result = twin.run(workload, seed=seed, events=events.get(name))
            results.setdefault(name, result)
            rows.append(waits_of(result, workload))
            done += 1
            if progress is not None:
                progress(done, len(twins) * len(seeds))
        waits[name] = np.stack(rows)
    return waits, results


def _check_started(log: str, started: npt.NDArray[np.bool_], missing: Mapping[str, int]) -> None:
    if not started.any():
        lost = [f"{count:,} do not under {name}" for name, count in missing.items() if count]
        which = f": {', '.join(lost)}" if lost else ""
        raise TwinError(
            f"{log}: none of {len(started):,} jobs starts under all configurations{which}. "
            "Their partitions must admit the jobs, and their nodes hold them; batchlab run says why not."
        )


def _statistic(grouped: Sequence[Sequence[GroupedWaits]]) -> Callable[[Integers], Floats]:
    """Return a function of the counts: all waits, and their differences from the first configuration."""

    def statistic(counts: Integers) -> Floats:
        blocks = []
        for waits in grouped:
            # Shape (configurations, groups, statistics).
            found = np.stack([each.statistics(counts) for each in waits])
            blocks.append(np.stack([found, found - found[0]]).reshape(2, -1))
        return np.concatenate(blocks, axis=1)

    return statistic


def _table(grouped: Sequence[Grouping], names: Sequence[str], found: Bootstrap) -> pl.DataFrame:
    """Create the rows in the order of the values of `_statistic`."""
    labels = [
        (grouping.by, group, name, int(count), statistic)
        for grouping in grouped
        for name in names
        for group, count in zip(
            grouping.names, np.bincount(grouping.number, minlength=len(grouping.names)), strict=True
        )
        for statistic in STATISTICS
    ]
    table = pl.DataFrame(
        labels, schema=["by", "group", "configuration", "jobs", "statistic"], orient="row"
    ).with_columns(
        pl.Series(f"{kind}{end}", values[place])
        for place, kind in enumerate(("wait", "difference"))
        for end, values in (("", found.estimate), ("_low", found.low), ("_high", found.high))
    )
    table = table.rename({"wait_low": "low", "wait_high": "high"}).fill_nan(None)
    apart = [name for name in table.columns if name.startswith("difference")]
    is_first = pl.col("configuration") == names[0]
    return table.with_columns(pl.when(~is_first).then(pl.col(each)).alias(each) for each in apart)
