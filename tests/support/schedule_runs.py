"""Random cases through the public API, as the reference gives them: one outcome per job."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any, NamedTuple

import polars as pl
import pytest

import batchlab as bl
from batchlab.options.overheads import PHASES
from batchlab.seam import View
from reference import Interruption, Job, Multifactor, Outcome
from reference.gates import Gates
from reference.rates import Control
from reference.reasons import Reasons
from reference.state import State
from support.schedule_cases import Case
from support.schedule_systems import system_of

INSTANTS = 12
"""The most instants of a run at which the reasons of waiting jobs are compared."""

__all__ = [
    "Expected",
    "NodeEvents",
    "applied_of",
    "differences",
    "events_of",
    "expected_gates",
    "expected_of",
    "fail_if_different",
    "gate_differences",
    "gate_rows_that_differ",
    "interruptions_of",
    "observers_of",
    "outcomes",
    "policy_of",
    "reason_differences",
    "result_of",
    "rows_of",
    "simulation_of",
    "workload_of",
]


def workload_of(case: Case) -> bl.Workload:
    """Give the jobs as a table; times are kept as they are, over-long runs included."""
    jobs, resources = case.jobs, case.machine.resources
    columns = {
        "job_id": pl.Series([job.row for job in jobs], dtype=pl.Int64),
        "submit_time": pl.Series([job.submit_time for job in jobs], dtype=pl.Float64),
        "run_time": pl.Series([own_run_time(job) for job in jobs], dtype=pl.Float64),
        "requested_time": pl.Series([job.requested_time for job in jobs], dtype=pl.Float64),
        **limits_of(jobs),
        **exemptions_of(jobs),
        "tasks": pl.Series([job.tasks for job in jobs], dtype=pl.Int64),
        "tasks_per_node": pl.Series([job.tasks_per_node for job in jobs], dtype=pl.Int64),
        "user_id": pl.Series([job.row % 3 for job in jobs], dtype=pl.Int64),
        "exclusive": pl.Series([job.exclusive for job in jobs], dtype=pl.Boolean),
    }
    if case.machine.groups:
        names = ["|".join(f"group{group}" for group in job.node_groups) or None for job in jobs]
        columns["node_group"] = pl.Series(names, dtype=pl.String)
    machine = case.machine
    has_owners = machine.partitions or machine.queues or machine.limits or machine.reservations
    if has_owners or machine.preemption or isinstance(case.order_argument, Multifactor):
        partitions = ["|".join(job.partitions) or None for job in jobs]
        columns["partition"] = pl.Series(partitions, dtype=pl.String)
        for name in ("queue", "user", "group", "account", "qos"):
            columns[name] = pl.Series([getattr(job, name) for job in jobs], dtype=pl.String)
    if case.order in {"multifactor", "sbp"}:
        columns["nice"] = pl.Series([job.nice for job in jobs], dtype=pl.Float64)
        columns["score"] = pl.Series([job.score for job in jobs], dtype=pl.Float64)
    if case.machine.reservations:
        names = [job.reservation for job in jobs]
        columns["reservation"] = pl.Series(names, dtype=pl.String)
    if not all(job.requeue for job in jobs):
        columns["requeue"] = pl.Series([job.requeue for job in jobs], dtype=pl.Boolean)
    columns |= waiting_columns(jobs)
    if case.overheads is not None:
        for phase in PHASES:
            seconds = [getattr(each, phase) for each in case.overheads.of_job]
            columns[f"{phase}_seconds"] = pl.Series(seconds, dtype=pl.Float64)
    for index, name in enumerate(resources):
        columns[name] = pl.Series([job.request[index] for job in jobs], dtype=pl.Int64)
    return bl.Workload.from_table(columns, resources=resources, overrun="keep", invalid="raise")


def own_run_time(job: Job) -> float:
    """Give the run time of a job's last attempt; 0 where it has none of its own."""
    return 0.0 if job.until is not None else job.last if job.legs else job.run_time


