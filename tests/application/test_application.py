"""Applications and their tasks: what is taken, what is refused, and what is told of them."""

import pickle
import re
from typing import Any

import numpy as np
import pytest

import batchlab as bl
from batchlab import tasks
from batchlab.application.application import SITUATION

IDLE = tasks.Idle(1)


def test_fields_become_formulas() -> None:
    """Numbers and texts become formulas, lists tuples; patterns have one spelling."""
    task = tasks.Compute("work / num_nodes", "TOTAL", [[0, 1], [2, 0]], iterations=3)  # type: ignore[arg-type]
    assert (task.flops, task.computation_pattern) == (bl.Formula("work / num_nodes"), "all_ranks")
    assert (task.bytes, task.communication_pattern) == ((0.0, 1.0, 2.0, 0.0), "matrix")
    assert task.iterations == bl.Formula(3)
    assert tasks.Idle(np.float64(2)).seconds == bl.Formula(2)
    assert tasks.Read(list(np.array([1, 2]))).pattern == "vector"
    assert tasks.Idle(3).pattern == "uniform"


def test_a_delay_waits_together() -> None:
    """A delay is idle time of all ranks, who wait for each other."""
    delay = tasks.Delay("pause")
    assert (delay.kind, delay.pattern, delay.synchronized) == ("idle", "uniform", True)


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (tasks.Compute, {}, "there is nothing to do; must give flops, bytes, or both"),
        (tasks.Compute, {"flops": 1}, "computation_pattern missing; must say how flops is spread"),
        (tasks.Compute, {"flops": 1, "computation_pattern": "unifrom"}, "Did you mean 'uniform'"),
        (tasks.Compute, {"bytes": 1}, "communication_pattern missing; must say how bytes is spread"),
        (
            tasks.Compute,
            {"bytes": 1, "communication_pattern": "ring", "computation_pattern": "uniform"},
            "without flops",
        ),
        (
            tasks.Compute,
            {"flops": [1], "computation_pattern": "uniform"},
            "must be 'vector' where flops is a list",
        ),
        (
            tasks.Compute,
            {"flops": 1, "computation_pattern": "vector"},
            "must be a list of numbers for 'vector'",
        ),
        (tasks.Compute, {"bytes": [1, 2, 3]}, "bytes has 3 entries; must be a square"),
        (tasks.Compute, {"bytes": [[1, 2], [3]]}, "must have as many columns as rows"),
        (tasks.Compute, {"flops": [1, "x"]}, r"flops\[1\] = 'x'; must be a number: lists hold no formulas"),
        (
            tasks.Compute,
            {"flops": -1, "computation_pattern": "uniform"},
            "flops = -1; must be a finite number >= 0",
        ),
        (
            tasks.Compute,
            {"flops": "1 +", "computation_pattern": "uniform"},
            "flops = '1 \\+': a number.*character 4",
        ),
        (
            tasks.Compute,
            {"flops": True, "computation_pattern": "uniform"},
            "flops = True; must be a number or a formula",
        ),
        (tasks.Compute, {"flops": [1], "coupled": 1}, "coupled = 1; must be true or false"),
        (tasks.Compute, {"flops": [1], "iterations": -1}, r"iterations = -1; must be from 0 to 2\^53"),
        (tasks.Compute, {"flops": [1], "iterations": 10**400}, "iterations = a whole number of .* bits"),
        (tasks.Compute, {"flops": [1], "name": 1}, "name = 1; must be a text"),
        (tasks.Gpu, {"bytes": [1]}, "communication_pattern = 'matrix'; must spread a total between GPUs"),
        (tasks.Read, {"bytes": 1}, "pattern missing; must say how bytes is spread"),
        (tasks.Write, {"bytes": [1], "storage": "burst_bufer"}, "Did you mean 'burst_buffer'"),
        (tasks.Idle, {"seconds": []}, "seconds has 0 entries; must be at least one number"),
        (tasks.Delay, {"seconds": 1, "synchronized": False}, "a delay is that of all ranks. Use Idle"),
        (tasks.Sequence, {"tasks": [IDLE, 3]}, r"tasks\[1\] = 3; must be a Task"),
        (tasks.Sequence, {"tasks": IDLE}, "must be a list of tasks"),
        (bl.Phase, {"tasks": [IDLE], "barrier": None}, "barrier = None; must be true or false"),
        (
            bl.Phase,
            {"tasks": [IDLE], "evolving_request": "num_nodes +"},
            "evolving_request = 'num_nodes \\+'",
        ),
        (bl.Stage, {"tasks": "idle"}, "tasks = 'idle'; must be a list"),
        (bl.Application, {"phases": []}, "must be at least one Phase"),
        (bl.Application, {"phases": [bl.Stage([IDLE])]}, r"phases\[0\] = .*; must be a Phase"),
        (bl.Application, {"phases": [bl.Phase([IDLE])], "on_init": IDLE}, "on_init = .*; must be a Stage"),
    ],
)
def test_errors_name_the_field(make: Any, arguments: dict[str, Any], message: str) -> None:  # noqa: ANN401  # any class
    """What breaks a rule is named, with the rule."""
    with pytest.raises(bl.ApplicationError, match=message):
        make(**arguments)


def test_sequences_nest_fifty_deep() -> None:
    """Code that walks through an application never runs out of stack."""
    task: tasks.Task = IDLE
    for _ in range(50):
        task = tasks.Sequence([task])
    with pytest.raises(bl.ApplicationError, match="nest deeper than 50"):
        tasks.Sequence([task])
    assert bl.Application([bl.Phase([task])]).kernel


def application() -> bl.Application:
    """Give one with all its parts."""
    step = tasks.Compute("work / num_nodes", "uniform", "grad", "all_to_all")
    inner = tasks.Sequence([tasks.Write("size", "root_only", iterations="max(1, often)"), IDLE])
    return bl.Application(
        [bl.Phase([step, inner], iterations="steps", evolving_request="num_nodes_min + more")],
        on_init=bl.Stage([tasks.Read("size", "all_ranks")], iterations="twice"),
    )


def test_arguments_are_gathered() -> None:
    """An application tells which arguments its formulas need, wherever they stand."""
    assert application().arguments == {"work", "grad", "size", "often", "steps", "more", "twice"}
    assert application().ranks == frozenset()
    assert [type(task).__name__ for task in application().all_tasks()] == [
        "Read",
        "Compute",
        "Sequence",
        "Write",
        "Idle",
    ]


def test_explicit_amounts_tell_the_number_of_ranks() -> None:
    """Vectors have an entry per rank, matrices one per pair."""
    task = tasks.Compute([1, 2, 3], bytes=[0] * 16)
    assert bl.Application([bl.Phase([task])]).ranks == {3, 4}


def test_applications_are_values() -> None:
    """Equal ones are equal, and pickles leave out what the kernel made of them."""
    assert application() == application()
    assert hash(application()) == hash(application())
    made = application()
    assert made.kernel is made.kernel
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301  # our own bytes


def test_the_kernel_knows_the_situation() -> None:
    """The names of a job's situation are those of the kernel."""
    with pytest.raises(bl.ApplicationError, match="no name named 'nobody'"):
        bl.Formula("nobody")()
    used = re.findall(r'"(num_\w+|phase_iteration)"', " ".join(f'"{name}"' for name in SITUATION))
    assert {*used} == SITUATION
