"""Rules for descriptions of systems.

Each rule returns a value, possibly normalised, or raises ``ValueError`` with the rule and the next step as
message. The constructors of `system` and the models of file readers share the rules, so errors are equal for
all sources of a value.
"""

import math
import operator
import re
from collections.abc import Collection, Mapping
from contextlib import suppress

from batchlab.errors import suggest
from batchlab.workload.resource_names import LONGEST_NAME, is_resource_name, names_job_column

__all__ = [
    "LARGEST_AMOUNT",
    "MOST_NODES",
    "amount",
    "at_least_one",
    "at_most",
    "count",
    "group_name",
    "line",
    "processor",
    "resource_name",
    "seconds",
    "sleep_state_name",
    "start_time",
    "title",
    "truth",
    "watts",
    "weight",
    "whole",
]

LARGEST_AMOUNT = 2**53
LARGEST_WEIGHT = 4_294_967_280
MOST_NODES = 100_000_000

# Then sums over machines and years are finite.
_LARGEST_POWER = 1e15
_FEATURE = re.compile(r"[^&|()\[\]*,\s]+")


def whole(value: object) -> int:
    """Check an integer of Python or NumPy; Booleans and fractions are errors."""
    if not isinstance(value, bool):
        with suppress(TypeError):
            return operator.index(value)  # type: ignore[arg-type]  # that is the question
    raise ValueError("must be an integer; write it without a fraction or quotes")


def amount(value: object) -> int:
    """Check the amount of a resource of one node."""
    number = whole(value)
    if not 0 <= number <= LARGEST_AMOUNT:
        raise ValueError(
            "must be an integer from 0 to 2^53; choose a larger unit, or 0 where a node has none"
        )
    return number


def count(value: object) -> int:
    """Check the number of nodes of a group."""
    number = whole(value)
    if not 1 <= number <= MOST_NODES:
        raise ValueError(f"must be an integer from 1 to {MOST_NODES}; leave out groups that have no nodes")
    return number


def weight(value: object) -> int:
    """Check the weight of the nodes of a group."""
    number = whole(value)
    if not 0 <= number <= LARGEST_WEIGHT:
        raise ValueError(f"must be an integer from 0 to {LARGEST_WEIGHT}, as in slurm.conf")
    return number


def features(value: object) -> tuple[str, ...]:
    """Check the features of the nodes of a group, and remove duplicates."""
    given = (value,) if isinstance(value, str) else value
    if not isinstance(given, list | tuple | set | frozenset) or not all(map(_is_feature, given)):
        raise ValueError("must be names without blanks and without & | ( ) [ ] * , as in --constraint")
    return tuple(dict.fromkeys(sorted(given) if isinstance(given, set | frozenset) else given))


def _is_feature(name: object) -> bool:
    return isinstance(name, str) and bool(_FEATURE.fullmatch(name)) and len(name) <= LONGEST_NAME


def at_least_one(value: object) -> int:
    """Check a number >= 1."""
    number = whole(value)
    if not 1 <= number <= LARGEST_AMOUNT:
        raise ValueError("must be an integer from 1 to 2^53")
    return number


def seconds(value: object) -> float:
    """Check a duration."""
    rule = "must be a number of seconds from 0 to 2^53"
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST_AMOUNT:
        raise ValueError(rule)
    return float(value)


def watts(value: object) -> float:
    """Check a power."""
    rule = "must be a number of watts from 0 to 10^15"
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LARGEST_POWER:
        raise ValueError(rule)
    return float(value)


def at_most(value: int, most: int) -> int:
    """Check a number against its maximum."""
    if value > most:
        raise ValueError(f"must be at most {most}")
    return value


def truth(value: object) -> bool:
    """Check a Boolean."""
    if not isinstance(value, bool):
        raise ValueError("must be true or false")  # noqa: TRY004  # as all rules
    return value


def resource_name(value: object) -> str:
    """Check the name of a resource."""
    if not isinstance(value, str) or not is_resource_name(value):
        raise ValueError("must be a resource's name: a letter or _, then letters, digits and _ . : @ / + -")
    if names_job_column(value):
        raise ValueError("is a column of every table of jobs; give the resource another name")
    return value


def group_name(value: object) -> str:
    """Check the name of a node group. Jobs may list several names as in ``cpu|fat``."""
    name = _printable(value)
    if "|" in name or name != name.strip():
        raise ValueError("must be a name without '|', and without blanks at its ends")
    return name


def sleep_state_name(value: object) -> str:
    """Check the name of a sleep state of nodes."""
    name = group_name(value)
    if name == "on":
        raise ValueError("must not be 'on', the state of nodes that do not sleep")
    return name


def title(value: object) -> str:
    """Check the name of a system, which may be empty."""
    return "" if value == "" else _printable(value)


def line(value: object) -> str:
    """Check a line of text, which may be empty."""
    if not isinstance(value, str) or not (value == "" or value.isprintable()):
        raise ValueError("must be one line of printable characters")
    return value


def _printable(value: object) -> str:
    if not isinstance(value, str) or not value or len(value) > LONGEST_NAME or not value.isprintable():
        raise ValueError(f"must be a name of 1 to {LONGEST_NAME} printable characters")
    return value


def start_time(value: object) -> float:
    """Check the time of a workload's origin, in seconds since 1970-01-01 UTC."""
    rule = "must be a number of seconds between -2^53 and 2^53; 0 where it does not matter"
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise ValueError(rule)
    try:
        number = float(value)
    except (OverflowError, TypeError, ValueError):
        raise ValueError(rule) from None
    if not math.isfinite(number) or abs(number) > LARGEST_AMOUNT:
        raise ValueError(rule)
    return number


def processor(value: Mapping[str, int], resources: Collection[str]) -> Mapping[str, int]:
    """Check the resources of one processor, on a machine with these resources."""
    for name in value:
        if name not in resources:
            question = suggest(name, resources).rstrip(".")
            raise ValueError(
                f"must say what one processor is in resources that nodes have, not {name!r}.{question}"
            )
    if not any(value.values()):
        raise ValueError("must be at least 1 of some resource; say what one processor of a log is")
    return value