def limits_of(jobs: Sequence[Job]) -> dict[str, pl.Series]:
    """Give the column of limits, where a job has one that is not its requested_time."""
    if all(job.time_limit is None for job in jobs):
        return {}
    return {"time_limit": pl.Series([job.limit for job in jobs], dtype=pl.Float64)}


def exemptions_of(jobs: Sequence[Job]) -> dict[str, pl.Series]:
    """Give the column of jobs that no limit counts, where there is one."""
    exempt = [job.exempt_from_limits for job in jobs]
    return {"exempt_from_limits": pl.Series(exempt, dtype=pl.Boolean)} if any(exempt) else {}


def waiting_columns(jobs: Sequence[Job]) -> dict[str, pl.Series]:
    """Give the columns of what jobs wait for, and how long they do, where one does."""
    columns = {}
    if any(job.until is not None for job in jobs):
        columns["cancelled_after"] = pl.Series([job.cancelled_after for job in jobs], dtype=pl.Float64)
    happened = [run_events_of(job) for job in jobs]
    if any(happened):
        columns["run_events"] = pl.Series(happened, dtype=pl.String)
    if any(job.begin_time for job in jobs):
        columns["begin_time"] = pl.Series([job.begin_time or None for job in jobs], dtype=pl.Float64)
    if any(job.depends_on for job in jobs):
        columns["depends_on"] = pl.Series([job.depends_on for job in jobs], dtype=pl.List(pl.Int64))
    if any(job.dependencies for job in jobs):
        columns["dependency"] = pl.Series([text_of(job) for job in jobs], dtype=pl.String)
        columns["user"] = pl.Series([job.user for job in jobs], dtype=pl.String)
        columns["job_name"] = pl.Series([job.name for job in jobs], dtype=pl.String)
    if any(job.array is not None for job in jobs):
        columns["array_id"] = pl.Series([job.array for job in jobs], dtype=pl.Int64)
        columns["array_index"] = pl.Series([job.row for job in jobs], dtype=pl.Int64)
        columns["array_limit"] = pl.Series([job.array_limit for job in jobs], dtype=pl.Int64)
    return columns


def run_events_of(job: Job) -> str | None:
    """Write what happens to a job while it runs."""
    words = [
        f"suspend:{leg.seconds}:{leg.pause}" if leg.is_suspended else f"requeue:{leg.seconds}"
        for leg in job.legs
    ]
    words += [{"cancelled": "cancel", "killed": "kill"}[job.ends]] if job.ends != "completed" else []
    return ",".join(words) or None


def text_of(job: Job) -> str | None:
    """Write what a job depends on; an array has the number of the first of its tasks."""
    terms = []
    for need in job.dependencies:
        delay = f"+{need.delay / 60:.0f}" if need.delay else ""
        rows = f":{need.rows[0]}" if need.rows else ""
        terms.append(f"{need.kind}{rows}{delay}")
    return ("?" if job.any_dependency else ",").join(terms) or None


def policy_of(case: Case) -> bl.Policy:
    """Give the policy."""
    if case.backfill == "reject":
        return bl.Policy("reject")
    # The names of a case are those that the reference knows.
    named: Any = (case.order_text, case.backfill, case.allocator, case.reservations, case.predictor)
    return bl.Policy(*named)


class NodeEvents(bl.Observer):
    """Does to the nodes what a case says, event by event."""

    def __init__(self, case: Case) -> None:
        self.case = case

    def begin(self, view: View) -> None:
        """Set a timer for each instant."""
        for time in sorted({event.time for event in self.case.node_events}):
            view.wake(time)

    def wake(self, view: View) -> None:
        """Do what is due."""
        for event in [event for event in self.case.node_events if event.time == view.now]:
            if event.act == "open":
                view.resume(event.node)
            elif event.act == "withhold":
                view.reserve_capacity(
                    event.node, dict(zip(self.case.machine.resources, event.amounts, strict=True))
                )
            else:
                view.drain(event.node)
                for job in [] if event.running_jobs == "stay" else view.jobs_on(event.node):
                    if event.running_jobs == "kill":
                        view.kill(job)
                    elif event.running_jobs == "checkpoint":
                        view.preempt(job, mode="from_checkpoint", every=event.every)
                    else:
                        view.preempt(job, mode="suspend" if event.running_jobs == "keep" else "requeue")


