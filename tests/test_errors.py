"""The tree of errors, and how errors show names and values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import batchlab as bl
from batchlab import errors
from batchlab.generate import demo_system, demo_workload


@pytest.mark.parametrize(
    "name", [name for name in errors.__all__ if name[0].isupper() and name != "Argument"]
)
def test_every_error_is_a_batchlab_error(name: str) -> None:
    """One ``except`` catches whatever batchlab raises."""
    assert issubclass(getattr(errors, name), errors.BatchlabError)


def test_a_formula_of_100_kb_is_not_quoted_back() -> None:
    """Whatever is quoted, a message has a length that a terminal can show, and its end stays."""
    formula = "max(" * 25_000
    with pytest.raises(errors.PolicyError) as raised:
        bl.simulate(demo_workload(3), demo_system(), f'expression("{formula}")')
    text = str(raised.value)
    assert len(text) < 2100
    assert text.startswith('expression("max(max(')
    assert text.endswith("simplify it. At character 201 of the formula.")


def test_suggests_the_nearest_name() -> None:
    """A misspelt name is answered with the nearest and with all known ones."""
    answer = errors.suggest("esay", ["easy", "fcfs", "conservative"])
    assert answer == " Did you mean 'easy'? Known: conservative, easy, fcfs."


@pytest.mark.parametrize(
    ("name", "known", "nearest"),
    [
        ("external_events", ["events", "key_events"], "events"),
        ("Job-Overheads", ["overheads", "job"], "overheads"),
        ("waltime", ["walltime", "time"], "walltime"),
        ("_", ["easy"], None),
    ],
)
def test_names_within_a_name_are_nearest(name: str, known: list[str], nearest: str | None) -> None:
    """The whole words of a name count before the likeness of letters."""
    assert errors.nearest(name, known) == nearest


def test_suggests_nothing_far_away() -> None:
    """A name like none of the known ones is only answered with these."""
    assert errors.suggest("quantum", ["easy", "fcfs"]) == " Known: easy, fcfs."
    assert errors.suggest("quantum", []) == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-4, "-4"),
        ("a\nb", r"'a\nb'"),
        (1 << 100_000, "a whole number of 100001 bits"),
        ([1 << 100_000, 2], "[…, 2]"),
        ({"a": {"b": {"c": {}}}}, "{'a': {'b': {...}}}"),
    ],
    ids=["number", "text", "huge", "nested huge", "deep"],
)
def test_shows_values(value: object, text: str) -> None:
    """Values are shown on one short line, even those that Python itself refuses to write out."""
    assert errors.shown(value) == text


@given(st.recursive(st.integers() | st.text() | st.floats() | st.binary(), st.lists, max_leaves=50))
def test_shown_values_are_short(value: object) -> None:
    """Whatever the value, a message keeps to one line."""
    text = errors.shown(value)
    assert len(text) <= 60
    assert "\n" not in text
