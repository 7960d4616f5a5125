"""The command line that makes the same runs again."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from batchlab.errors import BatchlabError
from batchlab.markup import Html, element
from batchlab.system import System
from batchlab.workload import read_swf, read_table
from batchlab.workload.packing import without_packing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from batchlab.plot.results import Group
    from batchlab.workload import Workload

__all__ = ["command_of", "reproduced_by"]


def reproduced_by(groups: Sequence[Group], command: str | None) -> Html:
    """Write the command that makes these runs again: the one given, else one that does the same."""
    line = command_of(groups) if command is None else command
    if line is None:
        return Html("")
    return Html(element("dt", "Command") + element("dd", element("pre", element("code", line))))


def command_of(groups: Sequence[Group]) -> str | None:
    """Find the `batchlab compare` that does what was done in Python.

    Parameters
    ----------
    groups
        All that was run.

    Returns
    -------
    str or None
        None where the workload is not that of one log or table as it is read there, or a policy, the system,
        events, observers or an option have no words there.
    """
    results = [result for group in groups for result in group.results]
    first = results[0]
    source, machine = first.workload.report.source, _machine(first.system)
    alike = all(
        each.workload.jobs.equals(first.workload.jobs)
        and each.system == first.system
        and not each.options.unusual.keys() - {"seed"}
        and each.options.seed == first.options.seed
        and each.policy.is_named
        and each.external_events is None
        and not each.observers
        for each in results
    )
    if machine is None or not alike or len(results) > len(groups) or not _is_as_read(first.workload):
        return None
    words = ["batchlab", "compare", source, *machine]
    if first.options.seed:
        words += ["--seed", str(first.options.seed)]
    for group in groups:
        words += ["--policy", str(group.results[0].policy)]
    return shlex.join([*words, "--report", "report.html"])


def _is_as_read(workload: Workload) -> bool:
    """Tell whether a workload is that of its log, read in the usual way and changed by nothing."""
    source = workload.report.source
    if not PurePath(source).suffix:
        return False
    read = read_swf if without_packing(source).endswith(".swf") else read_table
    try:
        return read(source).jobs.equals(workload.jobs)
    except (BatchlabError, OSError):
        return False


def _machine(system: System) -> list[str] | None:
    """Give the options that describe equal nodes of cores, None where there are others."""
    if system.resources != ("core",):
        return None
    cores = int(system.capacity[0, 0])
    plain = System.homogeneous(nodes=system.nodes, resources={"core": cores})
    if replace(system, name=plain.name, start_time=plain.start_time) != plain:
        return None
    return ["--nodes", str(system.nodes), "--cores", str(cores)]
