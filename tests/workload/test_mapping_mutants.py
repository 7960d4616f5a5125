"""Whatever a mapping or a data set has become: there is a workload with a report, or one clear error.

A sample runs every time; `pytest -m campaign tests/workload/test_mapping_mutants.py` makes 100,000 of each.
"""

from __future__ import annotations

import io
import os
import time
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import polars as pl
import pytest

from batchlab.errors import WorkloadError
from batchlab.workload import LogMapping, read_mapped
from batchlab.workload.mappings.catalogue import entries, mapping_named, text_of
from support.data_sets import SAMPLES, Sample
from support.mutations import mutated

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SAMPLE = 150
CAMPAIGN = int(os.environ.get("BATCHLAB_FUZZ", "100000"))
LONGEST_MESSAGE = 2010
LONGEST_TIME = 10.0


@cache
def text(sample: Sample) -> bytes:
    """Return a sample as text: Parquet as CSV."""
    if not sample.rows:
        return sample.text.encode()
    table = pl.DataFrame(sample.rows)
    clocks = [pl.col(name).dt.total_seconds() for name, kind in table.schema.items() if kind == pl.Duration]
    lists = [pl.col(name).list.len() for name, kind in table.schema.items() if isinstance(kind, pl.List)]
    return table.with_columns(*clocks, *lists).write_csv().encode()


@cache
def all_mappings() -> tuple[bytes, ...]:
    """Return the files of all mappings."""
    return tuple(text_of(mapping).encode() for mapping in entries())


def of_mapping(number: int, folder: Path) -> None:
    """Read a sound data set by a mutant of its mapping."""
    sample = SAMPLES[number % len(SAMPLES)]
    own = text_of(mapping_named(sample.name)).encode()
    path = folder / "mutant.toml"
    path.write_bytes(mutated([own] if number % 4 else [own, *all_mappings()], number))
    check(text(sample), path)


def of_input(number: int, _folder: Path) -> None:
    """Read a mutant of a data set by its mapping, or by whatever its columns tell."""
    sample = SAMPLES[number % len(SAMPLES)]
    content = mutated([text(sample)], number)
    check(content, mapping_named(sample.name) if number % 3 else None)


def check(content: bytes, mapping: LogMapping | Path | None) -> None:
    """Read, and account for every row."""
    workload = read_mapped(io.BytesIO(content), mapping)
    report = workload.report
    assert report.read == report.kept + report.dropped.height
    assert len(workload) == report.kept
    assert workload.jobs["tasks"].min() is None or workload.jobs.select((pl.col("tasks") >= 1).all()).item()
    assert repr(workload)
    assert str(report)


def run(read: Callable[[int, Path], None], begin: int, end: int, folder: Path) -> Counter[str]:
    """Read the mutants of these numbers."""
    found: Counter[str] = Counter()
    for number in range(begin, end):
        began = time.process_time()
        try:
            read(number, folder)
        except WorkloadError as error:
            message = str(error)
            assert message, number
            assert len(message) <= LONGEST_MESSAGE, number
            assert message.isprintable(), number
            found["error"] += 1
        except BaseException as error:
            error.add_note(f"mutant {number}")
            raise
        else:
            found["workload"] += 1
        assert time.process_time() - began < LONGEST_TIME, number
    return found


KINDS = pytest.mark.parametrize("read", [of_mapping, of_input])


@KINDS
def test_a_sample_of_mutants(read: Callable[[int, Path], None], tmp_path: Path) -> None:
    """Mutants give a workload or one error; there are many of both."""
    found = run(read, 0, SAMPLE, tmp_path)
    assert min(found["workload"], found["error"]) > SAMPLE / 20


@pytest.mark.campaign
@pytest.mark.timeout(0)
@KINDS
def test_many_mutants(read: Callable[[int, Path], None], tmp_path: Path) -> None:
    """So do 100,000."""
    found = run(read, SAMPLE, SAMPLE + CAMPAIGN, tmp_path)
    print(read.__name__, dict(found))  # noqa: T201  # the campaign's figures
    assert found.total() == CAMPAIGN
