"""Read the configuration of a cluster from its files."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from batchlab.core.arguments import checked
from batchlab.core.documents import shown_path
from batchlab.errors import SystemDescriptionError, one_line, shown
from batchlab.slurm.configuration import cluster
from batchlab.slurm.configuration.accounting import (
    kind_of,
    quality,
    read_associations,
    read_dump,
    read_qualities,
)
from batchlab.slurm.configuration.cluster import priority_parameters, scheduler_parameters
from batchlab.slurm.configuration.configuration import SlurmConfiguration, check_nodes, located
from batchlab.slurm.configuration.keys import RELEASES, at, key_table, release_of
from batchlab.slurm.configuration.nodes import (
    Topology,
    check_topology,
    down_nodes,
    node_line,
    node_set,
    read_devices,
    read_topology,
)
from batchlab.slurm.configuration.partitions import partition_line
from batchlab.slurm.configuration.settings import Setting, Settings, UnknownKey, parse, refuse_option
from batchlab.slurm.configuration.values import Mended, Place, lines_of, plugin, refuse, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from batchlab.slurm.configuration.accounting import Accounting
    from batchlab.slurm.configuration.nodes import DeviceLine, DownNodes, NodeLine, NodeSet
    from batchlab.slurm.configuration.partitions import PartitionLine

__all__ = ["read_configuration"]

_SUFFIXES = {".cfg", ".txt", ".dump", ".conf"}
_OWN = {"slurm.conf", "topology.conf", "gres.conf"}
_NOT_READ = {
    "topology.yaml": "networks of 25.05 and later; only topology.conf is read",
    "resources.yaml": "hierarchical resources",
    "burst_buffer.conf": "burst buffers are not modelled",
    "helpers.conf": "features that change by reboots are not modelled",
    "job_submit.lua": "a program that changes jobs at submission; a log shows jobs as they left it",
    "cli_filter.lua": "a program that changes options of commands; a log shows jobs as they left it",
    "slurmdbd.conf": "how the accounting daemon runs",
    "cgroup.conf": "how jobs are confined on nodes",
    "plugstack.conf": "plug-ins beside steps",
    "acct_gather.conf": "how usage is measured",
    "oci.conf": "containers",
    "mpi.conf": "options of MPI",
    "job_container.conf": "private folders of jobs",
    "knl.conf": "modes of nodes that change by reboots are not modelled",
}
_MODERN = "23.11"
# The last releases with these plug-ins of SelectType.
_GONE = {"cons_res": "23.02", "cray_aries": "23.11"}
_IMPLIED = {"limits": {"associations"}, "qos": {"associations"}, "wckeys": {"associations"}}
_ALL = {"associations", "limits", "qos", "safe", "wckeys"}
_MOST_BYTES = 16 * 2**20
_SNIFFED = 2**16


@dataclass(frozen=True)
class _Described:
    """The information from other sources than the lines of ``slurm.conf``."""

    release: str
    release_given: bool
    topology: Topology | None
    devices: tuple[DeviceLine, ...]
    unknown: tuple[UnknownKey, ...]


@dataclass
class _Draft:
    """The state of reading the lines."""

    settings: Settings
    defaults: dict[str, Settings] = field(default_factory=dict)
    nodes: list[NodeLine] = field(default_factory=list)
    node_sets: list[NodeSet] = field(default_factory=list)
    down_nodes: list[DownNodes] = field(default_factory=list)
    partitions: list[PartitionLine] = field(default_factory=list)
    given: list[Setting] = field(default_factory=list)
    mended: list[Mended] = field(default_factory=list)
    files: dict[str, None] = field(default_factory=dict)
    qualities: list[Settings] = field(default_factory=list)
    accounting: Accounting | None = None
    not_read: list[tuple[str, str]] = field(default_factory=list)


@checked(SystemDescriptionError)
def read_configuration(
    path: str | os.PathLike[str],
    *,
    version: str | None = None,
    accounts: str | os.PathLike[str] | None = None,
    qos: str | os.PathLike[str] | None = None,
    unknown: Literal["error", "keep"] = "error",
) -> SlurmConfiguration:
    r"""Read the configuration of a Slurm cluster.

    Parameters
    ----------
    path
        A ``slurm.conf`` or its folder. Included files, and ``topology.conf`` and ``gres.conf`` in the folder,
        are also read.
    version
        The version of Slurm, as ``"22.05.8"``. By default the newest release that has all keys.
    accounts
        The output of ``sacctmgr dump``, or of ``sacctmgr show associations --parsable2`` with the column
        ParentName. By default, the file of one of these kinds in the folder (``.cfg``, ``.txt``, ``.dump``)
        for this cluster.
    qos
        The output of ``sacctmgr show qos --parsable2``. By default, the file of this kind in the folder.
    unknown
        How to treat keys that no release has, and keys newer than ``version``: an error, as in Slurm, or
        ``"keep"`` to list them.

    Returns
    -------
    SlurmConfiguration

    Raises
    ------
    SystemDescriptionError
        If a file cannot be read, or Slurm would not start with it; the message has the file, line, value,
        rule and next step.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "slurm.conf")
    >>> _ = file.write_text("ClusterName=one\nNodeName=n[1-4] CPUs=8\nPartitionName=all Nodes=ALL")
    >>> read = read_configuration(file, version="23.11")
    >>> read.selection.type, read.scheduler.bf_interval, read.nodes_of(read.partitions[0])
    ('cons_tres', 30, ('n1', 'n2', 'n3', 'n4'))
    """
    if unknown not in ("error", "keep"):
        raise SystemDescriptionError(f"unknown = {shown(unknown)}; must be 'error' or 'keep'.")
    file = located(path)
    kept: list[UnknownKey] = []
    keep = kept if unknown == "keep" else None
    draft = _read_lines(file, keep)
    topology, devices = _beside(file, draft, keep)
    _read_accounting(file, draft, accounts, qos, keep)
    given = None if version is None else release_of(version)
    settings = tuple(draft.given)
    release = given or _newest(settings)
    if given is not None:
        _check_release(settings, given, newer=keep is not None)
    described = _Described(release, given is not None, topology, devices, tuple(kept))
    return _typed(file, draft, described)


def _read_lines(file: str, keep: list[UnknownKey] | None) -> _Draft:
    """Read a ``slurm.conf`` and its included files."""
    table = key_table("slurm_conf")
    draft = _Draft(Settings(table), files={file: None})
    for place, line in lines_of(file):
        draft.files[place.file] = None
        key = table.find(line.partition("=")[0].strip())
        if key is not None and key.line is not None:
            _take_line(draft, place, line, key.line, keep)
        else:
            for setting in parse(line, place, table, "", keep):
                if setting.key.line is not None:
                    refuse(
                        place, f"{setting.written} stands within a line; must begin one. Put it on its own."
                    )
                draft.settings.add(setting)
                draft.given.append(setting)
    check_nodes(tuple(draft.nodes))
    _check_partitions(draft.partitions)
    return draft


def _take_line(draft: _Draft, place: Place, line: str, name: str, keep: list[UnknownKey] | None) -> None:
    """Process a line for nodes, a node set or a partition."""
    table = key_table(name)
    found = parse(line, place, table, line.split(maxsplit=1)[0].replace('"', ""), keep)
    draft.given += found
    settings = Settings(table, found, draft.defaults.get(name))
    first = found[0] if found else None
    if first is not None and first.value.upper() == "DEFAULT" and name in {"nodes", "partitions"}:
        before = draft.defaults.get(name)
        earlier = [] if before is None else before.given
        draft.defaults[name] = Settings(table, [*earlier, *found[1:]])
    elif name == "nodes":
        node = node_line(settings)
        draft.nodes.append(node)
        draft.mended += [Mended(place, f"{one_line(node.expression)}: {says}") for says in node.mended]
    elif name == "node_sets":
        draft.node_sets.append(node_set(settings))
    elif name == "down_nodes":
        draft.down_nodes.append(down_nodes(settings))
    elif name == "partitions":
        draft.partitions.append(partition_line(settings))


def _check_partitions(partitions: list[PartitionLine]) -> None:
    places: dict[str, Place] = {}
    for each in partitions:
        if each.name in places:
            rule = f"partition {one_line(each.name)} is also at {places[each.name]}; must be on one line"
            refuse(each.place, f"{rule}. Take one of them out.")
        places[each.name] = each.place


def _beside(
    file: str, draft: _Draft, keep: list[UnknownKey] | None
) -> tuple[Topology | None, tuple[DeviceLine, ...]]:
    """Read ``topology.conf`` and ``gres.conf``, if they exist."""
    folder = Path(file).parent
    topology: Topology | None = None
    devices: tuple[DeviceLine, ...] = ()
    for name in ("topology.conf", "gres.conf"):
        other = os.fspath(folder / name)
        if not Path(other).is_file():
            continue
        draft.files[other] = None
        if name == "topology.conf":
            topology, found = read_topology(other, keep)
            nodes = {each for line in draft.nodes for each in line.names}
            topology, mended = check_topology(topology, nodes)
            draft.mended += mended
        else:
            devices, found = read_devices(other, keep)
        draft.given += found
    return topology, devices


def _read_accounting(
    file: str,
    draft: _Draft,
    accounts: str | os.PathLike[str] | None,
    qos: str | os.PathLike[str] | None,
    keep: list[UnknownKey] | None,
) -> None:
    """Read accounts and QOS from the files that are passed or found."""
    named = (draft.settings.text("ClusterName") or "").lower()
    if accounts is not None:
        _take_accounts(draft, os.fspath(accounts), keep)
    else:
        _find_accounts(file, draft, named, keep)
    tables = [os.fspath(qos)] if qos is not None else _found(file, "qos")
    for table in tables[:1]:
        kind = kind_of(text_of(table))
        if kind != "qos":
            rule = "is no table of QOS. Pass what `sacctmgr show qos --parsable2` prints"
            raise SystemDescriptionError(f"{shown_path(table)}: {rule}.")
        draft.qualities, found = read_qualities(table, keep)
        draft.given += found
        draft.files[table] = None
    if len(tables) > 1:
        _ambiguous(tables, "qos")


def _find_accounts(file: str, draft: _Draft, named: str, keep: list[UnknownKey] | None) -> None:
    """Find the accounts of this cluster in its folder; a dump takes precedence over a table."""
    for kind in ("dump", "associations"):
        found = _found(file, kind)
        of_cluster = [each for each in found if not named or _cluster_in(each) in {"", named}]
        for each in found:
            if each not in of_cluster:
                why = f"accounts of another cluster, {one_line(_cluster_in(each))}"
                draft.not_read.append((Path(each).name, why))
        if len(of_cluster) > 1:
            _ambiguous(of_cluster, "accounts")
        if of_cluster:
            _take_accounts(draft, of_cluster[0], keep)
            return


def _take_accounts(draft: _Draft, file: str, keep: list[UnknownKey] | None) -> None:
    kind = kind_of(text_of(file))
    if kind == "dump":
        draft.accounting, draft.qualities, found = read_dump(file, keep)
    elif kind == "associations":
        draft.accounting, found = read_associations(file, keep)
    else:
        rule = "has no accounts. Pass what `sacctmgr dump` writes"
        raise SystemDescriptionError(f"{shown_path(file)}: {rule}.")
    draft.given += found
    draft.files[file] = None


def _found(file: str, kind: str) -> list[str]:
    """Return the files of a kind in the folder."""
    found = []
    for each in sorted(Path(file).parent.iterdir()):
        usable = each.suffix.lower() in _SUFFIXES and each.name not in _OWN and each.is_file()
        if usable and each.stat().st_size <= _MOST_BYTES:
            with each.open("rb") as stream:
                begin = stream.read(_SNIFFED).decode("utf-8-sig", "replace")
            if kind_of(begin) == kind:
                found.append(os.fspath(each))
    return found


def _cluster_in(file: str) -> str:
    """Return the cluster of an accounts file, in lower case; empty if unknown."""
    column = -1
    for raw in text_of(file).splitlines():
        line = raw.strip()
        if line.lower().startswith("cluster -"):
            return line[len("cluster -") :].partition(":")[0].strip().strip("'\"").lower()
        cells = [cell.strip().lower() for cell in line.split("|")]
        if "account" in cells:
            column = cells.index("cluster") if "cluster" in cells else -1
        elif len(cells) > 1:
            return cells[column] if 0 <= column < len(cells) else ""
    return ""


def _ambiguous(files: list[str], argument: str) -> None:
    several = ", ".join(shown_path(each) for each in files[:4])
    raise SystemDescriptionError(
        f"{several}: each could be read; must be one. Pass {argument}= (--{argument})."
    )


def _newest(settings: tuple[Setting, ...]) -> str:
    """Return the newest release that has all keys; if there is none, the first that has the newest key."""
    least, most = 0, len(RELEASES) - 1
    for since, until in _spans(settings):
        least = max(least, at(since) if since else 0)
        most = min(most, at(until) if until else most)
    return RELEASES[max(most, least)]


def _spans(settings: tuple[Setting, ...]) -> Iterator[tuple[str | None, str | None]]:
    for setting in settings:
        of_value = _GONE.get(plugin(setting.value)) if setting.key.name == "SelectType" else None
        yield setting.key.since, of_value or setting.key.until
        for option in setting.options:
            if option.key is not None:
                yield option.key.since, option.key.until
            elif (refused := key_table(str(setting.key.options)).refused_since) is not None:
                yield None, RELEASES[at(refused) - 1]


def _check_release(settings: tuple[Setting, ...], release: str, *, newer: bool) -> None:
    """Raise for plug-ins and options that the release does not have, and for newer keys unless `newer`."""
    for setting in settings:
        for option in setting.options:
            table = key_table(str(setting.key.options))
            refused = table.refused_since
            if option.key is None and refused is not None and at(refused) <= at(release):
                refuse_option(setting, option.written, table)
        last = _GONE.get(plugin(setting.value))
        if last is not None and setting.key.name == "SelectType" and at(last) < at(release):
            rule = f"is no longer there after {last}, and this is read as {release}"
            refuse(
                setting.place,
                f"{setting.value} {rule}. Take select/cons_tres, or read it as an earlier release.",
            )
        since = setting.key.since
        if since is not None and at(since) > at(release) and not newer:
            rule = f"is a key since {since}, and this is read as {release}"
            refuse(
                setting.place,
                f"{setting.written} {rule}. Read it as a later release, or take it out; batchlab slurm check "
                "lists all such keys.",
            )


def _enforced(options: Mapping[str, str | None]) -> frozenset[str]:
    """Return the enforced rules, including those that words imply."""
    words = set(options)
    if "all" in words:
        words |= _ALL
    if "safe" in words:
        words |= {"limits"}
    for word in [*words]:
        words |= _IMPLIED.get(word, set())
    return frozenset(words)


def _typed(file: str, draft: _Draft, described: _Described) -> SlurmConfiguration:
    """Convert the parsed settings to the typed configuration."""
    settings = draft.settings
    modern = at(described.release) >= at(_MODERN)
    kind = plugin(settings.text("SchedulerType") or "sched/backfill")
    parameters, mended = scheduler_parameters(kind, settings.options("SchedulerParameters"))
    found = settings.find("SchedulerParameters")
    if found is not None:
        draft.mended += [Mended(found.place, f"SchedulerParameters: {says}") for says in mended]
    qualities = [quality(each, each.given[0].place) for each in draft.qualities]
    folder = Path(file).parent
    return SlurmConfiguration(
        path=file,
        release=described.release,
        release_from="given" if described.release_given else "keys",
        cluster=settings.text("ClusterName") or "",
        nodes=tuple(draft.nodes),
        node_sets=tuple(draft.node_sets),
        down_nodes=tuple(draft.down_nodes),
        partitions=tuple(draft.partitions),
        scheduler=parameters,
        priority=priority_parameters(settings, "multifactor" if modern else "basic"),
        selection=cluster.selection(settings, "cons_tres" if modern else "linear"),
        preemption=cluster.preemption(settings),
        timing=cluster.timing(settings),
        enforced=_enforced(settings.options("AccountingStorageEnforce")),
        topology=described.topology,
        devices=described.devices,
        accounting=draft.accounting,
        qualities=tuple(qualities),
        settings=tuple(draft.given),
        unknown=described.unknown,
        mended=tuple(draft.mended),
        files=tuple(draft.files),
        not_read=(
            *draft.not_read,
            *((name, why) for name, why in _NOT_READ.items() if (folder / name).is_file()),
        ),
    )
