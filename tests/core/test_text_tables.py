"""Answers in text, within the width of a terminal."""

from __future__ import annotations

from batchlab.core import markup
from batchlab.core.text_tables import Block, Facts, Table, render, width_of
from batchlab.core.units import format_duration

ROWS = [["name", "first", "second", "third"], ["a", "1", "22", "333"], ["long name", "4", "5", "6"]]


def test_columns_are_aligned() -> None:
    """Labels to the left, numbers to the right, as wide as they need; the note below."""
    assert render([Table(ROWS, "Done.")]).splitlines() == [
        "name       first  second  third",
        "a              1      22    333",
        "long name      4       5      6",
        "Done.",
    ]
    assert width_of(ROWS) == 31


def test_durations_of_a_column_have_one_form() -> None:
    """In text and in HTML; the width is that of what is printed."""
    rows = [
        ["", "wait"],
        ["a", format_duration(0)],
        ["b", format_duration(93784)],
        ["c", format_duration(59)],
    ]
    found = Table(rows)
    assert render([found]).splitlines() == [
        "           wait",
        "a      00:00:00",
        "b  1 d 02:03:04",
        "c      00:00:59",
    ]
    assert width_of(found.rows) == 15
    for html in (markup.table("", rows[0], rows[1:]), markup.card("", [], rows[0], rows[1:])):
        assert ">00:00:00<" in html
        assert "0 s" not in html


def test_columns_that_do_not_fit_stand_below() -> None:
    """With the labels again."""
    assert render([Table(ROWS)], width=25).splitlines() == [
        "name       first  second",
        "a              1      22",
        "long name      4       5",
        "",
        "name       third",
        "a            333",
        "long name      6",
    ]
    # One column each is the least.
    assert render([Table(ROWS)], width=3).count("\nlong name") == 3


def test_long_titles_are_broken_first() -> None:
    """Where that makes the table fit; words stay whole, and cells as wide as they are."""
    rows = [["name", "mean of all", "second"], ["a", "1", "22"], ["long name", "4", "5"]]
    whole = [
        "name       mean of all  second",
        "a                    1      22",
        "long name            4       5",
    ]
    assert render([Table(rows)]).splitlines() == whole
    assert render([Table(rows, within=30)]).splitlines() == whole
    broken = [
        "           mean",
        "             of",
        "name        all  second",
        "a             1      22",
        "long name     4       5",
    ]
    assert render([Table(rows)], width=29).splitlines() == broken
    assert render([Table(rows, within=29)]).splitlines() == broken
    assert render([Table(rows, within=29)], width=30).splitlines() == whole
    assert render([Table(rows)], width=29, colour=True).count("\x1b[1m") == 3


def test_prose_is_wrapped() -> None:
    """In the last column, and in facts, behind an indentation."""
    text = "a sentence that goes on and on and on"
    table = Table([("name", "number", "meaning"), ("a", "1", text)], prose=True)
    assert render([table], width=36).splitlines() == [
        "name  number  meaning",
        "a          1  a sentence that goes",
        "              on and on and on",
    ]
    assert render([Facts([("fact", text), ("", "more")])], width=36).splitlines() == [
        "fact          a sentence that goes",
        "              on and on and on",
        "              more",
    ]
    assert render([Facts([("fact", text)])]) == f"fact          {text}"


def test_long_names_move_the_texts() -> None:
    """So that no name runs into its text; what has no text may be as long as it likes."""
    facts = Facts(
        [("a name of nineteen s", "x"), ("b", "y"), ("a name without any text at all", "")], "Title"
    )
    assert render([facts]).splitlines() == [
        "Title",
        "",
        "a name of nineteen s  x",
        "b                     y",
        "a name without any text at all",
    ]


def test_colours_mark_names_and_titles() -> None:
    """And warnings; they take no room."""
    blocks: list[Block] = [Facts([("fact", "x"), ("warning", "y")], "Title"), Table(ROWS)]
    text = render(blocks, colour=True)
    assert "\x1b[1mTitle\x1b[0m" in text
    assert "\x1b[36mfact          \x1b[0mx" in text
    assert "\x1b[33mwarning       \x1b[0my" in text
    assert "\x1b[1mname       first  second  third\x1b[0m" in text
