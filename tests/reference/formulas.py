"""The formulas of application models: numbers, names, and the usual operators of ExprTk."""

import math
import re
from collections.abc import Callable, Mapping

Value = float | str
Names = Mapping[str, Value]

TOKEN = re.compile(r"\s*(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|'[^']*'|\w+|[<>=!]=|<>|.)")
# The loosest first; all associate to the left, but the power.
OPERATORS: list[dict[str, Callable[[float, float], float]]] = [
    {"or": lambda a, b: a != 0 or b != 0, "|": lambda a, b: a != 0 or b != 0},
    {"and": lambda a, b: a != 0 and b != 0, "&": lambda a, b: a != 0 and b != 0},
    {
        "==": lambda a, b: a == b,
        "=": lambda a, b: a == b,
        "!=": lambda a, b: a != b,
        "<>": lambda a, b: a != b,
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
    },
    {"+": lambda a, b: a + b, "-": lambda a, b: a - b},
    {
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / b if b else math.copysign(math.inf, a) if a else math.nan,
        "%": math.fmod,
    },
]
FUNCTIONS: dict[str, Callable[..., float]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "floor": math.floor,
    "ceil": math.ceil,
    "round": lambda x: math.copysign(math.floor(abs(x) + 0.5), x),
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "pow": math.pow,
    "if": lambda condition, yes, no: yes if condition else no,
    "not": lambda x: x == 0,
}


def evaluate(formula: float | str, names: Names) -> float:
    """Give the value of a formula, or the number that stands in its place."""
    if not isinstance(formula, str):
        return float(formula)
    tokens = [token for token in TOKEN.findall(formula) if token.strip()]
    value = _choice(tokens, names)
    assert not tokens, f"{formula!r} goes on after its end: {tokens}"
    assert not isinstance(value, str)
    return float(value)


def _choice(tokens: list[str], names: Names) -> Value:
    """Read `condition ? yes : no`, or what is tighter."""
    condition = _binary(tokens, names, 0)
    if not _take(tokens, "?"):
        return condition
    yes = _choice(tokens, names)
    assert _take(tokens, ":")
    no = _choice(tokens, names)
    return yes if condition else no


def _binary(tokens: list[str], names: Names, level: int) -> Value:
    if level == len(OPERATORS):
        return _signed(tokens, names)
    value = _binary(tokens, names, level + 1)
    while tokens and tokens[0] in OPERATORS[level]:
        operator = OPERATORS[level][tokens.pop(0)]
        value = operator(value, _binary(tokens, names, level + 1))  # type: ignore[arg-type]
    return value


def _signed(tokens: list[str], names: Names) -> Value:
    """Read a sign and a power: the power is tighter."""
    if _take(tokens, "-"):
        return -float(_signed(tokens, names))
    if _take(tokens, "+"):
        return _signed(tokens, names)
    base = _atom(tokens, names)
    return float(base) ** float(_signed(tokens, names)) if _take(tokens, "^") else base


def _atom(tokens: list[str], names: Names) -> Value:
    first = tokens.pop(0)
    if first == "(":
        inside = _choice(tokens, names)
        assert _take(tokens, ")")
        return inside
    if first in FUNCTIONS and tokens[:1] == ["("]:
        arguments = [_choice(tokens, names) for _ in iter(lambda: tokens.pop(0), ")")]
        return FUNCTIONS[first](*arguments)
    if first[0] == "'":
        return first[1:-1]
    return names[first] if first in names else float(first)


def _take(tokens: list[str], token: str) -> bool:
    """Take the next token if it is this one."""
    if tokens[:1] == [token]:
        tokens.pop(0)
        return True
    return False
