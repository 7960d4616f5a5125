"""Convert recorded calls to the kernel's program: a flat one, or one in which collectives stay rounds."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from batchlab._kernel import MessageProgram, RoundProgram
from batchlab.skeleton.collectives.registry import AUTOMATIC, algorithm_of, rounds_of
from batchlab.skeleton.communicator import ELEMENT
from batchlab.skeleton.record import Collective, Kind, Record, spelled

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from batchlab.skeleton.collectives.rounds import Blocks, Round, Rounds
    from batchlab.skeleton.options import MessageOptions

    KernelColumns = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]

_SHOWN = 4
# The order of a rank's operations within a round, and their number.
_RECEIVE, _SEND, _ARRIVE, _SENT, _PARTS = 0, 1, 2, 3, 4


class Messages(NamedTuple):
    """The messages of a program: ranks, bytes of payload, and the class, an index of `Assembled.classes`."""

    source: NDArray[np.uint32]
    target: NDArray[np.uint32]
    size: NDArray[np.float64]
    kind: NDArray[np.uint32]


class Assembled(NamedTuple):
    """A program, its messages, and their classes: ``"send"``, or the name of a collective.

    The digest covers all content of the program.
    """

    program: MessageProgram | RoundProgram
    messages: Messages
    classes: list[str]
    digest: str


class ProgramColumns:
    """Collects operations and messages during the assembly."""

    def __init__(self) -> None:
        self.operations: list[tuple[np.ndarray, ...]] = []
        self.messages: list[tuple[np.ndarray, ...]] = []
        self.count = 0

    def add(
        self, rank: np.ndarray, position: np.ndarray, slot: int, kind: ArrayLike, amount: ArrayLike
    ) -> None:
        """Add operations, each with its rank, index of the entry, slot in the entry, kind and amount."""
        self.operations.append(np.broadcast_arrays(rank, position, slot, kind, amount))

    def pass_on(self, source: np.ndarray, target: np.ndarray, size: np.ndarray, kind: int) -> np.ndarray:
        """Add messages of a class, and return their numbers."""
        numbers = np.arange(self.count, self.count + len(source))
        self.messages.append((source, target, size, np.full(len(source), kind)))
        self.count += len(source)
        return numbers

    def all_messages(self) -> Messages:
        """Return the messages added so far."""
        parts = [np.concatenate(part) for part in zip(*self.messages, strict=True)] or [np.empty(0)] * 4
        return Messages(
            parts[0].astype(np.uint32),
            parts[1].astype(np.uint32),
            parts[2].astype(float),
            parts[3].astype(np.uint32),
        )

    def in_order(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Sort the operations by rank, entry and slot."""
        rank, position, slot, kind, amount = (
            np.concatenate(part) for part in zip(*self.operations, strict=True)
        )
        slots, positions = int(slot.max(initial=0)) + 1, int(position.max(initial=0)) + 1
        order = np.argsort((rank * positions + position) * slots + slot, kind="stable")
        return rank[order], position[order], kind[order], amount[order]


def assemble(record: Record, options: MessageOptions) -> Assembled:
    """Create the program from recorded calls.

    Raises
    ------
    ApplicationError
        If a send or a receive is unmatched, a rank does not call a collective, or ranks deadlock.
    """
    columns, classes = ProgramColumns(), ["send"]
    matched = match(record, columns)
    own_entries(record, options, matched, columns)
    for call in record.collectives:
        if call.family not in classes:
            classes.append(call.family)
        _expand(record, call, columns, options, classes.index(call.family))
    rank, position, *operations = columns.in_order()
    messages = columns.all_messages()
    program_columns = kernel_columns(record, rank, operations, messages, options)
    kinds = messages.kind.astype(np.uint16)
    program = MessageProgram(*program_columns, classes, kinds, options.envelope)
    check_progress(record, program, rank, position)
    described = f"{classes} {options.envelope!r}"
    return Assembled(program, messages, classes, digest(described, *program_columns, kinds))


