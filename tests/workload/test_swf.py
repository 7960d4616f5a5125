"""Logs are read from anywhere, and every job that is dropped, mended or odd is in the report."""

import gzip
import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from batchlab.core.vocabulary import OverrunAction
from batchlab.errors import WorkloadError
from batchlab.workload import Workload, read_swf, reasons

LOGS = Path(__file__).parents[3] / "shared" / "data"
SOUND = "1 0 5 100 4 99.5 2000 4 200 3000 1 7 8 9 1 2 -1 -1"
LOG = f"; Version: 2.2\n; MaxProcs: 8\n\n{SOUND}\n2 10.5 -1 60 2 -1 -1 -1 -1 -1 0 7 8 9 1 2 1 0.5\n"
COLUMNS = [
    "job_id",
    "submit_time",
    "run_time",
    "requested_time",
    "tasks",
    "time_limit",
    "logged_wait_time",
    "allocated_processors",
    "average_cpu_time",
    "used_memory",
    "requested_processors",
    "requested_memory",
    "status",
    "user_id",
    "group_id",
    "application_id",
    "queue_id",
    "partition_id",
    "preceding_job_id",
    "think_time",
]


def job(**changes: object) -> str:
    """Give the sound job's line with some fields, named as the columns, replaced."""
    names = [
        "job_id",
        "submit_time",
        "logged_wait_time",
        "run_time",
        "allocated_processors",
        "average_cpu_time",
    ]
    names += ["used_memory", "requested_processors", "requested_time", "requested_memory", *COLUMNS[12:]]
    fields = dict(zip(names, SOUND.split(), strict=True))
    return " ".join(str(value) for value in (fields | changes).values())


def notes(table: pl.DataFrame) -> list[tuple[Any, ...]]:
    return table.rows()


def test_columns_values_and_header() -> None:
    """Each field is in its column, of its kind; unknown request fields are filled by the rules."""
    workload = read_swf(LOG.splitlines())
    assert workload.jobs.columns == COLUMNS
    assert workload.jobs.rows()[0] == (
        1, 0.0, 100.0, 200.0, 4, 200.0, 5.0, 4, 99.5, 2000.0, 4, 3000.0, 1, 7, 8, 9, 1, 2, -1, -1.0,
    )  # fmt: skip
    assert workload.jobs.rows()[1][:5] == (2, 10.5, 60.0, 60.0, 2)
    real = {"submit_time", "run_time", "requested_time", "logged_wait_time", "average_cpu_time"}
    real |= {"used_memory", "requested_memory", "think_time", "time_limit"}
    assert dict(workload.jobs.schema) == {name: pl.Float64 if name in real else pl.Int64 for name in COLUMNS}
    assert workload.header.max_processors == 8
    assert workload.resources == ()


def open_text(path: Path) -> object:
    return path.open(encoding="utf-8")


@pytest.mark.parametrize(
    "source",
    [
        str,
        Path,
        open_text,
        lambda path: path.open("rb"),
        lambda path: io.StringIO(path.read_text()),
        lambda path: io.BytesIO(gzip.compress(path.read_bytes())),
        lambda path: path.read_text().splitlines(),
        lambda path: iter(path.read_bytes().splitlines(keepends=True)),
    ],
    ids=["str", "path", "text file", "binary file", "StringIO", "packed BytesIO", "lines", "bytes lines"],
)
def test_every_source_gives_the_same(tmp_path: Path, source: Callable[[Path], Any]) -> None:
    """A path, an open file of either kind, and lines with or without ends are read alike."""
    path = tmp_path / "log.swf"
    path.write_text(LOG)
    opened = source(path)
    workload = read_swf(opened)
    if hasattr(opened, "close"):
        opened.close()
    expected = read_swf(path)
    assert workload.jobs.equals(expected.jobs)
    assert workload.header == expected.header
    assert workload.report.mended.equals(expected.report.mended)


def test_gzip_is_known_by_content(tmp_path: Path) -> None:
    """A packed log needs no suffix, and may have several members."""
    path = tmp_path / "log"
    path.write_bytes(gzip.compress(LOG[:30].encode()) + gzip.compress(LOG[30:].encode()))
    expected = read_swf(LOG.splitlines()).jobs
    assert read_swf(path).jobs.equals(expected)
    with path.open("rb") as file:
        assert read_swf(file).jobs.equals(expected)


