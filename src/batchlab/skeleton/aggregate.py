"""Convert recorded calls to the kernel's program of rounds, in which collectives stay rounds of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from batchlab._kernel import RoundProgram
from batchlab.skeleton.assemble import (
    Assembled,
    Columns,
    check_complete,
    check_progress,
    digest,
    kernel_columns,
    match,
    own_entries,
    rounds_of_call,
)

if TYPE_CHECKING:
    from collections.abc import Hashable

    from batchlab.skeleton.collectives.rounds import Round
    from batchlab.skeleton.options import MessageOptions
    from batchlab.skeleton.record import Collective, Record

__all__ = ["aggregate"]


class _Calls:
    """The batches of each collective; equal calls share their batches."""

    def __init__(self, record: Record, columns: Columns) -> None:
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
    columns, classes = Columns(), ["send"]
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
