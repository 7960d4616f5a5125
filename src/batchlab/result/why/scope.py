"""The nodes and the unit by which the wait of a job is measured, and when these nodes take no job."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from batchlab.policy.unfilled_nodes import takes_whole_nodes, tasks_per_node
from batchlab.workload.dependencies import graph
from batchlab.workload.event_rules import reservations_to_come
from batchlab.workload.node_sets import node_set_columns
from batchlab.workload.requests import amounts
from batchlab.workload.routing import reserved, routes

if TYPE_CHECKING:
    import numpy.typing as npt

    from batchlab.policy.policy import Policy
    from batchlab.result.course import RunRecord
    from batchlab.result.why.runs import Whole
    from batchlab.workload.dependencies import Need
    from batchlab.workload.event_stream import EventStream
    from batchlab.workload.routing import Reserved, Routes

    Mask = npt.NDArray[np.bool_]
    Span = tuple[Mask, float, float]

__all__ = ["Requests", "Unavailable"]


@dataclass(frozen=True, eq=False)
class Requests:
    """What the jobs of a run ask for, and where.

    Parameters
    ----------
    run, policy
        The run.
    """

    run: RunRecord
    policy: Policy

    @cached_property
    def _amounts(self) -> list[int | npt.NDArray[np.int64]]:
        return amounts(self.run.workload, self.run.system)

    @cached_property
    def _routes(self) -> Routes | None:
        return routes(self.run.workload, self.run.system)

    @cached_property
    def reserved(self) -> Reserved | None:
        """The reservations of the machine, and of each job."""
        return reserved(self.run.workload, self.run.system)

    @cached_property
    def _most(self) -> npt.NDArray[np.int64] | None:
        return tasks_per_node(self.run.workload, self.run.system, self.policy)

    @cached_property
    def _whole(self) -> Mask | None:
        return takes_whole_nodes(self.run.workload, self.run.system, self._routes)

    @cached_property
    def _sets(self) -> tuple[list[list[Mask]], npt.NDArray[np.uint32] | None]:
        """The lists of node sets, each as a mask of the nodes; and the list of each job, from 1."""
        columns = node_set_columns(self.run.workload, self.run.system, self._routes, self.reserved)
        masks = [self._mask(ranges) for ranges in columns["node_sets"]]
        lists = [[masks[own] for own, _, _ in each] for each in columns["node_set_lists"]]
        return lists, columns["node_set_list"]

    def _mask(self, ranges: list[tuple[int, int]]) -> Mask:
        mask = np.zeros(self.run.system.nodes, np.bool_)
        for begin, end in ranges:
            mask[begin:end] = True
        return mask

    @cached_property
    def _every_node(self) -> Mask:
        return np.ones(self.run.system.nodes, np.bool_)

    def node_sets(self, row: int) -> list[Mask]:
        """Return the node sets of a job, in the order in which it tries them."""
        lists, list_of = self._sets
        number = 0 if list_of is None else int(list_of[row])
        return lists[number - 1] if number else [self._every_node]

    def list_of(self) -> npt.NDArray[np.uint32] | None:
        """Return the number of the list of node sets of each job; None if all may use every node."""
        return self._sets[1]

    def nodes(self, row: int) -> Mask:
        """Return the nodes that a job may use."""
        return np.asarray(np.logical_or.reduce(self.node_sets(row)), np.bool_)

    def per_task(self, row: int) -> Whole:
        """Return what each task of a job asks for, int64, shape (resources,)."""
        return np.array(
            [each if isinstance(each, int) else each[row] for each in self._amounts], dtype=np.int64
        )

    def most_per_node(self, row: int) -> int:
        """Return the most tasks of a job on a node; 0 for any number."""
        return 0 if self._most is None else int(self._most[row])

    def takes_whole(self, row: int) -> bool:
        """Return whether a job takes nodes whole."""
        return self._whole is not None and bool(self._whole[row])

    def own_reservation(self, row: int) -> int:
        """Return the number of the reservation that a job uses, from 1; 0 for none."""
        return 0 if self.reserved is None else int(self.reserved.of_job[row])

    @cached_property
    def _clauses(self) -> tuple[dict[int, list[list[Need]]], list[list[int]]]:
        """The alternative lists of needs of each job, and the members of groups of jobs."""
        made = graph(self.run.workload.jobs)
        if made is None:
            return {}, []
        found: dict[int, list[list[Need]]] = {}
        for row, needs in made.clauses:
            found.setdefault(row, []).append(needs)
        return found, made.groups

    def dependencies(self, row: int) -> frozenset[int]:
        """Return the rows of the jobs that a job depends on."""
        clauses = self._clauses[0].get(row, ())
        return self._rows([subject for needs in clauses for subject, _, _ in needs])

    def awaited(self, row: int) -> frozenset[int]:
        """Return the rows of the jobs whose ends a job surely waits for; none if it has alternatives."""
        clauses = self._clauses[0].get(row, ())
        if len(clauses) != 1:
            return frozenset()
        return self._rows([subject for subject, kind, _ in clauses[0] if kind != "after"])

    def _rows(self, subjects: list[int]) -> frozenset[int]:
        """Return the rows of subjects, which may be groups of subjects."""
        rows, seen, left = len(self.run.outcome.state), set[int](), subjects
        while left:
            subject = left.pop()
            if subject not in seen:
                seen.add(subject)
                left += self._clauses[1][subject - rows] if subject >= rows else ()
        return frozenset(subject for subject in seen if subject < rows)


@dataclass(frozen=True, eq=False)
class Unavailable:
    """When nodes took no job: closures of nodes, and reservations of the machine under way.

    Parameters
    ----------
    run
        The run.
    events
        Its external events.
    reserved
        The reservations of the machine.
    """

    run: RunRecord
    events: EventStream | None
    reserved: Reserved | None

    def spans(self, begin: float, end: float, own_reservation: int) -> list[Span]:
        """Return the nodes that took no job of a reservation, and from when to when, in [begin, end]."""
        return [
            (nodes, max(first, begin), min(last, end))
            for nodes, first, last, number in self._all
            if first < end and last > begin and not (number and number == own_reservation)
        ]

    def at(self, time: float, own_reservation: int) -> Mask:
        """Return the nodes that took no job of a reservation right after an instant."""
        closed = np.zeros(self.run.system.nodes, np.bool_)
        for nodes, first, last, number in self._all:
            if first <= time < last and not (number and number == own_reservation):
                closed |= nodes
        return closed

    @cached_property
    def _all(self) -> list[tuple[Mask, float, float, int]]:
        """Nodes, begin and end of each interval, and the number of the reservation; 0 for a closure."""
        return [*self._closures(), *self._reservations()]

    def _closures(self) -> list[tuple[Mask, float, float, int]]:
        log = self.run.outcome.tables.get("closures")
        found, since = [], dict[int, float]()
        if log is None:
            return []
        for time, node, closed in zip(log["time"], log["node"], log["closed"], strict=True):
            if closed:
                since[int(node)] = float(time)
            else:
                found.append((int(node), since.pop(int(node)), float(time)))
        found += [(node, begin, np.inf) for node, begin in since.items()]
        return [(self._one(node), begin, end, 0) for node, begin, end in found if end > begin]

    def _one(self, node: int) -> Mask:
        mask = np.zeros(self.run.system.nodes, np.bool_)
        mask[node] = True
        return mask

    def _reservations(self) -> list[tuple[Mask, float, float, int]]:
        if self.reserved is None:
            return []
        found = []
        for place, (ranges, spans) in enumerate(zip(self.reserved.nodes, self.reserved.spans, strict=True)):
            mask = np.zeros(self.run.system.nodes, np.bool_)
            for first, last in ranges:
                mask[first:last] = True
            for known_from, known_to in self._known(self.run.system.reservations[place].name):
                both = ((max(begin, known_from), min(end, known_to)) for begin, end in spans)
                found += [(mask, begin, end, place + 1) for begin, end in both if begin < end]
        return found

    def _known(self, name: str) -> list[tuple[float, float]]:
        """Return when a reservation was known."""
        if self.events is None or "reservation" not in self.events.table.columns:
            return [(-np.inf, np.inf)]
        table = self.events.table
        known = name not in reservations_to_come(table.select("event", "reservation").iter_rows())
        changes = table.filter(
            (pl.col("reservation") == name) & pl.col("event").is_in(["reserve", "unreserve"])
        )
        times = [-np.inf, *changes["time"], np.inf]
        states = [known, *(changes["event"] == "reserve")]
        return [each for each, is_known in zip(pairwise(times), states, strict=True) if is_known]
