"""AccaSim's format of machine descriptions (version 1.1), in JSON.

::

    {"system_name": "Seth", "start_time": 1027839845,
     "equivalence": {"processor": {"core": 2}},
     "groups": {"g0": {"core": 4, "mem": 1000000}},
     "resources": {"g0": 120}}

`groups` lists the resources of one node of each group, `resources` the number of nodes of each group. Nodes
are numbered in the order of `resources`.
"""

from __future__ import annotations

from pydantic import Field

from batchlab.errors import suggest
from batchlab.system import rules
from batchlab.system.document import Count, GroupName, Model, Resources, Seconds, Title, checked, refusal
from batchlab.system.node_group import NodeGroup
from batchlab.system.system import System

__all__ = ["recognises", "system"]


class _Equivalence(Model):
    processor: Resources = Field(default_factory=lambda: {"core": 1})


class _Description(Model):
    groups: dict[GroupName, Resources] = Field(min_length=1)
    resources: dict[GroupName, Count]
    equivalence: _Equivalence = _Equivalence()
    system_name: Title = ""
    start_time: Seconds = 0.0


def recognises(document: dict[str, object]) -> bool:
    """Return whether a document has this format rather than batchlab's."""
    return isinstance(document.get("groups"), dict) or "resources" in document or "system_name" in document


def system(document: dict[str, object]) -> System:
    """Build the machine from a parsed document.

    Raises
    ------
    SystemDescriptionError
        With the path into the document, the value and the rule.
    """
    known = {(): _Description.model_fields, ("equivalence",): _Equivalence.model_fields}
    description = checked(_Description, document, known)
    for name, count in description.resources.items():
        if name not in description.groups:
            rule = f"must be the number of nodes of a group.{suggest(name, description.groups)}".rstrip(".")
            raise refusal(("resources", name), count, rule)
    for name, resources in description.groups.items():
        if name not in description.resources:
            raise refusal(("groups", name), resources, "has no number of nodes; add the group to 'resources'")
    groups = tuple(
        NodeGroup(name, count, description.groups[name]) for name, count in description.resources.items()
    )
    processor = description.equivalence.processor
    try:
        rules.processor(processor, {name for group in groups for name in group.resources})
    except ValueError as broken:
        raise refusal(("equivalence", "processor"), processor, str(broken)) from None
    return System(groups, processor, description.system_name, description.start_time)
