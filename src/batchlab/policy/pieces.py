"""Check the parts of a policy's spec and write them in canonical form: orders, allocators, numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.core import rules, spec
from batchlab.core.vocabulary import LARGEST_SEED
from batchlab.errors import PolicyError, PolicyNotFound, shown, suggest
from batchlab.policy.mappings import PARAMETERS, placed_by
from batchlab.policy.registry import ALLOCATORS, BACKFILLS, ORDERS

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["allocator_spec", "known", "order_spec", "refuse_others", "whole"]

# Orders with named parameters.
_DESCRIBED = ("multifactor", "sbp")


def allocator_spec(text: spec.Spec, call: spec.Call) -> str:
    """Write an allocator in canonical form."""
    known("allocator", call.name, ALLOCATORS, text.where(call.position))
    if call.name in PARAMETERS:
        return placed_by(text, call)
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
    if call.name not in _DESCRIBED:
        refuse_others(text, call, others)
        return call.name
    from batchlab.policy.orders import keys_of, ordered_by  # noqa: PLC0415  # other orders do without

    refuse_others(text, call, (*others, *keys_of(call.name)))
    return ordered_by(text, call)


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
