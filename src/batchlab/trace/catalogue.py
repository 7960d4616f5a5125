"""The entries of ``catalogue.toml``, which describe the logs of the archive, and their lookup by name."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from batchlab.core.arguments import checked
from batchlab.errors import TraceError, nearest, shown

_SUFFIXES = (".swf.gz", ".swf")
_YEAR = re.compile(r"-\d{4}-")


@dataclass(frozen=True)
class Trace:
    """A log of the archive. Fields are None or empty if the catalogue lacks the value.

    Parameters
    ----------
    name
        The file name without ``.swf.gz``.
    folder
        The folder of the log in the archive.
    computer
        The machine and its location.
    first, last
        The months (or the year) of the begin and end of the log, as in ``"2002-07"``.
    jobs
        Number of jobs in the whole log; a cleaned version has fewer.
    processors
        Number of processors of the machine.
    nodes, cores
        Number of identical nodes, and the cores of each.
    groups
        For nodes that differ: pairs of a number of nodes and the cores of each.
    thanks
        People to acknowledge when using the log.
    sha256
        Checksum of the uncompressed log.
    """

    name: str
    folder: str
    computer: str
    first: str
    last: str | None = None
    jobs: int | None = None
    processors: int | None = None
    nodes: int | None = None
    cores: int | None = None
    groups: tuple[tuple[int, int], ...] = ()
    thanks: str = ""
    sha256: str | None = None

    @property
    def file(self) -> str:
        """The file's name."""
        return f"{self.name}.swf.gz"

    @property
    def node_sizes(self) -> tuple[tuple[int, int], ...]:
        """Pairs of a number of nodes and the cores of each; empty if unknown."""
        return ((self.nodes, self.cores),) if self.nodes and self.cores else self.groups

    @property
    def page(self) -> str:
        """The archive's page about the log."""
        return f"{ARCHIVE}/{self.folder}/index.html"

    def address(self, mirror: str) -> str:
        """Return the address of the file, given the address of the archive or a mirror."""
        return f"{mirror.rstrip('/')}/{self.folder}/{self.file}"


_DOCUMENT = tomllib.loads(files("batchlab.trace").joinpath("catalogue.toml").read_text("utf-8"))
ARCHIVE: str = _DOCUMENT["archive"]
"""The archive's address."""
CITATION: str = _DOCUMENT["citation"]
"""The paper to cite for any log."""
TERMS: str = _DOCUMENT["terms"]
"""The terms of use of the archive."""


@cache
def entries() -> tuple[Trace, ...]:
    """Return all logs, sorted by name."""
    return tuple(
        Trace(**(entry | {"groups": tuple(map(tuple, entry.get("groups", ())))}))
        for entry in _DOCUMENT["trace"]
    )


@checked(TraceError)
def of_file(name: str) -> Trace | None:
    """Return the log with this file name, such as ``"HPC2N-2002-2.2-cln.swf.gz"``; None if unknown."""
    wanted = _stem(name)
    return next((trace for trace in entries() if trace.name.lower() == wanted), None)


@checked(TraceError)
def find(name: str) -> Trace:
    """Return the log with this name, or with a name that begins with these words.

    Parameters
    ----------
    name
        For example ``"HPC2N-2002-2.2-cln"``, ``"hpc2n-2002"`` or ``"hpc2n"``; ``.swf`` or ``.swf.gz`` may
        follow.

    Returns
    -------
    Trace
        The log.

    Raises
    ------
    TraceError
        If no log or several logs match.

    Examples
    --------
    >>> find("hpc2n").name
    'HPC2N-2002-2.2-cln'
    """
    wanted = _stem(name)
    found = [trace for trace in entries() if _begins(trace.name.lower(), wanted)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise TraceError(
            f"no log named {shown(name)} in the catalogue.{_nearest(wanted)} All: batchlab traces list"
        )
    listed = ", ".join(trace.name for trace in found)
    raise TraceError(f"{name!r} may mean {listed}. Say which.")


def _nearest(wanted: str) -> str:
    """Return a suggestion of the nearest name; empty if no name is near."""
    names: dict[str, str] = {}
    for trace in entries():
        name = trace.name.lower()
        names |= dict.fromkeys((name, _YEAR.split(name)[0], name.split("-")[0]), trace.name)
    near = nearest(wanted, names)
    return "" if near is None else f" Did you mean {names[near]!r}?"


def _stem(name: str) -> str:
    stem = name.strip().lower()
    return next((stem.removesuffix(suffix) for suffix in _SUFFIXES if stem.endswith(suffix)), stem)


def _begins(name: str, wanted: str) -> bool:
    """Return whether a name begins with whole words of another: "sdsc" does not match "sdscx"."""
    return name == wanted or (bool(wanted) and name.startswith(f"{wanted}-"))
