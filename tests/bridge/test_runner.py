"""Small projects, whose times are worked out by hand."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import batchlab as bl
from batchlab.bridge.elastisim import open_project, run
from batchlab.bridge.elastisim.algorithm_side.elastisim_python import (
    InvocationType,
    Job,
    JobState,
    Node,
    NodeState,
)
from batchlab.bridge.elastisim.configuration import OUTPUTS
from batchlab.bridge.elastisim.runner import Run
from batchlab.errors import AlgorithmError, BridgeError
from support.elastisim_projects import write_project

Schedule = Callable[[list[Job], list[Node], dict[str, Any]], None]


def starting(
    count: int = 1, then: Callable[[Job, list[Node], dict[str, Any]], object] | None = None
) -> Schedule:
    """Make an algorithm that starts each job on some free nodes, and then does what is wanted of the job."""

    def schedule(jobs: list[Job], nodes: list[Node], system: dict[str, Any]) -> None:
        free = [node for node in nodes if node.state is NodeState.FREE]
        for job in jobs:
            wanted = job.num_nodes or count
            if job.state is JobState.PENDING and len(free) >= wanted:
                job.assign(free[:wanted])
                del free[:wanted]
        if then is not None and "job" in system:
            then(system["job"], free, system)

    return schedule


def times(done: Run) -> list[tuple[float, float]]:
    """Give start and end of each job, s."""
    return [(entry.start_time, entry.end_time) for entry in done.ledger.jobs]


def test_nodes_in_the_order_of_names(tmp_path: Path) -> None:
    """ElastiSim's ids are lexicographic: n10 and n11 come before n8."""
    project = open_project(write_project(tmp_path, [{}]))
    assert [host.name for host in project.hosts] == ["n10", "n11", "n8", "n9"]
    assert project.system.hosts == ("n10", "n11", "n8", "n9")
    assert project.totals == (4,)


def test_growing_at_scheduling_points(tmp_path: Path) -> None:
    """40 s on one node; then three iterations on four nodes, 10 s each."""

    def grow(job: Job, free: list[Node], system: dict[str, Any]) -> None:
        if system["invocation_type"] is InvocationType.INVOKE_SCHEDULING_POINT and job.completed_phases <= 1:
            job.assign(free)

    done = run(write_project(tmp_path, [{}]), starting(then=grow))
    assert times(done) == [(0.0, 70.0)]
    assert done.result.allocations["nodes"].to_list() == [[0], [0, 1, 2, 3]]


def test_reserved_until_the_next_scheduling_point(tmp_path: Path) -> None:
    """What is given to a running job by the way is kept for it, and is its own from its next point on."""
    seen = []

    def schedule(jobs: list[Job], nodes: list[Node], system: dict[str, Any]) -> None:
        seen.append((system["time"], [node.state.name for node in nodes], jobs[0].state.name))
        if len(jobs) == 1 and jobs[0].state is JobState.PENDING:
            jobs[0].assign(nodes[0])
        elif system["invocation_type"] is InvocationType.INVOKE_JOB_SUBMIT:
            jobs[0].assign(nodes[1])
            jobs[1].assign(nodes[2:4])

    done = run(write_project(tmp_path, [{}, {"type": "rigid", "submit_time": 5}]), schedule)
    assert times(done) == [(0.0, 100.0), (5.0, 85.0)]
    assert seen[1] == (5.0, ["ALLOCATED", "FREE", "FREE", "FREE"], "RUNNING")
    # At its scheduling point the job has not changed in the books.
    assert seen[2] == (40.0, ["ALLOCATED", "RESERVED", "ALLOCATED", "ALLOCATED"], "PENDING_RECONFIGURATION")


