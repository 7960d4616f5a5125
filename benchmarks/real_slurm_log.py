"""What the log of a slurmctld, at debug2, says of the time that its work took."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from statistics import fmean, median

from batchlab.workload.logs.hostlist import hosts

LINE = re.compile(r"\[(\S+)\] (.*)")
SUBMITTED = re.compile(r"_slurm_rpc_submit_batch_job: JobId=(\d+) ")
STARTED = re.compile(
    r"(?:sched: Allocate|sched/backfill: _start_job: Started) JobId=(\d+) .*?(?:NodeList=| on )(\S+)"
)
ENDED = re.compile(r"_job_complete: JobId=(\d+) done")
ANSWERED = re.compile(r"debug2: node_did_resp (\S+)")
FREED = re.compile(r"debug2: _slurm_rpc_epilog_complete: JobId=(\d+) Node=(\S+)")
FULL = "debug:  sched: Running job scheduler for full queue"
PERIOD = "debug2: Testing job time limits"
CYCLE = "debug:  sched/backfill: _attempt_backfill: beginning"
TRIED = "debug2: sched/backfill: _attempt_backfill: entering _try_sched"
TURN = 30


@dataclass
class Measured:
    """What became of the jobs that completed, by Slurm's number: UNIX times of submission, seconds.

    `lasted` is from the allocation to the end, `launch` that without the sleep, `completion` from the end
    until the last node is free. `first` is when backfill began its first cycle, `full` when the main loop
    first looked at the whole queue, `lag` by how much the main thread wakes later each second, `test` how
    long backfill takes for each entry.
    """

    submitted: dict[int, float] = field(default_factory=dict)
    lasted: dict[int, float] = field(default_factory=dict)
    launch: list[float] = field(default_factory=list)
    completion: list[float] = field(default_factory=list)
    first: float | None = None
    full: float | None = None
    lag: float = 0.0
    test: float = 0.0


def events(text: str) -> Iterator[tuple[float, str]]:
    """Give the lines of a log with their UNIX times."""
    for line in text.splitlines():
        if found := LINE.match(line):
            yield datetime.fromisoformat(found[1]).replace(tzinfo=UTC).timestamp(), found[2]


def measured(text: str, sleeps: dict[int, float]) -> Measured:
    """Read a log; `sleeps` has the jobs that completed by themselves, by Slurm's number."""
    found = Measured()
    started: dict[int, tuple[float, str]] = {}
    leaving: dict[str, tuple[int, float]] = {}
    ends: dict[int, float] = {}
    last_free: dict[int, float] = {}
    for time, what in events(text):
        if submission := SUBMITTED.match(what):
            found.submitted[int(submission[1])] = time
        elif start := STARTED.match(what):
            started[int(start[1])] = time, start[2]
        elif (end := ENDED.match(what)) and (job := int(end[1])) in started:
            begun, nodes = started.pop(job)
            if job in sleeps:
                found.lasted[job] = time - begun
                found.launch.append(time - begun - sleeps[job])
            ends[job] = time
            leaving |= dict.fromkeys(hosts(nodes) or (), (job, time))
        elif (answer := ANSWERED.match(what)) and answer[1] in leaving:
            job, left = leaving.pop(answer[1])
            last_free[job] = time - left
        elif (done := FREED.match(what)) and (job := int(done[1])) in ends:
            # The node that ran the script answers at once, and says later that nothing is left there.
            last_free[job] = time - ends[job]
    found.completion = list(last_free.values())
    times = {
        name: [time for time, what in events(text) if what.startswith(name)] for name in (CYCLE, FULL, PERIOD)
    }
    found.first, found.full = (next(iter(times[name]), None) for name in (CYCLE, FULL))
    found.lag = lag_of(times[PERIOD])
    found.test = cost_of_entries(text)
    return found


def lag_of(turns: Sequence[float]) -> float:
    """Give by how much a second of the main thread is longer: it looks at limits each 30 of its seconds."""
    passed = [later - time for time, later in pairwise(turns)]
    # It takes a turn less where a whole second more has begun by then.
    longer = [each / TURN - 1 for each in passed if each >= TURN]
    return median(longer) if longer else 0.0


def cost_of_entries(text: str) -> float:
    """Give how long backfill takes from one entry to the next."""
    gaps, last = list[float](), None
    for time, what in events(text):
        if what.startswith(TRIED):
            if last is not None:
                gaps.append(time - last)
            last = time
        elif what.startswith(CYCLE):
            last = None
    return fmean(gaps) if gaps else 0.0
