"""Dumps of sacct are read whole: steps, arrays, requeues, torn lines, times of any zone."""

import csv
import gzip
from collections.abc import Sequence
from pathlib import Path

import pytest

import batchlab as bl
from batchlab.errors import WorkloadError
from support.oracles import find

HEAD = "JobID|JobIDRaw|JobName|User|State|Submit|Start|End|Elapsed|Timelimit|ReqCPUS|NodeList|ExitCode"
SOUND = {
    "JobID": "7",
    "JobIDRaw": "7",
    "JobName": "run",
    "User": "ann",
    "State": "COMPLETED",
    "Submit": "2024-03-01T10:00:00",
    "Start": "2024-03-01T10:01:00",
    "End": "2024-03-01T10:03:00",
    "Elapsed": "00:02:00",
    "Timelimit": "00:05:00",
    "ReqCPUS": "4",
    "NodeList": "n[1-2]",
    "ExitCode": "0:0",
}


def record(**changes: str) -> str:
    """Give a sound record with some fields replaced, and others added."""
    return "|".join((SOUND | changes).values())


def dump(*records: dict[str, str], more: Sequence[str] = ()) -> list[str]:
    """Give a dump of records with the same fields."""
    return ["|".join((*SOUND, *more)), *(record(**each) for each in records)]


def only(workload: bl.Workload) -> dict[str, object]:
    """Give the one job of a workload."""
    assert len(workload) == 1
    return workload.jobs.row(0, named=True)


@pytest.mark.parametrize("run", ["m1a", "m1b", "m1d", "m2a", "m3a"])
@pytest.mark.parametrize("form", ["sacct_all", "sacct_X_epoch"])
def test_dumps_of_a_real_slurm(run: str, form: str) -> None:
    """Every job that ended is there; attempts and tasks of arrays are those that its own log tells."""
    folder = find(f"oracles/slurm-multifactor/{run}/{form}.txt.gz").parent
    with (folder / "jobs.csv").open() as file:
        rows = list(csv.DictReader(file))
    told = [row for row in rows if row["state"].split()[0] != "PENDING"]
    path = folder / f"{form}.txt.gz"
    each = bl.read_sacct(path, requeues="each")
    assert not each.report.dropped.height
    by_raw = {(row["logged_id"], row["attempts"]): row for row in each.jobs.iter_rows(named=True)}
    compared = 0
    for row in told:
        identity = "21_5" if row["slurm_id"] == "21_[3-5]" else row["slurm_id"]
        job = by_raw.get((identity, int(row["attempt"]) + 1))
        if job is None:
            continue
        compared += 1
        assert job["job_id"] == int(row["raw_id"])
        assert job["state"] == row["state"].split()[0].lower()
        assert job["end_time"] == float(row["end"]) - float(rows[0]["submit"])
        assert job["start_time"] == (float(row["start"]) - float(rows[0]["submit"]) if row["start"] else None)
        assert job["allocated_processors"] in (int(row["cpus"]), 0)
        assert job["requested_time"] >= 60 * int(row["limit_min"])
        assert (job["user"], job["qos"]) == (row["user"], row["qos"])
    assert compared == len(each)
    joined = bl.read_sacct(path)
    assert set(joined.jobs["logged_id"]) == set(each.jobs["logged_id"])
    assert joined.jobs["attempts"].sum() == len(each)


def test_ends_before_starts() -> None:
    """Where the clock was set back in between, the time elapsed says when a job ended."""
    workload = bl.read_sacct(dump({"End": "2024-03-01T10:00:30"}))
    assert only(workload)["end_time"] == 180.0
    assert "ended before it started" in workload.report.mended["reason"][0]


def test_steps_and_trailing_bars() -> None:
    """Steps are counted, not read; --parsable ends each line with a bar."""
    lines = dump({}, {"JobID": "7.batch", "JobIDRaw": "7.batch"}, {"JobID": "7.0", "JobIDRaw": "7.0"})
    plain = bl.read_sacct(lines)
    barred = bl.read_sacct([f"{line}|" for line in lines])
    assert plain.jobs.equals(barred.jobs)
    assert plain.report.skipped == barred.report.skipped == {"steps of jobs": 2}
    job = only(plain)
    assert (job["run_time"], job["requested_time"], job["tasks"]) == (120.0, 300.0, 4)
    assert (job["start_time"], job["end_time"], job["logged_wait_time"]) == (60.0, 180.0, 60.0)
    assert plain.header.unix_start_time == 1709287200