def test_a_wish_can_be_taken_back(tmp_path: Path) -> None:
    """Nodes that were reserved and given back in time are never used."""

    def schedule(jobs: list[Job], nodes: list[Node], system: dict[str, Any]) -> None:
        if jobs[0].state is JobState.PENDING:
            jobs[0].assign(nodes[0])
        if system["invocation_type"] is InvocationType.INVOKE_JOB_SUBMIT and len(jobs) > 1:
            jobs[0].assign(nodes[1])
            jobs[1].assign(nodes[2:4])
        if system["invocation_type"] is InvocationType.INVOKE_SCHEDULING_POINT:
            jobs[0].remove(nodes[1])

    done = run(write_project(tmp_path, [{}, {"type": "rigid", "submit_time": 5}]), schedule)
    assert times(done) == [(0.0, 160.0), (5.0, 85.0)]


def test_nodes_that_are_given_up_are_free_for_others_at_once(tmp_path: Path) -> None:
    """A job at its scheduling point gives two nodes to one that waits, in one answer."""

    def schedule(jobs: list[Job], nodes: list[Node], system: dict[str, Any]) -> None:
        if jobs[0].state is JobState.PENDING:
            jobs[0].assign(nodes)
        elif system["time"] == 10:
            assert system["invocation_type"] is InvocationType.INVOKE_SCHEDULING_POINT
            jobs[0].remove(nodes[2:])
            jobs[1].assign(nodes[2:])

    done = run(write_project(tmp_path, [{}, {"type": "rigid", "submit_time": 5}]), schedule)
    assert times(done) == [(0.0, 70.0), (10.0, 90.0)]


def test_evolving_requests(tmp_path: Path) -> None:
    """A request beyond the limits is clipped to them, or an error where that is not wanted."""
    application = {
        "phases": [
            {
                "iterations": 2,
                "evolving_request": "num_nodes*8",
                "tasks": [{"type": "idle", "delay": 5, "pattern": "uniform"}],
            }
        ]
    }
    asked = []

    def grant(job: Job, free: list[Node], system: dict[str, Any]) -> None:
        if system["invocation_type"] is InvocationType.INVOKE_EVOLVING_REQUEST:
            asked.append(system["evolving_request"])
            job.assign(free)

    jobs: list[dict[str, object]] = [{"type": "evolving"}]
    done = run(write_project(tmp_path, jobs, application=application), starting(then=grant))
    assert (asked, times(done)) == ([4], [(0.0, 10.0)])
    path = write_project(tmp_path, jobs, application=application, clip_evolving_requests=False)
    with pytest.raises(bl.SimulationError, match="8"):
        run(path, starting(then=grant))


def test_kills(tmp_path: Path) -> None:
    """Running and waiting jobs are killed at once, without another call; who exceeds its limit, with one."""
    reasons = []

    def schedule(jobs: list[Job], nodes: list[Node], system: dict[str, Any]) -> None:
        reasons.append(system["invocation_type"].name)
        if len(jobs) == 1 and jobs[0].state is JobState.PENDING:
            jobs[0].assign(nodes[0])
        if len(jobs) == 2:
            jobs[0].kill()
            jobs[1].kill()
        if len(jobs) == 3 and jobs[2].state is JobState.PENDING:
            jobs[2].assign(nodes[0])

    jobs: list[dict[str, object]] = [{}, {"submit_time": 7}, {"submit_time": 9, "walltime": 30}]
    path = write_project(tmp_path, jobs, job_kill_grace_period=2, schedule_on_scheduling_point=True)
    done = run(path, schedule)
    assert times(done) == [(0.0, 7.0), (-1.0, 7.0), (9.0, 41.0)]
    assert reasons == ["INVOKE_JOB_SUBMIT"] * 3 + ["INVOKE_JOB_KILLED"]
    lines = done.write(tmp_path / "out")[0].read_text().splitlines()
    assert lines[2] == "1,malleable,7,-1,7,-1,8,0,killed"


