"""Formulas from Python: what they are, what they give, and that no text does harm."""

import math
import operator
import pickle
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

import batchlab as bl

NAMES: Mapping[str, float] = {"num_nodes": 4.0, "work": 1e12, "k": -2.5, "late": 0.0}


def divide(left: float, right: float) -> float:
    """Divide as IEEE says."""
    if right:
        return left / right
    return (
        math.nan if not left or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)
    )


def remainder(left: float, right: float) -> float:
    """Give C's fmod, without Python's errors."""
    return math.nan if math.isinf(left) or not right else math.fmod(left, right)


def truth(compare: Callable[[float, float], bool]) -> Callable[[float, float], float]:
    """Give a comparison as a number."""
    return lambda left, right: float(compare(left, right))


# How strongly each operator holds its left and its right, and what it does.
OPERATORS: Mapping[str, tuple[int, int, Callable[[float, float], float]]] = {
    "*": (10, 11, operator.mul),
    "/": (10, 11, divide),
    "%": (10, 11, remainder),
    "+": (7, 8, operator.add),
    "-": (7, 8, operator.sub),
    "<": (5, 6, truth(operator.lt)),
    ">=": (5, 6, truth(operator.ge)),
    "=": (5, 6, truth(operator.eq)),
    "<>": (5, 6, truth(operator.ne)),
    "and": (3, 4, truth(lambda left, right: bool(left) and bool(right))),
    "xor": (1, 2, truth(lambda left, right: bool(left) != bool(right))),
    "or": (1, 2, truth(lambda left, right: bool(left) or bool(right))),
}


@dataclass(frozen=True)
class Written:
    """A formula's text, how strongly it holds together, and its value."""

    text: str
    holds: int
    value: float

    def within(self, least: int) -> str:
        """Put it in brackets where it must be."""
        return self.text if self.holds >= least else f"({self.text})"


def two(sign: str, left: Written, right: Written) -> Written:
    """Join two formulas."""
    holds, after, does = OPERATORS[sign]
    return Written(f"{left.within(holds)} {sign} {right.within(after)}", holds, does(left.value, right.value))


def negated(inner: Written) -> Written:
    """Put a minus before a formula."""
    return Written(f"-{inner.within(11)}", 11, -inner.value)


def chosen(condition: Written, value: Written, otherwise: Written) -> Written:
    """Choose between two formulas."""
    text = f"{condition.within(1)} ? {value.text} : {otherwise.text}"
    return Written(text, 0, (value if condition.value else otherwise).value)


def called(values: list[Written]) -> Written:
    """Take the sum of formulas."""
    total = 0.0
    for value in values:
        total += value.value
    return Written(f"sum({', '.join(value.text for value in values)})", 20, total)


LEAVES = st.floats(0, 1e9, allow_subnormal=False).map(
    lambda value: Written(f"{value:f}", 20, float(f"{value:f}"))
) | (st.sampled_from(sorted(NAMES.items())).map(lambda pair: Written(*pair[:1], 20, pair[1])))
FORMULAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(two, st.sampled_from(sorted(OPERATORS)), inner, inner),
        st.builds(negated, inner),
        st.builds(chosen, inner, inner, inner),
        st.lists(inner, min_size=1, max_size=3).map(called),
    ),
    max_leaves=20,
)


@given(FORMULAS)
def test_formulas_give_what_python_gives(written: Written) -> None:
    """A random formula has the value of the same tree in Python."""
    value = bl.Formula(written.text)(**NAMES)
    assert value == written.value or (math.isnan(value) and math.isnan(written.value)), written.text


@given(st.text() | st.text(alphabet="num_nodes 12.e+-*/%^<>=!?:,()[]{}'&|ifandorlke"))
def test_any_text_is_a_formula_or_an_error(text: str) -> None:
    """No text does worse than ApplicationError."""
    with suppress(bl.ApplicationError):
        assert isinstance(bl.Formula(text)(num_nodes=4), float)


@pytest.mark.parametrize("nested", ["(", "-", "2^", "1?", "min(", "1 ? 2 : "])
def test_deep_nesting_is_an_error(nested: str) -> None:
    """A hundred thousand brackets overflow no stack."""
    with pytest.raises(bl.ApplicationError, match="nests deeper than 200"):
        bl.Formula(nested * 100_000)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        (
            "flops / num_node",
            r"no name named 'flops'.* Known: num_nodes, work\. At character 1 of the formula",
        ),
        ("work / num_node", r"Did you mean 'num_nodes'\? .*At character 8 of the formula 'work / num_node'"),
        ("squrt(work)", "no function named 'squrt'. Did you mean 'sqrt'"),
        ("work ** 2", r"write \^ for a power. At character 6"),
        ("work == 'a'", "a text, 'a', meets a number, 3; both must be of one kind"),
    ],
)
def test_errors_name_the_place(formula: str, message: str) -> None:
    """Errors say what is wrong, where, and what is near."""
    with pytest.raises(bl.ApplicationError, match=message):
        bl.Formula(formula)(num_nodes=4, work=3)


def test_formulas_are_values() -> None:
    """Formulas are equal by their text, can be keys, and survive pickling."""
    formula = bl.Formula("work / num_nodes")
    assert formula == bl.Formula("work / num_nodes") == bl.Formula(formula) != bl.Formula("work")
    assert {formula: 1}[pickle.loads(pickle.dumps(formula))] == 1  # noqa: S301  # our own bytes
    assert (formula.text, formula.number, formula.names) == ("work / num_nodes", None, ("work", "num_nodes"))
    assert (str(formula), repr(formula)) == ("work / num_nodes", "Formula('work / num_nodes')")
    assert bl.Formula("1e3") == bl.Formula(1000) != bl.Formula("500 + 500")
    assert len({bl.Formula("1e3"), bl.Formula(1000)}) == 1
    number = pickle.loads(pickle.dumps(bl.Formula(2.5)))  # noqa: S301  # likewise
    assert (number.number, number(), repr(number)) == (2.5, 2.5, "Formula(2.5)")


def test_nan_is_no_number() -> None:
    """A formula may give NaN, but must not be it."""
    assert math.isnan(bl.Formula("0 / 0")())
    with pytest.raises(bl.ApplicationError, match="formula = nan; must be a number"):
        bl.Formula(math.nan)


@pytest.mark.parametrize(
    ("formula", "names", "seconds"),
    [
        ("min(num_nodes,3)*2.5+log2(8)+(num_nodes>2 ? 1 : 0)", {"num_nodes": 4}, 11.5),
        ("2 * trunc(num_nodes*1.4)", {"num_nodes": 4}, 10),
        ("trunc(k+1)", {"k": 3}, 4),
    ],
)
def test_what_elastisim_made_of_formulas(formula: str, names: dict[str, float], seconds: float) -> None:
    """ElastiSim took these times for its cases exprtk, iter_task_formula and iter_phase_formula."""
    assert bl.Formula(formula)(**names) == seconds
