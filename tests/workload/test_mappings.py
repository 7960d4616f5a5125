"""Mappings of data sets: what their columns hold, in which units, and what is wrong with a mapping."""

import json
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from batchlab.core.declared import declared
from batchlab.errors import WorkloadError
from batchlab.workload import LogMapping, Workload, read_mapped, read_sacct
from batchlab.workload.formats import _may_be_mapped, beginning, is_table, log_format, reader_of
from batchlab.workload.mappings.catalogue import entries
from batchlab.workload.mappings.mapping import ROLES, Attempts, Column, File, Times

OWN = """
[columns]
job_id = "No"
submit = "Queued"
start = "Began"
end = "Ended"
cores = "NCPU"
limit = { column = "WallMin", unit = "min" }
[times]
format = "%d.%m.%Y %H:%M:%S"
zone = "Europe/Berlin"
"""
LINES = (
    "No;Queued;Began;Ended;NCPU;WallMin;Notes",
    "1;14.11.2023 23:13:20;14.11.2023 23:23:20;15.11.2023 00:23:20;4;120;x",
    "2;14.11.2023 23:14:20;14.11.2023 23:23:20;14.11.2023 23:53:20;8;;y",
)
MINIMAL = {"columns": {"submit": "in", "run_time": "ran", "cores": "n"}}


def read(text: str, document: Mapping[str, object]) -> Workload:
    """Read a table of text by a mapping."""
    return read_mapped(text.split("\n"), LogMapping.of(document))


def test_own_log_in_ten_lines(tmp_path: Path) -> None:
    """Columns, units, the form of time stamps and the time zone are those of the file."""
    (tmp_path / "my.toml").write_text(OWN, "utf-8")
    log = tmp_path / "jobs.csv"
    log.write_text("\n".join(LINES), "utf-8")
    workload = read_mapped(log, tmp_path / "my.toml")
    shown = workload.jobs.select("job_id", "submit_time", "run_time", "requested_time", "tasks").rows()
    assert shown == [(1, 0.0, 3600.0, 7200.0, 4), (2, 60.0, 1800.0, 1800.0, 8)]
    assert workload.jobs["logged_wait_time"].to_list() == [600.0, 540.0]
    assert workload.header.unix_start_time == 1_700_000_000
    assert workload.header.time_zone_string == "Europe/Berlin"
    assert workload.report.counts()["mended"] == {"requested_time unknown: run_time taken": 1}
    assert workload.report.unit == "row"


CC_IN2P3 = (
    "jobid\tsubmit\tstart\tend\telapsed\ttimelimit\talloccpus\tallocgpus\tstate\tuser\taccount\tpartition",
    "7\t1700000000\t1700000100\t1700000160\t60\t3600\t4\t0\tCOMPLETED\tann\tphys\thtc",
)


def test_limits_in_seconds_are_no_run_times(tmp_path: Path) -> None:
    """CC-IN2P3's limits are seconds; a dump of sacct has minutes, so that the run time is taken."""
    path = tmp_path / "01.tsv"
    path.write_text("\n".join(CC_IN2P3), "utf-8")
    with pytest.warns(UserWarning, match="Its fields are those of the data set cc-in2p3"):
        assert read_sacct(path).jobs["requested_time"].to_list() == [60.0]
    assert log_format(path) == "mapped"
    assert reader_of(path)(path).jobs["requested_time"].to_list() == [3600.0]


def test_tables_and_logs_stay_what_they_are(tmp_path: Path) -> None:
    """A table of batchlab and a dump of sacct are not taken for a data set."""
    table = tmp_path / "jobs.csv"
    table.write_text("job_id,submit_time,run_time,tasks,user,vc\n1,0,5,1,a,b\n", "utf-8")
    assert is_table(table)
    dump = tmp_path / "dump.txt"
    dump.write_text(
        "JobID|Submit|Start|End|State|ReqCPUS|TimelimitRaw\n7|100|160|220|COMPLETED|4|5\n", "utf-8"
    )
    assert log_format(dump) == "sacct"


def test_descriptions_are_no_data_sets(tmp_path: Path) -> None:
    """Of JSON only lists of objects and lines of them are looked into: what is not costs no tables."""
    path = tmp_path / "some.json"
    for text, expected in (('{"groups": [{"a": 1}]}', False), ("[[groups]]", False), ('[ {"a": 1}]', True)):
        path.write_text(text, "utf-8")
        assert _may_be_mapped(beginning(path)) is expected
    path.write_text('{"a": 1}\n{"a": 2}\n', "utf-8")
    assert _may_be_mapped(beginning(path))