def kernel_columns(
    record: Record,
    rank: np.ndarray,
    operations: Sequence[np.ndarray],
    messages: Messages,
    options: MessageOptions,
) -> KernelColumns:
    """Return the columns common to programs of both fidelities: operations rank by rank, then messages."""
    kind, amount = operations
    first = np.concatenate(([0], np.cumsum(np.bincount(rank, minlength=len(record.world.ranks)))))
    return (
        first.astype(np.uint32),
        kind.astype(np.uint8),
        amount.astype(np.float64),
        messages.source,
        messages.target,
        messages.size + options.envelope,
        messages.size < options.eager_threshold,
    )


def digest(text: str, *columns: np.ndarray) -> str:
    """Return the SHA-256 of a text and columns, equal on all platforms."""
    found = hashlib.sha256(text.encode())
    for column in columns:
        found.update(f"\0{len(column)}\0".encode())
        found.update(np.ascontiguousarray(column.astype(column.dtype.newbyteorder("<"))).data)
    return found.hexdigest()


def match(record: Record, columns: ProgramColumns) -> np.ndarray:
    """Return the message of each post: the k-th send matches the k-th receive with the same key."""
    posts, kinds = record.posts, len(record.posts.numbers)
    key, is_send = np.array(posts.keys, np.int64), np.array(posts.are_sends, bool)
    sends, receives = np.flatnonzero(is_send), np.flatnonzero(~is_send)
    _check_matched(record, key, sends, receives)
    # Order keys by their first sends.
    first = np.full(kinds, len(key))
    np.minimum.at(first, key[sends], sends)
    sends, receives = (side[np.argsort(first[key[side]], kind="stable")] for side in (sends, receives))
    matched = np.zeros(len(key), np.int64)
    matched[sends] = matched[receives] = np.arange(len(sends))
    ends = np.array([each[1:3] for each in posts.numbers], np.int64).reshape(kinds, 2)[key[sends]]
    columns.pass_on(ends[:, 0], ends[:, 1], np.array(posts.sizes, float)[sends], 0)
    return matched


def _check_matched(record: Record, key: np.ndarray, sends: np.ndarray, receives: np.ndarray) -> None:
    """Raise for sends without receives, and receives without sends."""
    posts, kinds = record.posts, len(record.posts.numbers)
    ours, theirs = (np.bincount(key[side], minlength=kinds) for side in (sends, receives))
    different = np.flatnonzero(ours != theirs)
    if not len(different):
        return
    common, left = np.minimum(ours, theirs), []
    for one in different:
        left += [*sends[key[sends] == one][common[one] :], *receives[key[receives] == one][common[one] :]]
    said = "; ".join(posts.spelled(post) for post in left[:_SHOWN])
    more = f"; and {len(left) - _SHOWN} more" if len(left) > _SHOWN else ""
    raise record.error(
        f"unmatched: {said}{more}. Each send needs a receive of the same communicator, ranks and tag, "
        "and each receive a send"
    )


def own_entries(
    record: Record,
    options: MessageOptions,
    matched: np.ndarray,
    columns: ProgramColumns,
    *,
    collectives: bool = False,
) -> None:
    """Add sends, receives, waits and computation; optionally also the calls of collectives."""
    counts = [len(kinds) for kinds in record.kinds]
    rank = np.repeat(np.arange(len(counts)), counts)
    position = np.concatenate([np.arange(count) for count in counts])
    kind = np.array([each for kinds in record.kinds for each in kinds], np.int64)
    amount = np.array([each for amounts in record.amounts for each in amounts], float)
    own = np.full(len(kind), True) if collectives else kind != Kind.COLLECTIVE
    rank, position, kind, amount = rank[own], position[own], kind[own], amount[own]
    of_message = kind < Kind.COMPUTE
    amount[of_message] = matched[amount[of_message].astype(np.int64)]
    columns.add(rank, position, 1, kind, amount)
    for overhead, of, slot in (
        (options.send_overhead, Kind.SEND, 0),
        (options.receive_overhead, Kind.AWAIT_RECEIVE, 2),
    ):
        if overhead > 0:
            columns.add(rank[kind == of], position[kind == of], slot, int(Kind.TAKE), overhead)


