"""Whatever has jobs with their times is a stream: results, workloads, tables, files."""

import gzip
from pathlib import Path

import polars as pl
import pytest

import batchlab as bl
from batchlab.errors import AdequacyError
from support.oracles import find
from support.streams import shifted, stream

compare = bl.adequacy.compare
JOBS = stream(tasks=[1, 2, 1])
LOG = """\
1 0 5 100 8 -1 -1 8 200 -1 1 1 1 -1 -1 -1 -1 -1
2 10 -1 50 8 -1 -1 8 60 -1 {status} 1 1 -1 -1 -1 -1 -1
3 20 90 {run} 2 -1 -1 2 20 -1 {status} 1 1 -1 -1 -1 -1 -1
"""


@pytest.fixture
def result() -> bl.Result:
    """Give a small run."""
    return bl.simulate(bl.generate.demo_workload(60, seed=2), bl.generate.demo_system(), "easy")


def test_tables(result: bl.Result) -> None:
    """Polars, Arrow, mappings and pandas data frames."""
    table = result.jobs.drop("nodes", "reason")
    for form in (table, table.lazy(), table.to_dict(), table.to_dict(as_series=False)):
        assert compare(result, form).P == 0


def test_pandas() -> None:
    """Data frames of pandas, with its own gaps."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(JOBS.to_dict(as_series=False))
    frame.loc[1, ["start_time", "end_time"]] = float("nan")
    assert compare(frame, frame).left_out == 1


def test_files_of_a_run(result: bl.Result, tmp_path: Path) -> None:
    """The folder, its table of jobs, and the table in other forms."""
    folder = result.write(tmp_path / "run")
    read = bl.adequacy.read
    packed, parquet = tmp_path / "jobs.csv.gz", tmp_path / "jobs.parquet"
    packed.write_bytes(gzip.compress((folder / "jobs.csv").read_bytes()))
    result.jobs.write_parquet(parquet)
    for path in (folder, folder / "jobs.csv", packed, parquet):
        assert compare(result, read(path)).verdict == "completely reliable"


def test_a_log_and_a_run_of_it(tmp_path: Path) -> None:
    """A log's waits are its start times; what is mended in it for a run is mended here too."""
    path = tmp_path / "a.swf"
    path.write_text(LOG.format(status=1, run=30))
    log = bl.adequacy.read(path)
    assert isinstance(log, bl.Workload)
    run = bl.simulate(log, bl.System.homogeneous(nodes=8, resources={"core": 1}), "fcfs")
    with pytest.raises(AdequacyError, match=r"job 2 .*: event not reproduced: never started in real"):
        compare(log, run)
    found = compare(log.filter(pl.col("job_id") != 2), run.jobs.filter(pl.col("job_id") != 2))
    assert found.differences["real_wait"].to_list() == [5, 90]


def test_jobs_cancelled_in_a_log(tmp_path: Path) -> None:
    """What was cancelled before it ran has waited, but not started; what ran has, however it ended."""
    path = tmp_path / "a.swf"
    for run, left_out in ((0, 2), (30, 1)):
        path.write_text(LOG.format(status=5, run=run))
        log = bl.read_swf(path)
        assert compare(log, log).left_out == left_out


def test_workloads_with_start_times() -> None:
    """A column of start times comes before a log's waits."""
    workload = bl.Workload.from_table(JOBS.with_columns(run_time=pl.lit(10.0)).drop("end_time"))
    assert compare(workload, JOBS).P == 0
    assert compare(workload, shifted(JOBS, [0], 3.0)).E == 3


def test_ids_tell_twins() -> None:
    """With a tolerance the order of arrival may be another; the ids say which job is which."""
    real = stream(submit_time=[10.0, 10.4], tasks=[1, 8], start_time=[50.0, 60.0])
    model = real.with_columns(submit_time=pl.Series([10.3, 10.2]))
    assert compare(real, model, tolerance=1).P == 0
    with pytest.raises(AdequacyError, match=r"job 1 .*: tasks = 1 in real, 8 in model"):
        compare(real.drop("job_id"), model.drop("job_id"), tolerance=1)


def test_other_ids() -> None:
    """Where ids are others, texts, or there twice, jobs are twins by their places in the order of arrival."""
    for ids in ([11, 12, 13], ["7_1", "7_2", "8"], [5, 5, 5]):
        other = JOBS.with_columns(job_id=pl.Series(ids))
        assert compare(JOBS, other).P == 0
        assert compare(other, JOBS).differences["job_id"].to_list() == ids


def test_kinds_of_ids() -> None:
    """Whole numbers of any width are the same ids, and so are texts and categories."""
    real = stream(submit_time=[10.0, 10.4], tasks=[1, 8], start_time=[50.0, 60.0])
    late = real.with_columns(submit_time=pl.Series([10.3, 10.2]))
    for kind in (pl.Int32, pl.UInt64, pl.Float64):
        assert compare(real, late.with_columns(pl.col("job_id").cast(kind)), tolerance=1).P == 0
    words = [each.with_columns(job_id=pl.Series(["a", "b"])) for each in (real, late)]
    words[1] = words[1].with_columns(pl.col("job_id").cast(pl.Categorical))
    assert compare(*words, tolerance=1).P == 0


def test_amounts() -> None:
    """Amounts per task are compared where both have them: the usual ones, and those that a table names."""
    one = JOBS.with_columns(core=pl.lit(4), licence=pl.lit(1), allocated_licence=pl.lit(1))
    assert compare(one, JOBS).fields == ("submit_time", "tasks", "requested_time")
    assert compare(one, one).fields == ("submit_time", "tasks", "core", "licence", "requested_time")
    with pytest.raises(AdequacyError, match="licence = 1 in real, 2 in model"):
        compare(one, one.with_columns(licence=pl.lit(2)))


