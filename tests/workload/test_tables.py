"""CSV and Parquet files give back what was written."""

import gzip
import os
import threading
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from batchlab.errors import WorkloadError
from batchlab.workload import Workload, read_swf, read_table, write_table

LINES = [
    "1 0.1 5 100 4 99.5 2000 4 200 3000 1 7 8 9 1 2 -1 -1",
    "2 7 5 100 4 99.5 -1 2 200 -1 1 7 8 9 1 2 -1 -1",
]


@pytest.mark.parametrize("name", ["jobs.csv", "jobs.parquet", "JOBS.PARQUET"])
def test_round_trip(tmp_path: Path, name: str) -> None:
    """Jobs come back with kinds, resources and order; the report names the file."""
    workload = read_swf(LINES, use_memory=True)
    write_table(workload, tmp_path / name)
    again = read_table(tmp_path / name, invalid="raise")
    assert again.jobs.equals(workload.jobs)
    assert again.jobs.schema == workload.jobs.schema
    assert again.resources == ("mem",)
    assert str(again.report) == f"{name}: 2 jobs read, all kept as they are"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no named pipes")
@pytest.mark.parametrize("name", ["jobs.csv", "jobs.parquet"])
def test_tables_come_through_pipes(tmp_path: Path, name: str) -> None:
    """Of either kind; a pipe without a suffix is taken for a log, and the error says what is missing."""
    workload = read_swf(LINES)
    write_table(workload, tmp_path / name)
    content = (tmp_path / name).read_bytes()
    (tmp_path / "pipe").mkdir()
    for pipe in (tmp_path / "pipe" / name, tmp_path / "pipe" / "stdin"):
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=(content,), daemon=True)
        writer.start()
        if pipe.suffix:
            assert read_table(pipe).jobs.equals(workload.jobs)
        else:
            with pytest.raises(WorkloadError, match=r"names that end in \.csv or \.parquet"):
                read_swf(pipe)
        writer.join()


def test_packed_csv_is_read(tmp_path: Path) -> None:
    """A packed CSV file is read, and none is written."""
    path = tmp_path / "jobs.csv.gz"
    path.write_bytes(gzip.compress(b"submit_time,run_time,tasks\n0,5,1\n"))
    assert len(read_table(path)) == 1
    with pytest.raises(WorkloadError, match="tables are not written packed"):
        write_table(read_table(path), path)


def test_broken_rules_name_file_and_row(tmp_path: Path) -> None:
    """A CSV of people's making: text where numbers belong, empty cells."""
    path = tmp_path / "jobs.csv"
    path.write_text("submit_time,run_time,tasks\n0,5,1\nnoon,5,1\n3,,1\n")
    assert read_table(path).report.dropped["line"].to_list() == [1, 2]
    with pytest.raises(
        WorkloadError, match=r"jobs\.csv: row 1: submit_time = 'noon'; must be a number of seconds"
    ):
        read_table(path, invalid="raise")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "submit_time,run_time,tasks,run_time\n0,5,1,9\n",
            "two columns are called 'run_time'; keep one of them",
        ),
        (
            "submit_time;run_time;tasks\n0;5;1\n",
            "is one column, with ';' in its name; separate columns by commas",
        ),
        ("submit_time\trun_time\n0\t5\n", r"with '\\t' in its name"),
    ],
)
def test_headers_that_are_no_names(text: str, said: str, tmp_path: Path) -> None:
    """A name is there once, and names are separated by commas."""
    (tmp_path / "jobs.csv").write_text(text)
    with pytest.raises(WorkloadError, match=rf"jobs\.csv.*{said}"):
        read_table(tmp_path / "jobs.csv")


def test_unreadable_tables(tmp_path: Path) -> None:
    """A missing file, an unknown suffix and a damaged file are one error each."""
    with pytest.raises(WorkloadError, match=r"jobs\.csv: cannot be read: .*o such file"):
        read_table(tmp_path / "jobs.csv")
    with pytest.raises(WorkloadError, match=r"jobs\.parquet: cannot be read"):
        read_table(tmp_path / "jobs.parquet")
    with pytest.raises(WorkloadError, match=r"jobs\.xlsx: must end in \.csv"):
        read_table(tmp_path / "jobs.xlsx")
    for name in ("empty.csv", "empty.parquet"):
        (tmp_path / name).touch()
        with pytest.raises(WorkloadError, match=f"{name}: is no readable"):
            read_table(tmp_path / name)


def test_columns_that_csv_cannot_hold(tmp_path: Path) -> None:
    """A nested column is an error that leaves no file behind; Parquet takes it."""
    workload = Workload.from_table({"submit_time": [0], "run_time": [1], "tasks": [1], "nodes": [[1, 2]]})
    with pytest.raises(WorkloadError, match=r"cannot be written as csv: .*or use \.parquet"):
        write_table(workload, tmp_path / "jobs.csv")
    assert list(tmp_path.iterdir()) == []
    write_table(workload, tmp_path / "jobs.parquet")
    assert read_table(tmp_path / "jobs.parquet").jobs["nodes"].to_list() == [[1, 2]]


@given(st.binary(max_size=200) | st.text(alphabet='0123456789.,-\n" ae', max_size=200).map(str.encode))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_as_a_table(tmp_path: Path, content: bytes) -> None:
    """Any bytes end in a workload or in one error."""
    for name, head in (("any.csv", b""), ("jobs.csv", b"submit_time,run_time,tasks\n"), ("any.parquet", b"")):
        (tmp_path / name).write_bytes(head + content)
        try:
            workload = read_table(tmp_path / name)
        except WorkloadError:
            continue
        assert workload.report.read == workload.report.kept + workload.report.dropped.height
        assert isinstance(workload.jobs, pl.DataFrame)


def test_a_table_of_many_columns(tmp_path: Path) -> None:
    """All ride along."""
    names = [f"c{number}" for number in range(20_000)]
    head = ",".join(["submit_time", "run_time", "tasks", *names])
    (tmp_path / "wide.csv").write_text(head + "\n0,5,1" + ",7" * len(names) + "\n")
    jobs = read_table(tmp_path / "wide.csv").jobs
    assert jobs.select(names).row(0) == (7,) * len(names)
