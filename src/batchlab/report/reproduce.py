"""The command line that reproduces the runs."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from batchlab.core.declared import declared
from batchlab.core.markup import Html, element
from batchlab.errors import BatchlabError
from batchlab.system import System
from batchlab.workload import read_table
from batchlab.workload.formats import is_table, read_by
from batchlab.workload.log_options import ReadingOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from batchlab.plot.results import Group
    from batchlab.workload import Workload

__all__ = ["command_of", "reproduced_by"]


def reproduced_by(groups: Sequence[Group], command: str | None) -> Html:
    """Write the command that reproduces the runs: the given one, or an equivalent one."""
    line = command_of(groups) if command is None else command
    if line is None:
        return Html("")
    return Html(element("dt", "Command") + element("dd", element("pre", element("code", line))))


def command_of(groups: Sequence[Group]) -> str | None:
    """Find the `batchlab compare` command equivalent to runs made in Python.

    Parameters
    ----------
    groups
        All results.

    Returns
    -------
    str or None
        None if the workload is not one log or table as the command reads it, or if a policy, the system,
        events or observers cannot be expressed as options of the command.
    """
    results = [result for group in groups for result in group.results]
    first = results[0]
    source, machine = first.workload.report.source, _machine(first.system)
    alike = all(
        each.workload.jobs.equals(first.workload.jobs)
        and each.system == first.system
        and each.options == first.options
        and each.policy.is_named
        and each.external_events is None
        and not each.observers
        for each in results
    )
    if machine is None or not alike or len(results) > len(groups) or not _is_as_read(first.workload):
        return None
    words = ["batchlab", "compare", source, *machine, *_reading(first.workload)]
    words += first.options.words
    for group in groups:
        words += ["--policy", str(group.results[0].policy)]
    return shlex.join([*words, "--report", "report.html"])


def _is_as_read(workload: Workload) -> bool:
    """Return whether a workload is unchanged since it was read from its log."""
    source = workload.report.source
    if not PurePath(source).suffix:
        return False
    path, options = Path(source), _options(workload)
    try:
        is_plain = "mapping" not in options and is_table(path)
        read = read_table(path) if is_plain else read_by(path, options)
        return read.jobs.equals(workload.jobs)
    except (BatchlabError, OSError):
        return False


def _options(workload: Workload) -> Mapping[str, Any]:
    """Return the options for reading a log that are not at their defaults."""
    known = declared(ReadingOptions)
    return {name: value for name, value in workload.report.options.items() if name in known}


def _reading(workload: Workload) -> list[str]:
    """Return these options as words of a command."""
    known = declared(ReadingOptions)
    return [word for name, value in _options(workload).items() for word in known[name].words(value)]


def _machine(system: System) -> list[str] | None:
    """Return the options that describe identical nodes with cores only; None for other systems."""
    if system.resources != ("core",):
        return None
    cores = int(system.capacity[0, 0])
    plain = System.homogeneous(nodes=system.nodes, resources={"core": cores})
    if replace(system, name=plain.name, start_time=plain.start_time) != plain:
        return None
    return ["--nodes", str(system.nodes), "--cores", str(cores)]