def test_amounts_are_shared_out_among_nodes() -> None:
    """A task is a node that takes its part of all cores, GPUs and memory, rounded up."""
    document = {
        "columns": {
            "submit": "in",
            "run_time": "ran",
            "nodes": "nodes",
            "cores": "cpus",
            "gpus": {"column": "gpus", "per": "node"},
            "memory": {"column": "mem", "unit": "GiB", "per": "core"},
        }
    }
    workload = read("in,ran,nodes,cpus,gpus,mem\n5,60,4,16,1,2\n6,60,2,5,0,1", document)
    assert workload.resources == ("core", "gpu", "mem")
    gib = 1024**2
    shown = workload.jobs.select("tasks", "tasks_per_node", "core", "gpu", "mem").rows()
    assert shown == [(4, 1, 4, 1, 8 * gib), (2, 1, 3, 0, 5 * gib // 2)]
    assert workload.jobs.select("requested_processors", "requested_nodes").rows() == [(16, 4), (5, 2)]
    assert (
        workload.report.counts()["mended"]["core does not divide evenly among the tasks: rounded up for each"]
        == 1
    )


def test_units_are_converted() -> None:
    """Durations as clocks and pandas write them, memory as Slurm does, parts of processors."""
    document = {
        "task": "instance",
        "columns": {
            "submit": {"column": "in", "unit": "ms"},
            "run_time": {"column": "ran", "unit": "clock"},
            "limit": {"column": "limit", "unit": "clock", "unlimited": ["none at all"]},
            "tasks": "pods",
            "nodes": "nodes",
            "cores": {"column": "cpu", "unit": "percent", "per": "task"},
            "memory": {"column": "mem", "unit": "slurm"},
        },
        "resources": {"gpu_milli": {"column": "share", "times": "gpus"}},
    }
    rows = (
        "in,ran,limit,pods,nodes,cpu,mem,share,gpus",
        "1700000000000,00:01:30,0 days 02:00:00,2,2,150,4Gn,250,2",
        "1700000001500,1-00:00:01,none at all,1,1,600,16G,1000,1",
    )
    workload = read("\n".join(rows), document)
    gib = 1024**2
    shown = workload.jobs.select(
        "submit_time", "run_time", "requested_time", "tasks", "core", "mem", "gpu_milli"
    )
    assert shown.rows() == [
        (0.0, 90.0, 7200.0, 2, 2, 4 * gib, 250),
        (1.5, 86_401.0, 31_536_000.0, 1, 6, 16 * gib, 1000),
    ]


def test_jobs_without_a_limit_are_not_killed() -> None:
    """Schedulers plan with a year, and the limit is infinite, as in logs of Slurm."""
    document = {"columns": {**MINIMAL["columns"], "limit": {"column": "most", "unlimited": [-1]}}}
    workload = read("in,ran,n,most\n1,60,3,-1\n2,60,4,90", document)
    assert workload.jobs["requested_time"].to_list() == [31_536_000.0, 90.0]
    assert workload.jobs["time_limit"].to_list() == [float("inf"), 90.0]


def test_columns_are_kept_under_their_names() -> None:
    """Whatever they are called: no column of the data set takes the place of one that is read from it."""
    document = {"columns": MINIMAL["columns"], "keep": ["start", "end", "line", "x y", "x y"]}
    workload = read("in,ran,n,start,end,line,x y\n1,60,3,a,b,c,d", document)
    assert workload.jobs.select("start", "end", "line", "x y").row(0) == ("a", "b", "c", "d")
    assert workload.jobs.select("run_time", "tasks").row(0) == (60.0, 3)


def test_odd_values_of_mappings_are_harmless() -> None:
    """A number of hundreds of digits is a value as any other."""
    document = {**MINIMAL, "missing": [10**400, 60]}
    with pytest.raises(WorkloadError, match="had not ended when the log was written"):
        read("in,ran,n\n1,60,3", document)


def test_the_allocated_stands_in_for_what_is_unknown() -> None:
    """The column that was asked for comes first; the report counts where the other was taken."""
    document = {"columns": {**MINIMAL["columns"], "allocated_cores": "given"}}
    text = "in,ran,n,given\n5,60,4,8\n6,60,,8"
    workload = read(text, document)
    assert workload.jobs["tasks"].to_list() == [4, 8]
    assert workload.report.counts()["mended"]["cores unknown: allocated_cores taken"] == 1
    given = read_mapped(text.split("\n"), LogMapping.of(document), processors="allocated")
    assert given.jobs["tasks"].to_list() == [8, 8]


def test_states_decide_what_ended() -> None:
    """Jobs that run still are left out; those that were cancelled before their start have no run time."""
    document = {
        "columns": {"submit": "in", "start": "began", "end": "ended", "cores": "n", "state": "how"},
        "states": {"3": "COMPLETED", "4": "CANCELLED", "1": "RUNNING"},
        "missing": [0],
    }
    rows = "in,began,ended,n,how\n5,6,16,1,3\n5,0,16,2,4\n5,6,0,4,1\n5,6,16,8,77\n5,26,16,8,3\n0,26,36,8,3"
    workload = read(rows, document)
    assert workload.jobs.select("run_time", "tasks", "state", "status", "cancelled_after").rows() == [
        (10.0, 1, "completed", 1, None),
        (0.0, 2, "cancelled", 5, 11.0),
        (10.0, 8, "77", -1, None),
    ]
    whole = read_mapped(rows.split("\n"), LogMapping.of(document), log_events=False)
    assert "cancelled_after" not in whole.jobs.columns
    assert whole.report.counts()["mended"]["ended before it started: run_time 0 taken"] == 1
    counts = workload.report.counts()
    assert counts["dropped"] == {
        "had not ended when the log was written": 1,
        "ended before it started": 1,
        "submission is unknown or no time": 1,
    }
    assert counts["noted"] == {
        "state 77 is unknown: taken as ended, as the log has an end": 1,
        "cancelled before it started: cancelled after the same wait": 1,
    }
    with pytest.raises(
        WorkloadError, match=r"lines: row 5: submit = None; job 6 submission is unknown or no time"
    ):
        read_mapped(rows.split("\n"), LogMapping.of(document), invalid="raise")


def test_attempts_make_one_job() -> None:
    """From the first start to the last end; the run time is that of all attempts together."""
    attempts = [
        {
            "start_time": "2017-10-07 01:12:00",
            "end_time": "2017-10-07 01:13:00",
            "detail": [{"ip": "m1", "gpus": ["0", "1"]}],
        },
        {
            "start_time": "2017-10-07 01:14:00",
            "end_time": "2017-10-07 01:24:00",
            "detail": [{"ip": "m1", "gpus": ["0"]}],
        },
    ]
    whole = {
        "status": "Pass",
        "vc": "v",
        "jobid": "a_1",
        "attempts": attempts,
        "submitted_time": "2017-10-07 01:11:00",
        "user": "u",
    }
    none = {**whole, "jobid": "a_2", "status": "Killed", "attempts": []}
    alive = {**whole, "jobid": "a_3", "attempts": [{**attempts[0], "end_time": None}]}
    workload = read_mapped([json.dumps([whole, none, alive])])
    (job,) = workload.jobs.select(
        "logged_id", "run_time", "logged_wait_time", "tasks", "gpu", "attempts"
    ).rows()
    assert job == ("a_1", 660.0, 60.0, 2, 1, 2)
    assert workload.jobs["end_time"].item() - workload.jobs["start_time"].item() == 720.0
    assert sum(workload.report.counts()["dropped"].values()) == 2


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"colums": {}}, r"colums = {}; is not a key of a mapping\. Did you mean 'columns'\?"),
        (
            {"columns": {"submit": "a", "limt": "b"}},
            r"columns\.limt: no job has that\. Did you mean 'limit'\?",
        ),
        (
            {"columns": {"limit": {"column": "a", "unit": "minute"}}},
            r"columns\.limit\.unit = 'minute'; must be a unit\.",
        ),
        ({"columns": {"limit": {"colum": "a"}}}, r"columns\.limit\.colum = 'a'; is not a key of a mapping"),
        ({"columns": {"limit": 7}}, r"columns\.limit = 7; "),
        (
            {"columns": {"state": {"column": "a", "pattern": "("}}},
            r"pattern = '\('; must be a regular expression",
        ),
        ({"columns": {"state": {"column": "a", "pattern": "x"}}}, "must have one group in parentheses"),
        (
            {"columns": {"gpus": {"column": "a", "per": "node"}}},
            r"columns\.gpus\.per = 'node'; needs columns\.nodes",
        ),
        ({"columns": {"cores": "a"}}, r"columns\.submit is missing"),
        ({"columns": {"submit": "a", "cores": "a"}}, r"columns\.run_time is missing"),
        ({"columns": {"submit": "a", "run_time": "b"}}, r"columns\.cores is missing"),
        ({**MINIMAL, "task": "node"}, r"task = 'node'; needs columns\.nodes"),
        ({**MINIMAL, "states": {"x": "DONE"}}, r"states\.x = 'DONE'; must be a state of Slurm"),
        ({**MINIMAL, "times": {"zone": "Mars"}}, r"times\.zone = 'Mars'; must be a name of the IANA's list"),
        ({**MINIMAL, "times": {"format": "now"}}, r"times\.format = 'now'; must be a date and a time"),
        ({**MINIMAL, "resources": {"gpu": "g"}}, r"resources\.gpu = 'gpu'; is columns\.gpus in a mapping"),
        (
            {**MINIMAL, "resources": {"state": "g"}},
            r"resources\.state = 'state'; is no resource but a column",
        ),
        ({**MINIMAL, "keep": ["user"]}, r"keep = 'user'; is a column of workloads"),
        ({**MINIMAL, "file": {"format": "swf"}}, r"file\.names is missing"),
        ({**MINIMAL, "file": {"separator": "::"}}, r"file\.separator = '::'; must be one character"),
        ({"columns": {**MINIMAL["columns"], "exclusive": "a"}}, r"columns\.exclusive\.values is missing"),
    ],
)
def test_wrong_mappings_are_refused(document: dict[str, object], message: str) -> None:
    """With the place in the document, the value, the rule and the nearest name."""
    with pytest.raises(WorkloadError, match=message):
        LogMapping.of(document)