def test_names_with_line_ends_and_bars() -> None:
    """What users write may tear a record apart; it is put together again."""
    lines = dump(
        {"JobName": "a|b"}, {"JobID": "8", "JobIDRaw": "8", "JobName": "c\nd|e\n\nf"}, {"JobID": "9"}
    )
    workload = bl.read_sacct("\n".join(lines).split("\n"))
    assert workload.jobs["job_name"].to_list() == ["a|b", "c\nd|e\n\nf", "run"]
    assert workload.jobs["run_time"].to_list() == [120.0] * 3


def test_lines_that_are_no_records() -> None:
    """What sacct says before the header, and further lines of a comment at the end, are counted."""
    lines = dump({"Comment": "first"}, more=["Comment"])
    workload = bl.read_sacct(["sacct: warning: slow", "", *lines, "second", "third"])
    assert only(workload)["job_id"] == 7
    assert workload.report.skipped == {
        "lines before the header": 1,
        "further lines of the last field of a record": 1,
    }


def test_torn_records_whose_number_is_not_the_first_field() -> None:
    """As those of --format=ALL: texts are in the middle and at the end."""
    order = ["Comment", *SOUND, "WorkDir"]
    texts = [("a\nb", "/x"), ("", "/y|z\n|more\n\nend"), ("", "/a|b"), ("c|\n|d", "/z")]
    lines = ["|".join(order)]
    for number, (comment, folder) in enumerate(texts, 1):
        identity = {"JobID": str(number), "JobIDRaw": str(number)}
        lines += f"{comment}|{record(**identity)}|{folder}".split("\n")
    workload = bl.read_sacct(lines)
    assert workload.jobs["job_id"].to_list() == [1, 2, 3, 4]
    assert workload.jobs["run_time"].to_list() == [120.0] * 4
    assert not workload.report.dropped.height


def test_lines_cut_short_are_reported() -> None:
    """A record with too few fields is in the report, and the one below it is read."""
    lines = dump({}, {"JobID": "8", "JobIDRaw": "8"})
    workload = bl.read_sacct([lines[0], "6|6|cut", *lines[1:]])
    assert workload.jobs["job_id"].to_list() == [7, 8]
    assert workload.report.dropped.rows() == [("has not as many fields as the header", 2, None)]


def test_requeues() -> None:
    """Attempts are one job, or one each; a number that Slurm gives again is another job."""
    later = {"Submit": "2024-03-01T10:03:00", "Start": "2024-03-01T10:10:00", "End": "2024-03-01T10:11:00"}
    again = later | {"Elapsed": "00:01:00"}
    lines = dump({"State": "PREEMPTED"}, again)
    job = only(bl.read_sacct(lines))
    assert (job["submit_time"], job["start_time"], job["run_time"], job["attempts"]) == (0.0, 600.0, 60.0, 2)
    each = bl.read_sacct(lines, requeues="each").jobs
    assert each["attempts"].to_list() == [1, 2]
    assert each["submit_time"].to_list() == [0.0, 180.0]
    assert len(bl.read_sacct(dump({}, again))) == 2
    assert len(bl.read_sacct(dump({"State": "PREEMPTED"}, again | {"User": "bob"}))) == 2
    assert len(bl.read_sacct(dump({"State": "FAILED"}, again | {"JobName": "renamed"}))) == 1
    month = {name: text.replace("-03-", "-04-") for name, text in again.items()}
    assert len(bl.read_sacct(dump({"State": "FAILED"}, month))) == 2


