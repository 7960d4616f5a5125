"""What happens to jobs under a real Slurm in virtual time comes after the delays of real time."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from batchlab.bridge.slurm import Submission, VirtualCluster, read_configuration
from batchlab.slurm.virtual.feed import feed
from batchlab.workload.logs.jobcomp import fields_in, records_in
from support.virtual_clusters import configured, needs_compiler, needs_slurm, none_left, one_at_a_time

pytestmark = [needs_slurm(), needs_compiler, pytest.mark.timeout(300)]

TEXT = """
SelectType=select/linear
SchedulerParameters=bf_interval=10
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
NodeName=n[1-2] CPUs=1
PartitionName=low Nodes=ALL Default=YES PriorityTier=1 PreemptMode=REQUEUE
PartitionName=brief Nodes=ALL PriorityTier=1 PreemptMode=CANCEL GraceTime=60
PartitionName=high Nodes=ALL PriorityTier=2
"""


def job(number: int, submit: float, run: float, partition: str = "low", limit: int = 30) -> Submission:
    """Make a job of both nodes."""
    return Submission(number, submit, run, 60.0 * limit, limit, 2, 1, partition=partition)


def attempts(folder: Path, jobs: list[Submission], clock: str) -> dict[int, list[tuple[str, float, float]]]:
    """Run jobs, and return of each attempt of each job Slurm's state, its start and its end (s)."""
    configuration = read_configuration(configured(folder, TEXT))
    with one_at_a_time(), VirtualCluster(configuration, clock=clock) as cluster:
        fed = feed(cluster, jobs)
        text = cluster.completions()
    assert none_left(str(cluster.directory))
    numbers = {each.slurm_id: each.job.job_id for each in fed.issued}
    found: dict[int, list[tuple[str, float, float]]] = {}
    for _, record in records_in(text):
        fields = fields_in(record)
        start, end = (seconds(fields[key], fed.origin) for key in ("StartTime", "EndTime"))
        found.setdefault(numbers[int(fields["JobId"])], []).append((fields["JobState"], start, end))
    return found


def seconds(text: str, origin: int) -> float:
    """Convert one of Slurm's instants to seconds from the stream's origin on."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() - origin


def test_preemption(tmp_path: Path) -> None:
    """A job that is requeued waits for two minutes; one with a grace time of 60 s is killed after it."""
    jobs = [
        job(1, 0.0, 300.0),
        job(2, 100.0, 60.0, "high"),
        job(3, 700.0, 600.0, "brief"),
        job(4, 800.0, 60.0, "high"),
        job(5, 1100.0, 600.0, limit=1),
    ]
    found = attempts(tmp_path, jobs, "auto")
    (_, _, preempted), (state, restarted, ended) = found[1]
    assert state == "COMPLETED"
    (_, begun, _), *_ = found[2]
    # The scheduler looks at once; the nodes are free when the victim has ended.
    assert 100.0 <= preempted <= begun <= 130.0
    # cred_expire is 120 s, and one second; then comes the next cycle of backfill or the main loop.
    assert preempted + 121.0 <= restarted <= preempted + 121.0 + 65.0
    assert ended - restarted == pytest.approx(300.0, abs=2.0)
    ((state, _, ended),) = found[3]
    assert state == "PREEMPTED"
    (_, begun, _), *_ = found[4]
    assert 860.0 <= ended <= 800.0 + 60.0 + 65.0
    assert ended <= begun
    ((state, started, ended),) = found[5]
    assert state == "TIMEOUT"
    # Slurm looks at limits every 30 s.
    assert 60.0 <= ended - started <= 60.0 + 35.0
