"""Parts of a policy's spec, checked and written in canonical form: orders, allocators (S22).

::

    allocator = name | name "(" [argument {"," argument}] ")", e.g. compact(by=diameter, order=hilbert)
    order     = index | random(SEED) | AXES | boxes(SIDES [, axes=AXES]) | hilbert | levels[(LEVELS)]
    AXES      = the dimensions of a torus, e.g. xyz or zxy; abcde in five dimensions

The kernel's table has the parameters of allocators. The last two lines are orders of nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from batchlab.core import rules, spec
from batchlab.core.late import placement, placement_orders
from batchlab.core.late import platform_hops as hops
from batchlab.core.late import policy_orders as orders
from batchlab.core.vocabulary import LARGEST_SEED
from batchlab.errors import PlatformError, PolicyError, PolicyNotFound, shown, suggest
from batchlab.policy.registry import ALLOCATORS, BACKFILLS, ORDERS, SPECS, keys_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from batchlab._kernel import AllocatorSettings, Fabric
    from batchlab.core.declared import ParameterValue
    from batchlab.system import System


__all__ = [
    "allocator_spec",
    "known",
    "order_spec",
    "refuse_others",
    "settings_of",
    "whole",
]


def allocator_spec(text: spec.Spec, call: spec.Call) -> str:
    """Write an allocator in canonical form."""
    known("allocator", call.name, ALLOCATORS, text.where(call.position))
    if ALLOCATORS[call.name].parameters:
        return _placed_by(text, call)
    refuse_others(text, call)
    return call.name


def order_spec(text: spec.Spec, call: spec.Call, others: Collection[str] = ()) -> str:
    """Write an order in canonical form; `others` are allowed keys for other parts of the policy."""
    where = text.where(call.position)
    if call.name in BACKFILLS:
        raise PolicyNotFound(
            f"{call.name!r} is a backfilling rule, not an order. Write backfill={call.name}.{where}"
        )
    known("order", call.name, ORDERS, where)
    if call.name == "random":
        refuse_others(text, call, (*others, "seed"), values=1)
        given = [*call.values, *(call.keys[key] for key in call.keys if key == "seed")]
        if len(given) > 1:
            raise PolicyError(f"the seed of random is given twice; keep one.{text.where(given[1].position)}")
        seed = whole("seed", given[0].value, 0, LARGEST_SEED, text.where(given[0].position)) if given else 0
        return f"random({seed})"
    if call.name == "expression":
        refuse_others(text, call, others, values=1)
        return f'expression("{_formula(call.values[0].value if call.values else None, where)}")'
    keys = keys_of(call.name)
    refuse_others(text, call, (*others, *keys))
    return orders.ordered_by(text, call) if keys else call.name


def _formula(value: object, where: str) -> str:
    """Check that a formula can be quoted. Its names are checked later, when the columns are known."""
    rule = 'must be a quoted formula, e.g. expression("requested_time * tasks")'
    if not isinstance(value, str):
        given = "nothing" if value is None else shown(value.name if isinstance(value, spec.Call) else value)
        raise PolicyError(f"expression of {given}; {rule}.{where}")
    formula = value.strip()
    if not formula or not formula.isprintable() or "'" in formula or '"' in formula:
        raise PolicyError(f"expression of {shown(value)}; {rule}, printable and without quotes in it.{where}")
    return formula


def known(kind: str, name: object, table: Collection[str], where: str = "") -> str:
    """Raise if a name is not in a table."""
    if not isinstance(name, str):
        raise PolicyError(f"{kind} = {shown(name)}; must be a name.{where}")
    if name not in table:
        raise PolicyNotFound(f"no {kind} named {shown(name)}.{suggest(name, table)}{where}")
    return name


def whole(name: str, value: object, least: int, most: int, where: str = "") -> int:
    """Check an integer, and return it."""
    rule = rules.Whole(least, most)
    return rules.check(PolicyError, name, value, rule, written=spec.written, where=where)


def refuse_others(text: spec.Spec, call: spec.Call, keys: Collection[str] = (), *, values: int = 0) -> None:
    """Raise for keys that a name does not have, and for values beyond their number."""
    for key, argument in call.keys.items():
        if key not in keys:
            where = text.where(argument.key_position)
            raise PolicyError(f"{call.name} takes no key {shown(key)}.{suggest(key, keys)}{where}")
    for argument in call.values[values:]:
        where = text.where(argument.position)
        raise PolicyError(
            f"this value of {call.name} needs a key, e.g. {call.name}(allocator=best_fit).{where}"
        )


T = TypeVar("T")
_ORDERS = ("index", "random", "boxes", "hilbert", "levels")
_MOST = 2**31 - 1
# Thresholds by default: one hour; and the value in the simulator published with the paper.
_THRESHOLDS = {"requested_time": 3600.0, "nodes": 512.0}


def _placed_by(text: spec.Spec, call: spec.Call) -> str:
    """Write an allocator with its parameters in canonical form, without those at their defaults.

    Raises
    ------
    PolicyError
        If the allocator has no such parameter, or a value is invalid.
    """
    rule = _Rule(text, call)
    arguments = []
    for name, parameter in rule.parameters.items():
        value = rule.order() if name == "order" else rule.value(name)
        if value not in {rule.usual(name), None}:
            arguments.append(("" if parameter.positional else f"{name}=") + parameter.written(value))
    return f"{call.name}({', '.join(arguments)})" if arguments else call.name


def settings_of(allocator: str, system: System) -> AllocatorSettings:
    """Return the kernel's settings of an allocator in canonical form; ``external`` has none.

    Raises
    ------
    PolicyError
        If the order requires a network that the system does not have.
    """
    if allocator == "external":
        return {"parameters": {}, "order": None, "fabric": None}
    text, call = SPECS.parse(allocator)
    rule = _Rule(text, call)
    # Without an order, nodes are searched by number without a list of them.
    has_order = "order" in rule.parameters and allocator not in {"first_fit", "contiguous"}
    return {
        "parameters": {name: rule.value(name) for name in rule.parameters if name != "order"},
        "order": rule.nodes(system) if has_order else None,
        "fabric": rule.fabric(system) if ALLOCATORS[call.name].needs else None,
    }


class _Rule:
    """The arguments of one allocator."""

    def __init__(self, text: spec.Spec, call: spec.Call) -> None:
        self.text, self.call = text, call
        self.parameters = ALLOCATORS[call.name].parameters
        positional = [name for name, each in self.parameters.items() if each.positional]
        known = self.parameters.keys() - {*positional}
        for key, argument in call.keys.items():
            if key not in known:
                raise self.error(f"{call.name} takes no key {shown(key)}.{suggest(key, known)}", argument)
        self.given = {**dict(zip(positional, call.values, strict=False)), **call.keys}
        for argument in call.values[len(positional) :]:
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

    def value(self, name: str) -> ParameterValue:
        """Return the value of a parameter, or its default."""
        if name not in self.given:
            return self.usual(name)
        argument, parameter = self.given[name], self.parameters[name]
        if parameter.kind != "word":
            return cast("ParameterValue", self.checked(argument, name, parameter.rule({})))
        word, words = spec.word(argument.value), parameter.words
        if not isinstance(word, str) or word not in words:
            rule = f"must be {' or '.join(words)}.{suggest(str(word), words)}"
            raise self.error(f"{name} = {shown(word)}; {rule}", argument)
        return word

    def usual(self, name: str) -> ParameterValue:
        """Return the default of a parameter; the default threshold depends on the unit."""
        return _THRESHOLDS[str(self.value("by"))] if name == "threshold" else self.parameters[name].usual

    def fabric(self, system: System) -> Fabric:
        """Return the network with the positions of nodes; a torus, if the allocator needs one."""
        try:
            layout = placement_orders.layout_of(system)
            if ALLOCATORS[self.call.name].needs == "torus":
                layout.torus()
        except PlatformError as error:
            raise PolicyError(f"allocator {self.call.name}: {error}") from None
        return hops.fabric(layout.topology, layout.places)

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
