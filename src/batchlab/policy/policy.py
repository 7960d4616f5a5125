"""Built-in policies: an order, a backfilling rule and an allocator, and the spec string that names them.

::

    spec     = name | name "(" [argument {"," argument}] ")"
    name     = an order, or a backfilling rule (with the order fcfs unless told otherwise)
    argument = key "=" value | value            (a value without a key: the seed or the formula)
    keys     : order, backfill, allocator, reservations; seed for random

``easy`` is ``fcfs`` with backfill ``easy``; ``first_fit`` is ``fcfs(backfill=first_fit)``.
"""

from __future__ import annotations

import operator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from batchlab.errors import PolicyError, PolicyNotFound, shown, suggest
from batchlab.policy import spec
from batchlab.policy.registry import ALLOCATORS, BACKFILLS, ORDERS

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["Policy"]

_LARGEST_SEED = 2**64 - 1
_MOST_RESERVATIONS = 2**31 - 1
_KEYS = ("order", "backfill", "allocator", "reservations")


@dataclass(frozen=True)
class Policy:
    """Who runs next, and where.

    Parameters
    ----------
    order
        A name in `batchlab.policy.ORDERS`; ``random(SEED)`` (``random`` is ``random(0)``) and
        ``expression("FORMULA")`` carry their argument.
    backfill
        ``"none"``, ``"first_fit"``, ``"easy"`` or ``"conservative"``.
    allocator
        A name in `batchlab.policy.ALLOCATORS`.
    reservations
        How many waiting jobs ``easy`` holds a reservation for; at least 1, and 1 for other rules.

    Raises
    ------
    PolicyNotFound
        If a name is unknown.
    PolicyError
        If a value breaks its rule, or values do not go together.

    Examples
    --------
    >>> str(Policy(order="sjf", backfill="easy"))
    'easy(order=sjf)'
    >>> Policy.parse("easy(order=sjf)").order
    'sjf'
    """

    order: str = "fcfs"
    backfill: str = "none"
    allocator: str = "first_fit"
    reservations: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.order, str):
            raise PolicyError(f"order = {shown(self.order)}; must be a name, e.g. 'fcfs'.")
        object.__setattr__(self, "order", _order(*spec.parse(self.order)))
        _known("backfilling rule", self.backfill, BACKFILLS)
        _known("allocator", self.allocator, ALLOCATORS)
        reservations = _whole("reservations", self.reservations, 1, _MOST_RESERVATIONS)
        object.__setattr__(self, "reservations", reservations)
        if reservations > 1 and self.backfill != "easy":
            rule = f"goes with backfill easy, not with {self.backfill}; leave it out."
            raise PolicyError(f"reservations = {reservations} {rule}")
        if self.order == "reject" and (self.backfill, self.allocator) != ("none", "first_fit"):
            raise PolicyError("reject starts no job; it goes with no backfilling rule and no allocator.")

    @classmethod
    def parse(cls, text: str) -> Policy:
        """Read a policy's spec string.

        Parameters
        ----------
        text
            For instance ``"easy"``, ``"easy(order=sjf, allocator=best_fit)"``, ``"random(7)"``,
            ``"fcfs(backfill=first_fit)"`` or ``'expression("requested_time * tasks")'``.

        Returns
        -------
        Policy
            ``Policy.parse(str(policy)) == policy``.

        Raises
        ------
        PolicyNotFound
            If a name is unknown; the message suggests the nearest.
        PolicyError
            If the spec breaks a rule; the message names the position.
        """
        if not isinstance(text, str):
            raise PolicyError(f"policy = {shown(text)}; must be a spec string, e.g. 'easy(order=sjf)'.")
        return _policy(*spec.parse(text))

    def __str__(self) -> str:
        """Write the canonical spec string."""
        arguments: list[str] = []
        name, argument = self.order_name, _argument(self.order)
        if self.backfill in {"easy", "conservative"}:
            name = self.backfill
            arguments += [f"order={self.order}"] if self.order != "fcfs" else []
        else:
            arguments += [argument] if argument else []
            arguments += [f"backfill={self.backfill}"] if self.backfill != "none" else []
        arguments += [f"allocator={self.allocator}"] if self.allocator != "first_fit" else []
        arguments += [f"reservations={self.reservations}"] if self.reservations != 1 else []
        return f"{name}({', '.join(arguments)})" if arguments else name

    @property
    def order_name(self) -> str:
        """The order without its argument."""
        return self.order.partition("(")[0]

    @property
    def order_argument(self) -> str:
        """The seed of ``random``, the formula of ``expression``; empty for the others."""
        return _argument(self.order).strip('"')


def _policy(text: spec.Spec, call: spec.Call) -> Policy:
    """Build the policy that a parsed spec names."""
    chosen = _head(text, call)
    for key in _KEYS:
        if key not in call.keys:
            continue
        argument = call.keys[key]
        where = text.where(argument.position)
        if key in chosen:
            raise PolicyError(f"{key} is given twice, by {call.name!r} and by '{key}='; keep one.{where}")
        chosen[key] = _chosen(text, key, argument)
    try:
        return Policy(**chosen)  # type: ignore[arg-type]  # _chosen gives each key its type
    except PolicyError as error:
        # Each value is right by now: what is wrong is that they do not go together.
        raise PolicyError(f"{error}{text.where(call.position)}") from None


