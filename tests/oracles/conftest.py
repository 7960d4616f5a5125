"""Simulations of oracle cases have the recorded digests, even if a test allows differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import batchlab as bl
from support import schedule_digests

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np


@pytest.fixture(autouse=True)
def _digests_are_those_recorded(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Collect the results and completion times that a test computes, and check their digest by its name.

    Campaigns have hundreds of runs of rules that other tests run too; their digests are not recorded.
    """
    if request.node.get_closest_marker("campaign"):
        yield
        return
    results: list[bl.Result] = []
    times: list[np.ndarray[Any, Any]] = []
    begin = bl.Result.__init__

    def noted(result: bl.Result, *arguments: object, **named: object) -> None:
        begin(result, *arguments, **named)  # type: ignore[arg-type]  # handed on
        results.append(result)

    monkeypatch.setattr(bl.Result, "__init__", noted)
    for module, name in ((bl, "share"), (bl.queueing, "delays")):
        monkeypatch.setattr(module, name, _noting(getattr(module, name), times))
    yield
    monkeypatch.undo()
    found = {"runs": (len(results), schedule_digests.schedule(results) if results else None)}
    found["times"] = (
        len(times),
        pl.concat(pl.DataFrame({"time": each}) for each in times) if times else None,
    )
    # The number is part of the name: without ../shared a test has fewer cases.
    place = f"oracles/{request.node.path.stem}/{request.node.name}".replace(" ", "")
    schedule_digests.check_tables(
        {f"{place}/{count}{kind}": table for kind, (count, table) in found.items() if table is not None}
    )


def _noting(
    function: Callable[..., np.ndarray[Any, Any]], times: list[np.ndarray[Any, Any]]
) -> Callable[..., np.ndarray[Any, Any]]:
    """Return a function that also keeps what it returns."""

    def noted(*arguments: object, **named: object) -> np.ndarray[Any, Any]:
        times.append(function(*arguments, **named))
        return times[-1]

    return noted
