"""Resolve the paths in a project: relative paths, and absolute paths of a container."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from batchlab.errors import BridgeError, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Paths", "find_paths"]


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
