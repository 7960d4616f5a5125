"""The policy of a virtual cluster: the scheduling, partitions and nodes of a ``slurm.conf``.

Ports, paths, host names, authentication and scripts are replaced by those of the virtual cluster, so the
configuration of a production machine can be used unchanged. `batchlab.slurm` parses the files; this module
selects the parts to use.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from batchlab.errors import BridgeError
from batchlab.slurm.configuration.cluster import selection
from batchlab.slurm.configuration.keys import key_table
from batchlab.slurm.configuration.reading import read_configuration as read_files
from batchlab.slurm.configuration.settings import Settings, parse
from batchlab.slurm.configuration.values import Place
from batchlab.slurm.virtual.processes import ACCOUNTS, COMMANDS, control_commands, reservation_names

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    from batchlab.slurm import SlurmConfiguration
    from batchlab.slurm.configuration.cluster import Selection
    from batchlab.slurm.configuration.nodes import GenericResource, NodeLine
    from batchlab.slurm.configuration.settings import Setting

__all__ = ["DEVICES", "Configuration", "Node", "equal_nodes", "read_configuration"]

DEVICES = "gres.conf"
"""The file with the devices of nodes; a virtual cluster writes its own."""

# Keys in lower case.
_ABOUT_MACHINES = """
accountingstoragebackuphost accountingstorageexternalhost accountingstoragehost
accountingstorageparameters accountingstoragepass accountingstorageport accountingstoragetype
accountingstorageuser authaltparameters authalttypes authinfo authtype backupaddr backupcontroller
burstbuffertype clustername communicationparameters controladdr controlmachine credtype cryptotype
debugflags dependencyparameters federationparameters healthcheckinterval healthchecknodestate
healthcheckprogram jobacctgatherfrequency jobacctgatherparams jobacctgathertype jobcomphost jobcomploc
jobcompparams jobcomppass jobcompport jobcomptype jobcompuser jobcontainertype jobcredentialprivatekey
jobcredentialpubliccertificate launchparameters launchtype logtimeformat mailprog minjobage mpidefault
mpiparams plugindir plugstackconfig prepparameters prepplugins privatedata proctracktype
propagateprioprocess propagateresourcelimits propagateresourcelimitsexcept rebootprogram resumeprogram
returntoservice slurmctldaddr slurmctlddebug slurmctldhost slurmctldlogfile slurmctldparameters
slurmctldpidfile slurmctldport slurmctldprimaryoffprog slurmctldprimaryonprog slurmctldsyslogdebug
slurmddebug slurmdlogfile slurmdparameters slurmdpidfile slurmdport slurmdspooldir slurmdsyslogdebug
slurmduser slurmschedlogfile slurmschedloglevel slurmuser srunepilog srunportrange srunprolog
statesavelocation suspendprogram switchtype taskepilog taskplugin taskpluginparam taskprolog tmpfs
unkillablestepprogram usepam x11parameters
"""
_OURS = frozenset(_ABOUT_MACHINES.split())
"""Keys about machines, files, messages and scripts, which a virtual cluster sets itself."""

# Scripts influence the schedule (the end of an epilog triggers the scheduler): replace them by no-ops.
_SCRIPTS = frozenset({"epilog", "epilogslurmctld", "prolog", "prologslurmctld"})
_NOTHING = "/bin/true"
_OF_PEOPLE = frozenset({"allowgroups", "allowallocnodes"})
# Settings that make Slurm require accounts, and the values that do not.
_ACCOUNTS_NEEDED = frozenset(
    {
        "accountingstorageenforce",
        "accountingstoragetype",
        "priorityweightassoc",
        "priorityweightfairshare",
        "priorityweightqos",
    }
)
_NO_ACCOUNTS = frozenset({"", "0", "none", "accounting_storage/none"})
# Lines for missing settings; Slurm's own defaults differ between versions.
_DEFAULTS = {
    "schedulertype": "SchedulerType=sched/backfill",
    "selecttype": "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core",
    "prioritytype": "PriorityType=priority/basic",
}
_NOWHERE = Place("", 0)
_DEFAULT = "batch"
_PARTITION = f"PartitionName={_DEFAULT} Nodes=ALL Default=YES MaxTime=INFINITE State=UP"


@dataclass(frozen=True)
class Node:
    """A virtual node: its name, its cores, and the other settings of its line (``RealMemory=…``).

    ``line`` is the number of its line in ``slurm.conf``, 0 for nodes without a file. Nodes of one line stay
    one line in the cluster's file, since select/linear tries the nodes of a line together. ``memory`` is in
    MiB, None if not set; ``gres`` are the generic resources.
    """

    name: str
    cores: int
    more: tuple[str, ...] = ()
    line: int = 0
    features: tuple[str, ...] = ()
    memory: int | None = None
    gres: tuple[GenericResource, ...] = ()


@dataclass(frozen=True)
class Configuration:
    """The parts of a ``slurm.conf`` that a virtual cluster uses.

    Attributes
    ----------
    path
        The file.
    read
        The parsed configuration.
    settings
        Settings for the whole cluster that are kept, by key in lower case.
    lines
        The lines that are kept, including partitions, without nodes.
    nodes
        The nodes in the file; may be empty.
    accounts
        Whether it requires Slurm's accounting.
    reservations
        The names of the reservations that ``scontrol.txt`` creates.
    replaced
        The keys that were removed or replaced, as written.
    """

    path: Path
    read: SlurmConfiguration
    settings: Mapping[str, str]
    lines: tuple[str, ...]
    nodes: tuple[Node, ...] = ()
    accounts: bool = False
    reservations: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()

    @cached_property
    def selection(self) -> Selection:
        """The resources allocated on a virtual cluster: by default only cores."""
        table = key_table("slurm_conf")
        usual = [] if "selecttype" in self.settings else parse(_DEFAULTS["selecttype"], _NOWHERE, table)
        return selection(Settings(table, [*usual, *_of_cluster(self.read)]), "cons_tres")

    @property
    def policy_lines(self) -> tuple[str, ...]:
        """The lines of the cluster's file, without nodes: `lines` after defaults for missing settings."""
        return (*(line for key, line in _DEFAULTS.items() if key not in self.settings), *self.lines)

    @property
    def partitions(self) -> tuple[str, ...]:
        """The names of the partitions."""
        return tuple(line.name for line in self.read.partitions) or (_DEFAULT,)

    @property
    def default_partition(self) -> str:
        """The default partition of jobs: see `SlurmConfiguration.default_partition`; else the first line."""
        line = self.read.default_partition
        return self.partitions[0] if line is None else line.name


