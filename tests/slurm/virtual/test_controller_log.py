"""The work of a Slurm controller is measured in its log, and its model has what was measured."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from batchlab.bridge import slurm
from batchlab.options.overheads import Overheads
from batchlab.policy import Policy, SlurmParameters

ORIGIN = 1_000_000_000
"""2001-09-09T01:46:40."""

# The main loop starts job 7, which lasts 10.25 s and sleeps for 10 s of them; backfill starts job 8.
LOG = """\
[2001-09-09T01:46:40.000] debug:  sched: Running job scheduler for full queue.
[2001-09-09T01:46:40.125] _slurm_rpc_submit_batch_job: JobId=7 InitPrio=1 usec=300
[2001-09-09T01:46:41.500] sched: Allocate JobId=7 NodeList=n[1-2] #CPUs=2 Partition=batch
[2001-09-09T01:46:42.250] _slurm_rpc_submit_batch_job: JobId=8 InitPrio=1 usec=300
[2001-09-09T01:46:42.250] _slurm_rpc_submit_batch_job: JobId=9 InitPrio=1 usec=300
[2001-09-09T01:46:45.750] debug:  sched/backfill: _attempt_backfill: beginning
[2001-09-09T01:46:45.760] debug2: sched/backfill: _attempt_backfill: entering _try_sched for JobId=8.
[2001-09-09T01:46:45.762] debug2: sched/backfill: _attempt_backfill: entering _try_sched for JobId=9.
[2001-09-09T01:46:45.766] debug2: sched/backfill: _attempt_backfill: entering _try_sched for JobId=9.
[2001-09-09T01:46:45.770] sched/backfill: _start_job: Started JobId=8 in batch on n3
a line without a time
[2001-09-09T01:46:51.750] _job_complete: JobId=7 done
[2001-09-09T01:46:51.800] debug2: node_did_resp n1
[2001-09-09T01:46:51.850] debug2: node_did_resp n2
[2001-09-09T01:46:52.000] debug2: _slurm_rpc_epilog_complete: JobId=7 Node=n1
[2001-09-09T01:47:00.000] debug2: Testing job time limits and checkpoints
[2001-09-09T01:47:30.600] debug2: Testing job time limits and checkpoints
[2001-09-09T01:48:00.200] debug2: Testing job time limits and checkpoints
[2001-09-09T01:48:31.400] debug2: Testing job time limits and checkpoints
"""

STREAM = pl.DataFrame(
    {
        "job_id": [1, 2, 3],
        "slurm_id": [7, 8, 9],
        "slurm_state": ["COMPLETED", "COMPLETED", "TIMEOUT"],
        "submit_time": [0.0, 2.0, 2.0],
        "run_time": [10.0, 5.0, 60.0],
        "planned_run_time": [10.0, 5.0, 100.0],
    }
)


def test_times_of_a_log() -> None:
    """Submissions, run times, launches and releases of nodes; first calls; delays."""
    found = slurm.measure(LOG, STREAM, ORIGIN)
    assert found.submitted == pytest.approx({7: 0.125, 8: 2.25, 9: 2.25})
    assert found.lasted == pytest.approx({7: 10.25})
    assert [*found.launch, *found.completion] == pytest.approx([0.25, 0.25])
    assert (found.first_full, found.first_cycle) == (0.0, 5.75)
    assert found.bf_test_time == pytest.approx(0.003, abs=1e-6)
    # Of 30.6, 29.6 and 31.2 s, the one below 30 lost a whole second.
    assert found.main_lag == pytest.approx(0.03)
    precise = found.precise(STREAM)
    assert precise["submit_time"].to_list() == pytest.approx([0.125, 2.25, 2.25])
    assert precise["run_time"].to_list() == pytest.approx([10.25, 5.0, 60.0])


def test_parameters() -> None:
    """Phases lie within their periods; without backfill the controller has none of its parameters."""
    found = replace(slurm.measure(LOG, STREAM, ORIGIN), first_full=-0.25)
    assert found.parameters(SlurmParameters()) == pytest.approx(
        {
            "main_lag": 0.03,
            "main_phase": 59.75,
            "bf_test_time": 0.003,
            "backfill_phase": 0.75,
            "backfill_start": 5.75,
        },
        abs=2e-5,
    )
    assert [*found.parameters(SlurmParameters(backfill=False))] == ["main_lag", "main_phase"]
    nearly = replace(found, first_full=59.9999999, first_cycle=-1e-9, main_lag=7.0)
    text = ", ".join(f"{name}={value}" for name, value in nearly.parameters(SlurmParameters()).items())
    assert Policy.parse(f"slurm({text})").slurm is not None


def test_a_log_without_jobs() -> None:
    """Nothing is measured, and the model stays as it is."""
    found = slurm.measure("", STREAM, ORIGIN)
    assert found == slurm.Measured()
    assert found.precise(STREAM).equals(STREAM)
    assert found.overheads == Overheads(counted=False)


def test_the_policy() -> None:
    """The measured parameters complete a configured policy of Slurm; no other has any."""
    found = slurm.measure(LOG, STREAM, ORIGIN)
    given = found.policy("slurm(bf_interval=5, order=multifactor(age=10))", ORIGIN)
    parameters = Policy.parse(given).slurm
    assert parameters is not None
    assert (parameters.bf_interval, parameters.epoch) == (5, ORIGIN)
    assert parameters.main_lag == pytest.approx(0.03, abs=2e-5)
    assert "multifactor(age=10" in given
    assert "epoch" not in found.policy("slurm(backfill=false)", ORIGIN)
    assert found.policy("easy", ORIGIN) == "easy"
    assert slurm.Measured().policy("slurm") == "slurm"


def test_a_log_is_measured_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run keeps its log, and measures it once, if a model asks for it."""
    calls: list[int] = []

    def counted(text: str, stream: pl.DataFrame, origin: int) -> slurm.Measured:
        calls.append(origin)
        return slurm.measure(text, stream, origin)

    monkeypatch.setattr("batchlab.slurm.virtual.experiment.measure", counted)
    run = slurm.RealRun(STREAM, ORIGIN, "22.05.8", "", (), log=LOG)
    assert not calls
    assert run.measured == run.measured == slurm.measure(LOG, STREAM, ORIGIN)
    assert calls == [ORIGIN]
    assert slurm.RealRun(STREAM, ORIGIN, "22.05.8", "", ()).measured is None