def test_kill_at_a_scheduling_point(tmp_path: Path) -> None:
    """A job can be killed when it asks whether to go on."""

    def kill(job: Job, _free: list[Node], system: dict[str, Any]) -> None:
        if system["invocation_type"] is InvocationType.INVOKE_SCHEDULING_POINT:
            job.kill()

    assert times(run(write_project(tmp_path, [{}]), starting(then=kill))) == [(0.0, 40.0)]


def test_oversubscription(tmp_path: Path) -> None:
    """Two jobs on one node share it, where that is allowed."""

    def schedule(jobs: list[Job], nodes: list[Node], _system: dict[str, Any]) -> None:
        for job in jobs:
            if job.state is JobState.PENDING:
                job.assign(nodes[0])

    done = run(write_project(tmp_path, [{}, {}], allow_oversubscription=True), schedule)
    assert times(done) == [(0.0, 320.0), (0.0, 320.0)]
    with pytest.raises(AlgorithmError, match="node 0 was given to job 1, but job 0 is on it"):
        run(write_project(tmp_path, [{}, {}]), schedule)


def test_runtime_arguments(tmp_path: Path) -> None:
    """They are seen from the next start or reconfiguration on."""
    application = {
        "phases": [
            {"iterations": 2, "tasks": [{"type": "idle", "delay": "work*speed", "pattern": "uniform"}]}
        ]
    }

    def schedule(jobs: list[Job], nodes: list[Node], system: dict[str, Any]) -> None:
        (job,) = jobs
        if job.state is JobState.PENDING:
            job.update_runtime_argument("speed", 2)
            job.assign(nodes[0])
        elif system["invocation_type"] is InvocationType.INVOKE_SCHEDULING_POINT:
            assert job.runtime_arguments == {"speed": "2"}
            job.update_runtime_argument("speed", 0.5)
            job.assign(nodes[1])

    jobs: list[dict[str, object]] = [{"arguments": {"work": 10}}]
    assert times(run(write_project(tmp_path, jobs, application=application), schedule)) == [(0.0, 25.0)]


def test_gpus(tmp_path: Path) -> None:
    """8e9 flops on one GPU, then on two: their number changes with a reconfiguration, and not otherwise."""
    task = {"type": "gpu", "flops": 8e9, "computation_pattern": "uniform"}
    application = {"phases": [{"iterations": 3, "tasks": [task]}]}

    def schedule(jobs: list[Job], nodes: list[Node], system: dict[str, Any]) -> None:
        (job,) = jobs
        if job.state is JobState.PENDING:
            assert len(nodes[0].gpus) == 2
            job.assign_num_gpus_per_node(1)
            job.assign(nodes[0])
        elif system["invocation_type"] is InvocationType.INVOKE_SCHEDULING_POINT:
            job.assign_num_gpus_per_node(2)
            if system["time"] > 10:
                job.assign(nodes[1])

    jobs: list[dict[str, object]] = [{"num_gpus_per_node_max": 2}]
    done = run(write_project(tmp_path, jobs, application=application), schedule)
    assert times(done) == [(0.0, 20.0)]


def test_text_arguments(tmp_path: Path) -> None:
    """An argument may be a formula, which is put in as text, as in ElastiSim."""
    jobs: list[dict[str, object]] = [{"arguments": {"work": "2e10+num_nodes*2e10"}}]
    done = run(write_project(tmp_path, jobs), starting(2))
    # 2e10 + 2 * 2e10 / 2.
    assert times(done) == [(0.0, 160.0)]


def calls_of(path: Path, schedule: Schedule) -> tuple[list[tuple[float, str]], Run]:
    """Run a project; give when and why its algorithm was called."""
    calls = []

    def watched(jobs: list[Job], nodes: list[Node], system: dict[str, Any]) -> None:
        calls.append((system["time"], system["invocation_type"].name.removeprefix("INVOKE_")))
        schedule(jobs, nodes, system)

    return calls, run(path, watched)


