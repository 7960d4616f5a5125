"""The catalogue of logs, as ``batchlab.traces``: list, find and fetch logs.

>>> import batchlab as bl
>>> bl.traces.find("kth").computer
'IBM SP2, Swedish Royal Institute of Technology'
"""

from __future__ import annotations

import gzip
import os
from dataclasses import asdict
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from batchlab.core.arguments import checked
from batchlab.core.late import system as batchlab_system
from batchlab.core.late import workload_header as header
from batchlab.core.lazy import make_dir
from batchlab.core.outputs import atomic_write
from batchlab.errors import TraceError, shown, suggest
from batchlab.trace import store
from batchlab.trace.catalogue import ARCHIVE, CITATION, TERMS, Trace, entries, find, of_file

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import polars as pl

    from batchlab.system import System


__all__ = [
    "CITATION",
    "EXAMPLES",
    "MIRROR_VARIABLE",
    "TERMS",
    "catalogue",
    "example",
    "fetch",
    "find",
    "is_fetched",
    "machine_of_sizes",
    "of_file",
    "path",
    "system",
]

__dir__ = make_dir(__name__)

MIRROR_VARIABLE = "BATCHLAB_MIRROR"
"""Environment variable with a mirror of the archive."""

EXAMPLES = {"slurm": "six hours of a small cluster, recorded from Slurm 22.05.8 on virtual nodes"}
"""What the examples in the package are, by name."""


def catalogue(*, cache: str | os.PathLike[str] | None = None) -> pl.DataFrame:
    """List the logs of the Parallel Workloads Archive.

    Parameters
    ----------
    cache
        The directory of fetched logs; see `fetch`.

    Returns
    -------
    polars.DataFrame
        One row per log, sorted by name: ``name``, ``computer``, ``first`` and ``last`` (months, or a year),
        ``jobs``, ``processors``, ``nodes``, ``cores``, ``thanks``, ``page`` (the archive's page on the log)
        and ``fetched``. Unknown values are null.
    """
    import polars as pl  # noqa: PLC0415  # the command does without

    rows = [
        {**asdict(trace), "page": trace.page, "fetched": is_fetched(trace, cache=cache)}
        for trace in entries()
    ]
    numbers = dict.fromkeys(("jobs", "processors", "nodes", "cores"), pl.Int64)
    return pl.DataFrame(rows, schema_overrides=numbers, infer_schema_length=None).select(
        "name", "computer", "first", "last", *numbers, "thanks", "page", "fetched"
    )


@checked(TraceError)
def fetch(
    name: str,
    *,
    cache: str | os.PathLike[str] | None = None,
    mirror: str | None = None,
    trust: bool = False,
    progress: Callable[[int, int | None], object] | None = None,
) -> Path:
    """Fetch a log of the archive unless it exists already, and verify its checksum.

    The checksum comes from the catalogue. If the catalogue has none, the log is trusted the first time, and
    its checksum is stored next to it. A log placed in the directory by the user is treated as fetched.

    Parameters
    ----------
    name
        Its name, or a unique beginning: ``"HPC2N-2002-2.2-cln"``, ``"hpc2n"``.
    cache
        The directory of fetched logs. [default: ``$BATCHLAB_CACHE``, else ``batchlab/traces`` in
        ``$XDG_CACHE_HOME`` or ``~/.cache``]
    mirror
        A replacement of the archive: an address, or a directory, with the archive's folders. [default:
        ``$BATCHLAB_MIRROR``, else the archive itself]
    trust
        True to accept the file with any checksum, and to expect this checksum from now on.
    progress
        Called repeatedly with the number of received bytes, and the total size or None.

    Returns
    -------
    Path
        The file, gzipped, for `batchlab.read_swf`.

    Raises
    ------
    TraceError
        If the log is unknown, cannot be fetched, or has a wrong checksum. The message states the file to
        download and where to place it.
    OSError
        If the directory cannot be written.
    """
    trace = find(name)
    target = store.directory(cache) / trace.file
    if target.is_file():
        return _adopted(trace, target, trust=trust)
    address = trace.address(_archive(mirror))
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(target, "wb") as file:
        try:
            store.download(address, file, progress=progress)
        except TraceError as error:
            raise TraceError(
                f"{error}. Download {trace.address(ARCHIVE)} where you can and put it at {target}; or name a "
                f"mirror with --mirror ({MIRROR_VARIABLE})."
            ) from None
        file.flush()
        record = store.check(trace, Path(file.name), address=address, trust=trust)
    store.write_record(target, record)
    return target