def observers_of(case: Case) -> list[bl.Observer]:
    """Give the observer that disturbs the nodes; none where there are no node events."""
    return [NodeEvents(case)] if case.node_events else []


def options_of(case: Case) -> bl.RunOptions:
    """Give the options of the run."""
    return bl.RunOptions(
        seed=case.seed,
        walltime=case.walltime,
        order_at_instant=case.order_at_instant,
        overheads=overheads_of(case),
        control=controls_of(case),
        sleep=sleep_of(case),
        **case.options,
    )


def sleep_of(case: Case) -> bl.NodeSleep | None:
    """Give the rules of sleeping."""
    if case.sleep is None:
        return None
    given, keep = case.sleep, case.sleep.keep
    names = [f"{int(time) // 3600:02d}:{int(time) // 60 % 60:02d}" for time, _ in keep]
    moments: Any = names if given.daily else [time for time, _ in keep]
    times = zip(moments, (count for _, count in keep), strict=True)
    wake: Any = given.wake
    return bl.NodeSleep(
        after=dict(given.after),
        keep=tuple(times) or 0,
        wake=wake,
        counted=given.counted,
        prefer_on=given.prefer_on,
    )


def controls_of(case: Case) -> list[bl.RateControl] | None:
    """Give the controls of the rates; None where there are none."""
    return [control_of(control) for control in case.controls] or None


def control_of(control: Control) -> bl.RateControl:
    """Give a control as users describe it."""
    shared: Any = {"rates": control.rates, "groups": tuple(f"group{group}" for group in control.groups)}
    low: Any = control.low
    high: Any = control.high
    match control.rule:
        case "constant":
            return bl.Powersave(**shared)
        case "random":
            return bl.RandomisedRate(control.up, control.down, coins=control.coins, **shared)
        case "count":
            return bl.CountHysteresis(low, high, **shared)
        case "workload":
            flags: Any = {"weighted": control.weighted, "printed": control.printed}
            return bl.WorkloadHysteresis(low, high, **flags, **shared)
        case "ondemand":
            return bl.Ondemand(threshold=control.threshold, interval=control.interval, **shared)
    return bl.Schedutil(window=control.window, interval=control.interval, **shared)


def overheads_of(case: Case) -> bl.Overheads | None:
    """Give the overheads, which stand in columns of the jobs."""
    if case.overheads is None:
        return None
    given = case.overheads
    taken = [phase for phase in PHASES if any(getattr(own, phase) for own in given.of_job)]
    columns: Any = {phase: f"{phase}_seconds" for phase in taken}
    return bl.Overheads(**columns, counted=given.counted, billed=given.billed)


def simulation_of(case: Case) -> bl.Simulation:
    """Give the simulation, before its first instant."""
    return bl.Simulation(
        workload_of(case),
        system_of(case.machine),
        policy_of(case),
        options=options_of(case),
        observers=observers_of(case),
        events=events_of(case),
    )


def events_of(case: Case) -> bl.EventStream | None:
    """Give the external events; None where there are none."""
    if not case.events:
        return None
    rows = []
    for event in case.events:
        row: dict[str, Any] = {"time": event.time, "event": event.kind, "job_id": event.row}
        row |= {"value": event.value, "nodes": ",".join(map(str, event.nodes)) or None}
        if event.kind == "down":
            row["jobs"] = "kill" if event.kills else "requeue"
        if event.kind == "limit":
            row |= {"limit": f"limit{event.number}", "quantity": event.quantity}
        elif event.kind in {"reserve", "unreserve"} and event.number is not None:
            row["reservation"] = case.machine.reservations[event.number].name
        rows.append(row)
    return bl.EventStream(rows)


def result_of(case: Case, policy: bl.Policy | None = None, options: bl.RunOptions | None = None) -> bl.Result:
    """Run the case through `simulate`; under another policy or other options where they are given."""
    return bl.simulate(
        workload_of(case),
        system_of(case.machine),
        policy or policy_of(case),
        options=options or options_of(case),
        observers=observers_of(case),
        events=events_of(case),
    )


