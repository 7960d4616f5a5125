"""Rules of single values: what they take, how they refuse, and that NumPy's scalars are numbers."""

import math
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest

import batchlab as bl
from batchlab.core import rules
from batchlab.errors import SimulationError


@pytest.mark.parametrize(
    ("rule", "value", "message"),
    [
        (rules.WHOLE, -1, "must be a whole number >= 0"),
        (rules.WHOLE, 1.5, "must be a whole number >= 0"),
        (rules.WHOLE, 2.0, "must be a whole number >= 0; write it without a fraction"),
        (rules.WHOLE, "2", "must be a whole number >= 0; write it without quotes"),
        (rules.WHOLE, np.True_, "must be a whole number >= 0"),
        (rules.SEED, 2**64, "must be a whole number from 0 to 2^64 - 1"),
        (rules.Whole(1, 10**9), 0, "must be a whole number from 1 to 10^9"),
        (rules.Whole(None), "x", "must be a whole number"),
        (rules.POSITIVE, 0, "must be a finite number > 0"),
        (rules.POSITIVE, True, "must be a finite number > 0"),
        (rules.POSITIVE, np.bool_(1), "must be a finite number > 0"),
        (rules.POSITIVE, 10**400, "must be a finite number > 0"),
        (rules.SECONDS, math.inf, "must be a finite number of seconds >= 0"),
        (rules.SECONDS, math.nan, "must be a finite number of seconds >= 0"),
        (rules.Number(0, finite=False), math.nan, "must be a number >= 0"),
        (rules.PROBABILITY, 1.1, "must be a number from 0 to 1"),
        (rules.Number(above=0, below=1), 1, "must be a number > 0 and < 1"),
        (rules.Number(-(2**53), most=2.0**-53), 1, "must be a number from -2^53 to 2^-53"),
        (rules.Optional(rules.COUNT), 0, "must be a whole number >= 1"),
        (rules.truth, 1, "must be true or false"),
        (rules.NAME, "", "must be a name of 1 to 200 printable characters"),
        (rules.Each(rules.COUNT, "counts"), "12", "must be counts"),
        (rules.Each(rules.COUNT, "counts"), [1, 0], "must be counts"),
    ],
)
def test_wrong_values(rule: rules.Rule[object], value: object, message: str) -> None:
    """The message is the rule and the next step; `check` puts the argument and its value first."""
    with pytest.raises(ValueError, match="must be") as caught:
        rule(value)
    assert str(caught.value) == message
    with pytest.raises(SimulationError, match="argument = ") as told:
        rules.check(SimulationError, "argument", value, rule)
    assert str(told.value).endswith(f"; {message}.")


@pytest.mark.parametrize(
    ("rule", "value", "kept"),
    [
        (rules.WHOLE, np.uint8(3), 3),
        (rules.SEED, np.uint64(2**64 - 1), 2**64 - 1),
        (rules.FINITE, np.float32(0.5), 0.5),
        (rules.FINITE, np.int64(2), 2),
        (rules.FINITE, np.float64(2), 2.0),
        (rules.Number(floating=True), np.int64(2), 2.0),
        (rules.truth, np.True_, True),
        (rules.Each(rules.COUNT, "counts"), np.arange(1, 3), (1, 2)),
        (rules.Each(rules.COUNT, "counts"), range(1, 3), (1, 2)),
        (rules.Name(empty=True), "", ""),
    ],
)
def test_values_are_kept_as_plain_objects(rule: rules.Rule[object], value: object, kept: object) -> None:
    """NumPy's scalars become Python's, of the same kind."""
    found = rule(value)
    assert found == kept
    assert type(found) is type(kept)


SYSTEM = bl.System.homogeneous(nodes=2, resources={"core": 1})
WORKLOAD = bl.Workload.from_table({"submit_time": [0, 1], "run_time": [2, 3], "tasks": [1, 2]})
DESCRIBED = (
    bl.RunOptions(reference_rate=2),
    bl.Overheads(launch=1),
    bl.Invocation(interval=3),
    bl.Sensing(5, since=1),
    bl.ConstantRate(2),
    bl.RandomisedRate(seed=3),
    bl.CountHysteresis(1, 3, rates=(1, 2)),
    bl.WorkloadHysteresis(1, 3, rates=(1, 2)),
    bl.Ondemand(rates=(1, 2)),
    bl.Schedutil(rates=(1, 2)),
    bl.NodeSleep(60),
    bl.NodePower(idle=90, busy=140),
    bl.NodeWarming(0.5, 60),
    bl.NodeGroup("a", 2, {"core": 1}),
    bl.Partition("p"),
    bl.JobQueue("q", partitions=("p",)),
    bl.Limit("l", running_jobs=2),
    bl.Reservation("r", start=5, duration=10, count=1, admits=bl.Conditions()),
    bl.Preemption(by="qos"),
    bl.FairShare(),
    bl.QualityOfService("high", 10),
    bl.Account("a", shares=2),
    bl.skeleton.MessageOptions(),
    bl.skeleton.CoreModel(clock=1e9),
    bl.generate.Exponential(60),
    bl.generate.Weibull(0.5, 60),
    bl.generate.Lognormal(mu=1, sigma=1),
)


