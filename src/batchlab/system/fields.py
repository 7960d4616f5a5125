"""Types of fields in descriptions of machines, each with its rule (`batchlab.core.form`)."""

import re
from collections.abc import Mapping
from typing import Annotated

from batchlab.core import rules
from batchlab.core.node_ranges import node_ranges
from batchlab.workload.resource_names import LONGEST_NAME, is_resource_name, names_job_column

__all__ = [
    "LARGEST_AMOUNT",
    "MOST_NODES",
    "RESOURCES",
    "SMALLEST_AMOUNT",
    "Amount",
    "AtLeastOne",
    "Count",
    "Features",
    "GroupName",
    "GroupNames",
    "Line",
    "NodeRanges",
    "NotNegative",
    "Positive",
    "Priority",
    "Resources",
    "ResourcesOver",
    "Seconds",
    "SleepStateName",
    "SomeNames",
    "StartTime",
    "Title",
    "Watts",
    "Weight",
    "group_name",
    "resource_name",
]

LARGEST_AMOUNT = 2**53
SMALLEST_AMOUNT = 2.0**-53
MOST_NODES = 100_000_000
_LARGEST_PRIORITY = 2**31 - 1
_LARGEST_WEIGHT = 4_294_967_280
_FEATURE = re.compile(r"[^&|()\[\]*,\s]+")


def group_name(value: object) -> str:
    """Check the name of a node group or another part. Jobs may list several names as in ``cpu|fat``."""
    name = rules.NAME(value)
    if "|" in name or name != name.strip():
        raise ValueError("must be a name without '|', and without blanks at its ends")
    return name


def resource_name(value: object) -> str:
    """Check the name of a resource."""
    if not isinstance(value, str) or not is_resource_name(value):
        raise ValueError("must be a resource's name: a letter or _, then letters, digits and _ . : @ / + -")
    if names_job_column(value):
        raise ValueError("is a column of every table of jobs; give the resource another name")
    return value


def _sleep_state_name(value: object) -> str:
    name = group_name(value)
    if name == "on":
        raise ValueError("must not be 'on', the state of nodes that do not sleep")
    return name


def _features(value: object) -> tuple[str, ...]:
    """Check the features of the nodes of a group, and remove duplicates."""
    given = (value,) if isinstance(value, str) else value
    if not isinstance(given, list | tuple | set | frozenset) or not all(map(_is_feature, given)):
        raise ValueError("must be names without blanks and without & | ( ) [ ] * , as in --constraint")
    return tuple(dict.fromkeys(sorted(given) if isinstance(given, set | frozenset) else given))


def _is_feature(name: object) -> bool:
    return isinstance(name, str) and bool(_FEATURE.fullmatch(name)) and len(name) <= LONGEST_NAME


def _line(value: object) -> str:
    if not isinstance(value, str) or not (value == "" or value.isprintable()):
        raise ValueError("must be one line of printable characters")
    return value


def _node_ranges(value: object) -> str:
    node_ranges(value)
    return str(value)


_amount = rules.Whole(0, LARGEST_AMOUNT, hint="choose a larger unit, or 0 where a node has none")
_at_least_one = rules.Whole(1, LARGEST_AMOUNT)
_start_time = rules.Number(
    -LARGEST_AMOUNT,
    most=LARGEST_AMOUNT,
    floating=True,
    unit="seconds since 1970-01-01 UTC",
    hint="0 where it does not matter",
)
_AMOUNTS = "resource names to integers"
RESOURCES = rules.Table(resource_name, _amount, _AMOUNTS, "name at least one resource, e.g. core")

GroupName = Annotated[str, group_name]
GroupNames = Annotated[tuple[str, ...], rules.List(group_name, "names")]
SomeNames = Annotated[tuple[str, ...], rules.List(group_name, "names", is_empty_valid=False)]
SleepStateName = Annotated[str, _sleep_state_name]
Title = Annotated[str, rules.Name(empty=True)]
Line = Annotated[str, _line]
Features = Annotated[tuple[str, ...], _features]
NodeRanges = Annotated[str, _node_ranges]

Amount = Annotated[int, _amount]
AtLeastOne = Annotated[int, _at_least_one]
Count = Annotated[int, rules.Whole(1, MOST_NODES, hint="leave out groups that have no nodes")]
Priority = Annotated[int, rules.Whole(-_LARGEST_PRIORITY, _LARGEST_PRIORITY)]
Weight = Annotated[int, rules.Whole(0, _LARGEST_WEIGHT, hint="as in slurm.conf")]
NotNegative = Annotated[float, rules.Number(0, most=LARGEST_AMOUNT, floating=True)]
Positive = Annotated[float, rules.Number(SMALLEST_AMOUNT, most=LARGEST_AMOUNT, floating=True)]
Seconds = Annotated[float, rules.Number(0, most=LARGEST_AMOUNT, unit="seconds", floating=True)]
StartTime = Annotated[float, _start_time]
# Sums over machines and years are finite.
Watts = Annotated[float, rules.Number(0, most=10**15, unit="watts", floating=True)]

Resources = Annotated[Mapping[str, int], RESOURCES]
ResourcesOver = Annotated[Mapping[str, int], rules.Table(resource_name, _at_least_one, _AMOUNTS)]
