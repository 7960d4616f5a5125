"""batchlab's format of machine descriptions, in TOML or JSON.

::

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
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import Field

from batchlab.errors import SystemDescriptionError
from batchlab.system.account_tables import (
    AccountTable,
    FairShareTable,
    QualityTable,
    account_parts,
)
from batchlab.system.document import Count, GroupName, Model, Resources, Seconds, Title, checked
from batchlab.system.limits import Limit
from batchlab.system.node_group import NodeGroup
from batchlab.system.preemption import Preemption
from batchlab.system.queues import Conditions, JobQueue, Partition
from batchlab.system.reservations import Reservation
from batchlab.system.sleep_states import SleepState
from batchlab.system.system import System
from batchlab.system.tables import group_fields, tables

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["json_text", "system", "toml"]

_T = TypeVar("_T", Partition, JobQueue, Limit, Reservation)


class _SleepState(Model):
    name: object
    power: object = 0.0
    enter_time: object = 0.0
    enter_power: object = None
    wake_time: object = 0.0
    wake_power: object = None


class _Group(Model):
    name: GroupName
    count: Count
    resources: Resources
    sleep_states: list[_SleepState] = Field(default_factory=list)
    weight: object = 1
    features: object = ()


class _Conditions(Model):
    """The keys of ``admits``; `Conditions` checks the values."""

    min_processors: object = None
    max_processors: object = None
    min_nodes: object = None
    max_nodes: object = None
    min_time: object = None
    max_time: object = None
    users: object = None
    groups: object = None
    accounts: object = None
    qos: object = None


class _Partition(Model):
    name: object
    nodes: object = ""
    groups: object = ()
    tier: object = 1
    priority_factor: object = 1.0
    over_time_limit: object = None
    exclusive: object = False
    admits: _Conditions = Field(default_factory=_Conditions)


class _Queue(Model):
    name: object
    partitions: object = ()
    priority: object = 0
    admits: _Conditions = Field(default_factory=_Conditions)


class _Limit(Model):
    name: object
    per: object = ()
    queues: object = ()
    partitions: object = ()
    applies_to: _Conditions = Field(default_factory=_Conditions)
    running_jobs: object = None
    submitted_jobs: object = None
    nodes: object = None
    resources: object = Field(default_factory=dict)
    blocks: object = False
    time: object = None
    running_minutes: object = Field(default_factory=dict)
    total_minutes: object = Field(default_factory=dict)


class _Preemption(Model):
    by: object = "tier"
    mode: object = "requeue"
    exempt_time: object = 0.0
    grace_time: object = 0.0
    youngest_first: object = False


class _Reservation(Model):
    name: object
    start: object
    duration: object
    nodes: object = ""
    groups: object = ()
    partitions: object = ()
    count: object = None
    every: object = None
    until: object = None
    admits: _Conditions | None = None
    flexible: object = False
    cancels: object = False


class _Description(Model):
    groups: list[_Group] = Field(min_length=1)
    partitions: list[_Partition] = Field(default_factory=list)
    queues: list[_Queue] = Field(default_factory=list)
    limits: list[_Limit] = Field(default_factory=list)
    reservations: list[_Reservation] = Field(default_factory=list)
    equivalence: Resources = Field(default_factory=lambda: {"core": 1})
    name: Title = ""
    start_time: Seconds = 0.0
    accounts: list[AccountTable] = Field(default_factory=list)
    qos: list[QualityTable] = Field(default_factory=list)
    fair_share: FairShareTable | None = None
    preemption: _Preemption | None = None
    requeue: object = True
    down: object = ""
    core_multiple: object = 1
    policy: object = ""
    note: object = ""


def system(document: dict[str, object]) -> System:
    """Build the machine from a parsed document.

    Raises
    ------
    SystemDescriptionError
        With the path into the document, the value and the rule.
    """
    keys = {
        (): _Description.model_fields,
        ("groups",): _Group.model_fields,
        ("groups", "sleep_states"): _SleepState.model_fields,
        ("partitions",): _Partition.model_fields,
        ("queues",): _Queue.model_fields,
        ("accounts",): AccountTable.model_fields,
        ("qos",): QualityTable.model_fields,
        ("fair_share",): FairShareTable.model_fields,
        ("partitions", "admits"): _Conditions.model_fields,
        ("queues", "admits"): _Conditions.model_fields,
        ("limits",): _Limit.model_fields,
        ("limits", "applies_to"): _Conditions.model_fields,
        ("preemption",): _Preemption.model_fields,
        ("reservations",): _Reservation.model_fields,
        ("reservations", "admits"): _Conditions.model_fields,
    }
    description = checked(_Description, document, keys)
    groups = tuple(_group(group, f"groups[{at}]") for at, group in enumerate(description.groups))
    preemption = description.preemption
    sharing = account_parts(description.accounts, description.qos, description.fair_share)
    return System(
        groups,
        description.equivalence,
        description.name,
        description.start_time,
        partitions=tuple(
            _made(Partition, each, f"partitions[{at}]") for at, each in enumerate(description.partitions)
        ),
        queues=tuple(_made(JobQueue, each, f"queues[{at}]") for at, each in enumerate(description.queues)),
        limits=tuple(_made(Limit, each, f"limits[{at}]") for at, each in enumerate(description.limits)),
        preemption=None if preemption is None else Preemption(**dict(preemption)),
        requeue=description.requeue,  # type: ignore[arg-type]  # the system checks it
        down=description.down,  # type: ignore[arg-type]  # here too
        core_multiple=description.core_multiple,  # type: ignore[arg-type]  # here too
        policy=description.policy,  # type: ignore[arg-type]  # here too
        note=description.note,  # type: ignore[arg-type]  # here too
        reservations=tuple(
            _made(Reservation, each, f"reservations[{at}]")
            for at, each in enumerate(description.reservations)
        ),
        **sharing,  # type: ignore[arg-type]  # fields by their names
    )


def _group(given: _Group, path: str) -> NodeGroup:
    """Build a group of nodes; errors have the path into the document."""
    states = []
    for at, each in enumerate(given.sleep_states):
        try:
            states.append(SleepState(**dict(each)))
        except SystemDescriptionError as error:
            raise SystemDescriptionError(f"{path}.sleep_states[{at}]: {error}") from None
    try:
        more: dict[str, Any] = {"weight": given.weight, "features": given.features}
        return NodeGroup(given.name, given.count, given.resources, tuple(states), **more)
    except SystemDescriptionError as error:
        raise SystemDescriptionError(f"{path}: {error}") from None


def _made(kind: Callable[..., _T], given: _Partition | _Queue | _Limit | _Reservation, path: str) -> _T:
    """Build a part of a description; errors have the path into the document."""
    values = {key: getattr(given, key) for key in type(given).model_fields}
    key = "applies_to" if isinstance(given, _Limit) else "admits"
    try:
        place = f"{path}.{key}."
        conditions = None if values[key] is None else Conditions(**values[key].model_dump())
        place = f"{path}: "
        return kind(**values | {key: conditions})
    except SystemDescriptionError as error:
        raise SystemDescriptionError(f"{place}{error}") from None


def json_text(system: System) -> str:
    """Write a machine as JSON."""
    return json.dumps(_document(system), indent=2, ensure_ascii=False) + "\n"


def toml(system: System) -> str:
    """Write a machine as TOML."""
    document = _document(system)
    lists = {key: value for key, value in document.items() if isinstance(value, list)}
    lines = [f"{key} = {_value(value)}" for key, value in document.items() if key not in lists]
    for name, entries in lists.items():
        for entry in entries:
            lines += ["", f"[[{name}]]", *(f"{key} = {_value(value)}" for key, value in entry.items())]
    return "\n".join(lines).lstrip("\n") + "\n"


def _document(system: System) -> dict[str, object]:
    """Convert a machine to the keys of the format."""
    seconds = int(system.start_time) if system.start_time.is_integer() else system.start_time
    return {
        "name": system.name,
        "start_time": seconds,
        "equivalence": dict(system.equivalence),
        "groups": [
            {"name": group.name, "count": group.count, "resources": dict(group.resources)}
            | group_fields(group)
            for group in system.groups
        ],
        **tables(system),
    }


def _value(value: object) -> str:
    """Format a TOML value. Names are printable, and JSON and TOML escape the same printable characters."""
    if isinstance(value, dict):
        inner = ", ".join(f"{_value(key)} = {_value(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False)
