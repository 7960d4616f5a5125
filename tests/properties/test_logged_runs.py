"""Random jobs that were requeued, suspended and cancelled while they ran, written as logs and read back."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING

import pytest

import batchlab as bl

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ORIGIN = 1_700_000_000


@dataclass(frozen=True)
class Attempt:
    """A run of a job: seconds since `ORIGIN`; ``pauses`` are the seconds of its suspensions, from when on."""

    start: int
    end: int
    pauses: tuple[tuple[int, int], ...] = ()
    state: str = "REQUEUED"

    @property
    def ran(self) -> int:
        """For how long it ran."""
        return self.end - self.start - sum(length for _, length in self.pauses)

    @property
    def terms(self) -> list[str]:
        """What happened to it, by its elapsed time, and how it ended."""
        found, stood = [], 0
        for begin, length in self.pauses:
            found.append(f"suspend:{begin - self.start - stood:.1f}:{length:.1f}")
            stood += length
        ends = {
            "REQUEUED": f"requeue:{self.ran:.1f}",
            "NODE_FAIL": f"node_requeue:{self.ran:.1f}",
            "CANCELLED": "cancel",
            "OUT_OF_MEMORY": "kill",
        }
        return [*found, *([ends[self.state]] if self.state in ends else [])]


@dataclass(frozen=True)
class Logged:
    """A job with its submission and its attempts."""

    number: int
    submit: int
    attempts: tuple[Attempt, ...]

    @property
    def run_events(self) -> str | None:
        """What its log says of it."""
        return ",".join(term for attempt in self.attempts for term in attempt.terms) or None


def random_jobs(rng: Random, *, pauses: bool, ends: Sequence[str], cut: Sequence[str]) -> list[Logged]:
    """Make jobs with up to three attempts."""
    jobs, now = [], 0
    for number in range(1, rng.randint(5, 30)):
        now += rng.randint(0, 100) if number > 1 else 0
        attempts: list[Attempt] = []
        ready = now
        count = rng.choice((1, 1, 2, 3))
        for place in range(count):
            start = ready + rng.randint(0, 200)
            stood: list[tuple[int, int]] = []
            time = start
            for _ in range(rng.choice((0, 1, 2)) if pauses else 0):
                time += rng.randint(1, 100)
                stood.append((time, rng.randint(1, 50)))
                time += stood[-1][1]
            ready = time + rng.randint(1, 300)
            state = rng.choice(ends) if place == count - 1 else rng.choice(cut)
            attempts.append(Attempt(start, ready, tuple(stood), state))
        jobs.append(Logged(number, now, tuple(attempts)))
    return jobs


def stamp(seconds: int, form: str) -> str:
    """Write a time of day in UTC."""
    return datetime.fromtimestamp(ORIGIN + seconds, UTC).strftime(form)


def as_sacct(jobs: list[Logged]) -> list[str]:
    """Write a dump with all records of each job, as ``sacct --duplicates`` does."""
    form = "%Y-%m-%dT%H:%M:%S"
    lines = ["JobID|User|State|Submit|Start|End|ElapsedRaw|Timelimit|ReqCPUS|NodeList|Restarts"]
    for job in jobs:
        submit = job.submit
        for restarts, attempt in enumerate(job.attempts):
            times = [stamp(each, form) for each in (submit, attempt.start, attempt.end)]
            what = [str(job.number), "ann", attempt.state, *times, str(attempt.ran), "01:00:00", "2", "n1"]
            lines.append("|".join([*what, str(restarts)]))
            submit = attempt.end
    return lines


def as_pbs(jobs: list[Logged]) -> list[str]:
    """Write the records of all jobs by time."""
    form = "%m/%d/%Y %H:%M:%S"
    asked = "Resource_List.ncpus=2 Resource_List.walltime=01:00:00"
    records: list[tuple[int, str]] = []
    for job in jobs:
        of_job = f"user=ann queue=work ctime={ORIGIN + job.submit} qtime={ORIGIN + job.submit}"

        def add(time: int, kind: str, text: str, number: int = job.number) -> None:
            records.append((time, f"{stamp(time, form)};{kind};{number}.srv;{text}"))

        add(job.submit, "Q", f"{of_job} {asked}")
        for attempt in job.attempts:
            began = f"{of_job} start={ORIGIN + attempt.start} exec_host=n1/0*2 {asked}"
            add(attempt.start, "S", began)
            for begin, length in attempt.pauses:
                add(begin, "z", "resources_used.ncpus=2")
                add(begin + length, "r", "")
            if attempt.state == "CANCELLED":
                add(attempt.end, "D", "requestor=ann@login1")
            status = {"COMPLETED": 0, "CANCELLED": 271, "OUT_OF_MEMORY": -27}.get(attempt.state, -11)
            kind = "R" if attempt.state == "REQUEUED" else "E"
            add(attempt.end, kind, f"{began} end={ORIGIN + attempt.end} Exit_status={status}")
    return [text for _, text in sorted(records, key=lambda record: record[0])]


def as_sge(jobs: list[Logged]) -> list[str]:
    """Write a record of each attempt."""
    rest = ":".join(["0"] * 17)
    failed = {"COMPLETED": (0, 0), "CANCELLED": (100, 137), "REQUEUED": (25, 0)}
    lines: list[tuple[int, str]] = []
    for job in jobs:
        for attempt in job.attempts:
            code, status = failed[attempt.state]
            times = ":".join(str(ORIGIN + each) for each in (job.submit, attempt.start, attempt.end))
            line = (
                f"all.q:n1:phys:ann:solve:{job.number}:sge:0:{times}:{code}:{status}:{attempt.ran}:{rest}:"
                "phys:dep:mpi:2:0:1:1:0:-l h_rt=3600 -pe mpi 2:0:NONE:0:0:0"
            )
            lines.append((attempt.end, line))
    return [line for _, line in sorted(lines)]


Reader = tuple["Callable[[list[Logged]], list[str]]", "Callable[[list[str]], bl.Workload]"]
FORMATS: dict[str, Reader] = {
    "sacct": (as_sacct, bl.read_sacct),
    "pbs": (as_pbs, bl.read_pbs),
    "sge": (as_sge, bl.read_sge),
}
ENDS = {
    "sacct": ("COMPLETED", "CANCELLED", "OUT_OF_MEMORY", "FAILED", "TIMEOUT"),
    "pbs": ("COMPLETED", "CANCELLED", "OUT_OF_MEMORY"),
    "sge": ("COMPLETED", "CANCELLED"),
}


def jobs_of(form: str, rng: Random) -> list[Logged]:
    """Make jobs to which nothing happens that a format cannot say."""
    cut = ("REQUEUED", "NODE_FAIL") if form == "sacct" else ("REQUEUED",)
    return random_jobs(rng, pauses=form == "pbs", ends=ENDS[form], cut=cut)


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_is_read_back(form: str) -> None:
    """Each run that was cut short, each suspension and each end is in the column ``run_events``."""
    write, read = FORMATS[form]
    seen = 0
    for seed in range(40):
        jobs = jobs_of(form, Random(seed))  # noqa: S311 - no secret
        found = read(write(jobs)).jobs.sort("job_id")
        happened = found["run_events"].to_list() if "run_events" in found.columns else [None] * len(jobs)
        assert happened == [job.run_events for job in jobs], seed
        assert found["run_time"].to_list() == [job.attempts[-1].ran for job in jobs], seed
        seen += sum(text is not None for text in happened)
    assert seen > 200


def replayed(rng: Random, count: int) -> tuple[bl.Workload, bl.System, bl.Result]:
    """Simulate jobs that are requeued, cancelled and killed while they run."""
    system = bl.System.homogeneous(nodes=8, resources={"core": 2})
    texts = [None, None, "cancel", "kill", "requeue:50.0", "requeue:9.0,requeue:70.0,cancel"]
    jobs = {
        "submit_time": sorted(rng.randrange(0, 25 * count) for _ in range(count)),
        "run_time": [rng.randrange(1, 400) for _ in range(count)],
        "requested_time": [3600] * count,
        "tasks": [2] * count,
        "run_events": [rng.choice(texts) for _ in range(count)],
    }
    workload = bl.Workload.from_table(jobs)
    return workload, system, bl.simulate(workload, system, "easy")


def logged(result: bl.Result) -> list[Logged]:
    """Write down what became of the jobs: their runs, in order, and how they ended."""
    origin = int(result.jobs["submit_time"].min())  # type: ignore[arg-type]
    cut: dict[int, list[Attempt]] = {}
    for row in result.interruptions.iter_rows(named=True):
        attempt = Attempt(int(row["start_time"]) - origin, int(row["end_time"]) - origin)
        cut.setdefault(row["job_id"], []).append(attempt)
    states = {"completed": "COMPLETED", "cancelled": "CANCELLED", "killed": "OUT_OF_MEMORY"}
    jobs = []
    for row in result.jobs.iter_rows(named=True):
        start, end = int(row["start_time"]) - origin, int(row["end_time"]) - origin
        last = Attempt(start, end, state=states[row["state"]])
        before = cut.get(row["job_id"], [])
        jobs.append(Logged(row["job_id"], int(row["submit_time"]) - origin, (*before, last)))
    return jobs


@pytest.mark.parametrize("seed", range(3))
def test_a_log_is_replayed(seed: int) -> None:
    """On the machine that made a log all runs start and end as there, and all jobs end as there."""
    workload, system, result = replayed(Random(seed), 300)  # noqa: S311 - no secret
    assert result.interruptions.height > 100
    again = bl.simulate(bl.read_sacct(as_sacct(logged(result))), system, "easy")
    columns = ["job_id", "state", "start_time", "end_time"]
    origin = workload.first_submission
    expected = result.jobs.select(columns).sort("job_id")
    found = again.jobs.select(columns).sort("job_id")
    assert found["state"].to_list() == expected["state"].to_list()
    for name in ("start_time", "end_time"):
        assert found[name].to_list() == (expected[name] - origin).to_list()
    waits = bl.metrics.wait(again)
    assert waits.null_count() == 0
    late = (waits - again.jobs["logged_wait_time"]).abs()
    assert (late < 1e-6).all()
