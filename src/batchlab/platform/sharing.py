"""Completion times of flows and parallel tasks that share a platform."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from batchlab import _kernel
from batchlab.errors import PlatformError, shown, suggest
from batchlab.platform.flows import Columns, columns
from batchlab.platform.network_model import MODELS, NetworkModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from batchlab.platform.platform import Platform

__all__ = ["MODELS", "OPTIONS", "share"]

OPTIONS: Mapping[str, str] = {
    "network/bandwidth-factor": "the part of the bandwidth that payloads can have",
    "network/latency-factor": "how many latencies pass before the first byte",
    "network/weight-S": "bytes whose time on each link adds to the round trip that shares are weighted by",
    "network/TCP-gamma": "the greatest window, in bytes: twice what a flow sends per latency; 0: none",
    "network/crosstraffic": "whether 5 % of a flow's rate load the links back",
    "network/loopback-bw": "bytes per second from a host to itself where the platform has no such route",
    "network/loopback-lat": "its latency, seconds",
}
"""The options, under SimGrid's names, and what they are."""

CHOOSING: Mapping[str, tuple[str, ...]] = {
    "host/model": ("default", "compound", "ptask_L07"),
    "host/solver": ("fairbottleneck", "bmf"),
    "network/model": ("LV08", "CM02"),
    "network/solver": ("maxmin",),
    "network/optim": ("Full", "Lazy", "TI"),
    "cpu/model": ("Cas01",),
}
"""Options that say which model is meant, or how SimGrid computes it, which changes nothing here."""

_PARALLEL = {"fairbottleneck": "fair_bottleneck", "bmf": "bottleneck_max_min"}
_FIELDS = {
    "network/bandwidth-factor": "bandwidth_factor",
    "network/latency-factor": "latency_factor",
    "network/weight-S": "weight",
    "network/TCP-gamma": "window",
    "network/crosstraffic": "cross_traffic",
    "network/loopback-bw": "loopback_bandwidth",
    "network/loopback-lat": "loopback_latency",
}
_POSITIVE = ("network/bandwidth-factor", "network/loopback-bw")
_TRUTH = "network/crosstraffic"
_WORDS = {"yes": 1.0, "no": 0.0, "on": 1.0, "off": 0.0, "true": 1.0, "false": 0.0}


def share(
    platform: Platform,
    flows: Iterable[object] | Mapping[str, object],
    model: str | NetworkModel | None = None,
    options: Mapping[str, float | bool | str] | None = None,
) -> NDArray[np.float64]:
    """Say when flows and parallel tasks that share a platform are done.

    Parameters
    ----------
    platform
        Hosts, links and routes.
    flows
        `Flow` and `ParallelTask`; or tuples and mappings ``src, dst, bytes, start`` for flows; or a table of
        flows: a data frame or a mapping of columns, which is the fast way for many.
    model
        How they share: a `NetworkModel`, or the name of one; ``"max_min"`` unless given, or chosen by the
        options.
    options
        What is different from that, by SimGrid's names: keys of `OPTIONS`; those that the model does not take
        change nothing, as in SimGrid. A whole configuration of SimGrid will do: keys of `CHOOSING` choose the
        model.

    Returns
    -------
    numpy.ndarray
        Shape (flows,): seconds, in the order of the flows. Infinite where something is never done, because a
        host has no speed.

    Raises
    ------
    PlatformError
        If a model, option or host is not known, a number is not as it must be, the options choose another
        model than is given, or there is no route.

    Notes
    -----
    The rules are those of SimGrid 3.34, and each time agrees with its to rounding where SimGrid updates fully
    (``network/optim:Full``); docs/sharing.md has the formulas.

    Examples
    --------
    >>> import batchlab as bl
    >>> platform = bl.Platform.crossbar(3, bandwidth="100MBps")
    >>> bl.share(platform, [bl.Flow("node0", "node1", 1e8), ("node0", "node2", 5e7, 0.5)]).tolist()
    [1.5, 1.5]
    """
    network = _model(model, dict(options or {}))
    table = columns(flows, platform.number, len(platform.kernel.hosts))
    if table.tasks and not network.knows_tasks:
        rule = "knows flows only; use 'max_min' or 'fair_bottleneck' for parallel tasks"
        raise PlatformError(f"model {network.model!r} {rule}.")
    return _run(platform, table, network)


def _model(model: str | NetworkModel | None, options: dict[str, float | bool | str]) -> NetworkModel:
    """Find the model that is meant, with all its parameters."""
    chosen = _chosen({name: options.pop(name) for name in list(options) if name in CHOOSING})
    network = NetworkModel.of(model or chosen or "max_min")
    if chosen not in (None, network.model):
        raise PlatformError(
            f"model = {network.model!r}, but the options choose {chosen!r}; leave one of them out."
        )
    changed = {_FIELDS[name]: value for name, value in map(_option, options, options.values())}
    taken = {name: value for name, value in changed.items() if name in network.parameters}
    return replace(network, **taken)  # type: ignore[arg-type]  # the names are those of the fields


def _chosen(choosing: Mapping[str, object]) -> str | None:
    """Find the model that SimGrid's options choose."""
    for name, value in choosing.items():
        if value not in CHOOSING[name]:
            known = ", ".join(CHOOSING[name])
            raise PlatformError(f"option {name} = {shown(value)}; must be one of {known}.")
    if choosing.get("host/model") == "ptask_L07":
        return _PARALLEL[str(choosing.get("host/solver", "fairbottleneck"))]
    chosen = choosing.get("network/model")
    return None if chosen is None else str(chosen)


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


def _option(name: object, value: object) -> tuple[str, float | bool]:
    """Check an option; numbers may be texts, as in SimGrid's files."""
    if name not in OPTIONS:
        raise PlatformError(f"no option is called {shown(name)}.{suggest(str(name), OPTIONS)}")
    number = _number(name, value)
    if not math.isfinite(number) or number < 0.0 or (number == 0.0 and name in _POSITIVE):
        rule = "must be a finite number > 0" if name in _POSITIVE else "must be a finite number >= 0"
        raise PlatformError(f"option {name} = {shown(value)}; {rule}.")
    return str(name), bool(number) if name == _TRUTH else number


def _number(name: object, value: object) -> float:
    truth = name == _TRUTH
    if isinstance(value, str) and truth and value.lower() in _WORDS:
        return _WORDS[value.lower()]
    try:
        number = float(value)  # type: ignore[arg-type]  # whatever is no number is refused below
    except (TypeError, ValueError):
        raise PlatformError(f"option {name} = {shown(value)}; must be a number.") from None
    if truth and number not in {0.0, 1.0}:
        raise PlatformError(f"option {name} = {shown(value)}; must be True or False.")
    return number
