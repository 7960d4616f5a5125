"""Jobs that run applications: from tables and descriptions, through transforms and files, to the kernel."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import batchlab as bl
from batchlab import JobDescription, _kernel, tasks
from batchlab.core.vocabulary import JobType
from batchlab.result.output import identify
from batchlab.workload.requests import application_jobs, run_times

WORK = bl.Application([bl.Phase([tasks.Idle("work / num_nodes")], iterations="steps")])
FREE = bl.Application([bl.Phase([tasks.Idle(1)])])
APPLICATIONS = {"work": WORK, "free": FREE}
ARGUMENTS = '{"work": 60, "steps": 2}'


def table(**columns: object) -> pl.DataFrame:
    """Give a table of a job with an application and one with a run time."""
    given = {
        "submit_time": [0.0, 1.0],
        "run_time": [None, 30.0],
        "tasks": [4, 2],
        "application": ["work", None],
        "arguments": [ARGUMENTS, None],
    }
    return pl.DataFrame({**given, **columns}, strict=False)


def workload(**columns: object) -> bl.Workload:
    """Make a workload of it."""
    return bl.Workload.from_table(table(**columns), applications=APPLICATIONS, invalid="raise")


def mixed() -> bl.Workload:
    """Give a workload with jobs of all kinds."""
    first = JobDescription(tasks=1, run_time=30, submit_time=5, resources={"core": 2})
    second = JobDescription(
        application=WORK,
        job_type="Malleable",  # type: ignore[arg-type]  # as ElastiSim writes it
        tasks_min=1,
        tasks_max=4,
        arguments={"work": 1e12, "steps": 10, "net": "resnet"},
        depends_on=[first],
    )
    third = JobDescription(
        application="free", tasks=2, requested_time=100, depends_on=[1, second], others={"user_id": 7}
    )
    return bl.Workload.from_jobs([first, second, third], applications=APPLICATIONS)


def test_gaps_are_filled() -> None:
    """Run times stay empty, limits become infinite, types rigid, and ranges of tasks those of the tasks."""
    jobs = workload().jobs
    assert jobs["run_time"].to_list() == [None, 30.0]
    assert jobs["requested_time"].to_list() == [np.inf, 30.0]
    assert jobs["job_type"].to_list() == ["rigid", "rigid"]
    assert jobs["tasks_min"].to_list() == jobs["tasks_max"].to_list() == [4, 2]
    assert jobs.schema["tasks_min"] == jobs.schema["tasks_max"] == pl.Int64


@pytest.mark.parametrize("overrun", ["extend", "cut", "keep"])
def test_limits_are_kept(overrun: Any) -> None:  # noqa: ANN401  # one of three words
    """A limit stands, whatever is done where run times are longer than it."""
    jobs = table(requested_time=[10.0, 10.0])
    made = bl.Workload.from_table(jobs, applications=APPLICATIONS, overrun=overrun)
    assert made.jobs["run_time"][0] is None
    assert made.jobs["requested_time"][0] == 10
    assert made.report.mended.filter(job_id=1).is_empty()


def test_tasks_may_follow_from_their_range() -> None:
    """Without tasks a job begins with the fewest."""
    jobs = {
        "submit_time": [0],
        "application": ["free"],
        "tasks_min": [2],
        "tasks_max": [8],
        "job_type": ["MOLDABLE "],
    }
    made = bl.Workload.from_table(jobs, applications=APPLICATIONS, invalid="raise").jobs
    assert made.select("tasks", "tasks_min", "tasks_max", "job_type").row(0) == (2, 2, 8, "moldable")


def test_descriptions() -> None:
    """Jobs of all kinds stand in one workload, with what each of them says."""
    made = mixed()
    jobs = made.jobs
    assert jobs["job_id"].to_list() == [1, 2, 3]
    assert jobs["tasks"].to_list() == [1, 1, 2]
    assert jobs["application"].to_list() == [None, "work", "free"]
    assert jobs["depends_on"].to_list() == [[], [1], [1, 2]]
    assert jobs["core"].to_list() == [2, 0, 0]
    assert jobs["user_id"].to_list() == [None, None, 7]
    assert json.loads(jobs["arguments"][1]) == {"work": 1e12, "steps": 10, "net": "resnet"}
    assert made.resources == ("core",)


def test_applications_without_a_name_get_one() -> None:
    """Each application that only jobs hold is named once."""
    other = bl.Application([bl.Phase([tasks.Idle(2)])])
    jobs = [JobDescription(application=each, tasks=1) for each in (FREE, other, FREE)]
    made = bl.Workload.from_jobs(jobs, applications={"application 1": WORK})
    assert made.jobs["application"].to_list() == ["application 2", "application 3", "application 2"]
    assert made.applications == {"application 1": WORK, "application 2": FREE, "application 3": other}


def test_one_description_may_stand_for_several_jobs() -> None:
    """Each has a number of its own, by its place, unless one is given."""
    job = JobDescription(tasks=1, run_time=5)
    assert bl.Workload.from_jobs([job, job, JobDescription(tasks=1, run_time=5, job_id=9)]).jobs[
        "job_id"
    ].to_list() == [1, 2, 9]


def test_plain_descriptions_make_plain_workloads() -> None:
    """Jobs with run times have no other columns than in a plain table."""
    made = bl.Workload.from_jobs([JobDescription(tasks=2, run_time=5)])
    assert made.jobs.equals(
        bl.Workload.from_table({"submit_time": [0.0], "run_time": [5.0], "tasks": [2]}).jobs
    )
    assert not made.applications


def test_plain_tables_are_left_alone() -> None:
    """Columns that are only called alike ride along where no applications are passed."""
    plain = {
        "submit_time": [0],
        "run_time": [1],
        "tasks": [1],
        "application": ["lammps"],
        "job_type": ["batch"],
    }
    made = bl.Workload.from_table(plain)
    assert made.jobs.select("application", "job_type").row(0) == ("lammps", "batch")
    assert application_jobs(made) is None


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"application": ["wrok", None]}, "row 0: application = 'wrok' is not known; .*Did you mean 'work'"),
        ({"application": [3, None]}, "column 'application' is of the kind Int64; must hold texts"),
        (
            {"job_type": ["maleable", None]},
            "row 0: job_type = 'maleable' is not known; .*Did you mean 'malleable'",
        ),
        (
            {"job_type": [None, "moldable"]},
            "row 1: job_type = 'moldable'; must be rigid where there is no application",
        ),
        ({"run_time": [5.0, 30.0]}, "row 0: run_time = 5.0; must be empty where an application is named"),
        ({"application": [None, None]}, "row 0: run_time = None; must be a number of seconds"),
        ({"tasks": [None, 2]}, "row 0: tasks = None; must be >= 1"),
        (
            {"tasks_min": [0, None], "job_type": ["malleable", None]},
            "tasks_min = 0.0; must be a whole number >= 1",
        ),
        (
            {"tasks_max": [4.5, None], "job_type": ["malleable", None]},
            "tasks_max = 4.5; must be a whole number",
        ),
        ({"tasks_max": [2, None], "job_type": ["malleable", None]}, "tasks_min = 4.0; must be <= tasks_max"),
        (
            {"tasks_min": [1, None], "tasks_max": [3, None], "job_type": ["malleable", None]},
            "tasks = 4.0; must be from tasks_min to tasks_max",
        ),
        ({"tasks_max": [8, None]}, "tasks_min = 4.0; must be equal to tasks_max where the job is rigid"),
        ({"tasks_min": [[1], None]}, "column 'tasks_min' is of the kind List"),
        ({"arguments": ["{", None]}, "job 1: arguments = '{'; must be a JSON object.*line 1 column 2"),
        (
            {"arguments": ['{"a": 1, "a": 2}', None]},
            r"arguments = .*key 'a' appears twice",
        ),
        ({"arguments": ["[1]", None]}, r"job 1: arguments = '\[1\]'; must be a JSON object"),
        (
            {"arguments": ['{"work": [1]}', None]},
            r"arguments\['work'\] = \[1\]; must be a finite number or a text",
        ),
        ({"arguments": ['{"work": 1e999}', None]}, r"arguments\['work'\] = inf; must be a finite number"),
        ({"arguments": ['{"work": true}', None]}, r"arguments\['work'\] = True; must be a finite number"),
        ({"arguments": [None, None]}, "application 'work' names steps, work; must be in the job's arguments"),
        ({"arguments": ['{"work": 1, "step": 2}', None]}, "names steps; must be .*Did you mean 'step'"),
    ],
)
def test_errors(columns: dict[str, object], message: str) -> None:
    """What is wrong with a job or a column is named, with the rule."""
    with pytest.raises(bl.WorkloadError, match=message):
        workload(**columns)


def test_jobs_that_break_a_rule_are_dropped() -> None:
    """Rules for single jobs drop them, with the reason in the report."""
    jobs = table(tasks_max=[8, None])
    made = bl.Workload.from_table(jobs, applications=APPLICATIONS)
    assert made.jobs["job_id"].to_list() == [2]
    reason = "tasks_min must be equal to tasks_max where the job is rigid"
    assert made.report.dropped["reason"].to_list() == [reason]


def test_others_may_get_arguments_later() -> None:
    """Only rigid jobs need all arguments at once; the scheduler may set those of others."""
    made = workload(job_type=["malleable", None], arguments=[None, None])
    assert made.jobs["arguments"].to_list() == [None, None]


@pytest.mark.parametrize(
    ("job_type", "message"),
    [("rigid", "gives amounts for 3 ranks; must be as many as tasks, 4"), ("moldable", "must give totals")],
)
def test_amounts_rank_by_rank(job_type: JobType, message: str) -> None:
    """Amounts for each rank need a rigid job with as many."""
    each = bl.Application([bl.Phase([tasks.Idle([1, 2, 3])])])
    with pytest.raises(bl.WorkloadError, match=message):
        bl.Workload.from_jobs([JobDescription(application=each, tasks=4, job_type=job_type)])
    assert len(bl.Workload.from_jobs([JobDescription(application=each, tasks=3)])) == 1


@pytest.mark.parametrize(
    ("applications", "message"),
    [
        (None, "application = 'free' of a job without run_time; .*Pass applications={'free'"),
        ({}, "row 0: application = 'free' is not known; pass it in applications"),
        ([FREE], "must be a mapping of names to applications"),
        ({"free": 3}, r"applications\['free'\] = 3; must be an Application"),
    ],
)
def test_applications_must_be_there(applications: Any, message: str) -> None:  # noqa: ANN401  # also wrong kinds
    """A table that names applications is told how to pass them."""
    jobs = {"submit_time": [0], "tasks": [2], "application": ["free"]}
    with pytest.raises(bl.WorkloadError, match=message):
        bl.Workload.from_table(jobs, applications=applications)


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (3, r"jobs\[0\] = 3; must be a JobDescription"),
        (JobDescription(application="none", tasks=1), "application = 'none' is not known"),
        (
            JobDescription(tasks=1, arguments={"x": True}, run_time=1),
            r"arguments\['x'\] = True; must be a finite",
        ),
        (JobDescription(tasks=1, run_time=1, others={"tasks": 3}), "must not name fields of the job"),
        (JobDescription(tasks=1, run_time=1, depends_on=["a"]), "depends_on holds 'a'; must be"),  # type: ignore[list-item]
        (
            JobDescription(tasks=1, run_time=1, depends_on=[JobDescription()]),
            "a job that is not among the jobs",
        ),
        (JobDescription(tasks="many", run_time=1), "jobs: a field is of a wrong kind"),  # type: ignore[arg-type]
        (
            JobDescription(tasks=1, run_time=1, job_type="moldable"),
            "must be rigid where there is no application",
        ),
    ],
)
def test_errors_in_descriptions(job: Any, message: str) -> None:  # noqa: ANN401  # also wrong kinds
    """What is wrong with a description is named, with its place."""
    with pytest.raises(bl.WorkloadError, match=message):
        bl.Workload.from_jobs([job])


@pytest.mark.parametrize("name", ["jobs.csv", "jobs.parquet"])
def test_files(tmp_path: Path, name: str) -> None:
    """Tables keep what jobs run, and for which others they wait."""
    before = mixed()
    bl.write_table(before, tmp_path / name)
    after = bl.read_table(
        tmp_path / name, applications=before.applications, resources=["core"], invalid="raise"
    )
    assert after.jobs.equals(before.jobs)
    assert after.jobs.schema == before.jobs.schema
    assert after.applications == before.applications


def test_transforms_keep_applications() -> None:
    """Parts and other orders of a workload still run what they ran, and wait for no job that is not there."""
    before = mixed()
    parts = [before.filter(pl.col("job_id") > 1), before.slice_rows(1), before.slice_time(0, 5)]
    for part in parts:
        assert part.applications == before.applications
        assert part.jobs["depends_on"].to_list() == [[], [2]]
    assert before.head(0).jobs["depends_on"].dtype == pl.List(pl.Int64)
    shuffled = before.shuffle(1).jobs.sort("job_id")
    assert shuffled.drop("submit_time").equals(before.jobs.drop("submit_time"))
    assert before.scale_load(2).shift(3).applications == before.applications
    with pytest.raises(bl.WorkloadError, match="tasks of jobs with applications are nodes"):
        before.whole_nodes(2)
    assert pickle.loads(pickle.dumps(before)).applications == before.applications  # noqa: S301  # our own bytes


def test_the_kernel_takes_them() -> None:
    """The kernel is given types, ranges, and which application and arguments each job has."""
    columns = application_jobs(mixed())
    assert columns is not None
    assert columns["job_type"].tolist() == [0, 2, 0]
    assert columns["application"].tolist() == [-1, 0, 1]
    assert columns["tasks_max"].tolist() == [1, 4, 2]
    sets = [columns["argument_sets"][place] for place in columns["arguments"]]
    assert sets == [{}, {"work": 1e12, "steps": 10, "net": "resnet"}, {}]
    assert len(_kernel.ApplicationJobs(columns)) == 3
    with pytest.raises(ValueError, match="points beyond"):
        _kernel.ApplicationJobs({**columns, "application": columns["application"] + 7})
    with pytest.raises(ValueError, match="differ in length"):
        _kernel.ApplicationJobs({**columns, "tasks_min": columns["tasks_min"][:1]})


def test_what_identifies_a_run() -> None:
    """Another application, argument or dependency is another workload."""
    first = JobDescription(tasks=1, run_time=30)
    second = JobDescription(tasks=1, run_time=30, depends_on=[1])
    made = [
        bl.Workload.from_jobs([first, JobDescription(tasks=1, run_time=30)]),
        bl.Workload.from_jobs([first, second]),
        workload(),
        workload(arguments=['{"work": 61, "steps": 2}', None]),
        bl.Workload.from_table(table(), applications={**APPLICATIONS, "work": FREE}),
    ]
    assert len({str(identify(each)["sha256"]) for each in made}) == len(made)


def test_what_needs_run_times_says_so() -> None:
    """Models of the work of jobs refuse those whose run time is not known yet."""
    with pytest.raises(bl.WorkloadError, match="gflops: 2 jobs have no run time, since it follows"):
        bl.generate.gflops(mixed(), {"core": 1.0})
    with pytest.raises(bl.WorkloadError, match="estimates: 2 jobs have no run time"):
        bl.generate.estimates(mixed())
    assert run_times(mixed().head(1), "this").tolist() == [30]