def test_the_report_names_reason_line_and_job() -> None:
    """What was dropped, mended and odd is listed; the numbers add up."""
    lines = [
        "; comment",
        job(submit_time=50),
        job(job_id=2, requested_processors=0),
        job(job_id=3, requested_time=60),
        "rubbish",
        job(job_id="x"),
        job(requested_time=-1),
    ]
    report = read_swf(lines).report
    assert (report.read, report.kept, report.unit) == (6, 3, "line")
    assert notes(report.dropped) == [
        (reasons.PROCESSORS, 3, 2),
        (reasons.TOO_FEW_FIELDS, 5, None),
        (reasons.JOB_NUMBER, 6, None),
    ]
    assert notes(report.mended) == [
        (reasons.REQUESTED_TIME_RAISED, 4, 3),
        (reasons.REQUESTED_TIME_UNKNOWN, 7, 1),
    ]
    assert notes(report.noted) == [(reasons.OUT_OF_ORDER, 4, 3), (reasons.REPEATED_JOB, 7, 1)]


@pytest.mark.parametrize(
    ("overrun", "times"), [("extend", (100.0, 100.0)), ("cut", (60.0, 60.0)), ("keep", (100.0, 60.0))]
)
def test_overrun(overrun: OverrunAction, times: tuple[float, float]) -> None:
    """A job that ran longer than it asked for is mended as told, and that is reported."""
    workload = read_swf([job(requested_time=60)], overrun=overrun)
    assert workload.jobs.select("run_time", "requested_time").row(0) == times
    report = workload.report
    assert (report.mended.height, report.noted.height) == ((0, 1) if overrun == "keep" else (1, 0))


def test_processors_and_memory() -> None:
    """Processors are those requested or allocated; memory per processor is field 10, else 7, rounded up."""
    lines = [
        job(allocated_processors=3, requested_memory=0.5),
        job(allocated_processors=-1, requested_memory=-1),
        job(used_memory=-1, requested_memory=-1),
    ]
    workload = read_swf(lines, processors="allocated", use_memory=True)
    assert workload.jobs.columns[:7] == [*COLUMNS[:6], "mem"]
    assert workload.jobs["tasks"].to_list() == [3, 4, 4]
    assert workload.jobs["mem"].to_list() == [1, 2000, 0]
    assert workload.jobs.schema["mem"] == pl.Int64
    assert workload.resources == ("mem",)
    assert read_swf(lines).jobs["tasks"].to_list() == [4, 4, 4]


def test_max_jobs_stops_and_says_so() -> None:
    """Reading stops after the last job asked for; the report tells where."""
    workload = read_swf([SOUND, "rubbish", SOUND, "unread"], max_jobs=2)
    assert (len(workload), workload.report.dropped.height, workload.report.stopped_at) == (2, 1, 3)
    assert "stopped by max_jobs after line 3" in str(workload.report)
    assert len(read_swf([SOUND], max_jobs=0)) == 0
    assert read_swf([SOUND], max_jobs=10**30).report.stopped_at is None


