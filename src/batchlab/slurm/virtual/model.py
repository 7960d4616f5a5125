"""The model of a virtual cluster: a simulation of the same jobs on the same nodes."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import polars as pl

from batchlab.errors import BridgeError, SystemDescriptionError
from batchlab.policy.policy import CONFIGURED, as_policy
from batchlab.simulation.simulation import simulate
from batchlab.slurm.configuration.nodes import GenericResource
from batchlab.slurm.translation.translation import translate
from batchlab.slurm.virtual.configuration import Node
from batchlab.slurm.virtual.controller_log import Measured
from batchlab.slurm.virtual.handed_on import MODELLED
from batchlab.slurm.virtual.layout import write_model
from batchlab.slurm.virtual.submission import further_columns
from batchlab.system import read_system
from batchlab.workload import Workload, dependencies
from batchlab.workload.dependencies import ARRAY_ID, ARRAY_INDEX, DEPENDENCY
from batchlab.workload.run_events import CANCELLED_AFTER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from batchlab.core.vocabulary import WalltimeAction
    from batchlab.policy import Policy
    from batchlab.result.result import Result
    from batchlab.slurm.virtual.configuration import Configuration
    from batchlab.slurm.virtual.submission import Submission
    from batchlab.system import Reservation, System
    from batchlab.workload.dependencies import Target

__all__ = ["modelled_stream", "planned_stream", "run_model", "system_of"]

_MET_BY = {
    "after": frozenset({"completed", "killed", "cancelled"}),
    "afterany": frozenset({"completed", "killed", "cancelled"}),
    "afterok": frozenset({"completed"}),
    "afternotok": frozenset({"killed", "cancelled"}),
}
# Jobs complete in the simulation, however they ended in Slurm.
_IN_MODEL = {"afterok": "afterany", "afternotok": "afterany"}


def modelled_stream(stream: pl.DataFrame) -> pl.DataFrame:
    """Return the jobs of a stream to simulate, with dependencies that hold as in Slurm.

    Parameters
    ----------
    stream
        The stream, as from `planned_stream` or `returned_stream`. Jobs that did not start are dropped, except
        those with a planned cancellation. In a returned stream, a dependency on how a job ended becomes one
        on its end, or is removed.
    """
    kept = pl.col("run_time").is_not_null()
    if CANCELLED_AFTER in stream.columns:
        cancelled = pl.col(CANCELLED_AFTER).is_not_null()
        kept |= cancelled & (pl.col("state") != "rejected" if "state" in stream.columns else True)
        stream = stream.with_columns(run_time=pl.when(cancelled).then(0.0).otherwise("run_time"))
    stream = stream.filter(kept)
    if DEPENDENCY not in stream.columns:
        return stream
    states = _states(stream)
    ended = "state" in stream.columns
    texts = [text and _known(text, states, ended=ended) for text in stream[DEPENDENCY]]
    return stream.with_columns(pl.Series(DEPENDENCY, texts, pl.String))


def _states(stream: pl.DataFrame) -> Mapping[tuple[int, int | None], str]:
    """Return the states of jobs by number, and of array tasks by array and index."""
    states = stream["state"].to_list() if "state" in stream.columns else ["completed"] * len(stream)
    found: dict[tuple[int, int | None], str] = {}
    arrays: list[tuple[int | None, int | None]] = [(None, None)] * len(stream)
    if ARRAY_ID in stream.columns:
        arrays = stream.select(ARRAY_ID, ARRAY_INDEX).rows()
    for job, (array, place), state in zip(stream["job_id"], arrays, states, strict=True):
        found[job, None] = state
        if array is not None:
            found[array, place] = state
            found.setdefault((array, None), state)
    return found


def _known(text: str, states: Mapping[tuple[int, int | None], str], *, ended: bool) -> str | None:
    """Rewrite a dependency for the jobs in the stream; None if no term is left."""
    dependency = dependencies.parse_dependency(text)
    if dependency is None:
        return None
    terms = []
    for term in dependency.terms:
        targets = [target for target in term.targets if _place(target) in states]
        if ended and dependency.is_any:
            # Alternatives that did not hold have not caused the start.
            targets = [target for target in targets if states[_place(target)] in _MET_BY[term.kind]]
        kind = _IN_MODEL.get(term.kind, term.kind) if ended else term.kind
        if targets or term.kind == dependencies.SINGLETON:
            terms.append(term._replace(kind=kind, targets=tuple(targets)))
    return str(dependency._replace(terms=tuple(terms))) if terms else None


def _place(target: Target) -> tuple[int, int | None]:
    return (target.job, target.task)


_COLUMNS = {
    "job_id": pl.Int64,
    "submit_time": pl.Float64,
    "run_time": pl.Float64,
    "requested_time": pl.Float64,
    "tasks": pl.Int64,
    "core": pl.Int64,
}
_MINUTE = 60.0
_KIB = 1024


def system_of(nodes: Sequence[Node], configuration: Configuration) -> System:
    """Create the system of a virtual cluster with its policy, from the files that its daemons read.

    Raises
    ------
    SystemDescriptionError
        If the files are invalid, for example if a partition names an unknown node.
    """
    with TemporaryDirectory(prefix="batchlab-model-") as folder:
        write_model(Path(folder), configuration, nodes)
        try:
            return read_system(folder)
        except SystemDescriptionError as error:
            if configuration.read.nodes:
                # Raise it with the file and the line, if the nodes of the file have the same fault.
                translate(configuration.read)
            # The temporary file no longer exists, so its name and line would not help.
            place = re.compile(re.escape(str(Path(folder, "slurm.conf"))) + r"(:\d+)?")
            raise SystemDescriptionError(
                place.sub(f"{configuration.path}, on the virtual nodes", str(error))
            ) from None


def nodes_of(system: System) -> tuple[Node, ...]:
    """Create the virtual nodes of a machine: ``n1`` and so on, in its order, with its resources.

    Memory is in KiB, as in Slurm's logs, and rounded down to whole MiB; all other resources become generic
    resources.

    Raises
    ------
    BridgeError
        If a node has no cores.
    """
    each = [group.resources for group in system.groups for _ in range(group.count)]
    if not all(resources.get("core", 0) for resources in each):
        raise BridgeError("virtual nodes have cores; every node of the machine must have some.")
    return tuple(_node(f"n{number}", resources) for number, resources in enumerate(each, 1))


def _node(name: str, resources: Mapping[str, int]) -> Node:
    memory = resources.get("mem", 0) // _KIB
    devices = tuple(
        GenericResource(device, amount)
        for device, amount in resources.items()
        if amount and device not in {"core", "mem"}
    )
    more = [f"CPUs={resources['core']}"]
    more += [f"RealMemory={memory}"] if memory else []
    more += ["Gres=" + ",".join(f"{each.name}:{each.count}" for each in devices)] if devices else []
    return Node(name, resources["core"], tuple(more), memory=memory or None, gres=devices)


def planned_stream(jobs: Sequence[Submission]) -> pl.DataFrame:
    """Create the table of a stream that is only simulated, not submitted to a cluster."""
    rows = [
        (
            job.job_id,
            job.submit_time,
            job.run_time,
            math.inf if job.limit is None else job.limit * _MINUTE,
            job.tasks,
            job.cores,
            job.partition,
            job.constraint,
        )
        for job in jobs
    ]
    schema = {**_COLUMNS, "partition": pl.String, "constraint": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(further_columns(jobs))


def run_model(
    stream: pl.DataFrame,
    nodes: Sequence[Node],
    configuration: Configuration,
    policy: str | Policy | None = None,
    *,
    reservations: Sequence[Reservation] = (),
    origin: int | None = None,
    measured: Measured | None = None,
    walltime: WalltimeAction = "run",
    seed: int = 0,
) -> Result:
    """Simulate a stream under the policy of a virtual cluster.

    Parameters
    ----------
    stream
        Columns ``job_id``, ``submit_time``, ``run_time``, ``requested_time`` (s), ``tasks``, ``core`` (per
        task), ``planned_partition`` or else ``partition``, ``constraint`` if nodes have features, and further
        ones as from `planned_stream` and `returned_stream`. Start times are ignored; jobs without a run time
        are dropped.
    nodes, configuration
        The nodes and the configuration of the cluster.
    policy
        The policy; by default the configured one; see `Policy.on`.
    reservations
        The reservations of the cluster, see `RealRun`; without them, jobs with a reservation run as ordinary
        jobs.
    origin
        The UNIX time that is 0 in the stream, for Slurm's controller: backfill rounds absolute times.
    measured
        Times of the controller's work in the run, see `RealRun`: then the model has the precise times of a
        returned stream, draws completion overheads from the measured ones, and its controller, if it is
        Slurm's, has the measured delays and phases.
    walltime
        Whether jobs may exceed their limits, as in a returned stream, or are killed.
    seed
        Seed for policies that use randomness.
    """
    system = replace(system_of(nodes, configuration), reservations=tuple(reservations))
    asked = "planned_partition" if "planned_partition" in stream.columns else "partition"
    default = configuration.default_partition
    named = [pl.col(asked).fill_null(default).alias("partition")] if system.partitions else []
    named += [pl.col("constraint")] if any(node.features for node in nodes) else []
    others = {*MODELLED, *system.resources, *(["reservation"] if reservations else [])} - {*_COLUMNS}
    named += [pl.col(name) for name in stream.columns if name in others]
    given = stream if measured is None else measured.precise(stream)
    table = modelled_stream(given).select(*_COLUMNS, *named)
    if configuration.selection.type == "linear":
        table = table.with_columns(exclusive=True)
    # Slurm kills jobs after a delay, so run times may exceed limits, and are kept.
    workload = Workload.from_table(table, resources=["core"], overrun="keep")
    chosen = as_policy(policy or CONFIGURED).on((measured or Measured()).policy(system.policy, origin))
    overheads = None if measured is None else measured.overheads
    return simulate(workload, system, chosen, walltime=walltime, overheads=overheads, seed=seed)
