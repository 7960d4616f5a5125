"""One grammar for all specs: the same text means the same everywhere."""

from __future__ import annotations

import re
from math import inf
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

import batchlab as bl
from batchlab.control import parse_control
from batchlab.core.spec import Call, Grammar, flag_of, plain, word
from batchlab.errors import BatchlabError, PolicyError
from batchlab.observer.description import failures_of
from batchlab.skeleton.registry import arguments_of

if TYPE_CHECKING:
    from collections.abc import Callable

SPECS = Grammar("spec", PolicyError, "easy(order=sjf)")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1_000", 1000),
        ("-3", -3),
        ("+4", 4),
        ("1e5", 1e5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1_0.2_5e-1_0", None),
        ("inf", inf),
        ("-inf", -inf),
        ("true", True),
        ("FALSE", False),
        ("None", None),
        ("null", None),
        ("nan", "nan"),
        ("yes", "yes"),
        ("outages.csv", "outages.csv"),
        ("C:\\x\\y.csv", "C:\\x\\y.csv"),
        ("'a, b'", "a, b"),
        ('"08:00=40 18:00=2"', "08:00=40 18:00=2"),
        ("[1, two, 'three']", (1, "two", "three")),
        ("()", ()),
        ("(1)", 1),
        ("(1,)", (1,)),
        ("{}", {}),
        ("{run_time}", "{run_time}"),
        ('{"a": 1, b: [2]}', {"a": 1, "b": (2,)}),
    ],
)
def test_values(text: str, value: object) -> None:
    """Numbers as in Python, truth values in any case, texts, lists and mappings."""
    _, call = SPECS.parse(f"f(key={text})")
    found = plain(call.keys["key"].value)
    if text != "1_0.2_5e-1_0":
        assert found == value
        assert type(found) is type(value)


def test_calls_nest() -> None:
    """A value may be a spec; names without parentheses are names."""
    _, call = SPECS.parse(" easy( allocator = blocks(4, order=random(7)), order=sjf, ) ")
    inner = call.keys["allocator"].value
    assert isinstance(inner, Call)
    assert [each.value for each in inner.values] == [4]
    assert word(call.keys["order"].value) == "sjf"
    assert word(inner) == "blocks(…)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f(a=1, a=2)", "key 'a' is given twice; keep one. At character 8 of"),
        ("f(a=1, 2)", "a value without a key must stand before the keys. At character 8"),
        ("f(1", "this '(' is not closed; add ')'. At character 2"),
        ("f([1, 2)", "')' is neither ',' nor ']'. At character 8"),
        ("f({a: 1, a: 2})", "key 'a' is given twice"),
        ("f({a 1})", "'1})' is no ':'"),
        ("f('a)", "this ' is not closed"),
        ("f(a=)", "')' is no value; write a number, a name, or a text in quotes. At character 5"),
        ("f(1=2)", "a key is a bare name. At character 3"),
        ("f()x", "'x' follows the spec"),
        ("3", "'3' is no name; write one, e.g. easy(order=sjf)."),
        ("f(" + "[" * 20, "this list is nested too deep"),
        ("f(" + "{a:" * 20, "this mapping is nested too deep"),
        ("f(" + "9" * 30 + ")", "this integer has too many digits"),
    ],
)
def test_errors_name_the_place(text: str, message: str) -> None:
    """Each names what stands there, the rule and the character."""
    with pytest.raises(PolicyError, match=re.escape(message)):
        SPECS.parse(text)


@given(st.text(alphabet="ab1=,()[]{}'\": .\\-_e", max_size=40))
def test_any_text_has_one_answer(text: str) -> None:
    """A call, or an error of the kind of the spec."""
    for read in (SPECS.parse, SPECS.arguments):
        try:
            _, call = read(text)
        except PolicyError:
            continue
        assert isinstance(call, Call)


READERS: dict[str, Callable[[str], object]] = {
    "policy": lambda text: bl.Policy.parse(f"slurm(defer={text})"),
    "control": lambda text: parse_control(f"workload(1, 3, weighted={text})"),
    "sleep": lambda text: bl.NodeSleep.parse(f"timeout(60, counted={text})"),
    "skeleton": lambda text: bl.skeleton.named("even_odd", 4, arguments_of(f"mutual={text}")),
}


@pytest.mark.parametrize("reader", READERS)
def test_truth_values_are_spelled_alike(reader: str) -> None:
    """Spelled true and false in any case, everywhere; yes and no nowhere."""
    read = READERS[reader]
    for text in ("true", "True", "FALSE"):
        read(text)
    for text in ("yes", "no", "2", "maybe"):
        with pytest.raises(BatchlabError, match=r"(?i)must be true or false"):
            read(text)


@pytest.mark.parametrize(
    ("text", "instead"), [("yes", "true"), ("No", "false"), ("on", "true"), ("off", "false")]
)
def test_the_right_word_is_named(text: str, instead: str) -> None:
    """Where a truth value is asked for."""
    with pytest.raises(ValueError, match=f"must be true or false: write {instead}"):
        flag_of(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "uniform(10, 12)",
            "uniform(low=10, high=22) as overheads did or uniform(low=10, high=12) as failures read",
        ),
        ("expon(60)", "60 + expon(mean=1) as overheads did or expon(mean=60) as failures read it"),
        ("weibull(0.7, 40)", "weibull(shape=0.7, scale=40) as failures read it"),
        ("beta(2, 3)", "name each parameter"),
        ("unifrom(low=1, high=2)", "no distribution named 'unifrom'. Did you mean 'uniform'?"),
        ("uniform(low=1)", "high is missing; write uniform(low=…, high=…)."),
        ("uniform(low=1, hihg=2)", "uniform has no parameter 'hihg'. Did you mean 'high'?"),
        ("norm(mean=1, sd=0)", "sd = 0; must be a finite number > 0."),
        ("norm(mean=many, sd=1)", "norm: mean = many; must be a finite number."),
    ],
)
def test_distributions_are_read_alike(text: str, message: str) -> None:
    """Overheads, failures, generators and arrivals have one vocabulary, and one error."""
    readers: tuple[Callable[[], object], ...] = (
        lambda: bl.Overheads(launch=text),
        lambda: failures_of(f"uptime={text}, repair_time=3"),
        lambda: bl.queueing.renewal(text),
        lambda: bl.generate.from_distributions(
            3, arrival=text, size="constant(value=1)", run_time="expon(mean=9)"
        ),
    )
    for read in readers:
        with pytest.raises(BatchlabError, match=re.escape(message)):
            read()
