"""Recognise the kind of a file by its content, to name the right command if another one got the file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from batchlab.cli.failure import wrong_usage
from batchlab.core.late import workload_formats as formats

if TYPE_CHECKING:
    from pathlib import Path


__all__ = ["Kind", "check_kind", "kind_of"]

Kind: TypeAlias = Literal[
    "log",
    "table",
    "elastisim_jobs",
    "elastisim",
    "batsim",
    "application",
    "experiment",
    "system",
    "platform",
    "slurm",
    "run",
    "of_run",
    "python",
]

_KINDS: dict[Kind, tuple[str, str]] = {
    "log": ("a log", "batchlab run {path} replays it"),
    "table": ("a table of jobs", "batchlab run {path} replays it"),
    "elastisim_jobs": (
        "the jobs of an ElastiSim project",
        "batchlab run {path} --system PLATFORM.xml runs them, batchlab elastisim FILE.json the project",
    ),
    "elastisim": ("the configuration of an ElastiSim project", "batchlab elastisim {path} runs it"),
    "batsim": ("a workload of Batsim", "batchlab run {path} runs it"),
    "application": (
        "an application",
        "it is read with the jobs that name it: batchlab run JOBS --applications DIR",
    ),
    "experiment": ("the description of an experiment", "batchlab experiment {path} runs it"),
    "system": ("the description of a machine", "batchlab run TRACE --system {path} runs a log on it"),
    "platform": (
        "a platform",
        "batchlab platform {path} shows it, batchlab run TRACE --system {path} runs a log on it",
    ),
    "slurm": (
        "Slurm's configuration",
        "batchlab slurm check DIR reads its folder, batchlab run TRACE --system {path} runs a log on it",
    ),
    "run": (
        "the folder of a run",
        "batchlab report {path} and batchlab plot KIND {path} -o FILE show it",
    ),
    "of_run": (
        "a file of the folder of a run",
        "batchlab report {folder} and batchlab plot KIND {folder} -o FILE show the run",
    ),
    "python": ("a Python file", "--policy {path}:NAME takes a policy that it defines"),
}
# Patterns of texts; the first match decides. Logs are recognised without them, so patterns are compiled
# only when needed.
_JSON: tuple[tuple[Kind, bytes], ...] = (
    ("batsim", rb'"(?:subtime|nb_res|profiles)"\s*:'),
    ("elastisim", rb'"jobs_file"\s*:'),
    ("elastisim_jobs", rb'"jobs"\s*:\s*\['),
    ("application", rb'"phases"\s*:'),
    ("system", rb'"groups"\s*:'),
    ("of_run", rb'"(?:makespan|outputs|bounded_slowdown)"\s*:'),
)
_TEXTS: tuple[tuple[Kind, bytes], ...] = (
    (
        "platform",
        rb"(?ms)<(?:\?xml|!DOCTYPE platform|platform)|.*^\[+(?:zones?|links?|topology)\b",
    ),
    ("experiment", rb"(?ms).*^\[workloads\b|.*^workloads\s*="),
    ("system", rb"(?ms).*^\[\[?groups\b|.*^groups\s*="),
    ("slurm", rb"(?msi).*^\s*(?:ClusterName|NodeName|PartitionName)\s*="),
)
_OF_RUN = {"result.zip", "manifest.json", "metrics.json"}
_SWF = re.compile(rb";|(?:-?[\d.]+[ \t]+){4}")


def kind_of(path: Path) -> Kind | None:
    """Return the kind of a file or folder; None if unknown."""
    if path.is_dir():
        if (path / "result.zip").exists() or (path / "manifest.json").exists():
            return "run"
        return "slurm" if (path / "slurm.conf").exists() else None
    if path.suffix.lower() == ".py":
        return "python"
    return "of_run" if path.name in _OF_RUN else _kind_by_content(path)


def _kind_by_content(path: Path) -> Kind | None:

    begin = formats.beginning(path)
    if _SWF.match(begin):
        return "log"
    if begin.startswith(b"{"):
        if formats.log_format(path) == "sacct":
            return "log"
        return next((kind for kind, form in _JSON if re.search(form, begin)), None)
    # Before logs and tables: recognising data sets in JSON needs their mappings, and much memory.
    described = next((kind for kind, form in _TEXTS if re.match(form, begin)), None)
    if described is not None:
        return described
    if formats.log_format(path) != "swf":
        return "log"
    return "table" if formats.is_table(path) else None


def check_kind(path: Path, argument: str, *taken: Kind) -> None:
    """Raise if a file is of a kind that the command does not read, and name the right command.

    Parameters
    ----------
    path
        The file or folder.
    argument
        The argument or option with the file.
    taken
        The kinds that the command reads.
    """
    kind = kind_of(path)
    if kind is not None and kind not in taken:
        name, step = _KINDS[kind]
        said = step.format(path=path, folder=path.parent)
        raise wrong_usage(f"{path} is {name}: {said}.", argument)
