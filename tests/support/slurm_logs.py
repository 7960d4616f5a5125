"""Random jobs as Slurm's accounting writes them, and what they ask for, added up without a reader."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence

__all__ = ["YEAR", "SlurmJob", "as_jobcomp", "as_json", "as_sacct", "asked", "random_jobs"]

BEGIN = 1_700_000_000
YEAR = 365 * 86_400.0
FIELDS = (
    *(
        "JobID",
        "JobIDRaw",
        "User",
        "Account",
        "Partition",
        "QOS",
        "JobName",
        "State",
        "Submit",
        "Eligible",
        "Start",
    ),
    *("End", "ElapsedRaw", "Timelimit", "ReqCPUS", "AllocCPUS", "NNodes", "ReqMem", "ReqTRES", "AllocTRES"),
    *("NodeList", "SubmitLine"),
)


@dataclass(frozen=True)
class SlurmJob:
    """A job: what it asked for, and what became of it; times in seconds, memory in MiB of the job.

    `generic` are amounts in all, by the name of the resource and type (``gpu:a100``); `limit` is in minutes,
    None without one. Without a `start` it was cancelled while it waited.
    """

    number: int
    submit: int
    eligible: int
    start: int | None
    end: int
    processors: int
    nodes: int
    given_nodes: int
    memory: int
    limit: int | None
    generic: Mapping[str, int] = field(default_factory=dict)
    exclusive: bool = False

    @property
    def totals(self) -> dict[str, int]:
        """The generic resources without types."""
        found: dict[str, int] = {}
        for name, amount in self.generic.items():
            found[name.split(":")[0]] = found.get(name.split(":")[0], 0) + amount
        return found


def random_jobs(count: int, chance: random.Random) -> list[SlurmJob]:
    """Draw jobs."""
    jobs = []
    submit = BEGIN
    for number in range(1, count + 1):
        submit += chance.randrange(100)
        nodes = chance.choice([1, 1, 1, 2, 3, 8])
        each = chance.choice([1, 2, 4, 32])
        processors = nodes * each + (chance.randrange(nodes * each) if chance.random() < 0.2 else 0)
        kinds = chance.choice([(), (), ("gpu",), ("gpu:a100",), ("gpu:a100", "gpu:h100"), ("fpga", "gpu")])
        eligible = submit + chance.choice([0, 0, 0, 600])
        ran = chance.random() < 0.9
        start = eligible + chance.randrange(5000) if ran else None
        jobs.append(
            SlurmJob(
                number,
                submit,
                eligible,
                start,
                (start or eligible) + chance.randrange(1, 90_000),
                processors,
                nodes,
                (nodes + (chance.random() < 0.1)) if ran else 0,
                chance.choice([0, *(processors * chance.randrange(1, 9000) for _ in range(9))]),
                chance.choice([None, chance.randrange(1, 3000), chance.randrange(1, 3000)]),
                {kind: nodes * chance.randrange(1, 5) for kind in kinds},
                exclusive=chance.random() < 0.1,
            )
        )
    return jobs


def clock(seconds: int | None) -> str:
    """Write a time as Slurm does."""
    return (
        "Unknown" if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    )


def requested(job: SlurmJob) -> str:
    """Write the list of trackable resources that a job asked for."""
    typed = [f"gres/{name}={amount}" for name, amount in job.generic.items() if ":" in name]
    plain = [f"gres/{name}={amount}" for name, amount in job.totals.items()]
    parts = [f"billing={job.processors}", f"cpu={job.processors}", *plain, *typed, f"mem={job.memory}M"]
    return ",".join([*parts, f"node={job.nodes}"])


def limit(minutes: int | None) -> str:
    """Write a time limit as sacct does."""
    if minutes is None:
        return "UNLIMITED"
    days, rest = divmod(minutes, 1440)
    return f"{days}-{rest // 60:02}:{rest % 60:02}:00" if days else f"{rest // 60:02}:{rest % 60:02}:00"


def as_sacct(jobs: Sequence[SlurmJob]) -> list[str]:
    """Write a dump of sacct."""
    lines = ["|".join(FIELDS)]
    for job in jobs:
        ran = job.start is not None
        values = {
            "JobID": job.number,
            "JobIDRaw": job.number,
            "User": f"u{job.number % 7}",
            "Account": "phys",
            "Partition": "batch",
            "QOS": "normal",
            "JobName": "run",
            "State": "COMPLETED" if ran else "CANCELLED by 7",
            "Submit": clock(job.submit),
            "Eligible": clock(job.eligible),
            "Start": clock(job.start),
            "End": clock(job.end),
            "ElapsedRaw": job.end - job.start if job.start is not None else 0,
            "Timelimit": limit(job.limit),
            "ReqCPUS": job.processors,
            "AllocCPUS": job.processors if ran else 0,
            "NNodes": job.given_nodes or job.nodes,
            "ReqMem": f"{job.memory}M",
            "ReqTRES": requested(job),
            "AllocTRES": f"cpu={job.processors},node={job.given_nodes}" if ran else "",
            "NodeList": f"n[1-{job.given_nodes}]" if ran else "None assigned",
            "SubmitLine": f"sbatch -n {job.processors}{' --exclusive' if job.exclusive else ''} run.sh",
        }
        lines.append("|".join(str(values[name]) for name in FIELDS))
    return lines


def as_json(jobs: Sequence[SlurmJob]) -> list[str]:
    """Write the answer of sacct --json, as of Slurm 23.11."""
    return [json.dumps({"jobs": [_json_job(job) for job in jobs], "meta": {}, "errors": []})]


def _json_job(job: SlurmJob) -> dict[str, object]:
    ran = job.start is not None
    typed = {f"gres/{name}": amount for name, amount in job.generic.items() if ":" in name}
    plain = {f"gres/{name}": amount for name, amount in job.totals.items()}
    amounts = {"cpu": job.processors, "mem": job.memory, "node": job.nodes, **plain, **typed}
    requested = [
        {"type": name.split("/")[0], "name": name.partition("/")[2], "id": at, "count": amount}
        for at, (name, amount) in enumerate(amounts.items())
    ]
    limit_ = {"set": job.limit is not None, "infinite": job.limit is None, "number": job.limit or 0}
    exclusive = " --exclusive" if job.exclusive else ""
    return {
        "job_id": job.number,
        "array": {"job_id": 0, "task_id": {"set": False, "infinite": False, "number": 0}, "task": ""},
        "het": {"job_id": 0, "job_offset": {"set": False, "infinite": False, "number": 0}},
        "name": "run",
        "user": f"u{job.number % 7}",
        "account": "phys",
        "partition": "batch",
        "qos": "normal",
        "state": {"current": ["COMPLETED" if ran else "CANCELLED"], "reason": "None"},
        "time": {
            "submission": job.submit,
            "eligible": job.eligible,
            "start": job.start or 0,
            "end": job.end,
            "elapsed": job.end - job.start if job.start is not None else 0,
            "suspended": 0,
            "limit": limit_,
        },
        "required": {
            "CPUs": job.processors,
            "memory_per_cpu": {"set": False, "infinite": False, "number": 0},
            "memory_per_node": {"set": False, "infinite": False, "number": 0},
        },
        "tres": {
            "requested": requested,
            "allocated": [{"type": "node", "name": "", "id": 4, "count": job.given_nodes}] if ran else [],
        },
        "nodes": f"n[1-{job.given_nodes}]" if ran else "None assigned",
        "allocation_nodes": job.given_nodes,
        "submit_line": f"sbatch -n {job.processors}{exclusive} run.sh",
        "exit_code": {"return_code": {"set": True, "infinite": False, "number": 0}, "signal": {}},
        "steps": [],
    }


def as_jobcomp(jobs: Sequence[SlurmJob]) -> list[str]:
    """Write a file of jobcomp/filetxt, which does not say which jobs are exclusive."""
    lines = []
    for job in jobs:
        ran = job.start is not None
        values = {
            "JobId": job.number,
            "UserId": f"u{job.number % 7}(1001)",
            "GroupId": "g(100)",
            "Name": "run",
            "JobState": "COMPLETED" if ran else "CANCELLED",
            "Partition": "batch",
            "TimeLimit": "UNLIMITED" if job.limit is None else job.limit,
            "StartTime": clock(job.start),
            "EndTime": clock(job.end),
            "NodeList": f"n[1-{job.given_nodes}]" if ran else "(null)",
            "NodeCnt": job.given_nodes,
            "ProcCnt": job.processors if ran else 0,
            "WorkDir": "/home/ann",
            "ReservationName": "",
            "Tres": requested(job),
            "Account": "phys",
            "QOS": "normal",
            "WcKey": "",
            "Cluster": "c1",
            "SubmitTime": clock(job.submit),
            "EligibleTime": clock(job.eligible),
            "DerivedExitCode": "0:0",
            "ExitCode": "0:0",
        }
        lines.append(" ".join(f"{key}={value}" for key, value in values.items()))
    return lines


def asked(job: SlurmJob) -> dict[str, float]:
    """Say what a job must ask for: tasks, what each of them asks for, and how many a node takes at most."""
    totals = job.totals
    more_given = job.given_nodes > job.nodes
    most = math.ceil(job.processors / job.nodes)
    tasks, bound = job.processors, 0
    if totals and not more_given:
        tasks, bound = job.nodes, 1
    elif totals:
        tasks = max(math.gcd(job.processors, *totals.values()), job.given_nodes)
    elif job.nodes > 1:
        as_many = math.ceil(job.processors / most) == job.nodes
        is_even = job.processors % job.nodes == 0
        bound = most
        if not more_given and (is_even or job.exclusive or not as_many):
            tasks, bound = job.nodes, 1
    core = math.ceil(job.processors / tasks)
    return {
        "tasks": tasks,
        "core": core,
        "mem": math.ceil(job.memory * 1024 / (tasks * core)) * core,
        "tasks_per_node": bound,
        **{name: math.ceil(amount / tasks) for name, amount in totals.items()},
    }