@checked(TraceError)
def example(name: str) -> Path:
    """Return the folder of an example that is part of the package, for use without a network.

    Parameters
    ----------
    name
        One of `EXAMPLES`. ``"slurm"`` has ``sacct.txt``, for `batchlab.read_sacct`, and ``slurm.conf`` and
        ``accounts.cfg``, which `batchlab.read_system` finds in the folder.

    Returns
    -------
    Path
        The folder. Copy it before you change its files.

    Raises
    ------
    TraceError
        If there is no such example.

    Examples
    --------
    >>> import batchlab as bl
    >>> folder = bl.traces.example("slurm")
    >>> sorted(file.name for file in folder.iterdir())
    ['accounts.cfg', 'sacct.txt', 'slurm.conf']
    """
    if name not in EXAMPLES:
        raise TraceError(f"no example named {shown(name)}.{suggest(name, EXAMPLES)}")
    return Path(__file__).with_name("examples") / name


@checked(TraceError)
def path(name: str, *, cache: str | os.PathLike[str] | None = None) -> Path:
    """Return the file of a fetched log.

    Parameters
    ----------
    name, cache
        As for `fetch`.

    Returns
    -------
    Path
        The file, verified again.

    Raises
    ------
    TraceError
        If the log is unknown, was not fetched, or has changed since.
    """
    trace = find(name)
    target = store.directory(cache) / trace.file
    if not target.is_file():
        raise TraceError(
            f"{trace.name} is in the catalogue, but not in {target.parent}. Get it with: "
            f"batchlab traces fetch {trace.name}"
        )
    return _adopted(trace, target)


@checked(TraceError)
def is_fetched(trace: Trace, *, cache: str | os.PathLike[str] | None = None) -> bool:
    """Return whether a log is in the directory of fetched logs, without verification."""
    return (store.directory(cache) / trace.file).is_file()


@checked(TraceError)
def system(name: str, *, cache: str | os.PathLike[str] | None = None) -> System:
    """Describe the machine of a log.

    Parameters
    ----------
    name, cache
        As for `fetch`.

    Returns
    -------
    System
        As described in the catalogue, with a resource ``core``; otherwise by the header of the fetched log.

    Raises
    ------
    TraceError
        If neither describes it, or the log is needed and was not fetched.
    """
    trace = find(name)
    sizes = trace.node_sizes or _sizes_by_header(path(name, cache=cache))
    if not sizes:
        raise TraceError(
            f"{trace.name}: neither the catalogue nor the log's header knows the machine; see {trace.page} "
            "and describe the machine."
        )
    return machine_of_sizes(sizes, trace.computer)


@checked(TraceError)
def machine_of_sizes(sizes: Sequence[tuple[int, int]], name: str, processor: int = 1) -> System:
    """Build a machine from the sizes of its nodes.

    Parameters
    ----------
    sizes
        Pairs of a number of nodes and the processors of each.
    name
        Name of the machine.
    processor
        Number of cores per processor.

    Returns
    -------
    System
        With a resource ``core``.
    """
    names = ["nodes"] if len(sizes) == 1 else [f"nodes of {size * processor} cores" for _, size in sizes]
    groups = tuple(
        batchlab_system.NodeGroup(group, count, {"core": size * processor})
        for group, (count, size) in zip(names, sizes, strict=True)
    )
    return batchlab_system.System(groups, {"core": processor}, name)


def _adopted(trace: Trace, target: Path, *, trust: bool = False) -> Path:
    """Check an existing file, and store its checksum if none is recorded."""
    before = store.read_record(target)
    known = None if before is None else before.sha256
    record = store.check(trace, target, known=known, trust=trust)
    if before is None or record.sha256 != before.sha256:
        store.write_record(target, record)
    return target


def _archive(mirror: str | None) -> str:
    chosen = mirror or os.environ.get(MIRROR_VARIABLE) or ARCHIVE
    return chosen if "://" in chosen else Path(chosen).absolute().as_uri()


def _sizes_by_header(log: Path) -> tuple[tuple[int, int], ...]:

    with gzip.open(log, "rt", encoding="utf-8", errors="replace") as lines:
        return header.Header(tuple(takewhile(lambda line: line.startswith(";"), lines))).node_sizes()