def test_an_empty_log_is_an_empty_workload(tmp_path: Path) -> None:
    """A log without jobs has the columns and no rows."""
    path = tmp_path / "empty.swf"
    path.touch()
    for source in (path, ["; only a comment"], []):
        workload = read_swf(source)
        assert (len(workload), workload.jobs.columns, workload.report.read) == (0, COLUMNS, 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"requested_processors": 0},
            r'log\.swf:2: requested processors = 0; must be >= 1\. Pass invalid="drop" to skip such jobs',
        ),
        (
            {"requested_processors": -1, "allocated_processors": -1},
            r"requested processors = -1; must be >= 1\.",
        ),
        ({"requested_processors": 2**32}, r":2: requested processors = 4294967296; must be below 2\^32\."),
        ({"submit_time": "x"}, r":2: submit_time = x; must be a number of seconds from 0 to 2\^53\."),
        ({"run_time": -1}, r":2: run_time = -1; must be a number"),
        ({"requested_time": "1e400"}, r":2: requested_time = 1e400; must be a number"),
        ({"job_id": 1.5}, r":2: job_id = 1.5; must be a whole number"),
    ],
)
def test_raise_names_file_line_value_and_rule(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    """With ``invalid="raise"`` the first broken rule ends the reading, from a file and from lines."""
    path = tmp_path / "log.swf"
    path.write_text(f"{SOUND}\n{job(**changes)}\n")
    with pytest.raises(WorkloadError, match=message):
        read_swf(path, invalid="raise")
    with path.open() as file, pytest.raises(WorkloadError, match=message):
        read_swf(file, invalid="raise")


def test_unreadable_sources(tmp_path: Path) -> None:
    """What cannot be read at all ends in one error that says why."""
    with pytest.raises(WorkloadError, match=r"no-such\.swf: cannot be read: .*[Nn]o such file"):
        read_swf("no-such.swf")
    with pytest.raises(WorkloadError, match="cannot be read"):
        read_swf(tmp_path)
    with pytest.raises(WorkloadError, match="cannot be read"):
        read_swf("a\0b")
    with pytest.raises(WorkloadError, match="source = 3, a int; must be a path"):
        read_swf(3)  # type: ignore[arg-type]
    with pytest.raises(WorkloadError, match="a bytes; must be a path"):
        read_swf(b"log.swf")  # type: ignore[arg-type]
    with pytest.raises(WorkloadError, match="lines: 3 is of type int; a log's lines must be str or bytes"):
        read_swf([SOUND, 3])  # type: ignore[list-item]
    latin = tmp_path / "latin.swf"
    latin.write_bytes(b"; Acknowledge: \xc5ke\n")
    with latin.open(encoding="utf-8") as file, pytest.raises(WorkloadError, match="opened in mode 'rb'"):
        read_swf(file)
    assert read_swf(latin).header.acknowledge == ("Åke",)


def test_files_that_are_no_logs(tmp_path: Path) -> None:
    """Where nothing looks like a job, that is an error and no empty workload."""
    path = tmp_path / "photo.swf"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
    with pytest.raises(
        WorkloadError, match=r"photo\.swf:1: fewer than 4 fields, and none of .* is a job\. Give a log"
    ):
        read_swf(path)


@pytest.mark.parametrize(
    "damage", [lambda packed: packed[:-9], lambda packed: packed[:60] + b"xx" + packed[62:]]
)
def test_damaged_gzip(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    """A gzip stream that is cut short or damaged is an error, from a path and from a file."""
    path = tmp_path / "log.swf.gz"
    path.write_bytes(damage(gzip.compress(LOG.encode())))
    with pytest.raises(WorkloadError, match=r"log\.swf\.gz: the gzip stream is cut short or damaged"):
        read_swf(path)
    with (
        path.open("rb") as file,
        pytest.raises(WorkloadError, match=r"the gzip stream is (cut short|damaged)"),
    ):
        read_swf(file)


@pytest.mark.parametrize(
    ("behind", "jobs", "notes"),
    [
        (b"\0" * 1000, 1, 0),
        (b"junk", 1, 1),
        (b"\x1f", 1, 1),
        (b"\0\0\x1f\x8cx", 1, 1),
        (b"\0" * 9 + gzip.compress(LOG.encode()), 2, 0),
        (gzip.compress(LOG.encode()) + b"x", 2, 1),
    ],
)
def test_bytes_behind_a_gzip_stream(tmp_path: Path, behind: bytes, jobs: int, notes: int) -> None:
    """They are ignored and noted, from a path and from a file in pieces of any size; zeros are padding."""
    path = tmp_path / "log.swf.gz"
    content = gzip.compress(LOG.encode()) + behind
    path.write_bytes(content)
    plain = read_swf(io.StringIO(LOG)).jobs.height
    for source in (path, io.BytesIO(content), Slow(content)):
        workload = read_swf(source)
        assert workload.jobs.height == jobs * plain
        noted = "bytes behind the end of the gzip stream ignored"
        assert workload.report.noted["reason"].to_list().count(noted) == notes


class Slow(io.BytesIO):
    """A file that gives few bytes at a time."""

    def read(self, _size: int | None = -1, /) -> bytes:
        """Read three bytes at most."""
        return super().read(3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"overrun": "extnd"}, "overrun = 'extnd'; must be 'extend', 'cut' or 'keep'"),
        ({"invalid": "ignore"}, "invalid = 'ignore'; must be 'drop' or 'raise'"),
        ({"processors": "all"}, "processors = 'all'; must be 'requested' or 'allocated'"),
        ({"max_jobs": -1}, "max_jobs = -1; must be a whole number >= 0"),
        ({"max_jobs": 1.5}, "max_jobs = 1.5; must be a whole number >= 0"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    """Arguments are checked before anything is read."""
    with pytest.raises(WorkloadError, match=message):
        read_swf(["x"], **arguments)


def test_the_kernel_and_the_tables_speak_alike() -> None:
    """The reasons that both readers give are the same words."""
    from batchlab import _kernel  # noqa: PLC0415  # private; only here

    log = _kernel.SwfLog(
        {
            "overrun": "extend",
            "invalid": "drop",
            "processors": "requested",
            "use_memory": False,
            "log_events": True,
            "max_jobs": None,
        }
    )
    log.finish()
    texts = {text for _, text in log.columns()["reasons"]}
    of_tables = {
        "REPEATED_JOB",
        "TIME_LIMIT",
        "REQUESTED_TIME_OF_LIMIT",
        "PARTS",
        "CANCELLED_WITH_RUN",
        "CUT_RUN",
    }
    own = {value for name, value in vars(reasons).items() if name.isupper() and name not in of_tables}
    assert own <= texts
    with pytest.raises(RuntimeError, match="handed over"):
        log.finish()


def test_a_bomb_of_comments_and_rubbish_takes_bounded_memory(tmp_path: Path) -> None:
    """A few kB of gzip that are millions of lines: the report counts those that it does not list."""
    path = tmp_path / "bomb.swf.gz"
    path.write_bytes(gzip.compress(b";\nx\n" * 1_200_000 + SOUND.encode()))
    by_path = read_swf(path)
    assert path.stat().st_size < 10_000
    for workload in (by_path, read_swf(io.BytesIO(path.read_bytes()))):
        report = workload.report
        assert (report.read, report.kept, len(workload)) == (1_200_001, 1, 1)
        assert report.counts()["dropped"] == {reasons.TOO_FEW_FIELDS: 1_200_000}
        assert report.unlisted[reasons.TOO_FEW_FIELDS] == 1_200_000 - report.dropped.height > 100_000
        assert report.dropped.height + len(workload.header.lines) < 2_000_000
        assert "1,200,000 dropped" in report.summary()
        assert f"{1_200_000 - 2**20:,} of them not listed)" in str(report)


def read_log(name: str) -> Workload:
    path = LOGS / name
    if not path.exists():
        pytest.skip("the logs in ../shared/data are not here")
    return read_swf(path)


def test_the_seth_log() -> None:
    """The log of 202,871 jobs is read whole, and fast enough to be read anew for each run."""
    begin = time.process_time()
    workload = read_log("HPC2N-2002-2.2-cln.swf.gz")
    assert time.process_time() - begin < 1.5  # 0.14 s alone on a machine of 2025
    assert len(workload) == workload.header.max_records == 202_871
    assert workload.report.dropped.is_empty()
    assert workload.report.counts()["mended"] == {reasons.REQUESTED_TIME_RAISED: 14_817}
    assert workload.header.queues == ((1, "[fque:1]"),)
    assert workload.header.partitions == ((1, "DEFAULT"), (2, "ALL"))
    assert repr(workload).startswith(
        "Workload of 202,871 jobs submitted over 1264 d 08:51:41, of 1 to 200 tasks\n"
    )
    assert "240 processors" in repr(workload)


def test_the_kth_log() -> None:
    """A log shorter than its header says is read as it is, and the report says so."""
    workload = read_log("KTH-SP2-1996-2.1-cln.swf.gz")
    assert len(workload) == 27_992
    assert "the header announces 28,476 records" in str(workload.report)
    assert workload.jobs["tasks"].max() == workload.header.max_processors == 100


# A job in parts as the standard writes it: a line that sums them up, then its parts.
PARTS = [
    "1 0 5 60 8 -1 -1 8 200 -1 2 1 1 1 1 1 -1 -1",
    "1 -1 30 40 8 -1 -1 8 200 -1 3 1 1 1 1 1 -1 -1",
]
SUMMARY = "1 0 5 100 8 -1 -1 8 200 -1 1 1 1 1 1 1 -1 -1"
OTHER = "2 10 0 50 4 -1 -1 4 60 -1 1 1 1 1 1 1 -1 -1"
JOB_OF_PARTS = (1, 0.0, 100.0, 200.0, 8, 1)
OTHER_JOB = (2, 10.0, 50.0, 60.0, 4, 1)
PARTIAL_COLUMNS = ("job_id", "submit_time", "run_time", "requested_time", "tasks", "status")


@pytest.mark.parametrize(
    ("lines", "parts"),
    [
        ([SUMMARY, *PARTS, OTHER], 2),
        ([*PARTS, SUMMARY, OTHER], 2),
        ([*PARTS, OTHER], 1),
        ([OTHER, *PARTS], 1),
        (["; Preemption: Double", SUMMARY, *PARTS, OTHER], 2),
        (["; Preemption: Yes", *PARTS, OTHER], 1),
        (["; Preemption: Yes", PARTS[0], PARTS[1].replace(" 3 1 1", " 1 1 1"), OTHER], 1),
    ],
)
def test_partial_executions_are_one_job(lines: list[str], parts: int) -> None:
    """Parts are no jobs, whether a line sums them up or not; the report says how many there were."""
    workload = read_swf(lines, invalid="raise")
    jobs = sorted(workload.jobs.select(*PARTIAL_COLUMNS).rows())
    assert jobs == [JOB_OF_PARTS, OTHER_JOB]
    assert workload.report.skipped == {reasons.PARTS: parts}
    assert (workload.report.read, workload.report.kept) == (2, 2)
    assert workload.report.dropped.is_empty()


def test_the_last_part_says_how_a_job_ended() -> None:
    """A failed one is a failed job; one that is to be continued has not ended in the log."""
    failed = PARTS[1].replace(" 3 1 1", " 4 1 1")
    assert read_swf([PARTS[0], failed]).jobs["status"].to_list() == [0]
    assert read_swf([PARTS[0], PARTS[0]]).jobs.select("run_time", "status").rows() == [(120.0, 2)]


def test_parts_that_are_apart_are_jobs() -> None:
    """The lines of a job follow one another: another job between them ends it."""
    again = PARTS[1].replace("1 -1 30", "1 70 30")
    jobs = read_swf([PARTS[0], OTHER, again]).jobs
    assert jobs.select("job_id", "run_time").rows() == [(1, 60.0), (2, 50.0), (1, 40.0)]


def test_a_part_that_cannot_be_read() -> None:
    """It is dropped and listed, and the others are put together."""
    unknown = PARTS[1].replace("1 -1 30 40", "1 -1 30 -1")
    workload = read_swf([PARTS[0], unknown, PARTS[1]])
    assert workload.jobs["run_time"].to_list() == [100.0]
    assert workload.report.dropped.rows() == [(reasons.RUN_TIME, 2, 1)]
    with pytest.raises(WorkloadError, match="lines:2: run_time = -1"):
        read_swf([PARTS[0], unknown], invalid="raise")


def test_limits_of_a_log() -> None:
    """What was asked for is the limit, also where schedulers plan with the run time."""
    line = job(run_time=300, requested_time=200)
    assert read_swf([line]).jobs.select("requested_time", "time_limit").rows() == [(300.0, 200.0)]
    for overrun in ("cut", "keep"):
        jobs = read_swf([line], overrun=overrun).jobs
        assert "time_limit" not in jobs.columns
        assert jobs["requested_time"].to_list() == [200.0]


def test_numbers_of_jobs_beyond_float64() -> None:
    """They stay what they are, and so do those of preceding jobs; there is none beyond int64."""
    large = 2**53 + 1
    jobs = read_swf([job(job_id=large, preceding_job_id=2**63 - 1)], invalid="raise").jobs
    assert jobs.select("job_id", "preceding_job_id").rows() == [(large, 2**63 - 1)]
    assert read_swf([job(job_id=2**63), job()]).report.dropped["reason"].to_list() == [reasons.JOB_NUMBER]
