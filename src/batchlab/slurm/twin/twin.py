"""A simulated cluster that runs Slurm: its machine, its policy, and its overheads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Unpack

from batchlab.core import rules
from batchlab.core.arguments import checked
from batchlab.core.markup import card
from batchlab.core.units import format_count
from batchlab.errors import PolicyError, SimulationError, TwinError, WorkloadError, one_line
from batchlab.options import RunOptions
from batchlab.policy.policy import CONFIGURED, as_policy
from batchlab.simulation.simulation import simulate
from batchlab.slurm import read_configuration, translate

if TYPE_CHECKING:
    import os

    import numpy as np
    import numpy.typing as npt

    from batchlab.options import ExperimentArguments
    from batchlab.policy.policy import Policy
    from batchlab.result.result import Result
    from batchlab.slurm import SlurmConfiguration
    from batchlab.system import System
    from batchlab.workload import Workload
    from batchlab.workload.event_stream import EventStream

__all__ = ["Twin", "read_twin", "waits_of"]


_LONGEST = 40


@dataclass(frozen=True, kw_only=True, repr=False)
class Twin:
    """A configuration that can run jobs.

    Parameters
    ----------
    name
        The name in results and messages.
    system
        The machine with its partitions, accounts, QOS and limits.
    policy
        The policy of the controller.
    submission
        Seconds from the submission of a job until it reaches the controller, >= 0.
    options
        The options of its runs, such as overheads; `run` has the seed.
    configuration
        The configuration that it was created from, for a table of differences; None unless read from files.

    Raises
    ------
    TwinError
        If the submission is not a finite number of seconds >= 0.
    """

    name: str
    system: System
    policy: Policy
    submission: float = 0.0
    options: RunOptions = field(default_factory=RunOptions)
    configuration: SlurmConfiguration | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        rules.hold(self, TwinError, submission=rules.SECONDS)

    def __repr__(self) -> str:
        name, policy = one_line(self.name, _LONGEST), one_line(str(self.policy), _LONGEST)
        return f"<Twin {name}: {policy} on {format_count(self.system.nodes, 'node')}>"

    def _repr_html_(self) -> str:
        system = self.system
        counted = {"partitions": system.partitions, "accounts": system.accounts, "qos": system.qos}
        facts = [
            ("policy", str(self.policy)),
            ("nodes", f"{system.nodes:,}"),
            *((name, f"{total:,} in all") for name, total in system.total.items()),
            *((name, f"{len(rows):,}") for name, rows in counted.items() if rows),
            ("delays", self.delays or "none"),
        ]
        return card(f"Twin {self.name}", facts)

    @property
    def delays(self) -> str:
        """The overheads and the submission delay, as text; empty without any."""
        given = [f"submission {self.submission:g} s"] if self.submission else []
        given += [] if self.options.overheads is None else [str(self.options.overheads)]
        return ", ".join(given)

    def run(self, workload: Workload, *, seed: int = 0, events: EventStream | None = None) -> Result:
        """Run jobs.

        Parameters
        ----------
        workload
            The jobs.
        seed
            Seed of the phases of the controller's threads, and of random overheads.
        events
            External events, such as node outages.

        Returns
        -------
        Result
            The result; the submit times in it are those at which jobs reach the controller.

        Raises
        ------
        TwinError
            If jobs refer to names that the configuration lacks, or the policy does not fit the machine.
        """
        known = workload.shift(self.submission) if self.submission else workload
        try:
            return simulate(known, self.system, self.policy, options=self.options, seed=seed, events=events)
        except (WorkloadError, PolicyError, SimulationError) as error:
            raise TwinError(f"{self.name} cannot run the log: {error}") from error


@checked(TwinError)
def read_twin(
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    policy: Policy | str | None = None,
    submission: float = 0.0,
    options: RunOptions | None = None,
    version: str | None = None,
    accounts: str | os.PathLike[str] | None = None,
    qos: str | os.PathLike[str] | None = None,
    **arguments: Unpack[ExperimentArguments],
) -> Twin:
    r"""Create a twin from the configuration of a cluster.

    Parameters
    ----------
    path
        A ``slurm.conf``, or its folder.
    name
        Its name; by default the path.
    policy
        Replaces the policy of the configuration.
    submission, options
        As for `Twin`; not part of a configuration.
    version, accounts, qos
        As for `batchlab.slurm.read_configuration`.
    **arguments
        Single options of a run by name, as ``overheads=…, walltime="kill"``.

    Returns
    -------
    Twin

    Raises
    ------
    SystemDescriptionError
        If Slurm would not start with the configuration; the message has the file, the line and the value.
    PolicyError
        If the policy is invalid.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lines = "NodeName=n[1-4] CPUs=8", "PartitionName=all Nodes=ALL", "PriorityType=priority/basic"
    ...     _ = pathlib.Path(folder, "slurm.conf").write_text("\n".join(lines))
    ...     str(read_twin(folder).policy)
    'slurm(select=cores)'
    """
    configuration = read_configuration(path, version=version, accounts=accounts, qos=qos)
    system = translate(configuration).system
    return Twin(
        name=str(path) if name is None else name,
        system=system,
        policy=as_policy(CONFIGURED if policy is None else policy).on(system.policy),
        submission=submission,
        options=RunOptions.of(options, arguments, function=read_twin),
        configuration=configuration,
    )


def waits_of(result: Result, workload: Workload) -> npt.NDArray[np.float64]:
    """Return the wait of each job of a workload since its submission, seconds; NaN if it did not start."""
    waits: npt.NDArray[np.float64] = result.outcome.start_time - workload.jobs["submit_time"].to_numpy()
    return waits
