"""Convert the stream of a virtual cluster for a simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from batchlab.workload import dependencies
from batchlab.workload.arrays import ARRAY_ID, ARRAY_INDEX
from batchlab.workload.dependencies import DEPENDENCY
from batchlab.workload.run_events import CANCELLED_AFTER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from batchlab.workload.dependencies import Target

__all__ = ["modelled_stream"]

_MET_BY = {
    "after": frozenset({"completed", "killed", "cancelled"}),
    "afterany": frozenset({"completed", "killed", "cancelled"}),
    "afterok": frozenset({"completed"}),
    "afternotok": frozenset({"killed", "cancelled"}),
}
# Jobs complete in the simulation, however they ended in Slurm.
_IN_MODEL = {"afterok": "afterany", "afternotok": "afterany"}


def modelled_stream(stream: pl.DataFrame) -> pl.DataFrame:
    """Return the jobs of a stream to simulate, with dependencies that hold as in Slurm.

    Parameters
    ----------
    stream
        The stream, as from `planned_stream` or `returned_stream`. Jobs that did not start are dropped, except
        those with a planned cancellation. In a returned stream, a dependency on how a job ended becomes one
        on its end, or is removed.
    """
    kept = pl.col("run_time").is_not_null()
    if CANCELLED_AFTER in stream.columns:
        cancelled = pl.col(CANCELLED_AFTER).is_not_null()
        kept |= cancelled & (pl.col("state") != "rejected" if "state" in stream.columns else True)
        stream = stream.with_columns(run_time=pl.when(cancelled).then(0.0).otherwise("run_time"))
    stream = stream.filter(kept)
    if DEPENDENCY not in stream.columns:
        return stream
    states = _states(stream)
    ended = "state" in stream.columns
    texts = [text and _known(text, states, ended=ended) for text in stream[DEPENDENCY]]
    return stream.with_columns(pl.Series(DEPENDENCY, texts, pl.String))


def _states(stream: pl.DataFrame) -> Mapping[tuple[int, int | None], str]:
    """Return the states of jobs by number, and of array tasks by array and index."""
    states = stream["state"].to_list() if "state" in stream.columns else ["completed"] * len(stream)
    found: dict[tuple[int, int | None], str] = {}
    arrays: list[tuple[int | None, int | None]] = [(None, None)] * len(stream)
    if ARRAY_ID in stream.columns:
        arrays = stream.select(ARRAY_ID, ARRAY_INDEX).rows()
    for job, (array, place), state in zip(stream["job_id"], arrays, states, strict=True):
        found[job, None] = state
        if array is not None:
            found[array, place] = state
            found.setdefault((array, None), state)
    return found


def _known(text: str, states: Mapping[tuple[int, int | None], str], *, ended: bool) -> str | None:
    """Rewrite a dependency for the jobs in the stream; None if no term is left."""
    dependency = dependencies.parse_dependency(text)
    if dependency is None:
        return None
    terms = []
    for term in dependency.terms:
        targets = [target for target in term.targets if _place(target) in states]
        if ended and dependency.is_any:
            # Alternatives that did not hold have not caused the start.
            targets = [target for target in targets if states[_place(target)] in _MET_BY[term.kind]]
        kind = _IN_MODEL.get(term.kind, term.kind) if ended else term.kind
        if targets or term.kind == dependencies.SINGLETON:
            terms.append(term._replace(kind=kind, targets=tuple(targets)))
    return str(dependency._replace(terms=tuple(terms))) if terms else None


def _place(target: Target) -> tuple[int, int | None]:
    return (target.job, target.task)
