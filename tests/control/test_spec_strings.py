"""Controls as text, and what is wrong with them."""

from __future__ import annotations

import copy
import pickle
import re

import pytest

import batchlab as bl
from batchlab.control import CONTROLS, parse_control
from batchlab.errors import SimulationError

INF = float("inf")

SPECS = {
    "constant(1e+308)": bl.ConstantRate(1e308),
    "constant(2.66)": bl.ConstantRate(2.66),
    "constant(2, groups=['cpu', 'fat'])": bl.ConstantRate(2, groups=["cpu", "fat"]),
    "random(0.6, 0.4, rates=[2, 2.66], coins=[0.5, 0], seed=7)": bl.RandomisedRate(
        0.6, 0.4, rates=(2.0, 2.66), coins=(0.5, 0.0), seed=7
    ),
    "count(1, 3)": bl.CountHysteresis(1, 3),
    "count([1, 4], [3, inf], rates=[1, 2, 3])": bl.CountHysteresis((1, 4), (3, INF), rates=(1.0, 2.0, 3.0)),
    "workload(100000, 300000, rates=[2, 2.66], weighted=True, printed=True)": bl.WorkloadHysteresis(
        1e5, 3e5, rates=(2.0, 2.66), weighted=True, printed=True
    ),
    "performance(rates=[1.2, 2.4])": bl.Performance(rates=(1.2, 2.4)),
    "powersave": bl.Powersave(),
    "ondemand(interval=10, threshold=0.9)": bl.Ondemand(threshold=0.9, interval=10.0),
    "schedutil(groups=['cpu'], window=60)": bl.Schedutil(window=60.0, groups=("cpu",)),
}


@pytest.mark.parametrize(("spec", "control"), SPECS.items())
def test_round_trip(spec: str, control: bl.RateControl) -> None:
    """Text, object, text; equal objects hash alike, and go through pickle and copy."""
    assert str(control) == spec
    assert parse_control(spec) == control
    assert hash(parse_control(spec)) == hash(control)
    assert pickle.loads(pickle.dumps(control)) == copy.deepcopy(control) == control  # noqa: S301  # our own


def test_every_rule_is_there() -> None:
    """The table of specs above misses none."""
    assert {control.name for control in SPECS.values()} == set(CONTROLS)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", 'control = \'\': the end is no name; write one, e.g. "powersave" or "workload(1e5, 3e5)".'),
        ("count(1, 3", "this '(' is not closed; add ')'. At character 6 of 'count(1, 3'."),
        ("count(1 + x, 3)", "'+' is neither ',' nor ')'. At character 9"),
        ("cuont(1, 3)", "control = 'cuont(1, 3)': no rule named 'cuont'. Did you mean 'count'?"),
        ("count(1, 2, 3)", "3 values by place; count takes low, high."),
        ("powersave(1)", "1 values by place; powersave takes none."),
        ("count(1, low=1)", "low is given twice; give it once."),
        ("count(1, 3, ratse=[1, 2])", "no parameter 'ratse'. Did you mean 'rates'?"),
        ("count(3, 1)", "low = 3 > high = 1; a rate comes down where it is less."),
        ("count(1.5, 3)", "low = 1.5; must be a whole number >= 0."),
        ("count(1, 'many')", "high = 'many'; must be a whole number >= 0."),
        ("workload(-1, 3)", "low = -1; must be a number >= 0."),
        (
            "workload(1, 3, rates=[1, 2, 3])",
            "low = 1; must ascend, one for each of the 2 steps of the rates.",
        ),
        ("workload([2, 1], [3, 4], rates=[1, 2, 3])", "low = (2, 1); must ascend"),
        ("workload(1, 3, weighted=1)", "weighted = 1; must be true or false."),
        ("count(1, 3, rates=[2, 1])", "rates = (2, 1); must be finite numbers >= 0 in ascending order"),
        (
            "count(1, 3, rates=[0])",
            "rates = (0,); must be finite numbers >= 0 in ascending order, the last > 0.",
        ),
        ("count(1, 3, groups='cpu')", "groups = 'cpu'; must be names of node groups."),
        ("constant(inf)", "value = inf; must be a finite number > 0."),
        ("constant(-1)", "value = -1; must be a finite number > 0."),
        ("random(1.5, 0)", "up = 1.5; must be a number from 0 to 1."),
        ("random(1, 0, coins=[1])", "coins = (1,); must be numbers >= 0 and < 1."),
        ("random(1, 0, seed=-1)", "seed = -1; must be a whole number from 0 to 2^64 - 1."),
        ("ondemand(threshold=0)", "threshold = 0; must be a number > 0 and <= 1."),
        ("ondemand(interval=0)", "interval = 0; must be a finite number of seconds > 0."),
        ("schedutil(window=-1)", "window = -1; must be a finite number of seconds > 0."),
        ("powersave(rates=[0, 1])", "rates = (0, 1); the lowest must be > 0, for it is the only one in use."),
    ],
)
def test_errors(spec: str, message: str) -> None:
    """One line names the control, the value, the rule and the next step."""
    with pytest.raises(SimulationError, match=re.escape(message)) as caught:
        parse_control(spec)
    assert str(caught.value).startswith(f"control = {spec!r}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("given", [7, [None], [bl.ConstantRate(1), 3], {"count": 1}])
def test_options_take_controls_and_nothing_else(given: object) -> None:
    """Other values are refused where they are given."""
    with pytest.raises(SimulationError, match=r"^control = "):
        bl.RunOptions(control=given)  # type: ignore[arg-type]  # wrong on purpose
