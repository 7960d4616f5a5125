"""What the archive has: the entries of ``catalogue.toml``, and how one is found by its name."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from batchlab.errors import TraceError, nearest, shown

__all__ = ["ARCHIVE", "CITATION", "TERMS", "Trace", "entries", "find", "of_file"]

_SUFFIXES = (".swf.gz", ".swf")
_YEAR = re.compile(r"-\d{4}-")


@dataclass(frozen=True)
class Trace:
    """A log of the archive; what is None or empty is not known to the catalogue.

    Parameters
    ----------
    name
        Its file's name without ``.swf.gz``.
    folder
        The folder of the archive that holds it.
    computer
        What the machine was, and where.
    first, last
        The months (or the year) in which the log begins and ends, as in ``"2002-07"``.
    jobs
        Jobs in the whole log; a cleaned version has fewer.
    processors
        Of the whole machine.
    nodes, cores
        Its equal nodes, and the cores of each.
    groups
        Nodes that differ: pairs of a number of nodes and the cores of each.
    thanks
        Whom users of the log thank.
    sha256
        Of the uncompressed log.
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
        """Pairs of a number of nodes and the cores of each; empty where the catalogue does not know."""
        return ((self.nodes, self.cores),) if self.nodes and self.cores else self.groups

    @property
    def page(self) -> str:
        """The archive's page about the log."""
        return f"{ARCHIVE}/{self.folder}/index.html"

    def address(self, mirror: str) -> str:
        """Give the address of the file below that of the archive or a mirror of it."""
        return f"{mirror.rstrip('/')}/{self.folder}/{self.file}"


_DOCUMENT = tomllib.loads(files("batchlab.trace").joinpath("catalogue.toml").read_text("utf-8"))
ARCHIVE: str = _DOCUMENT["archive"]
"""The archive's address."""
CITATION: str = _DOCUMENT["citation"]
"""The paper to cite, whichever log was used."""
TERMS: str = _DOCUMENT["terms"]
"""What the archive asks of those who use a log."""


@cache
def entries() -> tuple[Trace, ...]:
    """Give all logs, by name."""
    return tuple(
        Trace(**(entry | {"groups": tuple(map(tuple, entry.get("groups", ())))}))
        for entry in _DOCUMENT["trace"]
    )


def of_file(name: str) -> Trace | None:
    """Find the log that a file's name is, whole: ``"HPC2N-2002-2.2-cln.swf.gz"``; None where it is none."""
    wanted = _stem(name)
    return next((trace for trace in entries() if trace.name.lower() == wanted), None)


def find(name: str) -> Trace:
    """Find a log by its name, or by so much of the name's beginning as no other log has.

    Parameters
    ----------
    name
        As ``"HPC2N-2002-2.2-cln"``, ``"hpc2n-2002"`` or ``"hpc2n"``; ``.swf`` or ``.swf.gz`` may follow.

    Returns
    -------
    Trace
        The log.

    Raises
    ------
    TraceError
        If no log, or more than one, is called so.

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
    """Ask whether the nearest name is meant, where one is near."""
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
    """Tell whether a name begins with whole words of another: "sdsc" does not find "sdscx"."""
    return name == wanted or (bool(wanted) and name.startswith(f"{wanted}-"))
