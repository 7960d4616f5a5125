"""SimGrid's options of models: the model that they select, and the parameters that they change."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from batchlab.errors import PlatformError, shown, suggest

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CHOOSING", "OPTIONS", "read_options"]

OPTIONS: Mapping[str, str] = {
    "network/bandwidth-factor": "the part of the bandwidth that payloads can have",
    "network/latency-factor": "how many latencies pass before the first byte",
    "network/weight-S": "bytes whose time on each link adds to the round trip that shares are weighted by",
    "network/TCP-gamma": "the greatest window, in bytes: twice what a flow sends per latency; 0: none",
    "network/crosstraffic": "whether 5 % of a flow's rate load the links back",
    "network/loopback-bw": "bytes per second from a host to itself where the platform has no such route",
    "network/loopback-lat": "its latency, seconds",
}
"""The options under SimGrid's names, with descriptions."""

CHOOSING: Mapping[str, tuple[str, ...]] = {
    "host/model": ("default", "compound", "ptask_L07"),
    "host/solver": ("fairbottleneck", "bmf"),
    "network/model": ("LV08", "CM02"),
    "network/solver": ("maxmin",),
    "network/optim": ("Full", "Lazy", "TI"),
    "cpu/model": ("Cas01",),
}
"""Options that select a model, or SimGrid's algorithms, which have no effect on results."""

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


def read_options(options: Mapping[str, float | bool | str]) -> tuple[str | None, dict[str, float | bool]]:
    """Return the model that options select, and the parameters that they change.

    Parameters
    ----------
    options
        Values by SimGrid's names: keys of `OPTIONS` and `CHOOSING`. Numbers may be texts, as in SimGrid's
        files.

    Returns
    -------
    tuple
        The name of the model, None if no option selects one; and values under the names of `NetworkModel`.

    Raises
    ------
    PlatformError
        If an option is unknown, or its value breaks its rule.
    """
    chosen = _chosen({name: value for name, value in options.items() if name in CHOOSING})
    others = [(name, value) for name, value in options.items() if name not in CHOOSING]
    return chosen, {_FIELDS[name]: value for name, value in (_option(*other) for other in others)}


def _chosen(choosing: Mapping[str, object]) -> str | None:
    """Return the model that SimGrid's options select."""
    for name, value in choosing.items():
        if value not in CHOOSING[name]:
            known = ", ".join(CHOOSING[name])
            raise PlatformError(f"option {name} = {shown(value)}; must be one of {known}.")
    if choosing.get("host/model") == "ptask_L07":
        return _PARALLEL[str(choosing.get("host/solver", "fairbottleneck"))]
    chosen = choosing.get("network/model")
    return None if chosen is None else str(chosen)


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
        number = float(value)  # type: ignore[arg-type]  # errors are handled below
    except (TypeError, ValueError):
        raise PlatformError(f"option {name} = {shown(value)}; must be a number.") from None
    if truth and number not in {0.0, 1.0}:
        raise PlatformError(f"option {name} = {shown(value)}; must be true or false.")
    return number
