"""No public function answers a number that no float64 has with an error of Python or of a library."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import batchlab as bl
from batchlab.generate import demo_system, demo_workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HUGE = 10**400
MODULES = (bl, bl.metrics, bl.queueing, bl.generate, bl.adequacy, bl.placement, bl.platform, bl.application)
WORKLOAD, SYSTEM = demo_workload(20), demo_system()
RESULT = bl.simulate(WORKLOAD, SYSTEM, "easy", dispatch=True, observers=[bl.Power(bl.NodePower(1, 2))])
# Arguments without defaults, by name.
PAIR, THREE = [0.0, 1.0], [1.0, 2.0, 3.0]
ARGUMENTS: dict[str, Any] = (
    {"workload": WORKLOAD, "log": WORKLOAD, "system": SYSTEM, "policy": "easy", "jobs": RESULT.jobs}
    | dict.fromkeys(("result", "results", "real", "model", "run"), RESULT)
    | {"nodes": 4, "processors": 4, "servers": 2, "count": 5, "seed": 1, "factor": 2, "mean": 1.0}
    | {"seconds": 5, "start_time": 0, "processors_per_node": 2, "load": 1.0, "rate": 1.0}
    | {"arrival": PAIR, "service": PAIR, "arrivals": PAIR, "services": PAIR, "times": PAIR}
    | {"values": THREE, "samples": THREE, "x": THREE}
)
PLOTS = ("load", "power", "gantt", "job_times", "slowdown")


def functions() -> Iterator[tuple[str, Callable[..., object]]]:
    """Find public functions, classes, and methods of the objects that all runs have."""
    for module in MODULES:
        for name, value in inspect.getmembers(module):
            is_class = inspect.isclass(value) and not issubclass(value, BaseException)
            if not name.startswith("_") and (inspect.isfunction(value) or is_class):
                yield f"{module.__name__}.{name}", value
    for name in PLOTS:
        yield f"batchlab.plot.{name}", getattr(bl.plot, name)
    simulation = bl.Simulation(WORKLOAD, SYSTEM, "easy")
    for value in (WORKLOAD, SYSTEM, RESULT, simulation):
        kind = type(value)
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            if not name.startswith("_") and name != "write":
                yield f"{kind.__name__}.{name}", method.__get__(value)


def numbers(function: Callable[..., object]) -> Iterator[tuple[str, dict[str, object]]]:
    """Find the parameters that take numbers; with each the arguments that must be given with it."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return
    for name, parameter in parameters.items():
        takes_number = re.search(r"\bfloat\b|\bint\b", str(parameter.annotation)) is not None
        needed = [each for each in parameters.values() if each.default is each.empty and each.name != name]
        kinds = {each.kind for each in (*needed, parameter)}
        is_named = kinds <= {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}
        if takes_number and is_named and all(each.name in ARGUMENTS for each in needed):
            yield name, {each.name: ARGUMENTS[each.name] for each in needed}


FOUND = sorted(functions(), key=lambda found: found[0])
CASES = {
    f"{label}-{name}": (function, name, given)
    for label, function in FOUND
    for name, given in numbers(function)
}


@pytest.mark.parametrize("case", CASES)
def test_huge_numbers(case: str) -> None:
    """They are accepted as a bound that nothing reaches, or refused by an error of batchlab."""
    function, name, given = CASES[case]
    for value in (HUGE, -HUGE):
        try:
            function(**given, **{name: value})
        except bl.BatchlabError:
            continue
        except (OverflowError, ValueError, pl.exceptions.PolarsError) as error:
            pytest.fail(f"{case} = ±10^400: {type(error).__name__}: {error}")
        except TypeError:
            # The parameter takes several numbers, or a function.
            continue


def test_many_are_tried() -> None:
    """The search finds the functions."""
    assert len(CASES) > 140
    for name in ("Workload.shift-seconds", "Result.metrics-threshold", "batchlab.generate.Exponential-mean"):
        assert name in CASES
