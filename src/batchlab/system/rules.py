"""Rules for descriptions of systems.

Each rule returns a value, possibly normalised, or raises ``ValueError`` with the rule and the next step as
message. The constructors of `system` and the models of file readers share the rules, so errors are equal for
all sources of a value.
"""

import re
from collections.abc import Collection, Mapping

from batchlab.core import rules
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

_FEATURE = re.compile(r"[^&|()\[\]*,\s]+")


whole = rules.Whole(None, hint="write it without a fraction or quotes")
amount = rules.Whole(0, LARGEST_AMOUNT, hint="choose a larger unit, or 0 where a node has none")
count = rules.Whole(1, MOST_NODES, hint="leave out groups that have no nodes")
weight = rules.Whole(0, LARGEST_WEIGHT, hint="as in slurm.conf")
at_least_one = rules.Whole(1, LARGEST_AMOUNT)
seconds = rules.Number(0, most=LARGEST_AMOUNT, unit="seconds", floating=True)
# Sums over machines and years are finite.
watts = rules.Number(0, most=10**15, unit="watts", floating=True)
start_time = rules.Number(
    -LARGEST_AMOUNT,
    most=LARGEST_AMOUNT,
    floating=True,
    unit="seconds since 1970-01-01 UTC",
    hint="0 where it does not matter",
)
truth = rules.truth


def features(value: object) -> tuple[str, ...]:
    """Check the features of the nodes of a group, and remove duplicates."""
    given = (value,) if isinstance(value, str) else value
    if not isinstance(given, list | tuple | set | frozenset) or not all(map(_is_feature, given)):
        raise ValueError("must be names without blanks and without & | ( ) [ ] * , as in --constraint")
    return tuple(dict.fromkeys(sorted(given) if isinstance(given, set | frozenset) else given))


def _is_feature(name: object) -> bool:
    return isinstance(name, str) and bool(_FEATURE.fullmatch(name)) and len(name) <= LONGEST_NAME


def at_most(value: int, most: int) -> int:
    """Check a number against its maximum."""
    if value > most:
        raise ValueError(f"must be at most {most}")
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
