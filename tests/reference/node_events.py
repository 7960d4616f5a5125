"""What node events do to the machine and to the jobs there."""

from collections.abc import Callable
from dataclasses import replace
from math import floor

from reference.model import NodeEvent
from reference.state import Running, State


def apply(state: State, event: NodeEvent, kill: Callable[[Running], None]) -> None:
    """Change the machine; an event that changes nothing is no disturbance."""
    change(state, event)
    if event.act == "close" and event.running_jobs != "stay":
        for victim in victims(state, event.node):
            if event.running_jobs == "keep" and victim.phase == "suspending":
                continue
            state.disturbed = True
            may_not_wait = event.running_jobs == "requeue" and not victim.job.requeue
            if event.running_jobs == "kill" or may_not_wait:
                kill(victim)
            elif event.running_jobs == "keep" and victim.phase != "completing":
                state.suspend(victim)
            else:
                state.cut_short(victim, kill, saved=saved(state, victim, event))


def change(state: State, event: NodeEvent) -> None:
    """Close or open a node, or withhold amounts of it."""
    before = state.machine
    closed, withheld = before.closed, dict(before.withheld)
    match event.act:
        case "close":
            closed |= {event.node}
        case "open":
            closed -= {event.node}
        case "withhold":
            withheld[event.node] = event.amounts
    nothing = tuple(0 for _ in before.resources)
    withheld = {node: amounts for node, amounts in withheld.items() if amounts != nothing}
    state.machine = replace(before, closed=closed, withheld=withheld)
    if state.machine != before:
        state.disturbed = True
        state.causes.add(state.now, "node")
    if state.sleep is not None:
        state.sleep.touch(closed ^ before.closed, state.now)


def victims(state: State, node: int) -> list[Running]:
    """List the jobs with tasks on a node, by expected end, then row."""
    there = [running for running in state.running if node in dict(running.placement)]
    return sorted(there, key=lambda each: (state.expected_end(each), each.job.row))


def saved(state: State, victim: Running, event: NodeEvent) -> float:
    """Give the seconds of a run that need not be run again."""
    elapsed = victim.done(state.now)
    checkpoint = floor(elapsed / event.every) * event.every
    return {"requeue": 0.0, "keep": elapsed, "checkpoint": checkpoint}[event.running_jobs]
