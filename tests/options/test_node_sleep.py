"""When nodes sleep, as an object, as text and as plain values."""

import json
import pickle
from math import inf

import pytest

import batchlab as bl

RULES = [
    bl.NodeSleep(),
    bl.NodeSleep(60),
    bl.NodeSleep({"suspend": 60, "off": 1800}, keep=4, wake="queue"),
    bl.NodeSleep(keep={"18:00": 2, "08:00": inf}, counted=True),
    bl.NodeSleep(keep=[(0, 4), (3600, 0)], prefer_on=False),
]


@pytest.mark.parametrize("rules", RULES)
def test_text_and_plain_values_say_the_same(rules: bl.NodeSleep) -> None:
    """Rules come back from text, JSON and pickles."""
    assert bl.NodeSleep.parse(str(rules)) == rules
    options = bl.RunOptions(sleep=rules)
    assert bl.RunOptions.from_dict(json.loads(json.dumps(options.to_dict()))) == options
    assert pickle.loads(pickle.dumps(options)) == options  # noqa: S301 - our own
    assert hash(options) == hash(bl.RunOptions(sleep=str(rules)))
    assert options.unusual == {"sleep": rules}


def test_text_is_short() -> None:
    """What is as usual is not written."""
    assert [str(rules) for rules in RULES] == [
        "timeout(300)",
        "timeout(60)",
        "timeout(suspend=60, off=1800, keep=4, wake=queue)",
        'timeout(300, keep="08:00=inf 18:00=2", counted=true)',
        'timeout(300, keep="0=4 3600=0", prefer_on=false)',
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("timeout(", r"sleep: the end is no value; .* At character 9 of 'timeout\('"),
        ("always", "no rule named 'always'; timeout is the only one"),
        ("timeout(60, off=3)", "give one time for the first sleep state, or times by the names of states"),
        ("timeout(60, off=3, off=4)", "key 'off' is given twice"),
        ("timeout(60, counted=yes)", "counted = 'yes'; must be true or false: write true"),
        ("timeout(60, counted=2)", "counted = 2; must be true or false"),
        ("timeout(60, keep='8am=3')", "must be times with numbers of nodes"),
        ("timeout(-1)", r"after = -1; must be a finite number of seconds >= 0"),
        ("timeout(off=inf)", r"after\['off'\] = inf"),
        ("timeout(60, keep=-2)", r"keep = -2; must be a number of nodes"),
        ("timeout(60, wake=noon)", r"wake = 'noon'; must be 'job' or 'queue'"),
        ({"keep": {"8 am": 3}}, r"keep\['8 am'\]; must be a time of day"),
        ({"keep": [(0, 1), ("08:00", 2)]}, "use the one or the other"),
        ({"keep": [(0, 1), (0.0, 2)]}, "a time twice"),
        ({"kept": 3}, "kept: no such key. Did you mean 'keep'"),
        (60, r"must be a batchlab.NodeSleep, a spec"),
    ],
)
def test_wrong_rules_are_refused(given: object, message: str) -> None:
    """Errors name the value and the rule."""
    with pytest.raises(bl.SimulationError, match=message):
        bl.RunOptions.from_dict({"sleep": given})
