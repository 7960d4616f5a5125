"""The registry of recorded tables: each is made, written, documented, and asked for by an option."""

from __future__ import annotations

import inspect
import os
import pickle
import re
from copy import deepcopy
from dataclasses import fields
from pathlib import Path

import polars as pl
import pytest

import batchlab as bl
from batchlab.errors import ResultError
from batchlab.generate import demo_system
from batchlab.result.manifest import is_output
from batchlab.result.outcome import LateTable
from batchlab.result.recorded import TABLES, RecordedTable
from support.recorded_runs import JOBS, KINDS

PAGE = Path(__file__).parents[2] / "docs/results.md"
MARKS = "<!-- recorded tables -->\n", "<!-- end of recorded tables -->\n"


@pytest.fixture(scope="module")
def results() -> dict[str, bl.Result]:
    """Return a run of each kind."""
    return {kind: make() for kind, make in KINDS.items()}


@pytest.mark.parametrize("name", TABLES)
def test_some_run_records_each_table(name: str, results: dict[str, bl.Result]) -> None:
    """A new table needs a run in `KINDS`, so that all tests below and those of reading see it."""
    table = TABLES[name]
    assert any(table.has(each) and not getattr(each, name).is_empty() for each in results.values())


@pytest.mark.parametrize("kind", KINDS)
def test_tables_have_the_columns_of_their_rows(kind: str, results: dict[str, bl.Result]) -> None:
    """Names, order and types."""
    result = results[kind]
    for table in TABLES.values():
        if table.has(result):
            frame: pl.DataFrame = getattr(result, table.name)
            found = {name: of.base_type() for name, of in frame.schema.items()}
            assert list(found.items()) == columns_of(table, result), table.name


def test_recorders_make_columns_late() -> None:
    """What was recorded by an instant stays, while the run goes on and after it, also in copies."""
    simulation = bl.Simulation(JOBS, demo_system(), "easy", explain=True)
    simulation.run_until(float(JOBS.jobs["submit_time"][30]))
    early, late = simulation.result(), simulation.result()
    count = len(early.gates)
    simulation.run_until()
    assert 0 < count < len(simulation.result().gates)
    tables = late.outcome.tables
    assert isinstance(tables["gates"], LateTable)
    pickled = pickle.loads(pickle.dumps(tables))  # noqa: S301  # our own
    for copy in (pickled, deepcopy(tables), tables):
        assert (len(copy["gates"]), len(copy["promises"])) == (10, 6)
        assert [len(column) for column in copy["gates"].values()] == [count] * 10
    assert late.gates.equals(early.gates)
    with pytest.raises(KeyError):
        tables["gates"]["no such column"]


def columns_of(table: RecordedTable, result: bl.Result) -> list[tuple[str, object]]:
    """List the columns of a row of the registry for the resources of a system."""
    return [
        (name, each.kind)
        for each in table.columns
        for name in (
            [each.name.replace("<resource>", of) for of in result.system.resources]
            if "<resource>" in each.name
            else [each.name]
        )
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_written(kind: str, results: dict[str, bl.Result], tmp_path: Path) -> None:
    """Each that a run has gets its file with its columns, and no other file of tables is there."""
    result = results[kind]
    result.write(tmp_path)
    has = [table for table in TABLES.values() if table.has(result)]
    written = {table.file: table for table in has if table.is_written(result)}
    others = {"jobs.csv", "manifest.json", "metrics.json", "result.zip"}
    # Those of what was sensed have a name for each kind.
    found = {path.name for path in tmp_path.iterdir() if not path.name.startswith("utilisation_")}
    assert found == others | written.keys()
    for file, table in written.items():
        assert pl.read_csv(tmp_path / file).columns == getattr(result, table.name).columns
        assert is_output(file)


@pytest.mark.parametrize("name", [name for name, table in TABLES.items() if table.missing])
def test_what_was_not_recorded_is_an_error(name: str, results: dict[str, bl.Result]) -> None:
    """It says how to record the table."""
    option = TABLES[name].option
    with pytest.raises(ResultError, match=rf"^{name}: not recorded; .*{option or ''}"):
        getattr(results["plain"], name)


def test_options_that_record_have_tables() -> None:
    """Each option that does not bear on the schedule asks for a table; sensing has several of its own."""
    options = bl.RunOptions()
    recording = {field.name for field in fields(options)} - options.schedule_options.keys()
    assert recording == {table.option for table in TABLES.values() if table.option} | {"sensing"}
    assert options.recorded == []
    assert bl.RunOptions(usage=True, dispatch=True).recorded == ["dispatch", "usage"]


@pytest.mark.parametrize("name", TABLES)
def test_attributes_are_documented(name: str) -> None:
    """The docstring of the attribute names each column; the attribute cannot be set."""
    text = inspect.getdoc(getattr(bl.Result, name))
    assert text is not None
    assert all(f"``{column.name}``" in text for column in TABLES[name].columns)
    result = bl.simulate(JOBS.head(1), bl.System.homogeneous(nodes=32, resources={"core": 8}), "fcfs")
    with pytest.raises(AttributeError, match="cannot"):
        setattr(result, name, None)


def test_the_page_lists_every_table() -> None:
    """`docs/results.md` has the tables as the registry has them; UPDATE_DOCUMENTATION=1 writes them."""
    text = PAGE.read_text("utf-8")
    begin, end = text.index(MARKS[0]) + len(MARKS[0]), text.index(MARKS[1])
    expected = "\n" + "\n".join(["| table | content |", "|---|---|", *map(line_of, TABLES.values())]) + "\n\n"
    if os.environ.get("UPDATE_DOCUMENTATION"):
        text, end = text[:begin] + expected + text[end:], begin + len(expected)
        PAGE.write_text(text, "utf-8")
    assert text[begin:end] == expected


def line_of(table: RecordedTable) -> str:
    """Write a row of the registry as a row of the page."""
    columns = ", ".join(f"`{each.name}`{each.meaning and f' ({each.meaning})'}" for each in table.columns)
    asked = f" With `{table.option}=True`." if table.option else ""
    about = re.sub(r"\(semantics, (S\d+)\)", link_of, table.about).rstrip(".")
    text = f"{about}. Columns: {columns}.{asked}".replace("``", "`")
    return f"| `result.{table.name}` | {text} |"


def link_of(section: re.Match[str]) -> str:
    """Write a section of the specification as a link to its heading."""
    headings = re.findall(r"^## (.+)$", PAGE.with_name("semantics.md").read_text("utf-8"), re.MULTILINE)
    (heading,) = (each for each in headings if each.split()[0] == section[1])
    slug = re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
    return f"([{section[1]}](semantics.md#{slug}))"
