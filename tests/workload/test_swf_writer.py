"""A written log, read again, is an equal table."""

import gzip
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from batchlab.errors import WorkloadError
from batchlab.workload import Header, Workload, read_swf, reasons, write_swf

SOUND = "1 0.25 5 100 4 99.5 2000 4 200 3000 1 7 8 9 1 2 -1 -1"
LOGS = Path(__file__).parents[3] / "shared" / "data"


@pytest.mark.parametrize("name", ["log.swf", "log.swf.gz"])
def test_a_log_round_trips(tmp_path: Path, name: str) -> None:
    """Fields, fractions and comments come back; the bytes are the same each time."""
    path = tmp_path / name
    lines = [
        "; Version: 2.2",
        ";",
        "; Note: größe",
        f"{SOUND}",
        "2 1e-7 -1 0.1 -1 -1 -1 3 1e10 -1 1 1 1 1 1 1 1 1",
    ]
    workload = read_swf(lines)
    write_swf(workload, path)
    again = read_swf(path)
    assert again.jobs.equals(workload.jobs)
    assert again.header == workload.header
    first = path.read_bytes()
    assert first.startswith(b"\x1f\x8b") == name.endswith("gz")
    write_swf(again, tmp_path / f"again-{name}")
    assert (tmp_path / f"again-{name}").read_bytes() == first
    text = (gzip.decompress(first) if name.endswith("gz") else first).decode()
    assert text.splitlines()[3:5] == ["; Generator: batchlab", SOUND]


@pytest.mark.parametrize("name", ["HPC2N-2002-2.2-cln.swf.gz", "KTH-SP2-1996-2.1-cln.swf.gz"])
def test_real_logs_round_trip(tmp_path: Path, name: str) -> None:
    """Whole real logs come back, header included."""
    if not (LOGS / name).exists():
        pytest.skip("the logs in ../shared/data are not here")
    workload = read_swf(LOGS / name)
    write_swf(workload, tmp_path / "log.swf")
    again = read_swf(tmp_path / "log.swf", invalid="raise")
    assert again.jobs.equals(workload.jobs)
    assert again.header == workload.header
    # What was asked for is written, and extended again.
    assert set(again.report.mended["reason"]) <= {reasons.REQUESTED_TIME_RAISED}


def test_the_options_of_reading_survive(tmp_path: Path) -> None:
    """A log read by allocated processors, or with its overruns kept, comes back when read likewise."""
    line = "1 0 5 100 3 99.5 2000 4 60 3000 1 7 8 9 1 2 -1 -1"
    for processors, overrun in (("requested", "keep"), ("allocated", "keep"), ("allocated", "extend")):
        workload = read_swf([line], processors=processors, overrun=overrun, use_memory=True)  # type: ignore[arg-type]
        write_swf(workload, tmp_path / "log.swf")
        again = read_swf(tmp_path / "log.swf", processors=processors, overrun=overrun, use_memory=True)  # type: ignore[arg-type]
        assert again.jobs.equals(workload.jobs)


def test_a_workload_of_other_origin(tmp_path: Path) -> None:
    """Unknown fields are -1, requests are in processors, and a comment names what has no field."""
    table = {
        "submit_time": [0, 5],
        "run_time": [10, 20.5],
        "tasks": [2, 3],
        "core": [4, 1],
        "mem": [100, 200],
        "gpu": [1, 0],
        "status": ["done", "failed"],
        "user_id": [None, 7],
        "think_time": [float("nan"), 1.5],
    }
    write_swf(Workload.from_table(table), tmp_path / "log.swf")
    assert (tmp_path / "log.swf").read_text().splitlines() == [
        "; Version: 2.2",
        "; Generator: batchlab",
        "; Note: columns without a field in this format: core, gpu, status",
        "1 0 -1 10 -1 -1 -1 8 10 25 -1 -1 -1 -1 -1 -1 -1 -1",
        "2 5 -1 20.5 -1 -1 -1 3 20.5 200 -1 7 -1 -1 -1 -1 -1 1.5",
    ]
    again = read_swf(tmp_path / "log.swf", use_memory=True).jobs
    assert again["tasks"].to_list() == [8, 3]
    assert again["mem"].to_list() == [25, 200]


