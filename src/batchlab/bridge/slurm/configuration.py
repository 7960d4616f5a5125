"""The policy of a virtual cluster: what a ``slurm.conf`` says of scheduling, partitions and nodes.

Ports, paths, names of machines, authentication and scripts are not taken from it: those of a virtual cluster
are its own. The configuration of a production machine can thus be given as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from batchlab.bridge.slurm.accounting import ACCOUNTS, COMMANDS
from batchlab.bridge.slurm.hosts import expand
from batchlab.errors import BridgeError, one_line

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

__all__ = ["Configuration", "Node", "equal_nodes", "read_configuration"]

# In lower case.
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
"""Keys that are about machines, files, messages and scripts: those of a cluster are its own."""

# They bear on the schedule (the end of an epilog calls the scheduler): they are kept, and do nothing.
_SCRIPTS = frozenset({"epilog", "epilogslurmctld", "prolog", "prologslurmctld"})
_NOTHING = "/bin/true"
_OF_MACHINE = frozenset({"nodename", "nodehostname", "nodeaddr", "port", "state", "bcastaddr", "reason"})
_OF_PEOPLE = frozenset({"allowgroups", "allowallocnodes"})
_FEATURES = frozenset({"feature", "features"})
# What makes Slurm ask for accounts, and the values that do not.
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
_ASSIGNMENT = re.compile(r'(\S+?)\s*=\s*("[^"]*"|\S*)')
_DEFAULT = "default"
_PARTITION = "PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP"


@dataclass(frozen=True)
class Node:
    """A virtual node: its name, its cores, and what else its line says (``RealMemory=…``).

    ``line`` is the number of its line in ``slurm.conf``, 0 for nodes that no file describes. Nodes of one
    line are one line of the cluster's file as well: select/linear tries the nodes of a line together.
    """

    name: str
    cores: int
    more: tuple[str, ...] = ()
    line: int = 0

    @property
    def features(self) -> tuple[str, ...]:
        """The features that its line gives it."""
        words = (word.partition("=") for word in self.more)
        given = [value for key, _, value in words if key.lower() in _FEATURES]
        return tuple(name for name in ",".join(given).strip('"').split(",") if name)


@dataclass(frozen=True)
class Configuration:
    """What is taken of a ``slurm.conf``.

    Attributes
    ----------
    path
        The file.
    settings
        Values by key in lower case, of what is kept.
    lines
        The lines that are kept, partitions included.
    nodes
        The nodes that it describes; empty where it describes none.
    accounts
        Whether it needs Slurm's accounting.
    replaced
        The keys that were left out or replaced, as they were written.
    """

    path: Path
    settings: Mapping[str, str]
    lines: tuple[str, ...]
    nodes: tuple[Node, ...] = ()
    accounts: bool = False
    replaced: tuple[str, ...] = ()

    @property
    def partitions(self) -> tuple[str, ...]:
        """The names of the partitions."""
        return tuple(words["partitionname"] for words in self.described_partitions)

    @property
    def described_partitions(self) -> list[dict[str, str]]:
        """The settings of each partition, by key in lower case, those of ``DEFAULT`` included."""
        defaults: dict[str, str] = {}
        found = []
        for words in self._described("partitionname"):
            if words["partitionname"].lower() == _DEFAULT:
                defaults |= words
            else:
                found.append(defaults | words)
        return found

    @property
    def node_sets(self) -> list[dict[str, str]]:
        """The settings of each set of nodes, by key in lower case."""
        return self._described("nodeset")

    def _described(self, key: str) -> list[dict[str, str]]:
        lines = ({name.lower(): value for name, value in _ASSIGNMENT.findall(line)} for line in self.lines)
        return [words for words in lines if key in words]

    @property
    def whole_nodes(self) -> bool:
        """Whether a job has its nodes alone."""
        return self.settings.get("selecttype", "").lower() == "select/linear"


@dataclass
class _Draft:
    settings: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    defaults: dict[str, str] = field(default_factory=dict)
    accounts: bool = False
    replaced: list[str] = field(default_factory=list)


def read_configuration(directory: str | os.PathLike[str]) -> Configuration:
    """Read the policy of a virtual cluster.

    Parameters
    ----------
    directory
        Holds ``slurm.conf``, whole or a part: scheduler, selection, priority, preemption, partitions, nodes.
        ``sacctmgr.txt`` and ``accounts.cfg``, see `account_commands`, are taken where they are there.

    Returns
    -------
    Configuration

    Raises
    ------
    BridgeError
        If there is no such file, or a line of it is no setting.
    """
    path = Path(directory) / "slurm.conf"
    if not path.is_file():
        raise BridgeError(f"{path}: no such file; put Slurm's policy lines there (it may be empty).")
    draft = _Draft(accounts=any((path.parent / name).is_file() for name in (ACCOUNTS, COMMANDS)))
    for number, line in _lines(path):
        _take(draft, line, path, number)
    if not any(line.lower().startswith("partitionname=") for line in draft.lines):
        draft.lines.append(_PARTITION)
    return Configuration(
        path,
        draft.settings,
        tuple(draft.lines),
        tuple(draft.nodes),
        draft.accounts,
        tuple(dict.fromkeys(draft.replaced)),
    )


def _lines(path: Path) -> list[tuple[int, str]]:
    """Give the lines without comments, those that go on joined, with the numbers of their first."""
    found: list[tuple[int, str]] = []
    begun = ""
    first = 1
    for number, raw in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
        text = re.sub(r"(?<!\\)#.*", "", raw).rstrip()
        first = first if begun else number
        begun += text.removesuffix("\\")
        if text.endswith("\\"):
            continue
        if begun.strip():
            found.append((first, begun.strip()))
        begun = ""
    return [*found, (first, begun.strip())] if begun.strip() else found


def _take(draft: _Draft, line: str, path: Path, number: int) -> None:
    where = f"{path}:{number}"
    words = {key.lower(): value for key, value in _ASSIGNMENT.findall(line)}
    if not _ASSIGNMENT.match(line):
        raise BridgeError(f"{where}: {one_line(line)!r} is no Key=Value; put all settings into this file.")
    key = next(iter(words))
    if key == "nodename":
        draft.nodes += _nodes(draft, words, where, number)
    elif key in ("partitionname", "nodeset"):
        kept = [
            f"{name}={value}" for name, value in _ASSIGNMENT.findall(line) if name.lower() not in _OF_PEOPLE
        ]
        draft.lines.append(" ".join(kept))
    elif key == "downnodes":
        draft.replaced.append("DownNodes")
    else:
        for name, value in _ASSIGNMENT.findall(line):
            _set(draft, name, value)


def _set(draft: _Draft, name: str, value: str) -> None:
    key = name.lower()
    if key in _ACCOUNTS_NEEDED and value.lower() not in _NO_ACCOUNTS:
        draft.accounts = True
    if key in _OURS:
        draft.replaced.append(name)
        return
    if key in _SCRIPTS:
        draft.replaced.append(name)
        value = _NOTHING
    draft.settings[key] = value
    draft.lines.append(f"{name}={value}")


def _nodes(draft: _Draft, words: dict[str, str], where: str, line: int) -> list[Node]:
    names = expand(words["nodename"])
    if [name.lower() for name in names] == [_DEFAULT]:
        draft.defaults |= words
        return []
    merged = {**draft.defaults, **words}
    more = tuple(f"{key}={value}" for key, value in merged.items() if key not in _OF_MACHINE)
    return [Node(name, _cores(merged, where), more, line) for name in names]


def _cores(words: Mapping[str, str], where: str) -> int:
    """Give the processors of a node as Slurm counts them: ``CPUs``, else the product of its parts."""
    counts = {}
    for key in ("cpus", "boards", "sockets", "socketsperboard", "corespersocket", "threadspercore"):
        text = words.get(key, "1")
        if not text.isdecimal() or not 1 <= int(text) < 1 << 16:
            raise BridgeError(f"{where}: {key} = {one_line(text)!r}; must be a whole number >= 1.")
        counts[key] = int(text)
    if "cpus" in words:
        return counts["cpus"]
    sockets = counts["sockets"] * counts["boards"] * counts["socketsperboard"]
    return sockets * counts["corespersocket"] * counts["threadspercore"]


def equal_nodes(count: int, cores: int) -> Sequence[Node]:
    """Make so many equal nodes, ``n1`` and so on."""
    return [Node(f"n{number}", cores, (f"CPUs={cores}",)) for number in range(1, count + 1)]