def numbers(instance: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401  # of many classes
    """List the fields that hold a number or a truth value, with that as NumPy has it."""
    for field in fields(instance):
        value = getattr(instance, field.name)
        kinds = ((bool, np.bool_), (int, np.int64), (float, np.float64))
        kind = next((numpy for python, numpy in kinds if isinstance(value, python)), None)
        if field.init and kind is not None:
            yield field.name, kind(value)


@pytest.mark.parametrize("instance", DESCRIBED, ids=lambda each: type(each).__name__)
def test_descriptions_take_numpy_scalars(instance: Any) -> None:  # noqa: ANN401  # of many classes
    """A description with NumPy's scalars is the one with Python's, and is written alike."""
    assert is_dataclass(instance)
    description: Any = instance
    given = dict(numbers(instance))
    if isinstance(instance, bl.ConstantRate):
        made: Any = bl.ConstantRate(NUMPY.int64(2))
    else:
        made = replace(description, **given)
    assert made == instance
    assert repr(made) == repr(instance)


# Signatures have Python's types; at run time numbers may be NumPy's.
NUMPY: Any = np
CALLS: dict[str, Callable[[], object]] = {
    "simulate": lambda: bl.simulate(WORKLOAD, SYSTEM, "easy", seed=NUMPY.int64(2)),
    "reference_rate": lambda: bl.simulate(WORKLOAD, SYSTEM, "fcfs", reference_rate=NUMPY.float32(1)),
    "flag": lambda: bl.simulate(WORKLOAD, SYSTEM, "fcfs", dispatch=NUMPY.True_),
    "experiment": lambda: bl.Experiment(WORKLOAD, SYSTEM, ["fcfs"], seeds=NUMPY.arange(2)),
    "seeds": lambda: bl.Experiment(
        WORKLOAD, SYSTEM, ["fcfs"], seeds=NUMPY.int64(2), replications=NUMPY.int8(2)
    ),
    "homogeneous": lambda: bl.System.homogeneous(nodes=NUMPY.int64(2), resources={"core": NUMPY.int32(4)}),
    "head": lambda: WORKLOAD.head(NUMPY.int64(1)),
    "scale_load": lambda: WORKLOAD.scale_load(NUMPY.float64(1.5)),
    "shuffle": lambda: WORKLOAD.shuffle(NUMPY.uint8(1)),
    "demo": lambda: bl.generate.demo_workload(NUMPY.int64(10), seed=NUMPY.int64(1)),
    "lublin": lambda: bl.generate.lublin(NUMPY.int64(10), nodes=NUMPY.int64(64), seed=NUMPY.int64(1)),
    "feitelson": lambda: bl.generate.feitelson(
        NUMPY.int64(10), nodes=NUMPY.int64(64), load=NUMPY.float32(0.5)
    ),
    "repeat": lambda: bl.adequacy.repeat(WORKLOAD, SYSTEM, "fcfs", seeds=NUMPY.int64(2)),
    "share": lambda: bl.accounting.window_share(
        NUMPY.array([30.0]), NUMPY.array([100.0]), NUMPY.float64(0.5)
    ),
    "mmc": lambda: bl.queueing.mmc(NUMPY.float64(0.5), NUMPY.int64(1), NUMPY.int64(2)),
    "policy": lambda: bl.Policy("fcfs", "easy", reservations=NUMPY.int64(2)),
    "predictor": lambda: bl.predictor.Quantile(
        NUMPY.float64(0.9), batch=NUMPY.int64(5), window=NUMPY.int64(9)
    ),
    "host": lambda: bl.platform.Host("a", NUMPY.float64(1e9), cores=NUMPY.int64(2)),
    "anonymous": lambda: bl.anonymise(WORKLOAD, seed=NUMPY.int64(1)),
    "failures": lambda: bl.Failures({"node": [], "time": [], "repair_time": []}, restarts=NUMPY.int64(1)),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions_take_numpy_scalars(name: str) -> None:
    """Numbers may be NumPy's in every call."""
    CALLS[name]()
