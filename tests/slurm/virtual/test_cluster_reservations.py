"""Reservations of a virtual cluster: made by scontrol.txt, used by jobs, and given to the model."""

from pathlib import Path

import pytest

import batchlab as bl
from batchlab.bridge import slurm
from batchlab.errors import SystemDescriptionError
from batchlab.slurm.virtual.processes import control_commands, reservation_names, reservations_in
from support.virtual_clusters import configured, needs_compiler, needs_slurm, none_left, one_at_a_time

COMMANDS = """\
# Two nodes for a course, ten minutes after the cluster is up.
create reservation ReservationName=course StartTime=now+600 Duration=10 Nodes=n[3-4]
create reservationname=other Users=ann StartTime=now Duration=5 NodeCnt=1
update NodeName=n1 Comment="a b"
"""
LINES = (
    "ReservationName=course StartTime=2026-11-22T10:10:00 EndTime=2026-11-22T10:20:00 Duration=00:10:00 "
    "Nodes=n[3-4] NodeCnt=2 CoreCnt=4 Features=(null) PartitionName=(null) Flags=SPEC_NODES TRES=cpu=4 "
    "Users=root Groups=(null) Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null)\n"
    "ReservationName=daily StartTime=2026-11-22T09:50:00 EndTime=2026-11-22T10:20:00 Nodes=n1 "
    "Flags=DAILY,FLEX\n"
    "No reservations in the system\n"
)


def test_commands(tmp_path: Path) -> None:
    """The user of the cluster may use a reservation that names nobody."""
    folder = configured(tmp_path)
    assert control_commands(folder, "me") == []
    (folder / "scontrol.txt").write_text(COMMANDS)
    commands = control_commands(folder, "me")
    assert [command[-1] for command in commands] == ["Users=me", "NodeCnt=1", "Comment=a b"]
    assert reservation_names(commands) == ["course", "other"]
    assert slurm.read_configuration(folder).reservations == ("course", "other")


def test_of_slurm() -> None:
    """What Slurm tells of reservations becomes those of a system, from the stream's origin on."""
    origin = 1_795_341_600
    course, daily = reservations_in(LINES, origin, ["n1", "n2", "n3", "n4"])
    assert (course.name, course.start, course.duration, course.nodes) == ("course", 600.0, 600.0, "2,3")
    assert (course.flexible, course.admits) == (False, bl.Conditions())
    assert (daily.start, daily.duration, daily.flexible) == (0.0, 1200.0, True)


def test_jobs(tmp_path: Path) -> None:
    """Jobs name reservations that the configuration makes; a note counts the others."""
    folder = configured(tmp_path, "NodeName=n[1-4] CPUs=2\n")
    (folder / "scontrol.txt").write_text(COMMANDS)
    jobs = {
        "submit_time": [0, 0, 0],
        "run_time": [1, 1, 1],
        "tasks": [1, 1, 1],
        "reservation": ["course", "none", None],
    }
    workload, configuration = bl.Workload.from_table(jobs), slurm.read_configuration(folder)
    found = slurm.submissions(workload, configuration)
    assert [job.options for job in found] == [("--reservation=course",), (), ()]
    (note,) = [note for note in slurm.notes_of(workload, configuration, found) if "handed" in note]
    assert note == "not handed on to Slurm: reservation of 1 job (scontrol.txt makes no none)"
    stream = slurm.planned_stream(found)
    run = slurm.run_model(stream, configuration.nodes, configuration)
    assert "reservation" not in run.jobs.columns
    kept = reservations_in(LINES, 1_795_341_600, [node.name for node in configuration.nodes])[:1]
    run = slurm.run_model(stream, configuration.nodes, configuration, "fcfs", reservations=kept)
    assert run.jobs["start_time"].to_list() == [600.0, 0.0, 0.0]


@needs_slurm()
@needs_compiler
@pytest.mark.timeout(300)
def test_a_real_reservation(tmp_path: Path) -> None:
    """A job of a reservation waits for its begin; one that would run into it waits for its end."""
    text = "SchedulerParameters=bf_interval=5\nNodeName=n[1-4] CPUs=2\n"
    folder = configured(tmp_path, text)
    (folder / "scontrol.txt").write_text(COMMANDS.replace("n[3-4]", "ALL").splitlines()[1] + "\n")
    jobs = {
        "submit_time": [0, 1, 2],
        "run_time": [60, 60, 60],
        "requested_time": [120, 120, 1800],
        "tasks": [1, 1, 1],
        "reservation": ["course", None, None],
    }
    configuration = slurm.read_configuration(folder)
    workload = bl.Workload.from_table(jobs)
    with one_at_a_time():
        cluster = slurm.VirtualCluster(configuration, clock="auto")
        real = slurm.run_real(cluster, slurm.submissions(workload, configuration))
    assert none_left(str(cluster.directory))
    (made,) = real.reservations
    assert (made.name, made.duration, made.nodes) == ("course", 600.0, "0,1,2,3")
    assert 590.0 < made.start <= 600.0
    own, short, long = real.jobs["start_time"].to_list()
    assert made.start <= own < made.start + 60.0
    assert short < 60.0
    assert long >= made.start + made.duration
    run = slurm.run_model(real.jobs, cluster.nodes, configuration, reservations=real.reservations)
    model_own, model_short, model_long = run.jobs["start_time"].to_list()
    assert model_own == pytest.approx(own, abs=65.0)
    assert model_short == pytest.approx(short, abs=35.0)
    assert model_long == pytest.approx(long, abs=65.0)


def test_a_wrong_reservation() -> None:
    """A reservation without an end that Slurm would not write is refused by the system's own rule."""
    line = "ReservationName=x StartTime=2026-11-22T10:10:00 EndTime=2026-11-22T10:10:00 Nodes=n1 Flags=\n"
    with pytest.raises(SystemDescriptionError):
        reservations_in(line, 1_795_341_600, ["n1"])
