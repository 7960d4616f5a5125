"""Any iterable of mappings is a workload's source."""

from collections.abc import Iterable, Iterator, Mapping

import pytest

from batchlab.errors import WorkloadError
from batchlab.workload import Header, Reader, read_records, reasons

RECORD: dict[str, object] = {"submit_time": 0, "run_time": 60, "tasks": 2}


class Countdown(Reader):
    """A reader with all that can be told."""

    name = "countdown"
    resources = ("licence",)

    def records(self) -> Iterator[Mapping[str, object]]:
        for number in (3, 2, 0):
            yield {**RECORD, "tasks": number, "licence": 1}

    def header(self) -> Header:
        return Header.from_fields({"MaxProcs": 4})


def test_records() -> None:
    """Keys are columns; what a record lacks is null, or has its default."""
    workload = read_records([RECORD, {**RECORD, "requested_time": 90.5, "who": "x"}])
    assert workload.jobs["requested_time"].to_list() == [60, 90.5]
    assert workload.jobs["who"].to_list() == [None, "x"]
    assert str(workload.report).startswith("records: 2 jobs read, 1 mended")


def test_a_reader() -> None:
    """A subclass names its source, resources and header, and its records pass the gate."""
    workload = Countdown().read()
    assert workload.jobs["tasks"].to_list() == [3, 2]
    assert workload.resources == ("licence",)
    assert workload.header.max_processors == 4
    assert workload.report.dropped.rows() == [(reasons.PROCESSORS, 2, 3)]
    with pytest.raises(WorkloadError, match="countdown: row 2: tasks = 0; must be >= 1"):
        read_records(Countdown(), invalid="raise")


def test_many_records_and_a_limit() -> None:
    """Blocks are joined, ints and floats mixed; a limit ends an endless source."""

    def endless() -> Iterator[dict[str, object]]:
        number = 0
        while True:
            yield {**RECORD, "submit_time": number if number < 60_000 else number + 0.5}
            number += 1

    jobs = read_records(endless(), max_jobs=100_001).jobs
    assert jobs["submit_time"][[0, 59_999, 60_000, 100_000]].to_list() == [0, 59_999, 60_000.5, 100_000.5]


def test_no_records() -> None:
    """An empty source is an empty workload."""
    assert len(read_records([])) == 0


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ([RECORD, 3], "record 1 is 3; must be a mapping"),
        (RECORD, "must be a Reader or an iterable of mappings"),
        (7, "source = 7; must be a Reader or an iterable"),
        ([{"submit_time": 0}], "records: no column 'run_time'"),
        ([RECORD, {**RECORD, "tasks": [1]}], "records: "),
    ],
)
def test_wrong_sources(source: Iterable[Mapping[str, object]], message: str) -> None:
    """What is no record is one error."""
    with pytest.raises(WorkloadError, match=message):
        read_records(source)
