"""Create skeletons from logs of calls: CSV or JSON, one call per row, in the order of each rank."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from batchlab.core.arguments import checked
from batchlab.core.documents import without_duplicates
from batchlab.errors import ApplicationError, shown, suggest
from batchlab.skeleton.skeleton import Skeleton

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from batchlab.core.vocabulary import Fidelity
    from batchlab.skeleton.communicator import Communicator, Request


Row = dict[str, Any]

# The required and the optional columns of each call.
_CALLS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "compute": ((), ("seconds", "flops")),
    "send": (("peer", "bytes"), ("tag",)),
    "recv": (("peer",), ("tag",)),
    "isend": (("peer", "bytes"), ("tag", "request")),
    "irecv": (("peer",), ("tag", "request")),
    "wait": (("request",), ()),
    "waitall": ((), ()),
    "barrier": ((), ("algorithm",)),
    **dict.fromkeys(("bcast", "reduce", "gather", "scatter"), (("bytes",), ("root", "algorithm"))),
    **dict.fromkeys(
        ("allreduce", "allgather", "reduce_scatter", "alltoall", "scan"), (("bytes",), ("algorithm",))
    ),
}
_NUMBERS = ("rank", "peer", "tag", "root")
_AMOUNTS = ("bytes", "seconds", "flops")
_COLUMNS = ("rank", "call", "peer", "bytes", "tag", "request", "seconds", "flops", "root", "algorithm")


@checked(ApplicationError)
def read_message_log(
    path: str | os.PathLike[str], *, ranks: int | None = None, fidelity: Fidelity = "exact"
) -> Skeleton:
    r"""Read a log of the calls of each rank.

    Parameters
    ----------
    path
        CSV with a header, or JSON: a list of objects. The columns are ``rank``, ``call`` (``compute``,
        ``send``, ``recv``, ``isend``, ``irecv``, ``wait``, ``waitall``, ``barrier``, or a collective),
        ``peer`` (the other rank), ``bytes`` (for a collective as in `Communicator`), ``tag``, ``request`` (a
        name, for ``wait``), ``seconds`` or ``flops``, ``root`` and ``algorithm``; columns that a call does
        not need may be empty. The calls of a rank are executed in order; ``waitall`` waits for all
        outstanding requests.
    ranks
        Number of ranks; by default the greatest rank + 1.
    fidelity
        As for `Skeleton`.

    Raises
    ------
    ApplicationError
        If the file cannot be read, or a row breaks a rule (the message has file, row, column and value); if
        messages are unmatched, or ranks deadlock, as for `Skeleton`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> log = pathlib.Path(tempfile.mkdtemp()) / "calls.csv"
    >>> _ = log.write_text("rank,call,peer,bytes\n0,send,1,1000\n1,recv,0,\n")
    >>> read_message_log(log).ranks
    2
    """
    file = Path(path)
    calls: dict[int, list[tuple[Row, str]]] = {}
    for number, row in enumerate(_rows(file), 1):
        where = f"{file}: row {number}"
        checked = _checked(row, where)
        calls.setdefault(checked["rank"], []).append((checked, where))
    if not calls:
        raise ApplicationError(f"{file}: has no calls; must have one row at least.")
    count = max(calls) + 1 if ranks is None else ranks

    return Skeleton(_Replay(calls), count, name=file.stem, fidelity=fidelity)


@dataclass(frozen=True)
class _Replay:
    """Executes the calls of a rank; a class, so that skeletons can be pickled."""

    calls: Mapping[int, Sequence[tuple[Row, str]]]

    def __call__(self, world: Communicator) -> None:
        posted: dict[str, Request] = {}
        for row, where in self.calls.get(world.rank, ()):
            _do(world, row, posted, where)


def _rows(file: Path) -> list[Mapping[str, object]]:
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ApplicationError(f"{file}: cannot be read: {error}.") from None
    if not text.lstrip().startswith("["):
        return list(csv.DictReader(text.splitlines()))
    try:
        found = json.loads(text, object_pairs_hook=without_duplicates)
    except (ValueError, RecursionError) as error:
        raise ApplicationError(f"{file}: is no JSON: {error}.") from None
    for number, row in enumerate(found, 1):
        if not isinstance(row, dict):
            raise ApplicationError(f"{file}: row {number} = {shown(row)}; must be an object of columns.")
    return list(found)


def _checked(row: Mapping[str, object], where: str) -> Row:
    """Check a row, and convert its values."""
    given = {name: value for name, value in row.items() if value not in (None, "")}
    for name in given:
        if name not in _COLUMNS:
            raise ApplicationError(
                f"{where}: no column is called {shown(name)}.{suggest(str(name), _COLUMNS)} Known: "
                f"{', '.join(_COLUMNS)}."
            )
    call = _call(given, where)
    return {"call": call} | {
        name: _value(name, value, f"{where}: {name}") for name, value in given.items() if name != "call"
    }


def _call(given: Mapping[str, object], where: str) -> str:
    """Return the call of a row; check that the row has exactly the columns of the call."""
    for name in ("rank", "call"):
        if name not in given:
            raise ApplicationError(f"{where}: lacks {name}; each row must have one.")
    call = str(given["call"]).strip().lower()
    if call not in _CALLS:
        raise ApplicationError(f"{where}: call = {shown(call)}; is none.{suggest(call, _CALLS)}")
    needed, other = _CALLS[call]
    for name in needed:
        if name not in given:
            raise ApplicationError(f"{where}: {call} lacks {name}; must have it.")
    for name in given.keys() - {"rank", "call", *needed, *other}:
        raise ApplicationError(f"{where}: {call} has no {name}; leave it empty.")
    return call


def _value(name: str, value: object, what: str) -> object:
    if name in _NUMBERS:
        return _whole(value, what)
    return _amount(value, what) if name in _AMOUNTS else str(value)


def _whole(value: object, what: str) -> int:
    try:
        number = int(str(value))
    except ValueError:
        number = -1
    if number < 0:
        raise ApplicationError(f"{what} = {shown(value)}; must be a whole number >= 0.")
    return number


def _amount(value: object, what: str) -> float:
    try:
        return float(str(value))
    except ValueError:
        raise ApplicationError(f"{what} = {shown(value)}; must be a number.") from None


def _do(world: Communicator, row: Row, posted: dict[str, Request], where: str) -> None:
    """Execute the call of a row."""
    call, tag = row["call"], row.get("tag", 0)
    peer, size = row.get("peer"), row.get("bytes", 0.0)
    match call:
        case "compute":
            world.compute(row.get("seconds"), flops=row.get("flops"))
        case "send" | "isend":
            _keep(world, row, world.isend(peer, size, tag), posted, where)
        case "recv" | "irecv":
            _keep(world, row, world.irecv(peer, tag), posted, where)
        case "wait":
            if row["request"] not in posted:
                raise ApplicationError(f"{where}: nothing is posted as request {shown(row['request'])}.")
            world.wait(posted.pop(row["request"]))
        case "waitall":
            world.waitall(posted.values())
            posted.clear()
        case _:
            others = {name: row[name] for name in ("root", "algorithm") if name in row}
            getattr(world, call)(*([size] if "bytes" in row else ()), **others)


def _keep(world: Communicator, row: Row, request: Request, posted: dict[str, Request], where: str) -> None:
    """Wait for a blocking call; otherwise store the request by its name or its row."""
    if row["call"] in ("send", "recv"):
        world.wait(request)
    else:
        posted[row.get("request", where)] = request
