"""The kernel's tables of parameters: what Python, its types and the documentation say of them.

``UPDATE_DOCUMENTATION=1 pytest tests/policy/test_parameters.py`` writes the fields of `SlurmParameters` with
their docstring, and the tables of `docs/policies.md` and `docs/service-rates.md`.
"""

from __future__ import annotations

import os
import re
import runpy
import textwrap
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import pytest

import batchlab as bl
from batchlab import _kernel
from batchlab.control import CONTROLS
from batchlab.core import vocabulary
from batchlab.core.declared import KERNEL_RULES
from batchlab.errors import PolicyError
from batchlab.policy import ALLOCATORS, BACKFILLS, DISCIPLINES, ORDERS
from batchlab.policy.orders import Multifactor
from batchlab.policy.slurm import PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from batchlab.core.declared import Parameter
    from batchlab.policy import Rule

ROOT = Path(__file__).parents[2]
CLASS = ROOT / "src/batchlab/policy/slurm.py"
PAGE = ROOT / "docs/policies.md"
RATES = ROOT / "docs/service-rates.md"
WIDTH = 110
TYPES = {"switch": "bool", "whole": "int", "number": "float"}
# Parameters that are one of some words, and the types that name the words.
WORDS = {"select": ("NodeSelection", vocabulary.NodeSelection)}


def test_the_class_is_that_of_the_table() -> None:
    """Names, order, types, defaults and texts of the fields."""
    documented = "".join(map(documentation_of, PARAMETERS.values()))
    hold(CLASS, "    Parameters\n    ----------\n", "\n    Raises\n", documented)
    declared = "".join(map(field_of, PARAMETERS.values()))
    hold(CLASS, 'S25 of docs/semantics.md.\n    """\n\n', "\n    def __post_init__", declared)
    # The class as the file has it now: it may have been written after it was imported.
    written = runpy.run_path(str(CLASS))["SlurmParameters"]
    assert [each.name for each in fields(written)] == list(PARAMETERS)
    assert vars(written()) == {name: each.usual for name, each in PARAMETERS.items()}


@pytest.mark.parametrize("kind", [Multifactor, *CONTROLS.values()])
def test_classes_have_the_parameters_of_the_table(kind: type) -> None:
    """Names, order and defaults of the fields; all controls have rates and groups besides."""
    rules = ORDERS["multifactor"] if kind is Multifactor else KERNEL_RULES["control"][kind.name]  # type: ignore[attr-defined]
    if kind is CONTROLS["constant"]:
        # Its value is its only rate.
        assert list(rules.parameters) == ["value"]
        return
    known = {each.name: each for each in fields(kind) if each.name not in {"rates", "groups"}}
    assert sorted(known) == sorted(rules.parameters)
    for name, each in rules.parameters.items():
        if each.usual is not None:
            assert known[name].default == each.usual
        else:
            assert known[name].default in (None, (), MISSING)


def test_the_page_lists_every_parameter() -> None:
    """`docs/policies.md` has the parameters as the table has them."""
    head = "\n| key | default | values | meaning | in slurm.conf |\n|---|---|---|---|---|\n"
    marks = "<!-- parameters of slurm -->\n", "<!-- end of parameters of slurm -->\n"
    hold(PAGE, *marks, head + "".join(map(row_of, PARAMETERS.values())) + "\n")


def test_the_page_lists_the_parameters_of_allocators() -> None:
    """Rows that several allocators have alike are one."""
    rows: dict[str, list[str]] = {}
    for allocator, rule in ALLOCATORS.items():
        for each in rule.parameters.values():
            cells = (each.default, each.values, each.text)
            rows.setdefault(f"`{each.name}` | {{}} | {' | '.join(cells)} |\n", []).append(f"`{allocator}`")
    head = "\n| key | allocator | default | values | meaning |\n|---|---|---|---|---|\n"
    marks = "<!-- parameters of allocators -->\n", "<!-- end of parameters of allocators -->\n"
    written = ("| " + row.format(", ".join(names)) for row, names in rows.items())
    hold(PAGE, *marks, head + "".join(written) + "\n")


@pytest.mark.parametrize(
    ("page", "kind", "table"), [(PAGE, "orders", ORDERS), (RATES, "controls", KERNEL_RULES["control"])]
)
def test_pages_list_the_parameters_of_rules(page: Path, kind: str, table: Mapping[str, Rule]) -> None:
    """Each parameter of an order or control has a row."""
    head = f"\n| key | {kind.removesuffix('s')} | usual | values | is |\n|---|---|---|---|---|\n"
    marks = f"<!-- parameters of {kind} -->\n", f"<!-- end of parameters of {kind} -->\n"
    rows = [
        f"| `{each.name}` | `{name}` | {each.default} | {each.values} | {each.text} |\n"
        for name, rule in table.items()
        for each in rule.parameters.values()
    ]
    hold(page, *marks, head + "".join(rows) + "\n")