def test_jobs_that_were_resized() -> None:
    """A record for each size is one job of the last size."""
    resized = {"Start": "2024-03-01T10:03:00", "End": "2024-03-01T10:04:00", "Elapsed": "00:01:00"}
    workload = bl.read_sacct(dump({"State": "RESIZING"}, resized | {"ReqCPUS": "2"}))
    job = only(workload)
    assert (job["start_time"], job["run_time"], job["tasks"], job["attempts"]) == (60.0, 180.0, 2, 1)
    assert "resized while it ran" in str(workload.report)


def test_records_that_are_there_again() -> None:
    """Dumps that overlap, put together, give each job once: in its last state."""
    alive = {"State": "RUNNING", "End": "Unknown", "Elapsed": "00:01:30"}
    workload = bl.read_sacct([*dump(alive), *dump({}, {})])
    assert only(workload)["state"] == "completed"
    assert workload.report.counts()["dropped"] == {
        "an older record of a job that has a newer one": 1,
        "the same record again": 1,
    }
    assert workload.report.skipped == {"headers again": 1}


def test_arrays() -> None:
    """Tasks have their array's number and index; a record of several is a job for each of the others."""
    lines = dump(
        {"JobID": "20_1", "JobIDRaw": "21"},
        {"JobID": "20_[1-4%2]", "JobIDRaw": "20", "State": "CANCELLED by 7", "Start": "Unknown"},
    )
    jobs = bl.read_sacct([line.replace("00:02:00", "00:00:00") for line in lines]).jobs
    assert jobs.select("job_id", "array_id", "array_index", "array_limit").rows() == [
        (21, 20, 1, 2),
        (20, 20, 2, 2),
        (22, 20, 3, 2),
        (23, 20, 4, 2),
    ]
    assert jobs["logged_id"].to_list() == ["20_1", "20_2", "20_3", "20_4"]
    assert jobs["cancelled_by"].to_list() == [None, 7, 7, 7]


def test_numbers_of_tasks_are_those_of_no_job() -> None:
    """Not even of one that is left out, which others may name."""
    lines = dump(
        {"JobID": "20_[1-2]", "JobIDRaw": "20", "State": "CANCELLED", "Start": "None", "Elapsed": ""},
        {"JobID": "21", "JobIDRaw": "21", "State": "RUNNING"},
    )
    assert bl.read_sacct(lines).jobs["job_id"].to_list() == [20, 22]


def test_heterogeneous_jobs() -> None:
    """Components are jobs by themselves, and the report says so."""
    workload = bl.read_sacct(dump({"JobID": "7+0"}, {"JobID": "7+1", "JobIDRaw": "8"}))
    assert workload.jobs["job_id"].to_list() == [7, 8]
    assert workload.report.counts()["noted"] == {
        "component of a job of several: a job by itself, which may start at another time": 2
    }


def test_jobs_that_never_started_or_never_ended() -> None:
    """A job that was cancelled while it waited has ended; one that waits or runs has not."""
    lines = dump(
        {"State": "CANCELLED+", "Start": "None", "Elapsed": "00:00:00"},
        {
            "JobID": "8",
            "JobIDRaw": "8",
            "State": "PENDING",
            "Start": "Unknown",
            "End": "Unknown",
            "Elapsed": "00:00:00",
        },
        {"JobID": "9", "JobIDRaw": "9", "State": "RUNNING", "End": "Unknown"},
    )
    workload = bl.read_sacct(lines)
    job = only(workload)
    assert (job["state"], job["run_time"], job["start_time"], job["end_time"]) == (
        "cancelled",
        0.0,
        None,
        180.0,
    )
    assert workload.report.counts()["dropped"] == {"had not ended when the log was written": 2}
    kept = bl.read_sacct(lines, unfinished="keep").jobs
    assert kept["run_time"].to_list() == [0.0, 0.0, 120.0]


@pytest.mark.parametrize(
    ("limit", "unlimited", "seconds"),
    [
        ("1-02:03:04", 5.0, 93784.0),
        ("UNLIMITED", 31_536_000.0, 31_536_000.0),
        ("Partition_Limit", {"batch": 7200.0}, 7200.0),
        ("Partition_Limit", {"other": 7200.0}, 31_536_000.0),
    ],
)
def test_time_limits(limit: str, unlimited: float | dict[str, float], seconds: float) -> None:
    """Limits are read as clocks; what is unlimited is what the caller says."""
    lines = dump({"Timelimit": limit, "Partition": "batch"}, more=["Partition"])
    assert only(bl.read_sacct(lines, unlimited=unlimited))["requested_time"] == seconds


