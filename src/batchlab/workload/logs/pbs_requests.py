"""Parse requests in PBS, Torque and Cray ALPS: processors, nodes, GPUs, memory and whole nodes.

Sources of the grammar: the PBS Professional Reference Guide (pbs_resources) for ``select`` and ``place``,
Torque's qsub(1B) for ``nodes``, Cray's aprun(1) for ``mppwidth``.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from batchlab.workload.logs.quantities import kilobytes_of

__all__ = ["REQUEST", "UNEVEN", "Request", "processors_of", "request_of", "requests", "whole_number"]

REQUEST = tuple(
    f"Resource_List.{name}"
    for name in (
        *("select", "place", "nodes", "nodect", "ncpus", "procs", "size", "ngpus", "gpus", "gpu"),
        *("naccelerators", "mem", "pmem", "mppwidth", "mppdepth", "mppnppn", "mppmem", "naccesspolicy"),
    )
)
"""The attributes that describe a request."""

UNEVEN = "chunks of several sizes: the processors are spread evenly over the nodes"

_WHOLE = re.compile(r"\d{1,9}")
_MOST_CHUNKS = 10_000
_LARGEST = 2**53
_GPUS = ("ngpus", "gpus", "gpu", "naccelerators")
_PROCESSORS = ("ncpus", "ppn")
_ALONE = ("excl", "exclhost")
_ALONE_POLICIES = ("singlejob", "singletask")


class Request(NamedTuple):
    """The request of one job; fields are None if the record has no value.

    `processors` and `gpus` are totals of the job. `nodes` is the number of requested nodes, `tasks_per_node`
    the maximum number of processors on one of them; `memory` is in kB, for the whole job. `uneven` is true if
    the chunks have different numbers of processors. `chunks` is the number of equal chunks of one node each;
    0 if each processor may be on any node.
    """

    processors: float | None = None
    nodes: int | None = None
    tasks_per_node: int | None = None
    gpus: int | None = None
    memory: float | None = None
    exclusive: bool = False
    uneven: bool = False
    chunks: int = 0


@dataclass(frozen=True)
class _Chunk:
    """A group of equal chunks: their number, and the request of each; None if not specified."""

    count: int
    processors: int | None
    gpus: int
    memory: float | None


def requests(table: pl.DataFrame, parse: Callable[[Mapping[str, str]], Request]) -> pl.DataFrame:
    """Parse the requests of many records; each distinct request is parsed once.

    Parameters
    ----------
    table
        The attributes `REQUEST` as text, null if missing.
    parse
        Parses a request, such as `request_of`.

    Returns
    -------
    polars.DataFrame
        One row per record, with the fields of `Request`.
    """
    texts = table.select(REQUEST)
    distinct = texts.unique(maintain_order=True)
    parsed = [
        parse({key: value for key, value in zip(REQUEST, row, strict=True) if value is not None})
        for row in distinct.iter_rows()
    ]
    schema = {
        "processors": pl.Float64,
        "nodes": pl.Int64,
        "tasks_per_node": pl.Int64,
        "gpus": pl.Int64,
        "memory": pl.Float64,
        "exclusive": pl.Boolean,
        "uneven": pl.Boolean,
        "chunks": pl.Int64,
    }
    found = pl.concat([distinct, pl.DataFrame(parsed, schema=schema, orient="row")], how="horizontal")
    return texts.join(found, on=REQUEST, how="left", nulls_equal=True, maintain_order="left").select(
        list(schema)
    )


def request_of(attributes: Mapping[str, str]) -> Request:
    """Parse the request of one job.

    Parameters
    ----------
    attributes
        The attributes of its record, by name.

    Examples
    --------
    >>> chunks = {"Resource_List.select": "2:ncpus=8:ngpus=1", "Resource_List.place": "scatter:excl"}
    >>> asked = request_of(chunks)
    >>> asked.processors, asked.nodes, asked.tasks_per_node, asked.gpus, asked.exclusive
    (16.0, 2, 8, 2, True)
    """
    known = {key.removeprefix("Resource_List."): value.strip() for key, value in attributes.items()}
    if width := whole_number(known.get("mppwidth")):
        return _of_cray(known, width)
    nodes = known.get("nodes") or (known["nodect"] if ":" in known.get("nodect", "") else None)
    if known.get("select"):
        return _of_chunks(known, _chunks(known["select"]), known.get("place", "free"))
    if nodes and not (nodes == "1" and whole_number(known.get("procs"))):
        marks = "".join(f":{mark}" for mark in _ALONE if f"#{mark}" in nodes)
        return _of_nodes(known, _chunks(nodes.partition("#")[0]), f"scatter{marks}")
    return _of_number(known)


def _of_number(known: Mapping[str, str]) -> Request:
    """Parse a request that is one number: ``size`` of a Cray, ``procs`` anywhere, ``ncpus`` on one host."""
    for name in ("size", "procs", "ncpus"):
        if processors := whole_number(known.get(name)):
            one = Request(nodes=1, tasks_per_node=processors) if name == "ncpus" else Request()
            return _completed(known, float(processors), None, one._replace(exclusive=name == "size"))
    return _completed(known, None, None, Request())


def _of_cray(known: Mapping[str, str], width: int) -> Request:
    """Parse an aprun request: number of PEs, CPUs per PE and PEs per node; nodes are exclusive."""
    depth = whole_number(known.get("mppdepth")) or 1
    processors = width * depth
    of_node = whole_number(known.get("mppnppn"))
    nodes = -(-width // of_node) if of_node else None
    of_one = kilobytes_of(known.get("mppmem"))
    memory = None if of_one is None else of_one * width
    # Other attributes concern the batch script on the service node.
    return Request(
        float(processors),
        nodes,
        min(of_node * depth, processors) if of_node else None,
        _gpus(known, None),
        memory,
        exclusive=True,
    )


def _of_chunks(known: Mapping[str, str], chunks: list[_Chunk] | None, place: str) -> Request:
    """Parse a ``select``; totals written by the server take precedence over sums of chunks."""
    said = whole_number(known.get("ncpus"))
    counted = None if chunks is None else sum(each.count * _usual(each.processors) for each in chunks)
    processors = said or counted
    placed = _placed(chunks, place, processors)
    return _completed(known, processors, chunks, placed, is_placed="place" in known)


def _of_nodes(known: Mapping[str, str], chunks: list[_Chunk] | None, place: str) -> Request:
    """Parse Torque's ``nodes``; if it specifies processors, ncpus is only the server's default."""
    counted = None if chunks is None else sum(each.count * _usual(each.processors) for each in chunks)
    if chunks is not None and all(each.processors is None for each in chunks):
        counted = max(counted or 0, whole_number(known.get("ncpus")) or 0)
    return _completed(known, counted, chunks, _placed(chunks, place, counted))


def _usual(processors: int | None) -> int:
    return 1 if processors is None else processors


def _placed(chunks: list[_Chunk] | None, place: str, processors: float | None) -> Request:
    """Return the number of nodes of the chunks, and the processors per node."""
    words = place.split(":")
    exclusive = any(word in _ALONE for word in words)
    if chunks is None or not processors:
        return Request(exclusive=exclusive)
    count = sum(each.count for each in chunks)
    if "pack" in words or count == 1:
        return Request(nodes=1, tasks_per_node=int(processors), exclusive=exclusive)
    if "scatter" not in words and "vscatter" not in words:
        return Request(exclusive=exclusive)
    return Request(
        nodes=count,
        tasks_per_node=-int(-processors // count),
        exclusive=exclusive,
        uneven=len({each.processors for each in chunks}) > 1,
    )


def _completed(
    known: Mapping[str, str],
    processors: float | None,
    chunks: list[_Chunk] | None,
    placed: Request,
    *,
    is_placed: bool = False,
) -> Request:
    """Add totals of processors, GPUs and memory to a request; `is_placed` if it has a ``place``."""
    if processors is not None and not 0 < processors <= _LARGEST:
        return Request(exclusive=placed.exclusive)
    alone = placed.exclusive or known.get("naccesspolicy", "").lower() in _ALONE_POLICIES
    gpus = _gpus(known, chunks)
    # On several exclusive nodes, a number of processors per node is equivalent to a chunk.
    bound = gpus or (is_placed and not (alone and (placed.nodes or 0) > 1))
    return placed._replace(
        processors=None if processors is None else float(processors),
        gpus=gpus,
        memory=_memory(known, processors, chunks),
        exclusive=alone,
        chunks=_equal_chunks(chunks, placed) if bound else 0,
    )


def _equal_chunks(chunks: list[_Chunk] | None, placed: Request) -> int:
    """Return the number of one-node chunks of a job; 0 if the chunks differ or are unknown."""
    if placed.nodes == 1:
        return 1
    if chunks is None or len({(each.processors, each.gpus, each.memory) for each in chunks}) > 1:
        return 0
    return sum(each.count for each in chunks)


def _gpus(known: Mapping[str, str], chunks: list[_Chunk] | None) -> int | None:
    """Return the GPUs of a job: the total written by the server, else the sum of its chunks."""
    for name in _GPUS:
        said = whole_number(known.get(name))
        if said is not None:
            return said
    counted = sum(each.count * each.gpus for each in chunks or ())
    return counted or None


def _memory(known: Mapping[str, str], processors: float | None, chunks: list[_Chunk] | None) -> float | None:
    of_process = kilobytes_of(known.get("pmem"))
    if of_process is not None and processors is not None:
        return of_process * processors
    of_job = kilobytes_of(known.get("mem"))
    if of_job is not None:
        return of_job
    counted = [each.count * each.memory for each in chunks or () if each.memory is not None]
    return sum(counted) if counted else None


def processors_of(vnodes: str) -> float | None:
    """Count the processors in an ``exec_vnode``, ``(n1:ncpus=8:mem=4gb)+(n2:ncpus=4)``; None if invalid."""
    chunks = _chunks(vnodes.translate({ord("("): None, ord(")"): None}))
    total = 0 if chunks is None else sum(each.count * _usual(each.processors) for each in chunks)
    return float(total) if 0 < total <= _LARGEST else None


def _chunks(text: str) -> list[_Chunk] | None:
    """Parse ``2:ncpus=8:mem=4gb+1:ncpus=4`` or ``n1:ppn=2:gpus=1+n2`` into chunks; None if invalid."""
    parts = text.split("+")
    if len(parts) > _MOST_CHUNKS:
        return None
    found = [_chunk(part) for part in parts if part.strip()]
    return None if not found or None in found else [each for each in found if each is not None]


def _chunk(text: str) -> _Chunk | None:
    words = text.strip().split(":")
    first = whole_number(words[0])
    amounts = dict(word.split("=", 1) for word in words if "=" in word)
    processors: int | None = None
    for name in _PROCESSORS:
        if name in amounts:
            processors = whole_number(amounts[name])
            if processors is None:
                return None
            break
    gpus = next((whole_number(amounts[name]) or 0 for name in _GPUS if name in amounts), 0)
    return _Chunk(1 if first is None else first, processors, gpus, kilobytes_of(amounts.get("mem")))


def whole_number(text: str | None) -> int | None:
    """Return the number in a text of digits; None for other texts and for None."""
    return int(text) if text is not None and _WHOLE.fullmatch(text) else None
