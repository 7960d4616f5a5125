"""Read ElastiSim's configuration file, and resolve the paths in it, also those of a container.

Keys and defaults follow ElastiSim at commit 26c03fb.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from batchlab.bridge.document import flag, interval, nearest, read_object, seconds, text, texts
from batchlab.errors import BridgeError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Paths:
    """Resolves the paths of a project.

    Attributes
    ----------
    root
        The base of relative paths.
    prefix, folder
        Absolute paths that begin with `prefix` and do not exist are looked up below `folder` instead; None if
        no path is replaced.
    above
        The working directory and the folders above the configuration, nearest first: missing files are
        searched there.
    notes
        Remarks for the user, one sentence each.
    """

    root: Path
    prefix: Path | None = None
    folder: Path = Path()
    above: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()

    def input(self, name: str) -> Path:
        """Return the path of an input file; if it is not found, the path where it should be."""
        return self._usual(name) or self._elsewhere(Path(name)) or self.root / name

    def note(self, name: str) -> str | None:
        """Return a remark if a file was found at another path than given; else None."""
        if self._usual(name) is not None or (found := self._elsewhere(Path(name))) is None:
            return None
        return f"{name} is not there; taken from {found}"

    def _usual(self, name: str) -> Path | None:
        places = (self.root / name, Path(name), self._moved(Path(name)))
        return next((place for place in places if place is not None and _is_there(place)), None)

    def _elsewhere(self, path: Path) -> Path | None:
        # For an absolute path, find the longest existing suffix.
        prefixes = tuple(reversed(path.parents)) if path.is_absolute() else (Path(),)
        places = (each / path.relative_to(prefix) for prefix in prefixes for each in self.above)
        return next((place for place in places if _is_file(place)), None)

    def output(self, name: str) -> Path:
        """Return the path of an output file; unchanged if its folder exists."""
        if (moved := self._moved(Path(name))) is not None and not _is_there(Path(name).parent):
            return moved
        return self.root / name

    def _moved(self, path: Path) -> Path | None:
        if self.prefix is None or not path.is_relative_to(self.prefix):
            return None
        return self.folder / path.relative_to(self.prefix)


def find_paths(configuration: Path, names: Sequence[str]) -> Paths:
    """Locate the folders with a project's files.

    Relative paths start from the working directory, as in ElastiSim, or else from the nearest folder above
    the configuration. Absolute paths that do not exist come from a container: the longest suffix of them that
    is a file below such a folder is used.

    Parameters
    ----------
    configuration
        The configuration file.
    names
        The required files of the project, as named in the configuration.

    Raises
    ------
    BridgeError
        If a file cannot be found.
    """
    folders = (Path(), *configuration.absolute().parents)
    relative = [name for name in names if not Path(name).is_absolute()]
    absent = [Path(name) for name in names if Path(name).is_absolute() and not _is_there(Path(name))]
    moved = _moved(folders, absent)
    if absent and moved is None:
        raise _nowhere(configuration, str(absent[0]))
    root: Path | None = Path() if moved is None else moved.folder
    if relative:
        root = next((each for each in folders if _all_there(each, relative)), None)
    if root is None:
        raise _nowhere(configuration, next(name for name in relative if not _is_file(Path(name))))
    notes = () if root == Path() else (f"relative paths are taken from {root}, where the jobs file is",)
    if moved is None:
        return Paths(root, above=folders, notes=notes)
    return replace(moved, root=root, above=folders, notes=(*moved.notes, *(notes if relative else ())))


def _moved(folders: Sequence[Path], absent: Sequence[Path]) -> Paths | None:
    if not absent:
        return None
    # Try the shortest prefix first, since it leaves the longest suffix.
    for prefix in reversed(absent[0].parents):
        if not all(path.is_relative_to(prefix) for path in absent):
            return None
        for folder in folders:
            if _all_there(folder, [str(path.relative_to(prefix)) for path in absent]):
                return Paths(Path(), prefix, folder, notes=tuple(_said(absent[0], prefix, folder)))
    return None


def _said(name: Path, prefix: Path, folder: Path) -> Iterator[str]:
    found = folder.absolute() / name.relative_to(prefix)
    yield f"{name} is not on this machine; taken from {found}, and other paths below {prefix} likewise"


def _nowhere(configuration: Path, name: str) -> BridgeError:
    return BridgeError(
        f"{configuration}: {shown(name)} is neither in {Path().absolute()} nor in a folder above the "
        "configuration. Change into the project's folder, or mend the path."
    )


def _all_there(folder: Path, names: Sequence[str]) -> bool:
    return all(_is_file(folder / name) for name in names)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        # The name is not valid for a file.
        return False


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


# The keys of output files, with the default file names.
OUTPUTS = {
    name: f"{name}.csv"
    for name in (
        "job_statistics",
        "node_utilization",
        "task_times",
        "cpu_utilization",
        "gpu_utilization",
        "network_activity",
        "pfs_utilization",
    )
}
"""The keys of output files, and their default names."""


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """An ElastiSim configuration, under its own names.

    Paths are resolved by `paths`. Times are in seconds, 0 for none.

    Attributes
    ----------
    path
        The configuration file itself.
    paths
        The base of relative paths, and the replacement of absolute paths in a container.
    outputs
        The path of each configured output file, by key.
    notes
        Remarks for the user on the interpretation of the file, one sentence each.
    """

    path: Path
    paths: Paths
    jobs_file: Path
    platform_file: Path
    zmq_url: str | None = None
    schedule_on_job_submit: bool = False
    schedule_on_job_finalize: bool = False
    schedule_on_scheduling_point: bool = False
    schedule_on_reconfiguration: bool = False
    scheduling_interval: float = 0.0
    min_scheduling_interval: float = 0.0
    job_kill_grace_period: float = 0.0
    allow_oversubscription: bool = False
    clip_evolving_requests: bool = True
    forward_io_information: bool = False
    sensing: bool = False
    sensing_interval: float = 0.0
    log_task_times: bool = False
    show_progress_bar: bool = True
    pfs_read_links: tuple[str, ...] = ()
    pfs_write_links: tuple[str, ...] = ()
    outputs: Mapping[str, Path] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


_FILES = ("jobs_file", "platform_file")
_MOST_NAMED = 20
_CHECKS: dict[str, Callable[[object], object]] = {
    **dict.fromkeys((*_FILES, "zmq_url", *OUTPUTS), text),
    **dict.fromkeys(("pfs_read_links", "pfs_write_links"), texts),
    **{each.name: flag for each in fields(Configuration) if each.type == "bool"},
    **{each.name: seconds for each in fields(Configuration) if each.type == "float"},
    **dict.fromkeys(("scheduling_interval", "min_scheduling_interval", "sensing_interval"), interval),
}


def read_configuration(path: str | Path) -> Configuration:
    """Read an ElastiSim configuration.

    Parameters
    ----------
    path
        The JSON file.

    Returns
    -------
    Configuration

    Raises
    ------
    BridgeError
        If the file is not a configuration, a key is misspelt or has an invalid value, ElastiSim's rules for
        intervals are broken, or the jobs or the platform cannot be found.
    """
    path = Path(path)
    said, unknown = _typed(path, read_object(path))
    for name in _FILES:
        if name not in said:
            raise BridgeError(f"{path}: {name} is missing; name the file of the project.")
    _check_invocations(path, said)
    paths = find_paths(path, [str(said[name]) for name in _FILES])
    notes = list(paths.notes)
    if unknown:
        more = f" and {len(unknown) - _MOST_NAMED:,} more" if len(unknown) > _MOST_NAMED else ""
        named = ", ".join(map(shown, unknown[:_MOST_NAMED]))
        notes.append(f"{path.name}: passed over like in ElastiSim: {named}{more}")
    jobs_file, platform_file = (paths.input(str(said.pop(name))) for name in _FILES)
    outputs = {name: paths.output(str(said.pop(name))) for name in OUTPUTS if name in said}
    _check_outputs(
        path, outputs, {"the configuration": path, "jobs_file": jobs_file, "platform_file": platform_file}
    )
    # _typed has checked the remaining values against the types of the fields.
    return Configuration(
        path=path,
        paths=paths,
        jobs_file=jobs_file,
        platform_file=platform_file,
        outputs=outputs,
        notes=tuple(notes),
        **said,  # type: ignore[arg-type]
    )


def _typed(path: Path, document: dict[str, object]) -> tuple[dict[str, object], list[str]]:
    said, unknown = {}, []
    for key, value in document.items():
        if value is None:
            continue
        if key not in _CHECKS:
            suggestion = nearest(key, _CHECKS)
            if suggestion is not None:
                raise BridgeError(f"{path}: {shown(key)} is not a key of ElastiSim's.{suggestion}")
            unknown.append(key)
            continue
        try:
            said[key] = _CHECKS[key](value)
        except ValueError as error:
            raise BridgeError(f"{path}: {key} = {error}.") from None
    return said, unknown


def _check_invocations(path: Path, said: dict[str, object]) -> None:
    both = said.get("schedule_on_job_submit") and said.get("schedule_on_job_finalize")
    if not said.get("scheduling_interval") and not both:
        raise BridgeError(
            f"{path}: scheduling_interval = 0; must be > 0 seconds unless schedule_on_job_submit and "
            "schedule_on_job_finalize are both true. Set it, or both of them."
        )
    if said.get("sensing") and not said.get("sensing_interval"):
        raise BridgeError(f"{path}: sensing_interval = 0; must be > 0 seconds where sensing is true.")


def _check_outputs(path: Path, outputs: Mapping[str, Path], inputs: Mapping[str, Path]) -> None:
    """Raise if two files have the same path, since one would overwrite the other."""
    taken = {os.path.realpath(file): name for name, file in inputs.items()}
    for name, file in outputs.items():
        other = taken.setdefault(os.path.realpath(file), name)
        if other != name:
            raise BridgeError(f"{path}: {name} = {shown(str(file))} is {other} as well; name another file.")