def test_periodic_calls(tmp_path: Path) -> None:
    """An algorithm that is only called now and then finds what happened meanwhile."""
    jobs: list[dict[str, object]] = [{}, {"submit_time": 20, "type": "rigid"}]
    path = write_project(
        tmp_path,
        jobs,
        schedule_on_job_submit=False,
        schedule_on_job_finalize=False,
        schedule_on_scheduling_point=False,
        scheduling_interval=50,
    )
    seen = []

    def schedule(jobs: list[Job], nodes: list[Node], system: dict[str, Any]) -> None:
        seen.append([(job.state.name, job.completed_phases) for job in jobs])
        starting()(jobs, nodes, system)

    calls, done = calls_of(path, schedule)
    assert times(done) == [(50.0, 210.0), (50.0, 130.0)]
    assert calls[:3] == [(50.0, "PERIODIC"), (100.0, "PERIODIC"), (150.0, "PERIODIC")]
    assert seen[:3] == [
        [("PENDING", 0), ("PENDING", 0)],
        [("RUNNING", 1), ("RUNNING", 2)],
        [("RUNNING", 2), ("COMPLETED", 4)],
    ]


def test_reconfigurations_without_scheduling_points(tmp_path: Path) -> None:
    """What was decided by the way is done at the next point; where wanted, the algorithm is told then."""

    def schedule(jobs: list[Job], nodes: list[Node], system: dict[str, Any]) -> None:
        if jobs[0].state is JobState.PENDING:
            jobs[0].assign(nodes[0])
        elif system["invocation_type"] is InvocationType.INVOKE_JOB_SUBMIT:
            jobs[0].assign(nodes[1])
            jobs[1].assign(nodes[2:])
        elif system["invocation_type"] is InvocationType.INVOKE_RECONFIGURATION:
            assert system["job"].state is JobState.IN_RECONFIGURATION
            assert nodes[1].state is NodeState.ALLOCATED

    for tell in (True, False):
        path = write_project(
            tmp_path,
            [{}, {"type": "rigid", "submit_time": 5}],
            schedule_on_scheduling_point=False,
            schedule_on_reconfiguration=tell,
        )
        calls, done = calls_of(path, schedule)
        assert times(done) == [(0.0, 100.0), (5.0, 85.0)]
        assert ((40.0, "RECONFIGURATION") in calls) == tell
        uses = [use for use in done.ledger.uses if 1 in use.nodes]
        assert [use.time for use in uses][:2] == [0.0, 40.0 if tell else 85.0]


def test_reconfigurations_at_scheduling_points(tmp_path: Path) -> None:
    """With both wished for, the call about the point is followed by one about the reconfiguration begun."""

    def schedule(jobs: list[Job], nodes: list[Node], system: dict[str, Any]) -> None:
        if jobs[0].state is JobState.PENDING:
            jobs[0].assign(nodes)
        elif system["time"] == 10 and system["invocation_type"] is InvocationType.INVOKE_SCHEDULING_POINT:
            jobs[0].remove(nodes[2:])
        elif system["invocation_type"] is InvocationType.INVOKE_RECONFIGURATION:
            assert system["job"].state is JobState.IN_RECONFIGURATION
            assert [node.state.name for node in nodes] == ["ALLOCATED"] * 2 + ["FREE"] * 2
            jobs[1].assign(nodes[2:])

    jobs: list[dict[str, object]] = [{}, {"type": "rigid", "submit_time": 5}]
    path = write_project(tmp_path, jobs, schedule_on_reconfiguration=True)
    calls, done = calls_of(path, schedule)
    assert times(done) == [(0.0, 70.0), (10.0, 90.0)]
    assert calls[2:5] == [(10.0, "SCHEDULING_POINT"), (10.0, "RECONFIGURATION"), (30.0, "SCHEDULING_POINT")]
    assert done.calls == len(calls)


