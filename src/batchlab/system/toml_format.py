"""batchlab's own form of a described machine, in TOML or JSON.

::

    name = "Seth"                     # optional
    start_time = 1027839845           # optional: the origin, in seconds since 1970-01-01 UTC
    equivalence = { core = 2 }        # optional: what one processor of a log is; one core

    [[groups]]                        # one or more; nodes are numbered in this order
    name = "thin"
    count = 100
    resources = { core = 4, mem = 1_000_000 }

    [[groups]]
    name = "fat"
    count = 20
    resources = { core = 4, mem = 4_000_000, gpu = 2 }

    [[accounts]]                      # optional: those among which the machine is shared
    name = "physics"
    parent = "root"                   # optional: the account that it is part of
    shares = 50                       # optional: among its siblings; 1
    users = { ann = 3, bob = 1, cy = "parent" }

    [[qos]]                           # optional: qualities of service
    name = "high"
    priority = 100
    usage_factor = 2

    [fair_share]                      # optional: the fields of `FairShare`
    rule = "classic"
    half_life = 604800
    weights = { core = 1, gpu = 20 }

JSON has the same keys. `half_life = "inf"`: past use always counts in full.
"""

from __future__ import annotations

import json

from pydantic import Field

from batchlab.system.account_tables import (
    AccountTable,
    FairShareTable,
    QualityTable,
    account_parts,
    account_tables,
)
from batchlab.system.document import Count, GroupName, Model, Resources, Seconds, Title, checked
from batchlab.system.system import NodeGroup, System

__all__ = ["json_text", "system", "toml"]


class _Group(Model):
    name: GroupName
    count: Count
    resources: Resources


class _Description(Model):
    groups: list[_Group] = Field(min_length=1)
    equivalence: Resources = Field(default_factory=lambda: {"core": 1})
    name: Title = ""
    start_time: Seconds = 0.0
    accounts: list[AccountTable] = Field(default_factory=list)
    qos: list[QualityTable] = Field(default_factory=list)
    fair_share: FairShareTable | None = None


_KEYS = {
    1: _Description.model_fields,
    2: FairShareTable.model_fields,
    3: {**_Group.model_fields, **AccountTable.model_fields, **QualityTable.model_fields},
}


def system(document: dict[str, object]) -> System:
    """Build the machine that a parsed document describes.

    Raises
    ------
    SystemDescriptionError
        Naming the path into the document, the value and the rule.
    """
    description = checked(_Description, document, _KEYS)
    groups = tuple(NodeGroup(group.name, group.count, group.resources) for group in description.groups)
    machine = (groups, description.equivalence, description.name, description.start_time)
    sharing = account_parts(description.accounts, description.qos, description.fair_share)
    return System(*machine, **sharing)  # type: ignore[arg-type]  # fields by their names


def json_text(system: System) -> str:
    """Write a machine as JSON."""
    return json.dumps(_document(system), indent=2, ensure_ascii=False) + "\n"


def toml(system: System) -> str:
    """Write a machine as TOML."""
    document = _document(system)
    lines = [f"{key} = {_value(value)}" for key, value in document.items() if not isinstance(value, list)]
    for name, tables in document.items():
        for table in tables if isinstance(tables, list) else ():
            lines += ["", f"[[{name}]]", *(f"{key} = {_value(value)}" for key, value in table.items())]
    return "\n".join(lines).lstrip("\n") + "\n"


def _document(system: System) -> dict[str, object]:
    """Turn a machine into the form's keys."""
    seconds = int(system.start_time) if system.start_time.is_integer() else system.start_time
    return {
        "name": system.name,
        "start_time": seconds,
        "equivalence": dict(system.equivalence),
        "groups": [
            {"name": group.name, "count": group.count, "resources": dict(group.resources)}
            for group in system.groups
        ],
        **account_tables(system),
    }


def _value(value: object) -> str:
    """Write a TOML value; names hold printable characters only, of which JSON and TOML escape the same."""
    if isinstance(value, dict):
        inner = ", ".join(f"{_value(key)} = {_value(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    return json.dumps(value, ensure_ascii=False)
