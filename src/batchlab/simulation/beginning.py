"""Initial states as columns of the kernel, and back (S28)."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import polars as pl

from batchlab.accounting.fair_share import AccountTree
from batchlab.core.vocabulary import JOB_STATES, REJECTION_REASONS
from batchlab.errors import SimulationError, SystemDescriptionError, WorkloadError, shown
from batchlab.simulation.initial_state import INITIAL_COLUMNS, USAGE_COLUMNS, Controller, InitialState
from batchlab.simulation.priorities import array_numbers

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab import _kernel
    from batchlab._kernel import ControllerColumns, InitialColumns
    from batchlab.policy import Policy
    from batchlab.system import System
    from batchlab.workload import Workload

    # Where the nodes of each row begin, the nodes, and the tasks on each.
    NodeColumns: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], npt.NDArray[np.uint32]]

__all__ = ["begin_in", "given_state", "present_state"]

_NUMBERS = (
    "start_time",
    "end_time",
    "eligible_time",
    "estimate",
    "requested_time",
    "priority",
    "reserved_time",
)


def given_state(state: InitialState | str | os.PathLike[str] | None) -> InitialState | None:
    """Return the initial state of a run, which may be the path of its file.

    Raises
    ------
    WorkloadError
        If it is neither, or the file is not an initial state.
    """
    if isinstance(state, str | os.PathLike):
        return InitialState.read(state)
    if state is None or isinstance(state, InitialState):
        return state
    raise WorkloadError(f"initial_state = {shown(state)}; must be an InitialState or the path of its file.")


def begin_in(
    kernel: _kernel.Simulation, state: InitialState, workload: Workload, system: System, policy: Policy
) -> None:
    """Begin a simulation in a state.

    Parameters
    ----------
    kernel
        The compiled simulation, before its first event.
    state
        The state.
    workload, system, policy
        The run.

    Raises
    ------
    WorkloadError
        If the state does not fit the run.
    SimulationError
        If the run has something that an initial state does not hold.
    """
    jobs = _jobs_of(state, workload)
    columns: InitialColumns = {
        "time": state.time,
        "decided": state.decided,
        **_columns(jobs),
        "last_node": state.last_node,
        "drained": _drained(state, system),
        "usage": _usage_rows(state, system),
        "controller": _controller_rows(state, workload),
    }
    try:
        kernel.begin_in(columns)
    except ValueError as error:
        row, rule = error.args
        if row is None:
            raise SimulationError(f"initial_state with {policy}: {rule}.") from error
        raise WorkloadError(f"initial_state: job {workload.jobs['job_id'][row]}: {rule}.") from error


def _jobs_of(state: InitialState, workload: Workload) -> pl.DataFrame:
    """Return the jobs of a state by row of the workload, and check them against it."""
    rows = workload.jobs.select("job_id", "submit_time").with_row_index("row")
    jobs = state.jobs.join(rows, on="job_id", how="left", maintain_order="left")
    is_fixed = (pl.col("state") == "queued") & pl.col("priority").is_not_null()
    ahead = ~(is_fixed | (pl.col("state") == "held")) & (pl.col("submit_time") > state.time)
    rules = [
        ("job_id", pl.col("row").is_null(), "must be a job of the workload"),
        ("job_id", pl.col("row").is_duplicated(), "must be one row of the workload"),
        ("submit_time", ahead, f"must be <= time = {state.time:g}, unless the job is held or has a priority"),
        ("start_time", pl.col("start_time") < pl.col("submit_time"), "must be >= submit_time"),
        ("end_time", pl.col("end_time") < pl.col("submit_time"), "must be >= submit_time"),
    ]
    for name, broken, rule in rules:
        wrong = jobs.filter(broken)
        if len(wrong):
            raise WorkloadError(
                f"initial_state: job {wrong['job_id'][0]}: {name} = {shown(wrong[name][0])}; {rule}."
            )
    return jobs


def _columns(jobs: pl.DataFrame) -> InitialColumns:
    """Convert the jobs to columns."""
    states = (
        jobs["state"]
        .replace("held", "queued")
        .replace_strict(list(JOB_STATES), list(range(len(JOB_STATES))), return_dtype=pl.UInt8)
    )
    numbers = list(range(1, len(REJECTION_REASONS) + 1))
    reasons = jobs["reason"].replace_strict(list(REJECTION_REASONS), numbers, return_dtype=pl.UInt8)
    columns: dict[str, object] = {name: _seconds(jobs[name]) for name in _NUMBERS}
    columns |= {
        "row": jobs["row"].cast(pl.UInt32).to_numpy(),
        "state": states.to_numpy(),
        "held": (jobs["state"] == "held").to_numpy(),
        "reason": reasons.fill_null(0).to_numpy(),
        "saved": _seconds(jobs["saved"].fill_null(0.0)),
        "nodes": _node_columns(jobs["nodes"], jobs["node_tasks"]),
        "reserved_nodes": _node_columns(jobs["reserved_nodes"], jobs["reserved_tasks"]),
    }
    return cast("InitialColumns", columns)


def _seconds(column: pl.Series) -> npt.NDArray[np.float64]:
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy()


def _node_columns(nodes: pl.Series, tasks: pl.Series) -> NodeColumns:
    """Convert lists of nodes; of nodes without numbers of tasks the kernel chooses them, which is 0."""
    counts = nodes.list.len().fill_null(0).to_numpy().astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    flat = _flat(nodes)
    known = [
        each if each is not None else [0] * int(count)
        for each, count in zip(tasks.to_list(), counts, strict=True)
    ]
    return offsets, flat, np.array([number for each in known for number in each], np.uint32)


def _flat(lists: pl.Series) -> npt.NDArray[np.uint32]:
    return np.array([number for each in lists.to_list() for number in each or ()], np.uint32)


def _drained(state: InitialState, system: System) -> list[int] | None:
    closed = [*(state.drained or ()), *(() if state.last_node is None else (state.last_node,))]
    beyond = [node for node in closed if node >= system.nodes]
    named = [node for name in ("nodes", "reserved_nodes") for node in _flat(state.jobs[name]).tolist()]
    beyond += [node for node in named if node >= system.nodes]
    if beyond:
        rule = f"nodes are numbered from 0 to {system.nodes - 1}"
        raise WorkloadError(f"initial_state: node {beyond[0]} is not there; {rule}.")
    return None if state.drained is None else list(state.drained)


def _usage_rows(state: InitialState, system: System) -> list[tuple[int, float, float, float, float]]:
    """Convert the usage to rows of the tree of accounts."""
    if not len(state.usage):
        return []
    tree, rows = AccountTree(system.accounts), []
    for account, user, usage, known, rate, factor in state.usage.iter_rows():
        try:
            node = tree.node(account, user)
        except SystemDescriptionError as error:
            raise WorkloadError(f"initial_state: usage: {error}") from error
        if usage is None or not usage >= 0:
            raise WorkloadError(f"initial_state: usage of {account} = {usage}; must be a number >= 0.")
        time = state.time if known is None else known
        rows.append((node, usage, time, *(np.nan if each is None else each for each in (rate, factor))))
    return rows


def _controller_rows(state: InitialState, workload: Workload) -> ControllerColumns | None:
    """Name the jobs that Slurm's controller knows by their rows."""
    if state.controller is None:
        return None
    ids = workload.jobs["job_id"].to_list()
    rows = dict(zip(ids, range(len(ids)), strict=True))
    known = []
    for each in state.controller["jobs"]:
        if each["job_id"] not in rows:
            rule = "must be a job of the workload"
            raise WorkloadError(f"initial_state: controller: jobs: job_id = {each['job_id']}; {rule}.")
        known.append({"row": rows[each["job_id"]], **each})
    numbers, arrays = array_numbers(workload), state.controller["arrays"]
    if missing := {array for array, _ in arrays} - numbers.keys():
        rule = "must be an array_id of the workload"
        raise WorkloadError(f"initial_state: controller: arrays = {min(missing)}; {rule}.")
    numbered = [(numbers[array], since) for array, since in arrays]
    return cast("ControllerColumns", {**state.controller, "jobs": known, "arrays": numbered})