def test_the_minimum_interval(tmp_path: Path) -> None:
    """What falls into it is answered at its end; a job at a scheduling point goes on (ElastiSim hangs)."""
    jobs: list[dict[str, object]] = [{}, {"type": "rigid", "submit_time": 39}]
    path = write_project(tmp_path, jobs, min_scheduling_interval=10)
    calls, done = calls_of(path, starting())
    assert "min_scheduling_interval" in done.project.notes[-1]
    assert times(done) == [(0.0, 160.0), (39.0, 119.0)]
    assert calls == [
        (0.0, "JOB_SUBMIT"),
        (39.0, "JOB_SUBMIT"),
        (49.0, "PERIODIC"),
        (80.0, "SCHEDULING_POINT"),
        (119.0, "JOB_COMPLETED"),
        (129.0, "PERIODIC"),
        (160.0, "JOB_COMPLETED"),
    ]


def test_what_is_sensed(tmp_path: Path) -> None:
    """Every 20 s the shares of all CPUs and GPUs; without links of a file system nothing flows there."""
    path = write_project(tmp_path, [{"type": "rigid"}], sensing=True, sensing_interval=20)
    written = {
        file.name: file.read_text().splitlines() for file in run(path, starting()).write(tmp_path / "out")
    }
    assert set(written) == {f"{name}.csv" for name in OUTPUTS} - {"task_times.csv"}
    assert written["cpu_utilization.csv"][:3] == [
        "Time,n10,n11,n8,n9",
        "0,0.000000,0.000000,0.000000,0.000000",
        "20,1.000000,1.000000,0.000000,0.000000",
    ]
    assert written["pfs_utilization.csv"][2] == "20,0,0,0,0"
    assert written["network_activity.csv"][-1] == "80,0"


def test_standstill(tmp_path: Path) -> None:
    """Jobs that are never started are no end."""
    with pytest.raises(AlgorithmError, match=r"standstill: jobs are left .* job 0 is the first of 1"):
        run(write_project(tmp_path, [{}]), lambda *_: None)


def test_standstill_of_periodic_calls(tmp_path: Path) -> None:
    """An algorithm that is called again and again and starts nothing is soon stopped as stuck."""
    path = write_project(tmp_path, [{}], scheduling_interval=1)
    stuck = r"standstill: nothing ran or was decided in 1000 periodic calls, .* job 0 is the first of 1 that"
    with pytest.raises(AlgorithmError, match=stuck):
        run(path, lambda *_: None)

    def late(jobs: list[Job], nodes: list[Node], system: dict[str, Any]) -> None:
        if jobs[0].state is JobState.PENDING and system["time"] >= 50:
            jobs[0].assign(nodes)

    # One that waits for a time of its own is left to it, if it is given more patience.
    with pytest.raises(AlgorithmError, match="in 40 periodic calls"):
        run(path, late, patience=40)
    assert times(run(path, late, patience=51)) == [(50.0, 90.0)]