def test_wrong_files_are_refused(tmp_path: Path) -> None:
    """Errors name the file, the column that is missing, and where the mapping asks for it."""
    path = tmp_path / "x.toml"
    path.write_text("[columns", "utf-8")
    with pytest.raises(WorkloadError, match=r"x\.toml: is not TOML"):
        read_mapped(["a,b"], path)
    with pytest.raises(WorkloadError, match=r"mapping = 'pm10'; must be .*Did you mean 'pm100'\?"):
        read_mapped(["a,b"], "pm10")
    with pytest.raises(
        WorkloadError, match=r"lines: no column 'ran', which columns\.run_time of the mapping reads"
    ):
        read("in,run,n\n1,2,3", MINIMAL)
    with pytest.raises(WorkloadError, match="lines: its columns are those of no known data set"):
        read_mapped(["a,b,c", "1,2,3"])
    with pytest.raises(WorkloadError, match="lines: has no row"):
        read("in,ran,n", MINIMAL)
    with pytest.raises(WorkloadError, match="and none of 1 rows is of a job that can be taken"):
        read("in,ran,n\nx,2,3", MINIMAL)


def test_values_that_are_no_numbers_are_counted() -> None:
    """What cannot be read is taken for unknown, and never in silence."""
    document = {"columns": {**MINIMAL["columns"], "limit": "most"}}
    workload = read("in,ran,n,most\n1,60,3,soon\n2,60,4,90", document)
    assert workload.jobs["requested_time"].to_list() == [60.0, 90.0]
    assert workload.report.counts()["mended"]["limit is no number: taken as unknown"] == 1