def _expand(
    record: Record, call: Collective, columns: ProgramColumns, options: MessageOptions, kind: int
) -> None:
    """Add the rounds of a collective."""
    check_complete(record, call)
    group = call.group.ranks
    position = np.array([call.positions[member] for member in range(len(group))])
    for number, (source, target, size) in enumerate(rounds_of_call(record, call)):
        message = columns.pass_on(group[source], group[target], size, kind)
        for part, who, what in (
            (_RECEIVE, target, Kind.RECEIVE),
            (_SEND, source, Kind.SEND),
            (_ARRIVE, target, Kind.AWAIT_RECEIVE),
            (_SENT, source, Kind.AWAIT_SEND),
        ):
            slot, ranks, at = number * _PARTS + part, group[who], position[who]
            overhead = {_SEND: options.send_overhead, _ARRIVE: options.receive_overhead}.get(part, 0.0)
            if overhead > 0:
                before = part == _SEND
                takes, operations = (int(Kind.TAKE), overhead), (int(what), message)
                pair = (takes, operations) if before else (operations, takes)
                kinds = np.broadcast_to([each[0] for each in pair], (len(ranks), 2)).ravel()
                amounts = np.column_stack([np.broadcast_to(each[1], len(ranks)) for each in pair]).ravel()
                columns.add(np.repeat(ranks, 2), np.repeat(at, 2), slot, kinds, amounts)
            else:
                columns.add(ranks, at, slot, int(what), message)


def check_complete(record: Record, call: Collective) -> None:
    """Raise if a rank of the group does not call a collective."""
    group = call.group.ranks
    lacking = [int(group[member]) for member in range(len(group)) if member not in call.sites]
    if lacking:
        member, site = next(iter(call.sites.items()))
        said = ", ".join(map(str, lacking[:_SHOWN])) + (", …" if len(lacking) > _SHOWN else "")
        raise record.error(
            f"rank {group[member]} calls {spelled(site)}, and rank {said} ends without it; all ranks of a "
            "communicator must call the same collectives in the same order"
        )


def rounds_of_call(record: Record, call: Collective) -> Rounds:
    """Return the rounds of a collective, with ranks numbered within its group.

    Raises
    ------
    ApplicationError
        If ranks pass different sizes for the same block.
    """
    p = len(call.group.ranks)
    algorithm, *agreed = call.signature
    blocks = _blocks(record, call, p)
    if blocks is None:
        total, arguments = float(agreed[0]) if agreed else 0.0, agreed  # type: ignore[arg-type]  # a number
        unit = float(agreed[-1]) if call.family in {"reduce", "allreduce"} else ELEMENT  # type: ignore[arg-type]
    else:
        total = float(blocks.mean() if call.family == "alltoall" else blocks.sum())
        arguments, unit = [blocks, *agreed], ELEMENT
    even = blocks is None or bool((blocks == blocks.flat[0]).all())
    # An explicit algorithm was checked at the call, except for the blocks.
    needs_check = algorithm == AUTOMATIC or call.family == "alltoall"
    chosen = str(algorithm)
    if needs_check:
        chosen = algorithm_of(call.family, chosen, p, total, unit=unit, even=even)
    return rounds_of(call.family, chosen, p, *arguments)


def _blocks(record: Record, call: Collective, p: int) -> Blocks | None:
    """Return the size of each block; None if all ranks pass the same vector."""
    given = [call.blocks[member] for member in range(p)]
    if given[0] is None:
        return None
    if call.family != "alltoall":
        return _agreed_blocks(record, call, given)
    if all(isinstance(each, int | float) and each == given[0] for each in given):
        return np.broadcast_to(np.float64(given[0]), (p, p))
    return np.array([np.broadcast_to(np.asarray(each, float), p) for each in given])


def _agreed_blocks(record: Record, call: Collective, given: Sequence[object]) -> Blocks:
    """Return the block of each rank, from the ranks' own sizes or a list of all sizes."""
    of_ranks = [each if np.ndim(each) else None for each in given]  # type: ignore[arg-type]  # number or list
    listed = next((member for member, each in enumerate(of_ranks) if each is not None), None)
    if listed is None:
        return np.array(given, float)
    sizes = np.asarray(of_ranks[listed], float)
    for member, each in enumerate(given):
        expected = sizes if of_ranks[member] is not None else sizes[member]
        if not np.array_equal(np.asarray(each, float), expected):
            ranks, sites = call.group.ranks, call.sites
            raise record.error(
                f"rank {ranks[member]} calls {spelled(sites[member])} with other sizes than rank "
                f"{ranks[listed]}; the lists of all ranks must be the same, and a number that of its rank"
            )
    return sizes


