"""The features that jobs ask for, read and checked."""

import re

import polars as pl
import pytest

import batchlab as bl
from batchlab.errors import SystemDescriptionError, WorkloadError
from batchlab.workload.node_columns import Constraint


@pytest.mark.parametrize(
    ("text", "features", "holds"),
    [
        ("a", {"a", "b"}, True),
        ("a", {"b"}, False),
        ("a&b", {"a"}, False),
        ("a|b", {"b"}, True),
        (" a | ( b & c ) ", {"b", "c"}, True),
        # From left to right.
        ("a|b&c", {"a"}, False),
        ("a|(b&c)", {"a"}, True),
        ("c&a|b", {"b"}, True),
        ("((a))", {"a"}, True),
        ("gpu:a100-80|x.y", {"x.y"}, True),
    ],
)
def test_expressions(text: str, features: set[str], holds: bool) -> None:
    """They hold where the features of a node fulfil them."""
    assert Constraint.of(text).holds(features) is holds


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a&", "a feature is missing"),
        ("|a", "a feature is missing"),
        ("()", "a feature is missing"),
        ("(a", "a parenthesis is not closed"),
        ("a)", "')' is not expected here"),
        ("a b", "'b' is not expected here"),
        ("[a|b]", "'[a|b]' is not expected here"),
        ("a*2", "'*2' is not expected here"),
    ],
)
def test_what_is_none(text: str, message: str) -> None:
    """The message says where, and the rule."""
    with pytest.raises(ValueError, match=re.escape(message)):
        Constraint.of(text)


SYSTEM = bl.System(
    (
        bl.NodeGroup("one", 1, {"core": 1}, features=("a",)),
        bl.NodeGroup("two", 1, {"core": 1}, features=("b",)),
    )
)


def workload(constraint: object) -> bl.Workload:
    """Give a job that asks for this."""
    return bl.Workload.from_table(
        {"submit_time": [0], "run_time": [1], "tasks": [1], "constraint": pl.Series([constraint])}
    )


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "slurm(main_phase=0)"])
def test_every_policy_goes_by_them(policy: str) -> None:
    """A job runs where the features are; blanks around them, and an empty text, say nothing."""
    found = [
        bl.simulate(workload(each), SYSTEM, policy).jobs["nodes"][0].to_list() for each in (" b", "", "a|b")
    ]
    assert found == [[1], [0], [0]]


def test_a_system_without_features() -> None:
    """There the column says nothing, whatever it has."""
    plain = bl.System.homogeneous(nodes=1, resources={"core": 1})
    assert bl.simulate(workload("[x]"), plain, "fcfs").jobs["state"].to_list() == ["completed"]


def test_no_node_has_all() -> None:
    """The job is rejected, as it never fits."""
    assert bl.simulate(workload("a&b"), SYSTEM, "fcfs").jobs["state"].to_list() == ["rejected"]


def test_errors() -> None:
    """They name the job, the value, the rule and the next step."""
    with pytest.raises(
        WorkloadError, match=re.escape("job 1: constraint = 'a&c'; no node group has the feature 'c'")
    ):
        bl.simulate(workload("a&c"), SYSTEM, "fcfs")
    with pytest.raises(WorkloadError, match=re.escape("job 1: constraint = 'a&': a feature is missing")):
        bl.simulate(workload("a&"), SYSTEM, "fcfs")
    with pytest.raises(WorkloadError, match="column 'constraint' is of the kind Float64"):
        workload(1.5)
    for features in (("a b",), ("a|b",), 7, ("",)):
        with pytest.raises(SystemDescriptionError, match=r"features = .*must be names without blanks"):
            bl.NodeGroup("g", 1, {"core": 1}, features=features)  # type: ignore[arg-type]
    with pytest.raises(SystemDescriptionError, match="weight = -1; must be a whole number from 0"):
        bl.NodeGroup("g", 1, {"core": 1}, weight=-1)
