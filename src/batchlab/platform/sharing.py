"""Completion times of flows and parallel tasks that share a platform."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from batchlab import _kernel
from batchlab.errors import PlatformError, shown, suggest
from batchlab.platform.flows import Columns, columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from batchlab.platform.platform import Platform

__all__ = ["MODELS", "OPTIONS", "share"]

MODELS: Mapping[str, str] = {
    "max_min": "max-min fairness and one latency; parallel tasks: bottleneck max fairness",
    "CM02": "shares weighted by the round trip, a window, cross-traffic: SimGrid's model of 2002",
    "LV08": "CM02 with factors fitted to packets: SimGrid's default",
    "fair_bottleneck": "SimGrid's rule for parallel tasks, as ElastiSim and Batsim use it",
    "bottleneck_max_min": "bottleneck max fairness, with the window of SimGrid's parallel tasks",
}
"""The models, and what they are."""

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
_FLOWS_ONLY = ("CM02", "LV08")
_POSITIVE = ("network/bandwidth-factor", "network/loopback-bw")
_WORDS = {"yes": 1.0, "no": 0.0, "on": 1.0, "off": 0.0, "true": 1.0, "false": 0.0}


def share(
    platform: Platform,
    flows: Iterable[object] | Mapping[str, object],
    model: str | None = None,
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
        How they share: a key of `MODELS`; ``"max_min"`` unless given, or chosen by the options.
    options
        What is different from the model's own parameters, by SimGrid's names: keys of `OPTIONS`, of which
        parallel tasks take the window alone, as in SimGrid. A whole configuration of SimGrid will do: keys of
        `CHOOSING` choose the model.

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
    given = dict(options or {})
    model = _model(model, {name: given.pop(name) for name in list(given) if name in CHOOSING})
    changed = [_option(name, value) for name, value in given.items()]
    table = columns(flows, platform.number, len(platform.kernel.hosts))
    if table.tasks and model in _FLOWS_ONLY:
        raise PlatformError(
            f"model {model!r} knows flows only; use 'max_min' or 'fair_bottleneck' for parallel tasks."
        )
    return _run(platform, table, model, changed)


def _model(model: str | None, choosing: Mapping[str, object]) -> str:
    """Find the model that is meant."""
    for name, value in choosing.items():
        if value not in CHOOSING[name]:
            known = ", ".join(CHOOSING[name])
            raise PlatformError(f"option {name} = {shown(value)}; must be one of {known}.")
    chosen = choosing.get("network/model")
    if choosing.get("host/model") == "ptask_L07":
        chosen = _PARALLEL[str(choosing.get("host/solver", "fairbottleneck"))]
    if model is None:
        return "max_min" if chosen is None else str(chosen)
    if model not in MODELS:
        raise PlatformError(f"no sharing model is called {shown(model)}.{suggest(str(model), MODELS)}")
    if chosen not in (None, model):
        raise PlatformError(f"model = {model!r}, but the options choose {chosen!r}; leave one of them out.")
    return model


def _run(
    platform: Platform, table: Columns, model: str, options: list[tuple[str, float]]
) -> NDArray[np.float64]:
    try:
        return _kernel.share(
            platform.kernel,
            model,
            options,
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


def _option(name: object, value: object) -> tuple[str, float]:
    """Check an option; numbers may be texts, as in SimGrid's files."""
    if name not in OPTIONS:
        raise PlatformError(f"no option is called {shown(name)}.{suggest(str(name), OPTIONS)}")
    number = _number(name, value)
    if not math.isfinite(number) or number < 0.0 or (number == 0.0 and name in _POSITIVE):
        rule = "must be a finite number > 0" if name in _POSITIVE else "must be a finite number >= 0"
        raise PlatformError(f"option {name} = {shown(value)}; {rule}.")
    return str(name), number


def _number(name: object, value: object) -> float:
    truth = name == "network/crosstraffic"
    if isinstance(value, str) and truth and value.lower() in _WORDS:
        return _WORDS[value.lower()]
    try:
        number = float(value)  # type: ignore[arg-type]  # whatever is no number is refused below
    except (TypeError, ValueError):
        raise PlatformError(f"option {name} = {shown(value)}; must be a number.") from None
    if truth and number not in {0.0, 1.0}:
        raise PlatformError(f"option {name} = {shown(value)}; must be True or False.")
    return number