@pytest.mark.parametrize(
    ("fields", "kb"),
    [
        ({"ReqMem": "4Gn", "NNodes": "2"}, 2 * 4 * 1024 * 1024 / 4),
        ({"ReqMem": "2000Mc"}, 2000 * 1024),
        ({"ReqMem": "16G"}, 4 * 1024 * 1024),
        ({"ReqMem": "", "ReqTRES": "billing=4,cpu=4,mem=2G,node=1"}, 512 * 1024),
    ],
)
def test_memory(fields: dict[str, str], kb: float) -> None:
    """Memory for a node, a processor, or the job; in kB of a processor."""
    lines = dump(fields, more=[*fields])
    assert only(bl.read_sacct(lines))["requested_memory"] == kb
    assert only(bl.read_sacct(lines, use_memory=True))["mem"] == kb


def test_resources_of_old_and_new_versions() -> None:
    """Where there are no ReqCPUS, the lists of resources say how many processors there are; and GPUs."""
    lines = [
        "JobIDRaw|State|Submit|Start|ElapsedRaw|TimelimitRaw|ReqTRES|AllocTRES",
        "5|TIMEOUT|100|200|60|1|billing=8,cpu=8,gres/gpu:a100=2,gres/gpu:v100=1,node=1|cpu=16,node=2",
        "6|FAILED|100|200|60|1|billing=8,cpu=8,gres/gpu=4,gres/gpu:a100=4,node=1|cpu=16,node=2",
    ]
    jobs = bl.read_sacct(lines).jobs
    assert jobs.select("tasks", "core", "gpu", "requested_gpus", "allocated_nodes").rows() == [
        (2, 4, 2, 3, 2),
        (4, 2, 1, 4, 2),
    ]
    assert jobs.select("requested_processors", "allocated_processors").rows() == [(8, 16)] * 2
    given = bl.read_sacct(lines, processors="allocated").jobs
    assert given.select("tasks", "core", "gpu", "tasks_per_node").rows() == [(2, 8, 2, 1)] * 2


def test_clocks_put_back_and_forward() -> None:
    """Of an hour that is there twice, the order and the elapsed time tell which it was."""
    fold = {"Submit": "2024-10-27T02:30:00", "Start": "2024-10-27T02:40:00", "End": "2024-10-27T02:10:00"}
    job = only(bl.read_sacct(dump(fold | {"Elapsed": "00:30:00"}), timezone="Europe/Berlin"))
    assert (job["start_time"], job["end_time"]) == (600.0, 2400.0)
    long = fold | {"End": "2024-10-27T03:10:00", "Elapsed": "00:30:00"}
    job = only(bl.read_sacct(dump(long), timezone="Europe/Berlin"))
    assert (job["start_time"], job["end_time"]) == (4200.0, 6000.0)
    gap = {"Submit": "2024-03-31T01:59:00", "Start": "2024-03-31T02:30:00", "End": "2024-03-31T03:31:00"}
    workload = bl.read_sacct(dump(gap | {"Elapsed": "00:01:00"}), timezone="Europe/Berlin")
    assert only(workload)["start_time"] == 31 * 60
    assert "clocks skipped" in str(workload.report)


def test_times_with_offsets_and_formats() -> None:
    """An offset stands above the zone; SLURM_TIME_FORMAT may be anything that is a date and a time."""
    times = {"Submit": "2024-03-01T12:00:00+0200", "Start": "2024-03-01T10:01:00Z", "End": "1709287380"}
    assert only(bl.read_sacct(dump(times), timezone="Asia/Tokyo"))["logged_wait_time"] == 60.0
    german = {"Submit": "01.03.2024 10:00:00", "Start": "01.03.2024 10:01:00", "End": "01.03.2024 10:03:00"}
    workload = bl.read_sacct(dump(german), time_format="%d.%m.%Y %H:%M:%S")
    assert (only(workload)["end_time"], workload.header.unix_start_time) == (180.0, 1709287200)