def check_progress(
    record: Record, program: MessageProgram | RoundProgram, rank: np.ndarray, position: np.ndarray
) -> None:
    """Raise for a program in which ranks deadlock."""
    stuck = program.stuck()
    if len(stuck):
        places = [(int(rank[at]), int(position[at])) for at in stuck[:_SHOWN]]
        said = "; ".join(f"rank {one} waits in {spelled(record.sites[one][at])}" for one, at in places)
        more = f"; and {len(stuck) - _SHOWN} more" if len(stuck) > _SHOWN else ""
        holds = isinstance(program, RoundProgram) and any(
            record.kinds[one][at] == Kind.COLLECTIVE for one, at in places
        )
        why = ". In the aggregated fidelity a collective holds its ranks until all have come to it"
        raise record.error(f"deadlock: {said}{more}{why if holds else ''}")


class _Calls:
    """The batches of each collective; equal calls share their batches."""

    def __init__(self, record: Record, columns: ProgramColumns) -> None:
        self.record, self.columns = record, columns
        self.batches = [columns.count]
        self.rounds: list[list[int]] = []
        self.known: dict[Hashable, list[int]] = {}

    def add(self, call: Collective, kind: int) -> None:
        key = _likeness(call)
        batches = self.known.get(key) if key is not None else None
        if batches is None:
            batches = self._expand(call, kind)
            if key is not None:
                self.known[key] = batches
        self.rounds.append(batches)

    def _expand(self, call: Collective, kind: int) -> list[int]:
        group, numbers = call.group.ranks, []
        before: Round | None = None
        for each in rounds_of_call(self.record, call):
            if before is None or not _equal(each, before):
                self.columns.pass_on(group[each.source], group[each.target], each.size, kind)
                self.batches.append(self.columns.count)
            before = each
            numbers.append(len(self.batches) - 1)
        return numbers


def aggregate(record: Record, options: MessageOptions) -> Assembled:
    """Create the program of rounds from recorded calls.

    Raises
    ------
    ApplicationError
        As for `assemble`. In rounds, a collective blocks its ranks until all have reached it.
    """
    columns, classes = ProgramColumns(), ["send"]
    matched = match(record, columns)
    own_entries(record, options, matched, columns, collectives=True)
    calls = _Calls(record, columns)
    for call in record.collectives:
        check_complete(record, call)
        if call.family not in classes:
            classes.append(call.family)
        calls.add(call, classes.index(call.family))
    rank, position, *operations = columns.in_order()
    messages = columns.all_messages()
    program_columns = (
        *kernel_columns(record, rank, operations, messages, options),
        np.array([0, *calls.batches], np.uint32),
        np.cumsum([0, *map(len, calls.rounds)]).astype(np.uint32),
        np.array([batch for batches in calls.rounds for batch in batches], np.uint32),
    )
    overheads = (options.send_overhead, options.receive_overhead)
    kinds = messages.kind.astype(np.uint16)
    program = RoundProgram(*program_columns, overheads, classes, kinds, options.envelope)
    check_progress(record, program, rank, position)
    described = f"rounds {overheads} {classes} {options.envelope!r}"
    return Assembled(program, messages, classes, digest(described, *program_columns, kinds))


def _likeness(call: Collective) -> Hashable | None:
    """Return a key of calls that send the same messages; None if the blocks of ranks differ."""
    blocks = call.blocks.values()
    if not all(isinstance(each, int | float | None) for each in blocks) or len({*blocks}) > 1:
        return None
    return (id(call.group), call.family, call.signature, next(iter(blocks)))


def _equal(one: Round, other: Round) -> bool:
    return all(np.array_equal(mine, its) for mine, its in zip(one, other, strict=True))