def test_an_algorithm_that_connects_by_itself(tmp_path: Path) -> None:
    """Without a file batchlab listens at zmq_url, and the client that connects decides."""
    ours = Path(sys.modules["batchlab.bridge.elastisim.algorithm_side"].__path__[0])
    url = f"ipc://{tmp_path}/socket"
    code = (
        "import sys\nfrom elastisim_python import *\n"
        "def schedule(jobs, nodes, system):\n"
        "    [job.assign(nodes[0]) for job in jobs if job.state is JobState.PENDING]\n"
        f"pass_algorithm(schedule, {url!r})\n"
    )
    path = write_project(tmp_path, [{}], zmq_url=url)
    with subprocess.Popen([sys.executable, "-c", code], cwd=ours) as process:  # noqa: S603
        assert times(run(path, timeout=60)) == [(0.0, 160.0)]
        assert process.wait(60) == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"pfs_read_links": ["cable"]},
            r"configuration.json: pfs_read_links: no link is called 'cable'",
        ),
        ({"sensing": True, "sensing_interval": -1}, r"sensing_interval = -1; must be finite"),
    ],
)
def test_refused_configurations(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    """What only the platform shows to be wrong."""
    with pytest.raises(BridgeError, match=message):
        open_project(write_project(tmp_path, [{}], **changes))


def test_too_many_gpus(tmp_path: Path) -> None:
    """A job that needs more GPUs than a node has is refused."""
    jobs: list[dict[str, object]] = [{"type": "rigid", "num_gpus_per_node": 3}]
    with pytest.raises(BridgeError, match=r"jobs\[0\] needs 3 GPUs per node; no compute node .* more than 2"):
        open_project(write_project(tmp_path, jobs))


def test_missing_arguments(tmp_path: Path) -> None:
    """A formula over a name that has no value is refused, with job and model."""
    application = {"phases": [{"iterations": "steps", "tasks": []}]}
    with pytest.raises(BridgeError, match=r"jobs\[0\]: application\.json: phases\[0\]\.iterations: .*steps"):
        open_project(write_project(tmp_path, [{}], application=application))


def test_notes_on_what_means_nothing(tmp_path: Path) -> None:
    """A walltime with a fraction is no limit, as in ElastiSim, and that is said."""
    project = open_project(write_project(tmp_path, [{"walltime": 1.5}, {"walltime": 3}]))
    assert project.workload.jobs["requested_time"].to_list() == [float("inf"), 3.0]
    assert "walltime of 1 job " in project.notes[-1]


def test_a_recorder_without_a_folder(tmp_path: Path) -> None:
    """A transcript that cannot be written is noticed before the simulation."""
    with pytest.raises(BridgeError, match="cannot be written"):
        run(write_project(tmp_path, [{}]), starting(), record=tmp_path / "no/such.jsonl")


def test_no_url(tmp_path: Path) -> None:
    """Who waits for an algorithm needs to know where."""
    with pytest.raises(BridgeError, match="zmq_url is missing"):
        run(write_project(tmp_path, [{}]))


READS = {"phases": [{"tasks": [{"type": "bb_read", "bytes": "work", "pattern": "root_only"}]}]}
BUFFERS = (
    '<prop id="node_local_bb" value="true"/><prop id="bb_read_bw" value="3Bps"/>'
    '<prop id="bb_write_bw" value="2Bps"/></cluster>'
)


def reading(folder: Path, *submissions: float, **configuration: object) -> Path:
    """Write a project whose jobs read 10 bytes each from burst buffers that read 3 bytes per second."""
    jobs = [{"type": "rigid", "submit_time": time, "arguments": {"work": 10}} for time in submissions]
    path = write_project(folder, jobs, application=READS, **configuration)
    platform = folder / "platform.xml"
    platform.write_text(platform.read_text().replace("</cluster>", BUFFERS))
    return path


def test_disks_progress_in_whole_bytes_at_every_event(tmp_path: Path) -> None:
    """At the second submission 4.5 bytes of the first job count as 4: there are 6 left."""
    path = reading(tmp_path, 0.0, 1.5)
    (first, second) = times(run(path, starting()))
    assert first == (0.0, 3.5)
    assert second == pytest.approx((1.5, 1.5 + 10 / 3))
    disks = {host.disk.whole_bytes for host in open_project(path).hosts if host.disk is not None}
    assert disks == {True}
    platform = bl.read_platform(tmp_path / "platform.xml")
    assert not any(host.disk.whole_bytes for host in platform.nodes if host.disk is not None)
    assert platform.in_whole_bytes().in_whole_bytes() == open_project(path).platform


def test_looks_of_sensors_are_events_for_disks(tmp_path: Path) -> None:
    """2.4 bytes count as 2 at each of four looks; the last two take 2/3 s."""
    path = reading(tmp_path, 0.0, sensing=True, sensing_interval=0.8, pfs_read_links=[], pfs_write_links=[])
    [(_, end)] = times(run(path, starting()))
    assert end == pytest.approx(3.2 + 2 / 3)
