"""The column ``rank_order``: how ranks of a job are placed on its nodes."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from batchlab.core.units import is_whole
from batchlab.core.vocabulary import RANK_ORDERS, RankOrder
from batchlab.errors import WorkloadError, shown, suggest

if TYPE_CHECKING:
    import numpy.typing as npt
    import polars as pl

__all__ = ["RANK_ORDER"]

RANK_ORDER = "rank_order"
_FORM = (
    'must be packed, cyclic, mapped, or each rank once in the order in which they take places, as "0,2,1,3"'
)


def written(given: object, where: str) -> str | None:
    """Format a rank order for the column: a name, or comma-separated ranks."""
    if given is None or isinstance(given, str):
        return given
    if isinstance(given, Sequence) and all(is_whole(rank) for rank in given):
        return ",".join(map(str, given))
    raise WorkloadError(f"{where}: {RANK_ORDER} = {shown(given)}; {_FORM}.")


def check_rank_order(text: str, tasks: int, job_type: str, where: str) -> None:
    """Raise if a text is no rank order, or no permutation of the tasks."""
    order = rank_order(text)
    if order is None:
        raise WorkloadError(f"{where}: {RANK_ORDER} = {shown(text)}; {_FORM}.{suggest(text, RANK_ORDERS)}")
    if isinstance(order, str):
        return
    if job_type != "rigid":
        rule = f"a list is for rigid jobs; this one is {job_type}. Give a rule by name"
        raise WorkloadError(f"{where}: {RANK_ORDER} = {shown(text)}; {rule}.")
    if sorted(order) != [*range(tasks)]:
        raise WorkloadError(
            f"{where}: {RANK_ORDER} = {shown(text)}; must have each of the ranks 0 to {tasks - 1} once."
        )


def rank_order(text: str | None) -> RankOrder | list[int] | None:
    """Parse a rank order; None if invalid. The default is packed."""
    name = "packed" if text is None else text.strip().lower()
    if name in RANK_ORDERS:
        return name
    ranks = name.replace(",", " ").split()
    return [int(rank) for rank in ranks] if ranks and all(map(str.isdecimal, ranks)) else None


def are_mapped(jobs: "pl.DataFrame") -> bool:
    """Return whether any job has its ranks mapped by their communication."""
    return RANK_ORDER in jobs.columns and any(
        rank_order(text) == "mapped" for text in set(jobs[RANK_ORDER].to_list())
    )


def rank_orders(jobs: "pl.DataFrame") -> "tuple[npt.NDArray[np.int64], Sequence[str | list[int]]]":
    """Return the index of each job's rank order, and the distinct rank orders."""
    texts = jobs[RANK_ORDER].to_list() if RANK_ORDER in jobs.columns else [None] * jobs.height
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    orders = [rank_order(text) for text in places]
    column = np.array([places[text] for text in texts], np.int64)
    return column, [order for order in orders if order is not None]
