"""Completion times of flows and parallel tasks that share a platform."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab import _kernel
from batchlab.errors import PlatformError, shown
from batchlab.platform.flows import Columns, columns
from batchlab.platform.network_model import MODELS, NetworkModel
from batchlab.platform.simgrid_options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from batchlab.platform.platform import Platform

__all__ = ["MODELS", "OPTIONS", "share"]


def share(
    platform: Platform,
    flows: Iterable[object] | Mapping[str, object],
    model: str | NetworkModel | None = None,
    options: Mapping[str, float | bool | str] | None = None,
) -> NDArray[np.float64]:
    """Compute the completion times of flows and parallel tasks that share a platform.

    Parameters
    ----------
    platform
        Hosts, links and routes.
    flows
        `Flow` and `ParallelTask`; or tuples and mappings ``src, dst, bytes, start`` for flows; or a table of
        flows: a data frame or a mapping of columns, which is fast for many flows.
    model
        The network model: a `NetworkModel` or its name; by default the one selected by the options, else
        ``"max_min"``.
    options
        Changes of parameters under SimGrid's names: keys of `OPTIONS`. Options that the model does not have
        are ignored, as in SimGrid. A complete configuration of SimGrid is accepted
        (`NetworkModel.from_simgrid`).

    Returns
    -------
    numpy.ndarray
        Shape (flows,): seconds, in the order of the flows. Infinite for an activity that never ends because a
        host has speed 0.

    Raises
    ------
    PlatformError
        If a model, option or host is unknown, a number is invalid, the options select another model than
        `model`, or there is no route.

    Notes
    -----
    The rules are those of SimGrid 3.34. Times agree with SimGrid's up to rounding if SimGrid updates fully
    (``network/optim:Full``); docs/sharing.md has the formulas.

    Examples
    --------
    >>> import batchlab as bl
    >>> platform = bl.Platform.crossbar(3, bandwidth="100MBps")
    >>> bl.share(platform, [bl.Flow("node0", "node1", 1e8), ("node0", "node2", 5e7, 0.5)]).tolist()
    [1.5, 1.5]
    """
    network = NetworkModel.from_simgrid(options or {}, model)
    table = columns(flows, platform.number, len(platform.kernel.hosts))
    if table.tasks and not network.knows_tasks:
        rule = "knows flows only; use 'max_min' or 'fair_bottleneck' for parallel tasks"
        raise PlatformError(f"model {network.model!r} {rule}.")
    return _run(platform, table, network)


def _run(platform: Platform, table: Columns, network: NetworkModel) -> NDArray[np.float64]:
    try:
        return _kernel.share(
            platform.kernel,
            network.kernel,
            source=table.source,
            target=table.target,
            size=table.bytes,
            start=table.start,
            tasks=table.tasks,
        )
    except LookupError as error:
        row, source, target = error.args
        names = platform.kernel.hosts
        raise PlatformError(
            f"flow {row}: there is no route from {shown(names[source])} to {shown(names[target])}; "
            "add one where their zones meet."
        ) from None