def test_the_model_has_what_was_measured(tmp_path: Path) -> None:
    """Times are precise, nodes are released later, and the first cycle of backfill waits."""
    text = (
        "NodeName=n1 CPUs=1\nPartitionName=batch Nodes=ALL Default=YES\nSchedulerParameters=bf_interval=5\n"
    )
    (tmp_path / "slurm.conf").write_text(text, "utf-8")
    configuration = slurm.read_configuration(tmp_path)
    columns = {"requested_time": 60.0, "tasks": 1, "core": 1, "partition": None, "planned_partition": None}
    stream = STREAM.with_columns(pl.lit(value).alias(name) for name, value in columns.items())
    found = replace(slurm.measure(LOG, STREAM, ORIGIN), completion=[2.5], main_lag=0.0, bf_test_time=0.0)
    late = replace(found, first_cycle=40.75, first_full=0.0)
    policy = "slurm(batch_sched_delay=1000)"
    run = slurm.run_model(stream, configuration.nodes, configuration, policy, origin=ORIGIN, measured=late)
    jobs = run.jobs
    assert jobs["submit_time"].to_list() == pytest.approx([0.125, 2.25, 2.25])
    # The main loop looks at the whole queue each minute; backfill makes no cycle before 40.75 s.
    assert jobs["start_time"][0] == pytest.approx(40.75)
    assert (jobs["end_time"] - jobs["completion_time"])[0] == pytest.approx(51.0)
    assert min(jobs["start_time"][1:]) >= 53.5
    for text in ("backfill_start=40.75", "backfill_phase=0.75", f"epoch={ORIGIN}"):
        assert text in str(run.policy)
    plain = slurm.run_model(stream, configuration.nodes, configuration, policy, origin=ORIGIN).jobs
    assert plain["start_time"][0] < 40.0
