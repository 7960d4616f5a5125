"""Network models: how flows and parallel tasks share a platform, and the parameters of the models."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, NamedTuple

from batchlab import _kernel
from batchlab.core import rules
from batchlab.core.declared import spelled
from batchlab.core.rules import set_field
from batchlab.core.spec import Grammar, plain
from batchlab.errors import PlatformError, shown, suggest
from batchlab.platform.quantities import BANDWIDTH, TIME, Unit

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CHOOSING", "MODELS", "OPTIONS", "NetworkModel", "read_options"]

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


class _Model(NamedTuple):
    """A model as described by the kernel."""

    name: str
    about: str
    knows_tasks: bool
    parameters: tuple[str, ...]


_KNOWN = {
    name: _Model(name, about, knows_tasks, tuple(parameters))
    for name, about, knows_tasks, parameters in _kernel.network_models()
}
MODELS: Mapping[str, str] = {model.name: model.about for model in _KNOWN.values()}
"""The models, with a description of each."""

_UNITS: Mapping[str, Unit] = {"loopback_bandwidth": BANDWIDTH, "loopback_latency": TIME}
_SPECS = Grammar("sharing model", PlatformError, "fair_bottleneck(window=65536)")
_ABOVE_0 = frozenset({"bandwidth_factor", "loopback_bandwidth"})


@dataclass(frozen=True)
class NetworkModel:
    """How flows and parallel tasks share links and cores: a model, and changes of its parameters.

    `share` and `simulate` accept one; a name stands for the model with its default parameters.
    docs/sharing.md describes the parameters and the models that have them.

    Parameters
    ----------
    model
        A key of `MODELS`.
    bandwidth_factor
        The fraction of the bandwidth available to payloads.
    latency_factor
        Number of latencies before the first byte arrives.
    weight
        Bytes whose transfer time on each link is added to the round-trip time, which weights the shares.
    window
        The maximum window, bytes: twice the bytes that a message may send per latency; 0: unlimited.
    cross_traffic
        Whether 5 % of the rate of a message loads the links of the reverse route.
    loopback_bandwidth, loopback_latency
        Bytes per second, and seconds, from a host to itself if the platform has no such route; numbers or
        texts with units.

    Raises
    ------
    PlatformError
        If the model is unknown, it has no such parameter, or a value breaks its rule.

    Notes
    -----
    None stands for the default of the model. `from_simgrid` accepts SimGrid's names.

    Examples
    --------
    >>> import batchlab as bl
    >>> bl.NetworkModel("fair_bottleneck", window=65536, loopback_bandwidth="10GBps")
    NetworkModel('fair_bottleneck', window=65536.0, loopback_bandwidth=10000000000.0)
    """

    model: str = "max_min"
    bandwidth_factor: float | None = None
    latency_factor: float | None = None
    weight: float | None = None
    window: float | None = None
    cross_traffic: bool | None = None
    loopback_bandwidth: float | str | None = None
    loopback_latency: float | str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) or self.model not in _KNOWN:
            raise PlatformError(
                f"no sharing model is called {shown(self.model)}.{suggest(str(self.model), MODELS)}"
            )
        taken = _KNOWN[self.model].parameters
        for name, value in self._given():
            if name not in taken:
                raise PlatformError(
                    f"NetworkModel: {name} = {shown(value)}; the model {self.model!r} takes only "
                    f"{', '.join(taken)}. Leave it out, or choose another model."
                )
            set_field(self, name, _value(name, value))

    def __repr__(self) -> str:
        changed = "".join(f", {name}={value!r}" for name, value in self._given())
        return f"NetworkModel({self.model!r}{changed})"

    @classmethod
    def of(cls, value: object) -> NetworkModel:
        """Convert a model, its name, its spec, or a mapping of parameters to a `NetworkModel`.

        Parameters
        ----------
        value
            The value to convert.

        Returns
        -------
        NetworkModel
            The argument itself if it is a `NetworkModel`.

        Raises
        ------
        PlatformError
            If the value is none of these, or breaks a rule.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, str) and "(" in value:
            value = _parsed(value)
        if not isinstance(value, Mapping):
            return cls(value)  # type: ignore[arg-type]  # __post_init__ checks it
        known = [field.name for field in fields(cls)]
        for name, given in value.items():
            if name not in known:
                question = suggest(str(name), known)
                raise PlatformError(f"NetworkModel: {name} = {shown(given)}; is no parameter.{question}")
        return cls(**value)

    @classmethod
    def from_simgrid(
        cls, options: Mapping[str, float | bool | str], model: str | NetworkModel | None = None
    ) -> NetworkModel:
        """Convert options of SimGrid; a complete configuration is accepted.

        Parameters
        ----------
        options
            Values by SimGrid's names: ``network/TCP-gamma``, … Options that select one of SimGrid's models
            (``host/model``, ``host/solver``, ``network/model``) select the model; options that the model does
            not have are ignored, as in SimGrid.
        model
            The model or its name; by default the one selected by the options, else ``"max_min"``.

        Returns
        -------
        NetworkModel

        Raises
        ------
        PlatformError
            If an option is unknown, a value breaks its rule, or the options select another model than
            `model`.

        Examples
        --------
        >>> import batchlab as bl
        >>> bl.NetworkModel.from_simgrid({"host/model": "ptask_L07", "network/TCP-gamma": 65536})
        NetworkModel('fair_bottleneck', window=65536.0)
        """
        chosen, changed = read_options(options)
        network = cls.of(next((each for each in (model, chosen) if each is not None), "max_min"))
        if chosen not in (None, network.model):
            rule = f"the options choose {chosen!r}; leave one of them out"
            raise PlatformError(f"model = {network.model!r}, but {rule}.")
        taken = {name: value for name, value in changed.items() if name in network.parameters}
        return replace(network, **taken)  # type: ignore[arg-type]  # names of fields

    @property
    def changed(self) -> dict[str, float | bool]:
        """The parameters that differ from the model's defaults, by name."""
        return dict(self._given())

    @property
    def knows_tasks(self) -> bool:
        """Whether the model supports parallel tasks, and not only flows."""
        return _KNOWN[self.model].knows_tasks

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the model's parameters."""
        return _KNOWN[self.model].parameters

    @property
    def spec(self) -> str:
        """The name, with the parameters that are changed: ``fair_bottleneck(window=65536)``."""
        changed = ", ".join(f"{name}={spelled(value)}" for name, value in self._given())
        return f"{self.model}({changed})" if changed else self.model

    @property
    def plain(self) -> str | dict[str, str | float | bool]:
        """The name for default parameters, else a mapping for JSON and TOML; `of` accepts both."""
        return {"model": self.model, **self.changed} if self.changed else self.model

    @property
    def kernel(self) -> tuple[str, list[tuple[str, float]]]:
        """The model in the kernel's format."""
        return self.model, [(name, float(value)) for name, value in self._given()]

    def _given(self) -> Iterator[tuple[str, float | bool]]:
        for field in fields(self)[1:]:
            value = getattr(self, field.name)
            if value is not None:
                yield field.name, value


def _parsed(text: str) -> dict[str, object]:
    """Read a spec: a model with parameters by name."""
    spec, call = _SPECS.parse(text)
    if call.values:
        where = spec.where(call.values[0].position)
        raise PlatformError(f"{call.name}: name each parameter, as {_SPECS.example}.{where}")
    return {"model": call.name, **{name: plain(each.value) for name, each in call.keys.items()}}


def _value(name: str, value: object) -> float | bool:
    """Check the value of a parameter."""
    if name == "cross_traffic":
        return rules.check(PlatformError, f"NetworkModel: {name}", value, rules.truth)
    positive = name in _ABOVE_0
    if name in _UNITS:
        try:
            return _UNITS[name].read(value, positive=positive)
        except ValueError as broken:
            raise PlatformError(f"NetworkModel: {name} = {shown(value)}; {broken}.") from None
    rule = rules.POSITIVE if positive else rules.NOT_NEGATIVE
    return float(rules.check(PlatformError, f"NetworkModel: {name}", value, rule))
