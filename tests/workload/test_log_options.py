"""The options of reading are declared once: readers, their typed keywords and the declaration agree."""

from __future__ import annotations

import inspect
import os
from dataclasses import fields
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

import pytest

import batchlab as bl
from batchlab.core.declared import Help
from batchlab.core.vocabulary import LOG_FORMATS
from batchlab.workload import LogMapping, log_options
from batchlab.workload.log_options import ReadingOptions
from batchlab.workload.logs import reading
from batchlab.workload.logs.reading import Reading

if TYPE_CHECKING:
    from collections.abc import Callable

PYTHON_ONLY = {
    "start_time": "the header says it",
    "partition_limits": "the system of a command says them",
    "node_names": "adds a column for programs",
    **dict.fromkeys(("memory", "gpus", "consumable_per"), "of sites with Grid Engine"),
    **dict.fromkeys(("memory_unit", "reserved_per"), "of sites with LSF"),
}
OF_ALL = {"log_format", "max_jobs"}
KEYWORDS = ("LogKeywords", "GwfKeywords", "AccountingKeywords", "JobcompKeywords", "SacctKeywords")


def keywords(form: str) -> dict[str, inspect.Parameter]:
    """Return the keywords of the reader of a format."""
    reader: Callable[..., Any] = getattr(bl, f"read_{form}")
    found = inspect.signature(reader).parameters
    return {name: each for name, each in found.items() if name != "source"}


def kinds(annotation: object) -> set[object]:
    """Return what a type may be, besides None."""
    if isinstance(annotation, str):
        annotation = eval(annotation, {**vars(reading), "LogMapping": LogMapping, "os": os})  # noqa: S307  # own text
    several = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return {*several} - {type(None)}


@pytest.mark.parametrize("form", LOG_FORMATS)
def test_keywords_of_readers_are_declared(form: str) -> None:
    """By name, by type, and by default unless readers differ in it."""
    declared = get_type_hints(ReadingOptions)
    usual = ReadingOptions()
    for name, parameter in keywords(form).items():
        if name in PYTHON_ONLY:
            assert name not in declared
            continue
        assert kinds(declared[name]) <= kinds(parameter.annotation), name
        default = getattr(usual, name)
        assert default is None or default == parameter.default, name
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY or name == "mapping"


def test_declared_options_are_keywords_of_readers() -> None:
    """None is without effect."""
    taken = OF_ALL.union(*map(keywords, LOG_FORMATS))
    assert {each.name for each in fields(ReadingOptions)} <= taken
    assert taken - {*PYTHON_ONLY} <= {each.name for each in fields(ReadingOptions)}


def test_options_have_a_help() -> None:
    """One sentence or more."""
    for each in fields(ReadingOptions):
        (told,) = (more for more in get_args(each.type) if isinstance(more, Help))
        assert told.text.endswith(("…", "."))


@pytest.mark.parametrize("name", KEYWORDS)
def test_typed_keywords_are_those_of_a_reading(name: str) -> None:
    """Checkers see the types that `Reading` checks."""
    known = get_type_hints(Reading)
    for keyword, kind in get_type_hints(getattr(reading, name)).items():
        assert kind == known[keyword]


def test_other_keywords_are_refused() -> None:
    """As Python does."""
    with pytest.raises(TypeError, match=r"read_gwf\(\) got an unexpected keyword argument 'requeues'"):
        bl.read_gwf(["x"], requeues="each")  # type: ignore[call-arg]  # the point


def test_given_options() -> None:
    """Those with a value other than the default."""
    assert log_options.ReadingOptions().given == {}
    assert ReadingOptions(invalid="drop", use_memory=False).given == {"use_memory": False}