def _controller(columns: ControllerColumns | None, workload: Workload) -> Controller | None:
    """Name the jobs that Slurm's controller knows by their numbers."""
    if columns is None:
        return None
    ids = workload.jobs["job_id"]
    jobs = [{"job_id": ids[row.pop("row")], **row} for row in cast("list[dict[str, Any]]", columns["jobs"])]
    names = {number: array for array, number in array_numbers(workload).items()}
    arrays = [(names[number], since) for number, since in columns["arrays"]]
    return {**columns, "jobs": jobs, "arrays": arrays}


def present_state(kernel: _kernel.Simulation, workload: Workload, system: System) -> InitialState:
    """Return the present state of a simulation.

    Raises
    ------
    SimulationError
        If the simulation is in the middle of an instant, or has something that an initial state does not
        hold.
    """
    try:
        columns = kernel.initial_state()
    except ValueError as error:
        row, rule = error.args
        about = "" if row is None else f"job {workload.jobs['job_id'][row]}: "
        raise SimulationError(f"{about}{rule}.") from error
    row, begun = pl.Series(columns["row"]), columns["first_submission"]
    states = pl.Series(list(JOB_STATES)).gather(columns["state"])
    held = pl.Series(columns["held"]) & (states == "queued")
    names = pl.Series([None, *REJECTION_REASONS], dtype=pl.String)
    is_over = states.is_in(["completed", "killed", "cancelled"])
    jobs = pl.DataFrame(
        {
            "job_id": workload.jobs["job_id"].gather(row),
            "state": states.zip_with(~held, pl.Series(["held"])),
            **{name: pl.Series(columns[name], nan_to_null=True) for name in _NUMBERS},  # type: ignore[literal-required]  # one of them
            "saved": columns["saved"],
            "reason": names.gather(columns["reason"]).zip_with(states == "rejected", names[:1]),
            **_lists(columns["nodes"], "nodes", "node_tasks"),
            **_lists(columns["reserved_nodes"], "reserved_nodes", "reserved_tasks"),
        }
    )
    jobs = jobs.with_columns(
        pl.when(pl.col("saved") > 0).then("saved").alias("saved"),
        pl.when(pl.Series(is_over)).then("end_time").alias("end_time"),
    )
    return InitialState(
        columns["time"],
        jobs.select(list(INITIAL_COLUMNS)),
        decided=columns["decided"],
        first_submission=None if begun == workload.first_submission else begun,
        drained=columns["drained"],
        last_node=columns["last_node"],
        usage=_usage_table(columns["usage"], system),
        controller=_controller(columns["controller"], workload),
    )


def _lists(columns: NodeColumns, nodes: str, tasks: str) -> dict[str, pl.Series]:
    """Return lists of nodes and of their tasks; null for jobs without nodes."""
    offsets, *flat = columns
    found = {}
    for name, values in zip((nodes, tasks), flat, strict=True):
        parts = [values[begin:end].tolist() or None for begin, end in pairwise(offsets)]
        found[name] = pl.Series(name, parts, dtype=pl.List(pl.UInt32))
    return found


def _usage_table(rows: list[tuple[int, float, float, float, float]], system: System) -> pl.DataFrame:
    nodes = AccountTree(system.accounts).nodes if rows else []
    described = [
        (nodes[node].account, nodes[node].user, *(None if np.isnan(each) else each for each in numbers))
        for node, *numbers in rows
    ]
    return pl.DataFrame(described, schema=dict(USAGE_COLUMNS), orient="row")