def test_names_of_nodes() -> None:
    """They can be listed one by one."""
    lines = dump(
        {"NodeList": "vn[08-10,12],login"}, {"JobID": "8", "NodeList": "r[1-2]n[3-4]", "JobIDRaw": "8"}
    )
    names = bl.read_sacct(lines, node_names=True).jobs["node_names"].to_list()
    assert names == [["vn08", "vn09", "vn10", "vn12", "login"], ["r1n3", "r1n4", "r2n3", "r2n4"]]


def test_dependencies_ride_along() -> None:
    """As sbatch was called, where the dump has its line."""
    lines = dump({"SubmitLine": "sbatch -n 4 --dependency=afterok:5:6 job.sh"}, more=["SubmitLine"])
    assert only(bl.read_sacct(lines))["logged_dependency"] == "afterok:5:6"


def test_jobs_wait_for_those_that_the_dump_has() -> None:
    """If asked for; the others are left out, and the report says so."""
    wanted = ["afterok:7", "afterany:7:99,afternotok:20_1", "afterok:99", "sometime", "singleton"]
    lines = dump(
        {"SubmitLine": "sbatch job.sh"},
        {"JobID": "20_1", "JobIDRaw": "20", "SubmitLine": ""},
        *(
            {"JobID": str(30 + row), "JobIDRaw": str(30 + row), "SubmitLine": f"sbatch -d {text} x"}
            for row, text in enumerate(wanted)
        ),
        more=["SubmitLine"],
    )
    assert "dependency" not in bl.read_sacct(lines).jobs.columns
    workload = bl.read_sacct(lines, dependencies=True)
    waiting = workload.jobs["dependency"].to_list()
    assert waiting == [None, None, "afterok:7", "afterany:7,afternotok:20_1", None, None, "singleton"]
    assert workload.report.counts()["noted"] == {
        "dependency on jobs that are not there, or whose number others have too: left out": 2,
        "dependency cannot be read: left out": 1,
    }


def test_dependencies_of_a_real_slurm() -> None:
    """Those of the recorded run are kept, and the workload can be simulated."""
    workload = bl.read_sacct(find("oracles/slurm-multifactor/m3a/sacct_all.txt.gz"), dependencies=True)
    assert workload.jobs["dependency"].drop_nulls().str.extract(r"^(\w+)").value_counts().height > 1
    result = bl.simulate(workload, bl.System.homogeneous(nodes=32, resources={"core": 1}), "easy")
    assert set(result.jobs["state"]) <= {"completed", "rejected", "cancelled"}


@pytest.mark.parametrize("delimiter", ["^~", ";", ","])
def test_other_delimiters(delimiter: str) -> None:
    """With --delimiter sacct ends fields by any text."""
    lines = [line.replace("|", delimiter) for line in dump({})]
    assert bl.read_sacct(lines, delimiter=delimiter).jobs.equals(bl.read_sacct(dump({})).jobs)
    assert bl.read_sacct(lines).jobs.equals(bl.read_sacct(dump({})).jobs)
    fields = delimiter.join(["Submit", "Start", "End", "State", "ReqCPUS", "TimelimitRaw", "JobID"])
    record = delimiter.join(["100", "160", "220", "COMPLETED", "4", "5", "7"])
    assert only(bl.read_sacct([fields, record]))["job_id"] == 7


def test_schedulers_do_not_see_what_became_of_jobs() -> None:
    """Requested and true data stay apart."""
    workload = bl.read_sacct(dump({}))
    with pytest.raises(bl.PolicyError, match="hidden from schedulers"):
        bl.simulate(workload, bl.System.homogeneous(nodes=4, resources={"core": 1}), 'expression("end_time")')


def test_times_that_are_not_there() -> None:
    """They may be written as nothing, words, 0, or the beginning of 1970 in the zone."""
    for none in "", "None", "Unknown", "N/A", "0", "1970-01-01T09:00:00":
        lines = dump({"Start": none, "State": "CANCELLED by 7", "Elapsed": "00:00:00"})
        assert only(bl.read_sacct(lines, timezone="Asia/Tokyo"))["start_time"] is None