def read_configuration(directory: str | os.PathLike[str]) -> Configuration:
    """Read the policy of a virtual cluster.

    Parameters
    ----------
    directory
        A directory with ``slurm.conf``, complete or partial: scheduler, selection, priority, preemption,
        partitions, nodes. ``sacctmgr.txt`` and ``accounts.cfg`` (see `account_commands`) and ``scontrol.txt``
        (see `control_commands`) are optional.

    Returns
    -------
    Configuration

    Raises
    ------
    BridgeError
        If the file does not exist.
    SystemDescriptionError
        If a line is no setting, or Slurm would not start with it.
    """
    path = Path(directory) / "slurm.conf"
    if not path.is_file():
        raise BridgeError(f"{path}: no such file; put Slurm's policy lines there (it may be empty).")
    read = read_files(path)
    replaced: list[str] = [DEVICES] if (path.parent / DEVICES).is_file() else []
    settings = {each.written.lower(): str(_kept(each)) for each in _of_cluster(read)}
    lines = list(_lines(read.settings, replaced))
    if not read.partitions:
        lines.append(_PARTITION)
    return Configuration(
        path,
        read,
        settings,
        tuple(lines),
        tuple(node for line in read.nodes if "FUTURE" not in line.state for node in _nodes(line)),
        _needs_accounts(path.parent, read.settings),
        tuple(reservation_names(control_commands(path.parent, ""))),
        tuple(dict.fromkeys(replaced)),
    )


def _of_cluster(read: SlurmConfiguration) -> list[Setting]:
    """Return the settings for the whole cluster that are kept, as they are in the file."""
    return [each for each in read.settings if not each.subject and _kept(each) is not None]


def _lines(settings: Sequence[Setting], replaced: list[str]) -> Iterator[str]:
    """Yield the lines for the cluster in order; collect the settings that are not used."""
    for _, group in groupby(settings, lambda setting: setting.place):
        line = list(group)
        described = line[0].subject.partition("=")[0].lower()
        if described in ("partitionname", "nodeset"):
            yield " ".join(
                _written(each, each.value) for each in line if each.written.lower() not in _OF_PEOPLE
            )
        elif described:
            # Node lines are written with the ports of the cluster's daemons instead.
            replaced += [] if described == "nodename" else [line[0].written]
        else:
            replaced += [each.written for each in line if _kept(each) != each.value]
            yield from (_written(each, value) for each in line if (value := _kept(each)) is not None)


def _kept(setting: Setting) -> str | None:
    """Return the value of a global setting; None if the cluster sets its own."""
    key = setting.written.lower()
    if key in _OURS:
        return None
    return _NOTHING if key in _SCRIPTS else setting.value


def _written(setting: Setting, value: str) -> str:
    """Format a setting with a value, quoted if it contains blanks."""
    quoted = f'"{value}"' if any(sign.isspace() for sign in value) else value
    return f"{setting.written}={quoted}"


def _needs_accounts(folder: Path, settings: Sequence[Setting]) -> bool:
    """Return whether Slurm would require accounts, or files define some."""
    asked = (each.value.lower() for each in settings if each.written.lower() in _ACCOUNTS_NEEDED)
    return any((folder / name).is_file() for name in (ACCOUNTS, COMMANDS)) or not {*asked} <= _NO_ACCOUNTS


def _nodes(line: NodeLine) -> list[Node]:
    """Create the nodes of a line, which are equal."""
    per_core = max(line.cpus // (line.sockets * line.cores_per_socket), 1)
    parts = {
        "CPUs": line.cpus,
        "Boards": line.boards,
        "SocketsPerBoard": line.sockets // line.boards,
        "CoresPerSocket": line.cores_per_socket,
        "ThreadsPerCore": line.threads_per_core,
        "RealMemory": line.memory,
        "CoreSpecCount": line.reserved_cpus // per_core or None,
        "MemSpecLimit": line.reserved_memory or None,
        "TmpDisk": line.temporary_disk or None,
        "Weight": line.weight if line.weight != 1 else None,
        "Features": ",".join(line.features) or None,
        "Gres": ",".join(map(_device, line.gres)) or None,
    }
    more = tuple(f"{key}={value}" for key, value in parts.items() if value is not None)
    return [
        Node(name, line.cpus, more, line.place.line, line.features, line.memory, line.gres)
        for name in line.names
    ]


def _device(device: GenericResource) -> str:
    kind = [device.name, *([device.type] if device.type else [])]
    return ":".join([*kind, *([] if device.consumed else ["no_consume"]), str(device.count)])


def equal_nodes(count: int, cores: int) -> Sequence[Node]:
    """Create equal nodes, ``n1`` and so on."""
    return [Node(f"n{number}", cores, (f"CPUs={cores}",)) for number in range(1, count + 1)]
