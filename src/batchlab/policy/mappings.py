"""Allocators with named parameters: orders of nodes, and rules that select nodes in these orders (S22).

::

    allocator = name | name "(" [argument {"," argument}] ")", e.g. compact(by=diameter, order=hilbert)
    order     = index | random(SEED) | AXES | boxes(SIDES [, axes=AXES]) | hilbert | levels[(LEVELS)]
    AXES      = the dimensions of a torus, e.g. xyz or zxy; abcde in five dimensions
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from batchlab.core import rules, spec
from batchlab.core.lazy import deferred
from batchlab.core.units import format_number
from batchlab.core.vocabulary import LARGEST_SEED
from batchlab.errors import PlatformError, PolicyError, PolicyNotFound, shown, suggest
from batchlab.policy.registry import SPECS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab._kernel import Fabric, MappingSettings
    from batchlab.system import System

with deferred(__name__):
    from batchlab import placement
    from batchlab.placement import layout as placement_layout
    from batchlab.platform import hops


__all__ = ["PARAMETERS", "mapping_of", "placed_by", "ranking_of"]

T = TypeVar("T")

PARAMETERS = {
    "first_fit": ("order",),
    "contiguous": ("order",),
    "best_fit": ("by",),
    "worst_fit": ("by",),
    "round_robin": ("order", "blocks"),
    "dual_end": ("order", "threshold", "by"),
    "blocks": ("order", "of"),
    "compact": ("by", "order", "centres"),
    "hop_bytes": ("order", "centres"),
    "fewest_groups": ("order",),
    "sub_torus": ("order",),
}
"""Allocators with parameters, and their keys."""

_ORDERS = ("index", "random", "boxes", "hilbert", "levels")
_MOST = 2**31 - 1
_BLOCKS = 2
# One hour; and the value in the simulator published with the paper.
_THRESHOLDS = {"requested_time": 3600.0, "nodes": 512.0}
_CENTRES = 64
_BY: dict[str, tuple[str, ...]] = {
    "dual_end": ("requested_time", "nodes"),
    "best_fit": ("load", "free"),
    "worst_fit": ("load", "free"),
    "compact": ("mean_hops", "diameter"),
    # The criterion for jobs that send no messages.
    "hop_bytes": ("mean_hops",),
}
_OF_NETWORKS = ("compact", "hop_bytes", "fewest_groups", "sub_torus")
_AROUND_CENTRES = ("compact", "hop_bytes")
_RANKED = ("best_fit", "worst_fit")


def placed_by(text: spec.Spec, call: spec.Call) -> str:
    """Write an allocator with its parameters in canonical form, without those at their defaults.

    Raises
    ------
    PolicyError
        If the allocator has no such parameter, or a value is invalid.
    """
    rule = _Rule(text, call)
    count = rule.blocks()
    arguments = [str(count)] if call.name == "blocks" and count != _BLOCKS else []
    if (order := rule.order()) != "index":
        arguments.append(f"order={order}")
    if call.name != "blocks" and count is not None:
        arguments.append(f"blocks={count}")
    if call.name == "dual_end" and (threshold := rule.threshold()) != _THRESHOLDS[rule.by()]:
        arguments.append(f"threshold={format_number(threshold)}")
    for key, names in (("by", _BY.get(call.name, ())), ("of", ("free", "machine"))):
        if key in call.keys and (name := rule.choice(key, names)) != names[0]:
            arguments.append(f"{key}={name}")
    if (centres := rule.centres()) != _CENTRES:
        arguments.append(f"centres={centres}")
    return f"{call.name}({', '.join(arguments)})" if arguments else call.name


def mapping_of(allocator: str, system: System) -> MappingSettings | None:
    """Return the kernel's settings of an allocator in canonical form; None if it uses no node order.

    Raises
    ------
    PolicyError
        If the order requires a network that the system does not have.
    """
    text, call = SPECS.parse(allocator)
    by_no_order = call.name in _RANKED or allocator in {"first_fit", "contiguous"}
    if call.name not in PARAMETERS or by_no_order:
        return None
    rule = _Rule(text, call)
    return {
        "order": rule.nodes(system),
        "blocks": rule.blocks(),
        "are_fixed": rule.choice("of", ("free", "machine")) == "machine",
        "threshold": rule.threshold() if call.name == "dual_end" else None,
        "by_nodes": rule.by() == "nodes",
        "closeness": rule.by() if call.name in _AROUND_CENTRES else None,
        "centres": rule.centres(),
        "fabric": rule.fabric(system) if call.name in _OF_NETWORKS else None,
    }


def ranking_of(allocator: str) -> str:
    """Return the measure by which a canonical allocator ranks nodes."""
    text, call = SPECS.parse(allocator)
    return _Rule(text, call).by() if call.name in _RANKED else _BY["best_fit"][0]


class _Rule:
    """The arguments of one allocator."""

    def __init__(self, text: spec.Spec, call: spec.Call) -> None:
        self.text, self.call = text, call
        known = PARAMETERS.get(call.name, ())
        for key, argument in call.keys.items():
            if key not in known:
                raise self.error(f"{call.name} takes no key {shown(key)}.{suggest(key, known)}", argument)
        taken = 1 if call.name == "blocks" else 0
        for argument in call.values[taken:]:
            example = "order=xyz" if known else "allocator=best_fit"
            raise self.error(f"this value of {call.name} needs a key, e.g. {example}.", argument)

    def error(self, message: str, argument: spec.Argument) -> PolicyError:
        return PolicyError(message + self.text.where(argument.position))

    def whole(self, argument: spec.Argument, name: str, least: int = 1, most: int = _MOST) -> int:
        """Return an integer argument, after checking its range."""
        return self.checked(argument, name, rules.Whole(least, most))

    def checked(self, argument: spec.Argument, name: str, rule: rules.Rule[T]) -> T:
        """Return an argument as a rule returns it."""
        where = self.text.where(argument.position)
        return rules.check(PolicyError, name, argument.value, rule, written=spec.written, where=where)

    def blocks(self) -> int | None:
        """Return the number of blocks; None if the order is not divided."""
        if self.call.name == "blocks":
            return self.whole(self.call.values[0], "blocks") if self.call.values else _BLOCKS
        return self.whole(self.call.keys["blocks"], "blocks") if "blocks" in self.call.keys else None

    def by(self) -> str:
        """Return the unit of a threshold, the quantity minimised by ``compact``, or the rank of nodes."""
        return self.choice("by", _BY.get(self.call.name, ("",)))

    def centres(self) -> int:
        """Return how many nodes ``compact`` and ``hop_bytes`` try as centres."""
        keys = self.call.keys
        return self.whole(keys["centres"], "centres") if "centres" in keys else _CENTRES

    def fabric(self, system: System) -> Fabric:
        """Return the network with the positions of nodes; a torus is required for ``sub_torus``."""
        try:
            layout = placement_layout.layout_of(system)
            if self.call.name == "sub_torus":
                layout.torus()
        except PlatformError as error:
            raise PolicyError(f"allocator {self.call.name}: {error}") from None
        return hops.fabric(layout.topology, layout.places)

    def threshold(self) -> float:
        """Return the threshold of ``dual_end``: seconds or nodes."""
        if "threshold" not in self.call.keys:
            return _THRESHOLDS[self.by()]
        argument = self.call.keys["threshold"]
        return float(self.checked(argument, "threshold", rules.UP_TO_2_53))

    def choice(self, key: str, names: Sequence[str]) -> str:
        """Return the value of a key, one of some names; by default the first."""
        if key not in self.call.keys:
            return names[0]
        argument = self.call.keys[key]
        value = argument.value
        name = spec.word(value)
        if name not in names:
            rule = f"must be {' or '.join(names)}"
            raise self.error(f"{key} = {shown(name)}; {rule}.{suggest(name, names)}", argument)
        return name

    def order(self) -> str:
        """Write the order of the nodes in canonical form."""
        if "order" not in self.call.keys:
            return "index"
        argument = self.call.keys["order"]
        order = argument.value
        if not isinstance(order, spec.Call):
            raise self.error(f"order = {shown(order)}; must be a name, e.g. order=xyz.", argument)
        if order.name not in _ORDERS and not _are_axes(order.name):
            known = suggest(order.name, (*_ORDERS, "xyz"))
            where = self.text.where(argument.position)
            raise PolicyNotFound(f"no order of nodes named {shown(order.name)}.{known}{where}")
        return self._written_order(order, argument)

    def _written_order(self, order: spec.Call, argument: spec.Argument) -> str:
        keys = {"boxes": ("axes",), "random": ("seed",)}.get(order.name, ())
        for key, other in order.keys.items():
            if key not in keys:
                raise self.error(f"{order.name} takes no key {shown(key)}.{suggest(key, keys)}", other)
        if order.name == "random":
            given = [*order.values, *order.keys.values()]
            if len(given) > 1:
                raise self.error("random takes one seed.", given[1])
            seed = self.whole(given[0], "seed", 0, LARGEST_SEED) if given else 0
            return f"random({seed})"
        if order.name not in {"boxes", "levels"}:
            for value in order.values:
                raise self.error(f"{order.name} takes no value.", value)
            return order.name
        numbers = [str(self.whole(value, order.name)) for value in order.values]
        if order.name == "boxes" and not numbers:
            raise self.error("boxes needs the sides of a box, e.g. boxes(2, 1, 2).", argument)
        if "axes" in order.keys:
            numbers.append(f"axes={self._axes(order.keys['axes'])}")
        return f"{order.name}({', '.join(numbers)})" if numbers else order.name

    def _axes(self, argument: spec.Argument) -> str:
        value = argument.value
        name = spec.word(value)
        if not _are_axes(name):
            raise self.error(f"axes = {shown(name)}; must name dimensions, e.g. xyz or zxy.", argument)
        return name

    def nodes(self, system: System) -> list[int]:
        """Return the nodes of a system in this order."""
        argument = self.call.keys.get("order")
        order = None if argument is None else argument.value
        if not isinstance(order, spec.Call) or order.name == "index":
            return list(range(system.nodes))
        numbers = [value.value for value in order.values if isinstance(value.value, int)]
        try:
            return _nodes(order, numbers, system)
        except PlatformError as error:
            raise PolicyError(f"order {order.name}: {error}") from None


def _nodes(order: spec.Call, numbers: list[int], system: System) -> list[int]:

    match order.name:
        case "random":
            return placement.random_order(system.nodes, numbers[0] if numbers else 0)
        case "boxes":
            axes = order.keys["axes"].value if "axes" in order.keys else None
            return placement.box_order(system, numbers, axes.name if isinstance(axes, spec.Call) else None)
        case "hilbert":
            return placement.hilbert_order(system)
        case "levels":
            return placement.level_order(system, numbers)
        case axes:
            return placement.axes_order(system, axes)


def _are_axes(name: str) -> bool:
    return any(sorted(name) == list(known[: len(name)]) for known in ("xyz", "abcdefghij"))
