"""Why a job waited: the answer of `Result.why`, as tables, text and HTML (semantics, S29)."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

import polars as pl

from batchlab.core import markup
from batchlab.core.late import result_why_changed as changed
from batchlab.core.rules import is_finite
from batchlab.core.text_tables import Table, render
from batchlab.core.units import format_count, format_duration
from batchlab.core.vocabulary import JOB_STATES
from batchlab.errors import ResultError, shown
from batchlab.result.recorded import TABLES
from batchlab.result.why.capacity import HOLDER_TITLES, capacity_of
from batchlab.result.why.chain import chain_of
from batchlab.result.why.overtakers import overtakers_of
from batchlab.result.why.split import subject_of_gate, words_of_gate
from batchlab.workload.columns import EXEMPT_FROM_LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from batchlab.core.markup import Html
    from batchlab.result.recorded import RecordedTable
    from batchlab.result.why.capacity import Capacity
    from batchlab.result.why.chain import Chain
    from batchlab.result.why.changed import Earlier, WhatIf
    from batchlab.result.why.wait import Wait


__all__ = ["Why", "why"]

_ENDINGS = {
    "at_once": "job {job} started at its submission",
    "no_end": "no job ended when job {job} started",
}
_GATES = "Why it could not start:"
_PROMISES = "Its promised start, the latest promise first:"
_CAUSES_OF_JOB = {"end": "the end", "arrival": "the arrival", "job": "an event", "start": "the start"}
_CAUSES = {
    "end": "ends of jobs",
    "arrival": "arrivals of jobs",
    "job": "events of jobs",
    "node": "a change of nodes",
    "limit": "a change of a limit",
    "reservation": "a change of a reservation",
    "scheduler": "a stop or start of the scheduler",
    "start": "starts of jobs",
    "time": "time alone",
}
_NOUNS = {"core": "cores", "gpu": "GPUs", "node": "nodes"}
_SHOWN_JOBS, _SHOWN_LINKS, _SHOWN_OVERTAKERS = 3, 12, 5


@dataclass(frozen=True, eq=False, repr=False)
class Why:
    """Why a job waited. `print` shows it as text; notebooks show it as a card.

    Parameters
    ----------
    job_id
        The number of the job.
    submit_time, until
        The wait: seconds since the workload's origin. `until` is the start of the job; if it never started,
        the time at which it was cancelled or killed, or the time of the last event of the run.
    has_started
        Whether the job started.
    capacity
        Use of the machine during the wait.
    chain
        The ends that set the start.
    overtakers
        The jobs that were submitted later and started earlier, by start: ``job_id``, ``row``,
        ``submit_time``, ``start_time``, ``requested_time`` (s), ``tasks``, ``unit_seconds`` and ``seconds``
        that they held in the wait, and ``rule``: what is known of how they could, or null.
    gates
        The rows of `Result.gates` about the job: why it could not start; None unless the
        run recorded them (``explain=True``).
    promises
        The rows of `Result.promises` about the job: its promised starts, and what moved them; None unless the
        run recorded them.
    wait_of
        The indices of the run.
    """

    job_id: int
    submit_time: float
    until: float
    has_started: bool
    capacity: Capacity
    chain: Chain
    overtakers: pl.DataFrame
    gates: pl.DataFrame | None
    promises: pl.DataFrame | None
    wait_of: Wait

    @property
    def wait(self) -> float:
        """The duration of the wait, seconds."""
        return self.until - self.submit_time

    def __repr__(self) -> str:
        return f"<Why job {self.job_id} waited {self.wait:g} s>"

    def __str__(self) -> str:
        return self.text()

    def text(self, width: int | None = 80) -> str:
        """Write the answer as text.

        Parameters
        ----------
        width
            Line length in characters; None for lines of any length.

        Returns
        -------
        str
            Lines of text without a newline at the end.
        """
        return _page(self, width)

    def sections(self) -> list[tuple[str, list[tuple[str, ...]]]]:
        """Return the answer as titles and tables.

        Returns
        -------
        list of tuple
            The first title is the answer in a sentence or two. Each title has the rows of a table of text,
            the first with the names of the columns; no rows if there is no table.
        """
        return [*_tables(self)]

    def _repr_html_(self) -> str:
        return _card(self)

    def what_if(
        self,
        *,
        exact_estimates: bool = False,
        without: Iterable[int] = (),
        priority: float | None = None,
        **values: object,
    ) -> WhatIf:
        """Run the jobs again with one thing changed for this job alone, or without some jobs.

        The answer is that of `batchlab.simulate` with the changed workload, and takes as long.

        Parameters
        ----------
        exact_estimates
            True to let schedulers plan with the true run time of this job; its limit stays.
        without
            The numbers of jobs that are left out, as overtakers; dependencies on them, and events of them,
            are left out too.
        priority
            The priority of this job from its submission on: its key in the queue is −priority under any
            order, so that a larger one comes earlier. None for the key of the order.
        **values
            New values of this job by column: ``requested_time`` (with it the ``time_limit``, unless that is
            given), ``time_limit`` (None: no limit), ``tasks``, ``submit_time``, ``run_time`` (s), and other
            columns that the jobs have, such as ``partition``, ``qos`` or ``account``. ``limit=None`` exempts
            this job alone from the limits of the system.

        Returns
        -------
        WhatIf
            The new start, and the other jobs whose start changed.

        Raises
        ------
        ResultError
            If the run had a policy, a control or observers written in Python, a column is unknown, or nothing
            is changed.
        WorkloadError
            If a value breaks a rule of jobs.
        """
        run, row = self.wait_of.run, self.wait_of.row
        left_out = tuple(sorted({run.row_of(other) for other in without}))
        if row in left_out:
            raise ResultError(f"what_if: without = {self.job_id}; must be other jobs than this one.")
        if "limit" in values:
            if values.pop("limit") is not None:
                rule = "must be None, which exempts the job from limits; requested_time changes its time"
                raise ResultError(f"what_if: limit; {rule}.")
            values[EXEMPT_FROM_LIMITS] = True
        if priority is not None and not is_finite(priority):
            raise ResultError(f"what_if: priority = {shown(priority)}; must be a finite number.")
        if not (values or left_out or exact_estimates or priority is not None):
            rule = "name a change, as in what_if(requested_time=3600) or what_if(without=[7])"
            raise ResultError(f"what_if: nothing is changed; {rule}.")
        return changed.what_if(run, changed.Change(row, values, exact_estimates, left_out, priority))

    def earlier(self, by: float = 3600.0, *, steps: int = 12) -> Earlier:
        """Look for requests with which the job would have started earlier.

        Starts do not follow the size or the limit of a job: all values of a grid are tried, each by a run
        until the time in question.

        Parameters
        ----------
        by
            How much earlier, seconds; at most the wait.
        steps
            The number of limits, and of sizes, to try.

        Returns
        -------
        Earlier
            The starts of the grid, and the largest limit and size that would do.

        Raises
        ------
        ResultError
            If the job did not wait so long or did not start, or the run cannot be repeated.
        """
        if not self.has_started or not 0 < by <= self.wait:
            rule = f"the job must have started, and waited so long; it waited {self.wait:g} s"
            raise ResultError(f"by = {shown(by)}; {rule}.")
        if not isinstance(steps, int) or steps < 1:
            raise ResultError(f"steps = {shown(steps)}; must be a whole number >= 1.")
        return changed.earlier(self.wait_of.run, self.wait_of.row, self.until - by, steps)


def why(wait: Wait) -> Why:
    """Explain the wait of a job."""
    capacity = capacity_of(wait)
    return Why(
        job_id=int(wait.job_ids[wait.row]),
        submit_time=wait.begin,
        until=wait.end,
        has_started=wait.start is not None,
        capacity=capacity,
        chain=chain_of(wait),
        overtakers=overtakers_of(wait, capacity.jobs),
        gates=_rows_of(wait, TABLES["gates"]),
        promises=_rows_of(wait, TABLES["promises"]),
        wait_of=wait,
    )


def _rows_of(wait: Wait, recorded: RecordedTable) -> pl.DataFrame | None:
    """Return the rows of a job in a recorded table, if the run recorded it."""
    if not recorded.has(wait.run.result):
        return None
    table = recorded.of(wait.run.result)
    return table.filter(table["row"] == wait.row)


def _page(why: Why, width: int | None) -> str:
    parts = []
    for text, table in _sections(why):
        lines = [text] if width is None else wrap(text, width)
        parts.append("\n".join([*lines, *([] if table is None else [render([table], width)])]))
    return "\n\n".join(parts)


def _sections(why: Why) -> Iterator[tuple[str, Table | None]]:
    """Yield the sentences and tables of the answer."""
    yield " ".join(_head(why)), None
    if not why.wait:
        return
    if why.gates is not None and len(why.gates):
        yield _GATES, Table(_gates(why), labels=3)
    if why.promises is not None and len(why.promises):
        yield _PROMISES, Table(_promises(why), prose=True, note=_earlier_promises(why))
    yield _who_title(why), Table(_who(why), prose=True)
    yield _chain_title(why), Table(_links(why), note=_rest(why)) if len(why.chain.links) else None
    yield _overtaken(why), Table(_overtakers(why), note=_more(why)) if len(why.overtakers) else None


def _head(why: Why) -> Iterator[str]:
    limit = float(why.wait_of.run.outcome.requested_time[why.wait_of.row])
    instant = why.wait_of.run.instant
    times = f"from {instant(why.submit_time)} to {instant(why.until)}"
    if not why.wait:
        at = instant(why.submit_time)
        if why.has_started:
            yield f"Job {why.job_id} did not wait: it started when it was submitted, at {at}."
        else:
            yield f"Job {why.job_id} has not waited yet: it was submitted at {at}, the last time of the run."
    elif why.has_started:
        yield f"Job {why.job_id} waited {format_duration(why.wait)}, {times}."
    else:
        state = JOB_STATES[why.wait_of.run.outcome.state[why.wait_of.row]]
        end = f"was {state} before it started" if state in {"cancelled", "killed"} else "has not started"
        yield f"Job {why.job_id} waited {format_duration(why.wait)}, {times}, and {end}."
    capacity = why.capacity
    yield f"It asked for {capacity.asked:,} of {_units(why)} and for {format_duration(limit)}."


def _gates(why: Why) -> list[tuple[str, ...]]:
    """List the gates by kind, the longest first."""
    rows: list[tuple[str, ...]] = [("gate", "subject", "used by", "time", "share")]
    if why.gates is None:
        return rows
    ends = pl.col("end").fill_null(why.until)
    held_by = pl.when(pl.col("gate") == "resources").then("detail")
    # A gate names a job or a limit; of many jobs the first ones would say little.
    found = why.gates.group_by("gate", subject_of_gate(), held_by.alias("held_by"), maintain_order=True).agg(
        (ends - pl.col("start")).sum().alias("time")
    )
    found = found.sort("time", descending=True, maintain_order=True)
    for gate, subject, by, time in found.head(_SHOWN_LINKS).iter_rows():
        share = f"{time / why.wait:.1%}"
        rows.append((*words_of_gate(gate, subject, by), format_duration(time), share))
    return rows


def _promises(why: Why) -> list[tuple[str, ...]]:
    """List the promised starts, the latest first."""
    rows: list[tuple[str, ...]] = [("since", "promised start", "after")]
    if why.promises is None:
        return rows
    names = "start", "promised", "cause", "cause_job"
    # Slurm's controller promises starts in cycles of backfill, whatever has happened.
    is_by_cycles = why.wait_of.run.result.policy.backfill == "slurm"
    for since, promised, cause, job in why.promises.select(names).reverse().head(_SHOWN_LINKS).iter_rows():
        after = "a cycle of backfill" if is_by_cycles else _cause(cause, job)
        rows.append((format_duration(since), format_duration(promised), after))
    return rows


def _cause(cause: str, job: int | None) -> str:
    """Name the events that moved a promise."""
    names = _CAUSES if job is None else _CAUSES_OF_JOB
    after = " and ".join(names[kind] for kind in cause.split("+"))
    return after if job is None else f"{after} of job {job}"


def _earlier_promises(why: Why) -> str:
    count = 0 if why.promises is None else len(why.promises) - _SHOWN_LINKS
    return f"… {count:,} earlier promises." if count > 0 else ""


def _who_title(why: Why) -> str:
    return f"Use of the {_units(why)} during the wait:"


def _units(why: Why) -> str:
    """Name the units of the nodes that the job may use."""
    capacity = why.capacity
    noun = _NOUNS.get(capacity.resource, f"units of {capacity.resource}")
    return f"{capacity.units:,} {noun[:-1] if capacity.units == 1 and noun.endswith('s') else noun}"


def _who(why: Why) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("used by", "time", "share", "largest shares")]
    for holder, seconds, share in why.capacity.table.select("holder", "seconds", "share").iter_rows():
        if seconds:
            jobs = why.capacity.jobs.filter(pl.col("holder") == holder)
            above = [
                f"job {job} {part / seconds:.0%}"
                for job, part in jobs.select("job_id", "seconds").head(_SHOWN_JOBS).iter_rows()
            ]
            more = [f"{len(jobs) - _SHOWN_JOBS:,} more"] if len(jobs) > _SHOWN_JOBS else []
            time = format_duration(seconds)
            rows.append((HOLDER_TITLES[holder], time, f"{share:.1%}", ", ".join([*above, *more])))
    return rows


def _chain_title(why: Why) -> str:
    if len(why.chain.links):
        return "Jobs whose ends determined its start, the latest first:"
    if not why.has_started:
        return "It has not started."
    return (
        "No job ended when it started: a begin time, a release, a reservation, a limit, a node or a cycle of "
        "the scheduler determined its start."
    )


def _links(why: Why) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("job", "part of the wait", "until", "run time", "time limit", "")]
    names = "job_id", "start_time", "end_time", "run_time", "requested_time", "overtook"
    for job, begin, end, ran, limit, overtook in why.chain.links.select(names).head(_SHOWN_LINKS).iter_rows():
        held, *lasted = (format_duration(each) for each in (end - begin, ran, limit))
        until = why.wait_of.run.instant(end)
        rows.append((str(job), held, until, *lasted, "overtook" if overtook else ""))
    return rows


def _rest(why: Why) -> str:
    notes = []
    links = len(why.chain.links)
    if links > _SHOWN_LINKS:
        notes.append(f"… {links - _SHOWN_LINKS:,} earlier links.")
    if links and why.chain.ending in _ENDINGS:
        last = _ENDINGS[why.chain.ending].format(job=why.chain.links["job_id"][-1])
        notes.append(f"Rest of the wait: {format_duration(why.chain.rest)}; {last}.")
    return " ".join(notes)


def _overtaken(why: Why) -> str:
    if not len(why.overtakers):
        return "No job that was submitted later started before it."
    count = len(why.overtakers)
    jobs = format_count(count, "job that was submitted later", "jobs that were submitted later")
    return f"{jobs} started before it:"


def _overtakers(why: Why) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("job", "used in the wait", "share", "started", "time limit", "rule")]
    table = why.overtakers.sort("unit_seconds", descending=True, maintain_order=True)
    names = "job_id", "seconds", "start_time", "requested_time", "rule"
    for job, seconds, start, asked, rule in table.select(names).head(_SHOWN_OVERTAKERS).iter_rows():
        times = why.wait_of.run.instant(start), format_duration(asked)
        known = (rule or "").replace("_", " ")
        rows.append((str(job), format_duration(seconds), f"{seconds / why.wait:.1%}", *times, known))
    if not any(row[-1] for row in rows[1:]):
        return [row[:-1] for row in rows]
    return rows


def _more(why: Why) -> str:
    count = len(why.overtakers) - _SHOWN_OVERTAKERS
    return f"… {count:,} more, which used less." if count > 0 else ""


def _card(why: Why) -> Html:
    """Write the answer for a notebook."""
    (head, _), *others = _tables(why)
    cards = [markup.card(f"Why job {why.job_id} waited", [("wait", head)])]
    for title, rows in others:
        names, *cells = rows or [()]
        cards.append(markup.card(title, [], names, cells))
    return markup.Html("".join(cards))


def _tables(why: Why) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Yield the titles and rows of the tables of the answer; no rows for a title without a table."""
    yield " ".join(_head(why)), []
    if not why.wait:
        return
    if why.gates is not None and len(why.gates):
        yield _GATES, _gates(why)
    if why.promises is not None and len(why.promises):
        yield f"{_PROMISES} {_earlier_promises(why)}".strip(), _promises(why)
    yield _who_title(why), _who(why)
    links = _links(why) if len(why.chain.links) else []
    yield f"{_chain_title(why)} {_rest(why)}".strip(), links
    overtakers = _overtakers(why) if len(why.overtakers) else []
    yield f"{_overtaken(why)} {_more(why)}".strip(), overtakers