@pytest.mark.parametrize(
    ("head", "table"),
    [("order", ORDERS), ("rule", BACKFILLS), ("discipline", DISCIPLINES), ("allocator", ALLOCATORS)],
)
def test_the_page_lists_every_rule(head: str, table: Mapping[str, Rule]) -> None:
    """Each has a row of its own or shares one."""
    rows = PAGE.read_text("utf-8").split(f"\n| {head} |", 1)[1].split("\n\n")[0].splitlines()[2:]
    named = [name for row in rows for name in re.findall(r"`(\w+)", row.split("|")[1])]
    assert sorted({*named}) == sorted(table)


@pytest.mark.parametrize("name", WORDS)
def test_types_name_the_words(name: str) -> None:
    """A ``Literal`` has the words of a parameter, in one order."""
    assert list(get_args(WORDS[name][1])) == PARAMETERS[name].words


@pytest.mark.parametrize("parameter", PARAMETERS.values(), ids=PARAMETERS.keys())
def test_bounds(parameter: Parameter) -> None:
    """Bounds are valid, values beyond them are not; the kernel accepts all that Python accepts."""
    jobs = bl.Workload.from_table({"submit_time": [0.0], "run_time": [1.0], "tasks": [1]})
    nodes = bl.System.homogeneous(nodes=1, resources={"core": 1})
    others = dict([parameter.requires] if parameter.requires else [])
    if parameter.name == "bf_min_prio_reserve":
        others["order"] = "multifactor(age=1)"
    for value, is_valid in tried(parameter):
        keys = ", ".join(f"{key}={each}" for key, each in {**others, parameter.name: value}.items())
        if is_valid:
            policy = bl.Policy.parse(f"slurm({keys})")
            bl.Simulation(jobs, nodes, policy)
        else:
            with pytest.raises(PolicyError, match=rf"^{parameter.name} = .*must be"):
                bl.Policy.parse(f"slurm({keys})")


@pytest.mark.parametrize(
    ("given", "message"),
    [({"bf_interva": 1}, "there is no parameter bf_interva"), ({"bf_interval": "x"}, "has another type")],
)
def test_the_kernel_refuses_other_names_and_types(given: dict[str, int | str], message: str) -> None:
    """Nothing that is handed to it is ignored."""
    with pytest.raises(ValueError, match=message):
        _kernel.SlurmController({**given}, [(1, 1)], ([], None), [([0], 1)], [1], None)


def tried(parameter: Parameter) -> list[tuple[object, bool]]:
    """List values at the bounds of a parameter and beyond, and whether they are values."""
    if parameter.kind == "word":
        return [*((word, True) for word in parameter.words), ("none_of_them", False)]
    if parameter.kind == "switch":
        return [("true", True), ("false", True), ("1", False)]
    found: list[tuple[object, bool]] = [("true", False)]
    step = 1 if parameter.kind == "whole" else 0.5
    for bound, beyond in ((parameter.least, -step), (parameter.most, step)):
        if bound is not None:
            number = int(bound) if parameter.kind == "whole" else bound
            found += [(number, True), (number + beyond, False)]
    found += [(parameter.below, False)] if parameter.below is not None else []
    return found


def hold(path: Path, begin: str, end: str, expected: str) -> None:
    """Compare the part of a file between two texts; write it with UPDATE_DOCUMENTATION=1."""
    text = path.read_text("utf-8")
    first = text.index(begin) + len(begin)
    last = text.index(end, first)
    if os.environ.get("UPDATE_DOCUMENTATION"):
        path.write_text(text[:first] + expected + text[last:], "utf-8")
    assert path.read_text("utf-8")[first : first + len(expected)] == expected
    assert path.read_text("utf-8")[first + len(expected) :].startswith(end)


def field_of(parameter: Parameter) -> str:
    """Write the field of a parameter."""
    usual = parameter.usual
    kind = WORDS[parameter.name][0] if parameter.kind == "word" else TYPES[parameter.kind]
    value = f'"{usual}"' if isinstance(usual, str) else str(usual)
    if parameter.kind == "whole" and isinstance(usual, int) and usual >= 10_000:
        value = f"{usual:_}"
    return f"    {parameter.name}: {kind}{' | None' if usual is None else ''} = {value}\n"


def documentation_of(parameter: Parameter) -> str:
    """Write the entry of a parameter in a docstring."""
    usual = f" [default: {parameter.usual_text}]" if parameter.usual is None else ""
    text = re.sub(r"`([^`]+)`", literal, whole_text(parameter) + usual)
    indent = " " * 8
    lines = textwrap.wrap(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return "\n".join([f"    {parameter.name}", *lines]) + "\n"


def literal(match: re.Match[str]) -> str:
    """Write a name that is no parameter as a literal."""
    return match[0] if match[1] in PARAMETERS else f"`{match[0]}`"


def row_of(parameter: Parameter) -> str:
    """Write the row of a parameter in a page."""
    cells = (
        f"`{parameter.name}`",
        parameter.default,
        parameter.values,
        whole_text(parameter),
        parameter.source,
    )
    return f"| {' | '.join(cells)} |\n".replace("|  |", "| |")


def whole_text(parameter: Parameter) -> str:
    """Return what a parameter means and requires."""
    needs = parameter.requires
    return parameter.text + (f" Requires `{needs[0]}={needs[1]}`." if needs else "")
