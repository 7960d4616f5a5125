"""Formats of machine descriptions: batchlab's own, in TOML or JSON, and AccaSim's.

batchlab's format::

    name = "Seth"                     # optional
    start_time = 1027839845           # optional: the origin, in seconds since 1970-01-01 UTC
    requeue = true                    # optional: default of the jobs' column requeue
    equivalence = { core = 2 }        # optional: what one processor of a log is; one core
    down = "0-3,7"                    # optional: nodes out of service until an event adds them
    core_multiple = 2                 # optional: cores are allocated in pairs
    policy = "slurm(select=cores)"    # optional: the policy "configured"

    [[groups]]                        # one or more; nodes are numbered in this order
    name = "thin"
    count = 100
    resources = { core = 4, mem = 1_000_000 }

    [[groups]]
    name = "fat"
    count = 20
    resources = { core = 4, mem = 4_000_000, gpu = 2 }
    weight = 10                       # optional: the policy slurm uses the lowest first; 1
    features = ["skylake", "gpu"]     # optional: features for the column constraint of jobs

    [[groups.sleep_states]]           # optional: sleep states of its nodes, the lightest first
    name = "off"
    power = 5                         # watts
    enter_time = 30                   # seconds, and watts, of shutdown
    enter_power = 100
    wake_time = 180                   # and of boot
    wake_power = 160

    [[partitions]]                    # optional: named sets of nodes, which may overlap
    name = "debug"
    nodes = "0-7"                     # ranges; all nodes unless nodes or groups are given
    groups = ["fat"]                  # node groups whose nodes belong to it too
    tier = 2                          # jobs of a higher tier come first; default 1
    over_time_limit = 300             # optional: seconds beyond their limits, under the policy slurm
    exclusive = false                 # optional: its jobs use nodes exclusively
    admits = { max_nodes = 2, max_time = 1800 }

    [[queues]]                        # optional: queues of waiting jobs
    name = "short"
    partitions = ["debug"]            # in the order in which they are tried
    priority = 10                     # in the order mpp, the highest first; default 0
    admits = { users = ["ann", "ben"] }


    [[accounts]]                      # optional: accounts that share the machine
    name = "physics"
    parent = "root"                   # optional: the parent account
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

    [[limits]]                        # optional: limits on sets of jobs
    name = "JobsPerUser"
    per = ["user"]                    # counted for each user; group, account, qos, queue, partition
    queues = ["short"]                # the jobs that it applies to: of these queues and partitions,
    applies_to = { max_time = 3600 }  # and under these conditions
    running_jobs = 4                  # also submitted_jobs, nodes, resources = { core = 64 }, time = 86400,
                                      # running_minutes = { core = 6000 }, total_minutes = { core = 500000 }
    blocks = false                    # whether a job over the limit blocks those behind it

    [preemption]                      # optional: which jobs may preempt running jobs
    by = "tier"                       # of the partitions; or "qos", by the names in preempts of [[qos]]
    mode = "requeue"                  # or "suspend", "cancel"
    exempt_time = 60                  # minimum run time of victims, seconds
    grace_time = 0                    # seconds that a victim keeps running; not with "suspend"
    youngest_first = false

    [[reservations]]                  # optional: nodes reserved for a time
    name = "course"
    start = 86400                     # seconds since the origin
    duration = 7200                   # "inf": no end
    nodes = "0-7"                     # as of partitions; also groups, partitions
    count = 4                         # optional: only this number of nodes, the last ones
    every = 604800                    # optional: period in seconds; repeated until the time until
    until = 6048000
    admits = { users = ["ann"] }      # which jobs may name it; omitted: maintenance, no job
    flexible = true                   # whether its jobs may use other nodes too
    cancels = false                   # whether it kills jobs on its nodes that exceed their limits

`Conditions` lists the keys of ``admits`` and ``applies_to``. JSON has the same keys. With
``half_life = "inf"``, past usage does not decay.

AccaSim's format (version 1.1) is in JSON::

    {"system_name": "Seth", "start_time": 1027839845,
     "equivalence": {"processor": {"core": 2}},
     "groups": {"g0": {"core": 4, "mem": 1000000}},
     "resources": {"g0": 120}}

`groups` lists the resources of one node of each group, `resources` the number of nodes of each group. Nodes
are numbered in the order of `resources`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, get_args

from batchlab.core import rules
from batchlab.core.form import Reader, as_document
from batchlab.core.units import plain_number
from batchlab.errors import SystemDescriptionError, shown, suggest, written
from batchlab.system.fields import RESOURCES, Count, Resources, StartTime, Title, group_name
from batchlab.system.nodes import NodeGroup
from batchlab.system.system import System

__all__ = ["accasim_system", "described", "is_accasim", "json_text", "system", "toml"]

_ADVICE = {
    "groups": "a description has at least one group of nodes",
    "resources": "say what is there",
    "count": "say how many nodes the group has",
    "name": "give it a name",
}


def system(document: Mapping[str, object]) -> System:
    """Build the machine from a parsed document.

    Raises
    ------
    SystemDescriptionError
        With the path into the document, the value and the rule.
    """
    return _reader().build(System, document)


def json_text(system: System) -> str:
    """Write a machine as JSON."""
    return json.dumps(described(system), indent=2, ensure_ascii=False) + "\n"


def toml(system: System) -> str:
    """Write a machine as TOML."""
    document = described(system)
    lists = {key: value for key, value in document.items() if isinstance(value, list)}
    lines = [f"{key} = {_value(value)}" for key, value in document.items() if key not in lists]
    for name, entries in lists.items():
        for entry in entries:
            lines += ["", f"[[{name}]]", *(f"{key} = {_value(value)}" for key, value in entry.items())]
    return "\n".join(lines).lstrip("\n") + "\n"


def described(system: System) -> dict[str, object]:
    """Return a machine as a document, without values at their defaults."""
    head = {
        "name": system.name,
        "start_time": plain_number(system.start_time),
        "equivalence": dict(system.equivalence),
    }
    return head | as_document(system)


def _value(value: object) -> str:
    """Format a TOML value. Names are printable, and JSON and TOML escape the same printable characters."""
    if isinstance(value, dict):
        inner = ", ".join(f"{_value(key)} = {_value(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True)
class _Equivalence:
    """One processor of a log in AccaSim's format."""

    processor: Resources = field(default_factory=lambda: {"core": 1})


