"""Names of resources: their syntax, and the names of Slurm's trackable resources."""

import re

LONGEST_NAME = 200

_RESOURCE = re.compile(r"[A-Za-z_][A-Za-z0-9_.:@/+-]*")
# A resource becomes a column of job tables; these columns have another meaning there.
_JOB_COLUMNS = frozenset(
    {"job_id", "submit_time", "run_time", "requested_time", "time_limit", "tasks", "tasks_per_node"}
    | {"exclusive", "node_group", "constraint", "state", "start_time", "end_time", "nodes"}
)
# In Slurm logs, these columns have another meaning too.
_LOG_COLUMNS = frozenset(
    {"account", "attempts", "begin_time", "cluster", "core", "dependency", "group", "job_name", "mem"}
    | {"node_list", "partition", "qos", "queue", "reservation", "run_events", "status", "user"}
)


def is_resource_name(name: str) -> bool:
    """Return whether a name is a valid resource name."""
    return len(name) <= LONGEST_NAME and _RESOURCE.fullmatch(name) is not None


def names_job_column(name: str) -> bool:
    """Return whether a name is a column of every job table, which no resource may have."""
    return name in _JOB_COLUMNS


def resource_of(tres: str) -> str:
    """Return the resource name for a trackable resource of Slurm.

    Parameters
    ----------
    tres
        ``cpu``, ``mem``, or a generic resource as ``gres/gpu``.

    Returns
    -------
    str
        ``core`` for ``cpu``, ``gpu`` for ``gres/gpu``; if the short name is a column of job tables, the
        prefix is kept.

    Examples
    --------
    >>> resource_of("gres/gpu"), resource_of("gres/user")
    ('gpu', 'gres/user')
    """
    if tres == "cpu":
        return "core"
    name = tres.removeprefix("gres/")
    is_taken = names_job_column(name) or (name != tres and name in _LOG_COLUMNS)
    return name if is_resource_name(name) and not is_taken else f"gres/{name}"