def outcomes(
    case: Case, interruptions: list[Interruption] | None = None, policy: bl.Policy | None = None
) -> list[Outcome]:
    """Run the case through `simulate`, and read the tables of jobs, of placements and of interruptions."""
    result = result_of(case, policy)
    if interruptions is not None:
        interruptions.extend(interruptions_of(result))
    return outcomes_of(case, result)


def outcomes_of(case: Case, result: bl.Result) -> list[Outcome]:
    """Read the table of jobs and the table of placements."""
    placements: list[list[tuple[int, int]]] = [[] for _ in case.jobs]
    for row, node, tasks in result.placements.select("row", "node", "tasks").iter_rows():
        placements[row].append((node, tasks))
    table = result.jobs.select("job_id", "state", "start_time", "end_time", "reason").iter_rows()
    found = []
    for job, (job_id, state, start_time, end_time, reason) in zip(case.jobs, table, strict=True):
        assert job_id == job.row
        # Why others wait at the end is compared apart.
        why = reason if state == "rejected" else None
        found.append(Outcome(state, start_time, end_time, placements[job.row], why))
    return found


def interruptions_of(result: bl.Result) -> list[Interruption]:
    """Read the runs that were cut short."""
    log = result.outcome.tables.get("interruptions")
    assert log is not None
    found = []
    for number, (row, *times) in enumerate(
        zip(log["row"], log["start_time"], log["end_time"], log["saved"], strict=True)
    ):
        part = slice(log["placement_offsets"][number], log["placement_offsets"][number + 1])
        nodes = zip(log["placement_nodes"][part].tolist(), log["placement_tasks"][part].tolist(), strict=True)
        start, end, saved = (float(value) for value in times)
        found.append(Interruption(int(row), start, end, saved, [*nodes]))
    return found


GateRow = tuple[
    int, float, float | None, str, str | None, str | None, int | None, int | None, float | None, float | None
]
"""A row of the table of gates without the job_id."""


class Expected(NamedTuple):
    """What the reference gives of a case.

    Outcomes, runs that were cut short, whether each event from outside applied, and why jobs waited.
    """

    outcomes: list[Outcome]
    interruptions: list[Interruption]
    applied: list[bool]
    reasons: Reasons | None


def expected_of(
    case: Case,
    *,
    asked_at_timers: bool = False,
    reasons: bool = False,
    after_pass: Callable[[State], None] | None = None,
) -> Expected:
    """Run the reference, which is most of the work: several checks of a case may share what it gives."""
    interruptions: list[Interruption] = []
    applied: list[bool] = []
    found = Reasons() if reasons else None
    outcomes = case.expected(
        interruptions,
        asked_at_timers=asked_at_timers,
        reasons=found,
        applied=applied,
        after_pass=after_pass,
    )
    return Expected(outcomes, interruptions, applied, found)


def differences(case: Case, policy: bl.Policy | None = None, expected: Expected | None = None) -> list[str]:
    """List where the public API and the reference differ, one line each."""
    if expected is None:
        in_python = policy is not None and policy.scheduler is not None
        expected = expected_of(case, asked_at_timers=in_python)
    result = result_of(case, policy)
    pairs = zip(case.jobs, expected.outcomes, outcomes_of(case, result), strict=True)
    lines = [f"job {job.row}: expected {one}, got {got}" for job, one, got in pairs if one != got]
    others = (
        ("interruptions", expected.interruptions, interruptions_of(result)),
        ("events that applied", expected.applied, applied_of(case, result)),
    )
    return [*lines, *(f"{name}: expected {one}, got {got}" for name, one, got in others if one != got)]


def applied_of(case: Case, result: bl.Result) -> list[bool]:
    """Read which events from outside changed something; those that were never reached did not."""
    known = result.outcome.events_applied
    flags = [] if known is None else known.tolist()
    return [*flags, *[False] * (len(case.events) - len(flags))]