_GROUPS = rules.Table(
    group_name, RESOURCES, "names of groups to resources", "hold at least one group of nodes"
)
_COUNTS = rules.Table(group_name, get_args(Count)[1], "names of groups to numbers of nodes")


@dataclass(frozen=True)
class _AccaSim:
    """A document in AccaSim's format."""

    groups: Annotated[Mapping[str, Mapping[str, int]], _GROUPS]
    resources: Annotated[Mapping[str, int], _COUNTS]
    equivalence: _Equivalence = field(default_factory=_Equivalence)
    system_name: Title = ""
    start_time: StartTime = 0.0


def is_accasim(document: Mapping[str, object]) -> bool:
    """Return whether a document has AccaSim's format rather than batchlab's."""
    return isinstance(document.get("groups"), dict) or "resources" in document or "system_name" in document


def accasim_system(document: Mapping[str, object]) -> System:
    """Build the machine from a parsed document in AccaSim's format.

    Raises
    ------
    SystemDescriptionError
        With the path into the document, the value and the rule.
    """
    found = _reader().build(_AccaSim, document)
    for name, count in found.resources.items():
        if name not in found.groups:
            rule = f"must be the number of nodes of a group.{suggest(name, found.groups)}"
            raise _refusal(("resources", name), count, rule)
    for name, resources in found.groups.items():
        if name not in found.resources:
            rule = "has no number of nodes; add the group to 'resources'."
            raise _refusal(("groups", name), dict(resources), rule)
    groups = tuple(NodeGroup(name, count, found.groups[name]) for name, count in found.resources.items())
    try:
        return System(groups, found.equivalence.processor, found.system_name, found.start_time)
    except SystemDescriptionError as error:
        raise SystemDescriptionError(str(error).replace("equivalence", "equivalence.processor", 1)) from None


def _refusal(path: tuple[str, ...], value: object, rule: str) -> SystemDescriptionError:
    return SystemDescriptionError(f"{written(path)} = {shown(value)}; {rule}")


def _reader() -> Reader:
    return Reader(SystemDescriptionError, "a description", advice=_ADVICE)