def test_dumps_without_a_header() -> None:
    """The names of the fields can be given."""
    lines = dump({})
    assert bl.read_sacct(lines[1:], fields=lines[0].split("|")).jobs.equals(bl.read_sacct(lines).jobs)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "lines:1: '' is no header of sacct; must name JobID or JobIDRaw"),
        (["JobID  JobName  State", "----- ----- ----"], "is sacct's table for people"),
        (["JobID|State"], "no field for the submission"),
        (dump(), "has no record of a job"),
        (dump({"State": "RUNNING", "End": "Unknown"}), "lines:2: had not ended"),
    ],
)
def test_what_is_no_dump(lines: list[str], message: str) -> None:
    """One line says the place, the value, the rule and what to do."""
    with pytest.raises(WorkloadError, match=message) as caught:
        bl.read_sacct(lines)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"JobID": "x7"}, "lines:3: logged_id = 'x7'; job x7 is no number of a job"),
        ({"JobID": "7_4294967294"}, "logged_id = '7_4294967294'; job 7_4294967294 is no number"),
        ({"JobID": "7_4000001"}, "logged_id = '7_4000001'; job 7_4000001 is no number"),
        ({"Submit": "soon"}, "lines:3: submit = 'soon'; job 7 submission is unknown or no time"),
        (
            {"End": "2024-03-01T10:00:30", "Elapsed": ""},
            "lines:3: end = '2024-03-01T10:00:30'; job 7 ended before it started",
        ),
        ({"Elapsed": "", "End": "Unknown"}, "lines:3: end = 'Unknown'; job 7 ended, but"),
        ({"ReqCPUS": "0"}, "lines:3: tasks = "),
    ],
)
def test_jobs_that_break_a_rule(changes: dict[str, str], message: str) -> None:
    """They are dropped and listed, or raise with their line."""
    lines = dump({"JobID": "5", "JobIDRaw": "5"}, changes)
    workload = bl.read_sacct(lines)
    assert workload.jobs["job_id"].to_list() == [5]
    assert workload.report.dropped["line"].to_list() == [3]
    with pytest.raises(WorkloadError, match=message):
        bl.read_sacct(lines, invalid="raise")


def test_packed_files(tmp_path: Path) -> None:
    """A dump may be packed, and may have the line ends of Windows."""
    path = tmp_path / "dump.txt.gz"
    path.write_bytes(gzip.compress("\r\n".join(dump({})).encode()))
    assert only(bl.read_sacct(path))["exit_signal"] == 0


@pytest.mark.parametrize("number", ["12_[1,3,...]", "12_[1,3,..."])
def test_cut_lists_of_indices_are_no_steps(number: str) -> None:
    """The dots of a list that was cut short do not begin the name of a step."""
    workload = bl.read_sacct(
        dump({"JobID": number, "JobIDRaw": "12", "State": "CANCELLED by 7", "JobName": "a|b"})
    )
    assert workload.jobs["array_index"].to_list() == [1, 3]
    assert not workload.report.skipped


@pytest.mark.parametrize(
    ("gres", "count"),
    [("gpu:2", 2), ("gres:gpu:a100:4", 4), ("mps:50,gpu:v100:1(S:0)", 1), ("0", None), ("mps:9", None)],
)
def test_gpus_of_old_versions(gres: str, count: int | None) -> None:
    """Before Slurm 21.08 they are in a field of their own."""
    workload = bl.read_sacct(dump({"ReqGRES": gres}, more=["ReqGRES"]))
    assert only(workload).get("requested_gpus") == count


def test_constraints() -> None:
    """What a job asked its nodes to have is the column ``constraint``."""
    jobs = bl.read_sacct(
        dump({"Constraints": "intel&gpu"}, {"JobID": "8", "Constraints": ""}, more=["Constraints"])
    ).jobs
    assert jobs["constraint"].to_list() == ["intel&gpu", None]