def test_parquet_is_read_column_by_column(tmp_path: Path) -> None:
    """Types of Parquet say the units: time stamps with zones, durations; other columns are not read."""
    table = pl.DataFrame(
        {
            "in": pl.Series([1_700_000_000_000_000, 1_700_000_060_000_000]).cast(pl.Datetime("us", "UTC")),
            "ran": pl.Series([60_000_000, 90_000_000]).cast(pl.Duration("us")),
            "n": [4, 8],
            "power": [[1.0] * 1000, [2.0] * 1000],
        }
    )
    path = tmp_path / "jobs.parquet"
    table.write_parquet(path)
    workload = read_mapped(path, LogMapping.of(MINIMAL))
    assert workload.jobs.select("submit_time", "run_time", "tasks").rows() == [
        (0.0, 60.0, 4),
        (60.0, 90.0, 8),
    ]
    with path.open("rb") as file:
        again = read_mapped(file, LogMapping.of(MINIMAL))
    assert again.jobs.equals(workload.jobs)


PAGE = Path(__file__).parents[2] / "docs/data-sets.md"


def test_the_page_has_every_key() -> None:
    """The tables of the documentation are what the keys and roles say of themselves."""
    page = PAGE.read_text("utf-8")
    nested: dict[str, type] = {"file": File, "times": Times, "attempts": Attempts}
    for key, described in declared(LogMapping).items():
        inside = declared(nested[key]) if key in nested else {"": described}
        for part, field in inside.items():
            assert f"| `{key}{'.' if part else ''}{part}` | {field.help.text} |" in page
    for key, field in declared(Column).items():
        assert f"| `{key}` | {field.help.text} |" in page
    for name, role in ROLES.items():
        assert f"| `{name}` | {role.kind} | {role.text} |" in page


@pytest.mark.parametrize("mapping", entries(), ids=lambda mapping: mapping.name)
def test_every_data_set_says_where_it_is_from(mapping: LogMapping) -> None:
    """A mapping has a summary, a purpose, a source that is cited, and a licence."""
    assert mapping.summary
    assert mapping.good_for
    assert "columns: " in mapping.source or "columns and units: " in mapping.source
    assert mapping.licence
    assert f"| `{mapping.name}` | {mapping.summary} | {mapping.good_for} |" in PAGE.read_text("utf-8")
