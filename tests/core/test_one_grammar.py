"""Every parameter of every spec: truth values, numbers, unknown keys and keys given twice have one meaning.

The registries list the parameters: orders, rules and their parameters, allocators, controls, options
of a run, models of sharing, observers, skeletons, distributions, and a class of a Python file.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field, fields
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

import pytest

import batchlab as bl
from batchlab.control import CONTROLS, parse_control
from batchlab.core.distributions import NAMES, distribution_of
from batchlab.errors import BatchlabError, PolicyError, WorkloadError
from batchlab.observer.description import failures_of, power_of
from batchlab.options.overheads import PHASES
from batchlab.platform.network_model import MODELS
from batchlab.policy.load import policy_of
from batchlab.policy.registry import ALLOCATORS, BACKFILLS, ORDERS
from batchlab.seam import Invocation
from batchlab.skeleton.registry import APPLICATIONS, arguments_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from batchlab.core.declared import Rule

# Parameters without a default.
REQUIRED = {"n": "8", "sizes": f"[{', '.join(['[' + ', '.join(['1'] * 16) + ']'] * 16)}]", "seconds": "1"}
FLAG, WHOLE, NUMBER = "flag", "whole", "number"
KINDS = {"bool": FLAG, "int": WHOLE, "float": NUMBER}
# Kinds of the kernel's tables.
OF_TABLE = {"switch": FLAG, "whole": WHOLE, "seed": WHOLE, "number": NUMBER}


@dataclass(frozen=True)
class Door:
    """Where parameters are written: what reads the text, and the kind of each parameter.

    `beside` has arguments that other parameters need, by their names.
    """

    read: Callable[[str], object]
    kinds: Mapping[str, str]
    beside: Mapping[str, str] = field(default_factory=dict)

    def of(self, key: str, value: str) -> object:
        """Read a text in which a parameter has a value."""
        arguments = {**self.beside, key: value}
        return self.read(", ".join(f"{name}={each}" for name, each in arguments.items()))


def kind_of(annotation: object) -> str | None:
    """Return the kind of a parameter that is a truth value or a number; None for others."""
    words = re.sub(r"Annotated\[|,.*", "", str(annotation)).split(" | ")
    return next((KINDS[word] for word in words if word in KINDS), None)


def kinds_of(dataclass: Any) -> dict[str, str]:  # noqa: ANN401  # of many classes
    """Return the kinds of the fields of a dataclass."""
    found = {each.name: kind_of(each.type) for each in fields(dataclass) if each.init}
    return {name: kind for name, kind in found.items() if kind is not None}


def kinds_in(function: Callable[..., object]) -> dict[str, str]:
    """Return the kinds of the parameters of a function."""
    found = {name: kind_of(each.annotation) for name, each in inspect.signature(function).parameters.items()}
    return {name: kind for name, kind in found.items() if kind is not None}


def spec_of(read: Callable[[str], object], before: str, after: str = ")") -> Callable[[str], object]:
    """Return what reads arguments as the middle of a spec."""
    return lambda arguments: read(f"{before}{arguments}{after}")


def kinds_by_table(rule: Rule) -> dict[str, str]:
    """Return the kinds of the parameters of a rule of the kernel."""
    # The number of an allocator that is written without its name has none.
    named = {
        name: each for name, each in rule.parameters.items() if not each.positional or each.kind == "seed"
    }
    found = {name: OF_TABLE.get(each.kind) for name, each in named.items()}
    return {name: kind for name, kind in found.items() if kind is not None}


def parts_of_policies() -> Iterator[tuple[str, Door]]:
    """Yield orders, rules, and allocators with parameters."""
    read = bl.Policy.parse
    beside = {"slurm": {"select": "cores", "order": "multifactor"}}
    yield "easy", Door(spec_of(read, "easy("), {"reservations": WHOLE})
    for table, before, after in (
        (ORDERS, "{}(", ")"),
        (BACKFILLS, "{}(", ")"),
        (ALLOCATORS, "fcfs(allocator={}(", "))"),
    ):
        for name, rule in table.items():
            if kinds := kinds_by_table(rule):
                yield name, Door(spec_of(read, before.format(name), after), kinds, beside.get(name, {}))


def options_of_a_run() -> Iterator[tuple[str, Door]]:
    """Yield rules of service rates, models of sharing, and options that are descriptions."""
    thresholds = {"low": "0", "high": "99"}
    for name, rule in CONTROLS.items():
        beside = thresholds if name in {"count", "workload"} else {}
        kinds = {"value": NUMBER} if name == "constant" else kinds_of(rule)
        kinds |= dict.fromkeys(beside, WHOLE if name == "count" else NUMBER)
        yield f"control {name}", Door(spec_of(parse_control, f"{name}("), kinds, beside)
    for name in MODELS:
        model_kinds = {key: each for key, each in kinds_of(bl.NetworkModel).items() if key in taken(name)}
        yield f"sharing {name}", Door(spec_of(bl.NetworkModel.of, f"{name}("), model_kinds)
    kinds = {"keep": NUMBER, "suspend": NUMBER, **kinds_of(bl.NodeSleep)}
    yield "sleep", Door(spec_of(bl.NodeSleep.parse, "timeout("), kinds, {"off": "99"})
    phases: dict[str, str] = dict.fromkeys(PHASES, NUMBER)
    phases |= kinds_of(bl.Overheads)
    for name, kinds in (
        ("overheads", phases),
        ("invocation", kinds_of(Invocation)),
        ("sensing", kinds_of(bl.Sensing)),
    ):
        needed: dict[str, str] = {} if name == "overheads" else {"interval": "9"}
        yield name, Door(partial(option, name), kinds, needed)


def option(name: str, text: str) -> object:
    """Read an option of a run."""
    return bl.RunOptions(**{name: text})  # type: ignore[arg-type]  # of its kind


def taken(model: str) -> tuple[str, ...]:
    """Return the parameters of a model of sharing."""
    return bl.NetworkModel(model).parameters


def skeleton(name: str, text: str) -> object:
    """Read the arguments of a skeleton."""
    return bl.skeleton.named(name, 16, arguments_of(text))


def observers_and_workloads() -> Iterator[tuple[str, Door]]:
    """Yield observers, skeletons and distributions."""
    kinds = {"every": NUMBER, "restarts": WHOLE, "seed": WHOLE, "uptime": NUMBER, "repair_time": NUMBER}
    given = {"uptime": "9", "repair_time": "9", "on_failure": "checkpoint", "every": "9"}
    yield "failures", Door(lambda text: failures_of(text).__dict__, kinds, given)
    watts = dict.fromkeys(("idle", "busy", "drained", "gpu"), NUMBER)
    yield "power", Door(lambda text: power_of([text]).__dict__, watts, {"idle": "0.5", "busy": "9"})
    for name, function in APPLICATIONS.items():
        parameters = inspect.signature(function).parameters
        given = {
            key: REQUIRED[key]
            for key, each in parameters.items()
            if key != "world" and each.default is each.empty and key != "family"
        }
        yield f"skeleton {name}", Door(partial(skeleton, name), kinds_in(function), given)
    for name, kind in NAMES.items():
        numbers = {each.name: "0.5" if each.name == "low" else "9" for each in fields(kind)}  # type: ignore[arg-type]
        yield (
            f"distribution {name}",
            Door(
                spec_of(lambda text: distribution_of(text, WorkloadError), f"{name}("),
                dict.fromkeys(numbers, NUMBER),
                numbers,
            ),
        )


DOORS = dict([*parts_of_policies(), *options_of_a_run(), *observers_and_workloads()])
CASES = [(door, key, kind) for door, each in DOORS.items() for key, kind in each.kinds.items()]


def keys_of_kind(kind: str) -> list[tuple[str, str]]:
    """List the parameters of a kind by their doors."""
    return [(door, key) for door, key, each in CASES if each == kind]


@pytest.mark.parametrize(("door", "key"), keys_of_kind(FLAG))
def test_truth_values(door: str, key: str) -> None:
    """True and false in any case; the right word is named for yes and no; 1 is no truth value."""
    read = partial(DOORS[door].of, key)
    for word in ("true", "false"):
        assert seen(read(word)) == seen(read(word.title())) == seen(read(word.upper()))
    assert seen(read("true")) != seen(read("false"))
    for text, rule in (("yes", "write true"), ("No", "write false"), ("1", ""), ("0.0", ""), ("maybe", "")):
        with pytest.raises(BatchlabError, match=rf"{key} = .*must be true or false.*{rule}"):
            read(text)


@pytest.mark.parametrize(("door", "key"), keys_of_kind(WHOLE))
def test_whole_numbers(door: str, key: str) -> None:
    """As Python writes them; no fraction, no text, no truth value."""
    read = partial(DOORS[door].of, key)
    assert seen(read("1_0")) == seen(read("10")) == seen(read("+10"))
    # Thresholds may be infinite.
    for text in ("10.5", "true", "many", "'10'", "nan", *(() if door == "control count" else ("inf",))):
        with pytest.raises(BatchlabError, match=rf"{key} = .*must be a whole number"):
            read(text)


@pytest.mark.parametrize(("door", "key"), keys_of_kind(NUMBER))
def test_numbers(door: str, key: str) -> None:
    """As Python writes them; no text, no truth value, and infinity has a meaning or is refused by a rule."""
    read = partial(DOORS[door].of, key)
    values = [seen(read(text)) for text in ("0.75", "7_5e-2", "+.75", "0.750")]
    assert values == values[:1] * len(values)
    for text in ("true",) if is_name(door, key) else ("true", "nan", "many"):
        with pytest.raises(BatchlabError, match=rf"{key}\b.* = .*must be"):
            read(text)


@pytest.mark.parametrize("door", DOORS)
def test_keys(door: str) -> None:
    """An unknown key is refused with the nearest one, a key given twice with the same words everywhere."""
    each = DOORS[door]
    key = next(iter(each.kinds), None)
    if key is None:
        pytest.skip(f"{door} has no parameter")
    # The keys of sleep may be names of states, and those of power names of resources.
    if door not in {"sleep", "power"}:
        with pytest.raises(BatchlabError, match=f"Did you mean '?{key}"):
            each.of(f"{key}x", "1")
    with pytest.raises(BatchlabError, match=f"key '{key}' is given twice; keep one"):
        each.read(f"{key}=1, {key}=1")


def is_name(door: str, key: str) -> bool:
    """Return whether a text names a column of the jobs, or a distribution."""
    return (door == "overheads" and key in PHASES) or key in {"uptime", "repair_time"}


def seen(value: object) -> str:
    """Return what a description says of itself."""
    return repr(value)


MINE = """
import batchlab as bl

class Mine(bl.Scheduler):
    def __init__(self, **given):
        self.given = given

    def __repr__(self):
        return repr(self.given)
"""


def test_arguments_of_a_class_in_a_file(tmp_path: Path) -> None:
    """Values are those of other specs, and so are the errors."""
    file = tmp_path / "of_grammar.py"
    file.write_text(MINE)

    def read(arguments: str) -> object:
        return policy_of(f"{file}:Mine({arguments})").scheduler

    found = read("a=TRUE, b=1_0, c=7_5e-2, d=inf, e=None, f=yes, g='a, b', h=[1, {x: 2}], i={column}")
    values = [True, 10, 0.75, inf, None, "yes", "a, b", (1, {"x": 2}), "{column}"]
    assert repr(found) == repr(dict(zip("abcdefghi", values, strict=True)))
    with pytest.raises(PolicyError, match="key 'a' is given twice; keep one"):
        read("a=1, a=2")
    with pytest.raises(PolicyError, match="a key and a value each"):
        read("1")