def test_no_limit() -> None:
    """A job may have no requested time, in both."""
    open_end = JOBS.with_columns(requested_time=pl.lit(float("inf")))
    unknown = JOBS.with_columns(requested_time=pl.lit(None, dtype=pl.Float64))
    assert compare(open_end, open_end, tolerance=1).P == compare(unknown, unknown).P == 0
    with pytest.raises(AdequacyError, match="requested_time = inf in real, unknown in model"):
        compare(open_end, unknown, tolerance=1)


@pytest.mark.parametrize(
    ("jobs", "text"),
    [
        (JOBS.rename({"tasks": "task"}), "real: the table has no column tasks; .* Did you mean 'task'"),
        (JOBS.drop("end_time"), "real: the table has no column end_time"),
        (JOBS.with_columns(tasks=pl.lit("two")), "real: column tasks: .* Give numbers"),
        (JOBS.with_columns(submit_time=None), "real: submit_time is missing in row 0"),
        (JOBS.with_columns(end_time=float("inf")), "real: column end_time has a value of 1e15 or more"),
        (JOBS.with_columns(submit_time=-1e300), "real: column submit_time has a value of 1e15 or more"),
        (
            JOBS.with_columns(end_time=9.5),
            r"real: job 1: start_time = 10, end_time = 9\.5; a job ends no ear",
        ),
        (
            JOBS.with_columns(pl.from_epoch("start_time")),
            "real: column start_time has dates or durations. Give seconds",
        ),
        (
            JOBS.with_columns(job_id=pl.Series([[1], [2], [3]])),
            "real: column job_id: .* Give numbers or texts",
        ),
        (17, "real: the table is 17, a int; .* Pass a Result"),
        (
            bl.generate.demo_workload(3),
            "real: the workload has no start times; must have a column start_time",
        ),
    ],
)
def test_what_is_no_stream(jobs: object, text: str) -> None:
    """Says what is missing, and of which of the two."""
    with pytest.raises(AdequacyError, match=text):
        compare(jobs, JOBS)


SACCT = """\
JobID|Submit|Start|End|State|ReqCPUS|TimelimitRaw
7|100|{start}|220|COMPLETED|4|5
8|130|Unknown|150|CANCELLED by 0|4|5
"""
JOBCOMP = (
    "JobId=7 UserId=ann(1001) Name=a JobState=COMPLETED TimeLimit=5 ProcCnt=4 SubmitTime=2024-03-01T10:00:00 "
    "StartTime=2024-03-01T10:0{start}:00 EndTime=2024-03-01T10:05:00\n"
)
PBS = (
    "03/01/2024 10:02:00;E;7.server;user=ann queue=batch ctime=1709287200 qtime=1709287200 "
    "start=17092872{start} end=1709287320 Resource_List.ncpus=4 Resource_List.walltime=00:05:00 "
    "Exit_status=0\n"
)


@pytest.mark.parametrize(
    ("text", "starts", "left_out"),
    [(SACCT, (160, 170), 1), (JOBCOMP, (1, 2), 0), (PBS, (60, 70), 0)],
    ids=["sacct", "jobcomp", "PBS"],
)
def test_logs_of_batch_systems(text: str, starts: tuple[int, int], left_out: int, tmp_path: Path) -> None:
    """They are known by their first lines, packed or not; what was cancelled in the queue is left out."""
    one, other = tmp_path / "one.txt", tmp_path / "other.gz"
    one.write_text(text.format(start=starts[0]))
    other.write_bytes(gzip.compress(text.format(start=starts[1]).encode()))
    found = compare(bl.adequacy.read(one), bl.adequacy.read(other))
    assert (found.P, found.differing_waits, found.left_out) == (0, 1, left_out)


@pytest.mark.parametrize(("pair", "measured"), [("ab", 139.01), ("ad", 267.45), ("bd", 241.82)])
def test_dumps_of_real_runs(pair: str, measured: float) -> None:
    """P between runs of a real Slurm with fair share, from what sacct says of them, is that found there."""
    dumps = (find(f"oracles/slurm-multifactor/m1{run}/sacct_all.txt.gz") for run in pair)
    found = compare(*map(bl.adequacy.read, dumps))
    assert (round(found.P, 2), len(found)) == (measured, 200)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """Say which, and what would do."""
    with pytest.raises(AdequacyError, match=r"nothing: is not there. Give the folder of a run"):
        bl.adequacy.read(tmp_path / "nothing")
    with pytest.raises(AdequacyError, match=r"jobs\.csv: is not there"):
        bl.adequacy.read(tmp_path)
    broken = tmp_path / "broken.parquet"
    broken.write_text("no table")
    with pytest.raises(AdequacyError, match=r"broken\.parquet: cannot be read: "):
        bl.adequacy.read(broken)


@pytest.mark.parametrize(("pair", "measured"), [("m1a m1b", 139.01), ("m1a m1d", 267.45)])
@pytest.mark.parametrize("form", ["sacct_all", "sacct_X_epoch", "jobcomp"])
def test_accounting_of_a_real_slurm(pair: str, measured: float, form: str) -> None:
    """The dumps that Slurm wrote give the P that was computed when the runs were recorded.

    Submissions are whole seconds, which the phase of the clock may round to the next.
    """
    first, second = (
        bl.adequacy.read(find(f"oracles/slurm-multifactor/{run}/{form}.txt.gz")) for run in pair.split()
    )
    assert round(compare(first, second, tolerance=5).P, 2) == measured