def _head(text: spec.Spec, call: spec.Call) -> dict[str, str | int]:
    """Take the order or the backfilling rule that a spec begins with."""
    if call.name in ORDERS:
        return {"order": _order(text, call, _KEYS[1:])}
    if call.name in BACKFILLS:
        _refuse_others(text, call, _KEYS)
        return {"backfill": call.name}
    where = text.where(call.position)
    if call.name in ALLOCATORS:
        rule = f"is an allocator, not a policy. Write 'fcfs(allocator={call.name})' or another order."
        raise PolicyNotFound(f"{call.name!r} {rule}{where}")
    names = {*ORDERS, *BACKFILLS} - {"none"}
    raise PolicyNotFound(f"no policy named {shown(call.name)}.{suggest(call.name, names)}{where}")


def _chosen(text: spec.Spec, key: str, argument: spec.Argument) -> str | int:
    """Check one key's value by itself."""
    where = text.where(argument.position)
    value = argument.value
    if key == "reservations":
        return _whole(key, value, 1, _MOST_RESERVATIONS, where)
    if not isinstance(value, spec.Call):
        raise PolicyError(f"{key} = {shown(value)}; must be a name.{where}")
    if key == "order":
        return _order(text, value)
    _refuse_others(text, value)
    kind, table = ("backfilling rule", BACKFILLS) if key == "backfill" else ("allocator", ALLOCATORS)
    return _known(kind, value.name, table, where)


def _order(text: spec.Spec, call: spec.Call, others: Collection[str] = ()) -> str:
    """Write an order canonically; `others` are the keys that are none of its business."""
    where = text.where(call.position)
    if call.name in BACKFILLS:
        raise PolicyNotFound(
            f"{call.name!r} is a backfilling rule, not an order. Write backfill={call.name}.{where}"
        )
    _known("order", call.name, ORDERS, where)
    if call.name == "random":
        _refuse_others(text, call, (*others, "seed"), values=1)
        given = [*call.values, *(call.keys[key] for key in call.keys if key == "seed")]
        if len(given) > 1:
            raise PolicyError(f"the seed of random is given twice; keep one.{text.where(given[1].position)}")
        seed = _whole("seed", given[0].value, 0, _LARGEST_SEED, text.where(given[0].position)) if given else 0
        return f"random({seed})"
    if call.name == "expression":
        _refuse_others(text, call, others, values=1)
        return f'expression("{_formula(call.values[0].value if call.values else None, where)}")'
    _refuse_others(text, call, others)
    return call.name


def _formula(value: object, where: str) -> str:
    """Check that a formula can be quoted; whether it means something is known when its columns are."""
    rule = 'must be a quoted formula, e.g. expression("requested_time * tasks")'
    if not isinstance(value, str):
        given = "nothing" if value is None else shown(value.name if isinstance(value, spec.Call) else value)
        raise PolicyError(f"expression of {given}; {rule}.{where}")
    formula = value.strip()
    if not formula or not formula.isprintable() or "'" in formula or '"' in formula:
        raise PolicyError(f"expression of {shown(value)}; {rule}, printable and without quotes in it.{where}")
    return formula


def _known(kind: str, name: object, table: Collection[str], where: str = "") -> str:
    """Refuse a name that is not in a table."""
    if not isinstance(name, str):
        raise PolicyError(f"{kind} = {shown(name)}; must be a name.{where}")
    if name not in table:
        raise PolicyNotFound(f"no {kind} named {shown(name)}.{suggest(name, table)}{where}")
    return name


def _whole(name: str, value: object, least: int, most: int, where: str = "") -> int:
    """Check an integer."""
    if not isinstance(value, bool):
        with suppress(TypeError):
            number = operator.index(value)  # type: ignore[arg-type]  # that is the question
            if least <= number <= most:
                return number
    given = value.name if isinstance(value, spec.Call) else shown(value)
    raise PolicyError(f"{name} = {given}; must be an integer from {least} to {most}.{where}")


def _refuse_others(text: spec.Spec, call: spec.Call, keys: Collection[str] = (), *, values: int = 0) -> None:
    """Refuse keys that a name does not take, and values beyond the number that it takes."""
    for key, argument in call.keys.items():
        if key not in keys:
            where = text.where(argument.key_position)
            raise PolicyError(f"{call.name} takes no key {shown(key)}.{suggest(key, keys)}{where}")
    for argument in call.values[values:]:
        where = text.where(argument.position)
        raise PolicyError(
            f"this value of {call.name} needs a key, e.g. {call.name}(allocator=best_fit).{where}"
        )


def _argument(order: str) -> str:
    """Take what stands in an order's parentheses, as it stands there."""
    return order.partition("(")[2].removesuffix(")")