def test_changed_requests_are_written(tmp_path: Path) -> None:
    """Where ``tasks`` agrees with no field of the log any more, it is what is written."""
    workload = read_swf([SOUND])
    changed = Workload.from_table(workload.jobs.with_columns(tasks=pl.lit(6)))
    write_swf(changed, tmp_path / "log.swf")
    assert read_swf(tmp_path / "log.swf").jobs["tasks"].to_list() == [6]
    write_swf(workload.whole_nodes(4), tmp_path / "log.swf")
    assert read_swf(tmp_path / "log.swf").jobs["tasks"].to_list() == [4]


def test_header_lines_stay_comments(tmp_path: Path) -> None:
    """A header made by hand cannot smuggle jobs into a log."""
    workload = Workload.from_table(
        {"submit_time": [0], "run_time": [1], "tasks": [1]}, header=Header(("Note: x\n9 9 9 9 9", "  ; y"))
    )
    write_swf(workload, tmp_path / "log.swf")
    again = read_swf(tmp_path / "log.swf")
    assert again.header.lines == ("; Note: x", "; 9 9 9 9 9", "  ; y")
    assert len(again) == 1


def test_numbers_beyond_the_format_are_refused(tmp_path: Path) -> None:
    """A number that would not be read back exactly is an error, and nothing is written."""
    workload = Workload.from_table({"user_id": [2**60], "submit_time": [0], "run_time": [1], "tasks": [1]})
    with pytest.raises(
        WorkloadError, match=r"user_id = 1.15292e\+18; the format's numbers must be within 2\^53"
    ):
        write_swf(workload, tmp_path / "log.swf")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_log(tmp_path: Path) -> None:
    """A folder that does not exist is an OSError."""
    with pytest.raises(FileNotFoundError):
        write_swf(read_swf([SOUND]), tmp_path / "missing" / "log.swf")


TIMES = st.floats(0, 2**53) | st.integers(0, 2**53).map(float) | st.integers(0, 10**6).map(float)
JOBS = st.lists(
    st.fixed_dictionaries(
        {
            "job_id": st.integers(-(2**53), 2**53),
            "submit_time": TIMES,
            "run_time": TIMES,
            "requested_time": TIMES,
            "tasks": st.integers(1, 2**32 - 1),
            "average_cpu_time": st.floats(-1e9, 1e9),
            # The others mark partial executions, which readers join to one job.
            "status": st.integers(-(2**53), 2**53).filter(lambda status: status not in {2, 3, 4}),
        }
    ),
    min_size=1,
)


@given(JOBS)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_workload_round_trips(tmp_path: Path, jobs: list[dict[str, float]]) -> None:
    """Whatever the numbers, to the last bit."""
    workload = Workload.from_table(pl.DataFrame(jobs, infer_schema_length=None))
    write_swf(workload, tmp_path / "log.swf")
    again = read_swf(tmp_path / "log.swf", invalid="raise").jobs.select(workload.jobs.columns)
    expected = workload.jobs.with_columns(pl.col("average_cpu_time") + 0.0)
    assert again.equals(expected)


def test_limits_and_large_numbers_round_trip(tmp_path: Path) -> None:
    """A raised request is written as what was asked for, and the numbers of jobs are exact."""
    lines = [SOUND.replace("5 100 4", "5 300 4"), SOUND.replace("1 0.25", f"{2**53 + 1} 0.5")]
    workload = read_swf(lines)
    assert workload.jobs.select("requested_time", "time_limit").rows() == [(300.0, 200.0), (200.0, 200.0)]
    write_swf(workload, tmp_path / "log.swf")
    assert read_swf(tmp_path / "log.swf").jobs.equals(workload.jobs)
    assert "without a field" not in (tmp_path / "log.swf").read_text()


def test_what_the_format_cannot_say_of_limits(tmp_path: Path) -> None:
    """A limit that is neither what was asked for nor extended to it is named in a comment."""
    table = {"submit_time": [0], "run_time": [5], "requested_time": [9], "time_limit": [None], "tasks": [1]}
    write_swf(Workload.from_table(table), tmp_path / "log.swf")
    assert "; Note: columns without a field in this format: time_limit" in (tmp_path / "log.swf").read_text()
    assert read_swf(tmp_path / "log.swf").jobs["requested_time"].to_list() == [9.0]