def reason_differences(case: Case, expected: Expected | None = None) -> list[str]:
    """List where the reasons of jobs that wait differ, at instants of the run and at its end, a line each."""
    expected = expected_of(case, reasons=True) if expected is None else expected
    assert expected.reasons is not None
    intervals = expected.reasons.intervals()
    instants = sorted({begin for _, _, begin, _ in intervals})
    simulation, lines = simulation_of(case), list[str]()
    for now in instants[:: 1 + len(instants) // INSTANTS]:
        simulation.run_until(now)
        status = simulation.status()
        found = {job.row: status.reason(job.row) for job in case.jobs}
        waiting = {
            row: why for row, why, begin, end in intervals if begin <= now and (end is None or end > now)
        }
        lines += [
            f"reason of job {row} at {now}: expected {waiting.get(row)}, got {why}"
            for row, why in found.items()
            if why != waiting.get(row)
        ]
    return lines


def expected_gates(case: Case) -> Gates:
    """Return the gates and promises of waiting jobs by the reference."""
    gates = Gates()
    case.expected([], gates=gates)
    return gates


def rows_of(gates: Gates) -> list[GateRow]:
    """Return the rows of the table of gates."""
    return [
        (row, start, end, gate.name, gate.subject, gate.detail, gate.asked, gate.free, gate.delay, gate.hole)
        for row, start, end, gate in gates.intervals()
    ]


def gate_differences(case: Case) -> list[str]:
    """List where gates and promised starts differ between the public API and the reference, a line each."""
    gates = expected_gates(case)
    return gate_rows_that_differ(gates, result_of(case, options=replace(options_of(case), explain=True)))


def gate_rows_that_differ(gates: Gates, result: bl.Result) -> list[str]:
    """List the rows of gates and promised starts of a run that differ from the reference."""
    pairs = [
        *zip_longest(rows_of(gates), result.gates.drop("job_id").rows()),
        *zip_longest(gates.promises.intervals(), result.promises.drop("job_id").rows()),
    ]
    return [f"gates: expected {one}, got {other}" for one, other in pairs if one != other]


def fail_if_different(
    name: str, case: Case, listed: Callable[[Case], list[str]] = differences, found: list[str] | None = None
) -> None:
    """Fail with the smallest case found that still has differences; `found` are those of the case itself."""
    if listed(case) if found is None else found:
        smallest = shrunk(case, lambda smaller: bool(listed(smaller)))
        pytest.fail("\n".join([name, readable(smallest), *listed(smallest)]), pytrace=False)


def shrunk(case: Case, fails: Callable[[Case], bool]) -> Case:
    """Leave out jobs and node events as long as the case still fails."""
    number = 0
    while number < len(case.node_events) + len(case.events):
        smaller = case.without_event(number)
        if (smaller.node_events or smaller.events) and fails(smaller):
            case, number = smaller, 0
        else:
            number += 1
    row = 0
    while row < len(case.jobs):
        smaller = case.without(row)
        if fails(smaller):
            case, row = smaller, 0
        else:
            row += 1
    return case


def readable(case: Case) -> str:
    """Write a case so that it can be read, and pasted into a test."""

    def line(job: Job) -> str:
        return (
            f"    Job({job.row}, {job.submit_time!r}, {job.run_time!r}, {job.requested_time!r}, {job.tasks}, "
            f"{job.request}, {job.tasks_per_node}, {job.exclusive}, {job.node_groups}),"
            f"  # {text_of(job)} {job.depends_on} begin={job.begin_time} user={job.user} name={job.name} "
            f"array={job.array}%{job.array_limit} limit={job.limit} cancelled={job.cancelled_after} "
            f"events={run_events_of(job)} last={job.last}"
        )

    events = [f"    {event}," for event in (*case.node_events, *case.events)]
    settings = (
        f"{policy_of(case)}; seed={case.seed}, {case.walltime}, {case.order_at_instant}, {case.overheads}, "
        f"{case.sleep}, {case.controls}"
    )
    return "\n".join(
        [
            settings,
            str(case.machine),
            "Job(row, submit, run, requested, tasks, request, per node, exclusive, groups)",
        ]
        + [line(job) for job in case.jobs]
        + events
    )
