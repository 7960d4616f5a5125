"""Public functions refuse arguments of a wrong type by an error with argument, value and rule."""

from __future__ import annotations

import inspect
from contextlib import suppress
from types import GeneratorType, ModuleType
from typing import TYPE_CHECKING, Any

import pytest

import batchlab as bl
from batchlab.generate import demo_system, demo_workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WORKLOAD, SYSTEM = demo_workload(5), demo_system()
LOG: Any = "log.swf"
SETH: Any = "seth"
NUMBER: Any = 3
TAKERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "like": (lambda _: bl.generate.like(LOG, 5, system=SYSTEM), "workload = 'log.swf'"),
    "mix": (lambda _: bl.generate.mix(LOG, []), "workload = 'log.swf'"),
    "compare": (lambda _: bl.generate.compare(WORKLOAD, LOG), "generated = 'log.swf'"),
    "write_table": (lambda folder: bl.write_table(LOG, folder / "jobs.csv"), "workload = 'log.swf'"),
    "write_swf": (lambda folder: bl.write_swf(LOG, folder / "log.swf"), "workload = 'log.swf'"),
    "write_system": (lambda folder: bl.write_system(SETH, folder / "s.toml"), "system = 'seth'"),
    "write_events": (lambda folder: bl.write_events(LOG, folder / "e.jsonl"), "stream = 'log.swf'"),
    "simulate": (lambda _: bl.simulate(LOG, SYSTEM, "easy"), "workload = 'log.swf'"),
    "simulate on": (lambda _: bl.simulate(WORKLOAD, SETH, "easy"), "system = 'seth'"),
}


@pytest.mark.parametrize("taker", TAKERS)
def test_a_path_is_no_workload(taker: str, tmp_path: Path) -> None:
    """The error names the argument and its value, and nothing is written."""
    call, said = TAKERS[taker]
    with pytest.raises(bl.BatchlabError, match=said):
        call(tmp_path)
    assert not [*tmp_path.iterdir()]


def public_functions() -> Iterator[tuple[str, Callable[..., object]]]:
    """Yield the functions of the package and of its public modules, each once."""
    # By the names that users write: a module can stand in another folder.
    modules = {"batchlab": bl}
    modules |= {
        f"batchlab.{name}": each for name in bl.__all__ if isinstance(each := getattr(bl, name), ModuleType)
    }
    named = {
        getattr(module, name): f"{place}.{name}"
        for place, module in modules.items()
        for name in module.__all__
        if inspect.isfunction(getattr(module, name))
    }
    yield from ((name, function) for function, name in named.items())


def required(function: Callable[..., object]) -> list[inspect.Parameter]:
    """List the parameters without a default."""
    parameters = inspect.signature(function).parameters.values()
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [each for each in parameters if each.default is each.empty and each.kind not in variadic]


FUNCTIONS = {name: function for name, function in public_functions() if required(function)}
WRONG: tuple[object, ...] = ("text", 3.5, None, object(), ["text"], {"a": "text"})


@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrong_types(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of batchlab, never one from inside."""
    monkeypatch.chdir(tmp_path)
    function = FUNCTIONS[name]
    parameters = required(function)
    keywords = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY]
    for wrong in WRONG:
        by_place = [wrong for each in parameters if each.name not in keywords]
        # Some of these values are right for some functions.
        with suppress(bl.BatchlabError):
            found = function(*by_place, **dict.fromkeys(keywords, wrong))
            assert not isinstance(found, GeneratorType) or not list(found)


def test_many_functions_are_asked() -> None:
    """The list comes from the public modules."""
    assert len(FUNCTIONS) > 150
    assert {"batchlab.simulate", "batchlab.service.delay", "batchlab.twin.what_if"} <= {*FUNCTIONS}


def test_the_message_has_argument_value_and_rule() -> None:
    """For descriptions, tables, lists of them, paths and names."""
    text: Any = "run"
    cases: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: bl.service.delay(text), "result = 'run'; must be a Result, e.g. of simulate()."),
        (lambda: bl.twin.what_if(WORKLOAD, [text]), "twins = ['run']; must be a list, each a Twin"),
        (lambda: bl.twin.what_if(text, text), "workload = 'run'; must be a Workload, e.g. of read_swf()."),
        (lambda: bl.metrics.interrupted(text), "interruptions = 'run'; must be a polars DataFrame."),
        (lambda: bl.read_result(NUMBER), "directory = 3; must be a text or a path."),
        (lambda: bl.skeleton.balanced_dims(text, 2), "ranks = 'run'; must be a whole number."),
    )
    for call, message in cases:
        with pytest.raises(bl.BatchlabError) as refused:
            call()
        assert message in str(refused.value)
