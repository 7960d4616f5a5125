"""What type checkers catch: misspelt options and names, before anything runs."""

import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from batchlab import _kernel
from batchlab.core import vocabulary
from batchlab.policy import registry

ROOT = Path(__file__).parents[1]

# A checker must complain of every line that is marked, and of no other.
PROGRAM = """# mypy: disable-error-code="unreachable"
import batchlab as bl
from batchlab import tasks

workload = bl.Workload.from_table({"submit_time": [0.0], "run_time": [1.0], "tasks": [1]})
system = bl.System.homogeneous(nodes=1, resources={"core": 1})

bl.simulate(workload, system, "easy", seed=1, walltime="kill")
bl.simulate(workload, system, "easy", options=bl.RunOptions(seed=1), dispatch=True)
bl.simulate(workload, system, "easy", walltime="stop")  # wrong
bl.simulate(workload, system, "easy", waltime="kill")  # wrong
bl.simulate(workload, system, "easy", seed="1")  # wrong
bl.Simulation(workload, system, "easy", order_at_instant="completions_first")
bl.Simulation(workload, system, "easy", order_at_instant="completion_first")  # wrong
bl.Simulation(workload, system, "easy", sharing=True)  # wrong
bl.Experiment(workload, system, "easy", seeds=(0, 1), clip_requests=False, task_times=True)
bl.Experiment(workload, system, "easy", seed=1)  # wrong
bl.Experiment(workload, system, "easy", walltime="stop")  # wrong
bl.Experiment(workload, system, "easy").run("processes")
bl.Experiment(workload, system, "easy").run("process")  # wrong
bl.RunOptions(walltime="kil")  # wrong
bl.RunOptions(walltim="kill")  # wrong

bl.Policy(order="sjf", backfill="easy", allocator="best_fit", predictor="last_two")
bl.Policy(backfill="esay")  # wrong
bl.Policy(predictor="last_tow")  # wrong
bl.Malleable("srtf")
bl.Malleable("strf")  # wrong

bl.read_swf("log.swf", overrun="cut", invalid="raise", processors="allocated")
bl.read_swf("log.swf", overrun="cot")  # wrong
bl.Workload.from_table({}, invalid="rise")  # wrong
bl.JobDescription(job_type="malleable")
bl.JobDescription(job_type="maleable")  # wrong
tasks.Compute(flops=1, computation_pattern="all_ranks")
tasks.Compute(flops=1, computation_pattern="all_rank")  # wrong
tasks.Read(bytes=1, pattern="uniform", storage="burst_bufer")  # wrong
bl.Failures({}, on_failure="requeue")
bl.Failures({}, on_failure="requeu")  # wrong

bl.simulat  # wrong
bl.Workload.from_tabel  # wrong
bl.generate.lublin(10, nodes=4, kind="batch")
bl.generate.lublin(10, nodes=4, kind="batsh")  # wrong
bl.generate.lubin  # wrong
bl.accounting.fair_shares  # wrong
bl.adequacy.compair  # wrong
bl.bridge.elastisims  # wrong
bl.placement.rank  # wrong
bl.platform.Platfrom  # wrong
bl.plot.gant  # wrong
bl.queueing.delais  # wrong
bl.report.wirte  # wrong
bl.service.enregy  # wrong
bl.skeleton.skeletons  # wrong
bl.slurm.Configurations  # wrong
bl.system.Sytem  # wrong
bl.tasks.Comput  # wrong
bl.traces.fecth  # wrong
bl.twin.fitt  # wrong
bl.simulate(workload, system, "easy", walltime="kil")  # wrong

result = bl.simulate(workload, system, "easy")
bl.metrics.wait(result).sum()
bl.metrics.wait(result.jobs).sum()
bl.metrics.bounded_slowdown(result, threshold=60)
bl.metrics.utilisation(result)["core"]
bl.metrics.utilisation(result.jobs, system, resizes=result.resizes)
bl.metrics.wait("jobs")  # wrong
bl.metrics.wiat(result)  # wrong
bl.metrics.bounded_slowdown(result, treshold=60)  # wrong
bl.metrics.utilisation(result.jobs)  # wrong


class Late(bl.Scheduler):
    def schedule(self, view: bl.View) -> None:
        for job in view.queue:
            if job.state == "queued" and job.job_type == "rigid":
                view.start(job)
            if job.state == "waiting":  # wrong
                view.start(job)
            if view.cause.kind == "submitted":  # wrong
                view.start(job)
"""


def test_misspelt_names_are_caught(tmp_path: Path) -> None:
    """A checker complains of every misspelt name, and of nothing that is right.

    The options are those of `mypy` as CI runs it, whose cache is used.
    """
    (tmp_path / "program.py").write_text(PROGRAM, "utf-8")
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--no-pretty"]
    environment = {**os.environ, "MYPYPATH": str(ROOT / "src")}
    done = subprocess.run(  # noqa: S603  # our own
        [*command, str(tmp_path / "program.py")],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=environment,
    )
    found = {
        int(line.split(":")[1])
        for line in done.stdout.splitlines()
        if "program.py:" in line and ": error:" in line
    }
    wrong = {number for number, line in enumerate(PROGRAM.splitlines(), 1) if line.endswith("# wrong")}
    assert found == wrong, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("names", "table"),
    [
        (vocabulary.BackfillName, registry.BACKFILLS),
        (vocabulary.DisciplineName, registry.DISCIPLINES),
        (vocabulary.SizeOrderName, registry.SIZE_ORDERS),
        (vocabulary.PredictorName, registry.PREDICTORS),
    ],
)
def test_types_name_what_the_tables_have(names: object, table: dict[str, registry.Rule]) -> None:
    """A rule of a table is a name of its type, and the other way round, in one order."""
    assert list(get_args(names)) == list(table)


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("job_state", vocabulary.JOB_STATES),
        ("job_type", vocabulary.JOB_TYPES),
        ("rank_order", vocabulary.RANK_ORDERS),
        ("rejection", vocabulary.REJECTION_REASONS),
        ("waiting", vocabulary.WAITING_REASONS),
        ("gate", vocabulary.GATES),
        ("promise_cause", vocabulary.PROMISE_CAUSES),
        ("call_stop", vocabulary.CALL_STOPS),
        ("walltime", vocabulary.WALLTIME_ACTIONS),
        ("job_check", vocabulary.JOB_CHECKS),
        ("order_at_instant", vocabulary.ORDERS_AT_INSTANT),
    ],
)
def test_types_name_what_the_kernel_has(kind: str, names: tuple[str, ...]) -> None:
    """What has numbers in the kernel is named in the order of these numbers."""
    assert list(names) == _kernel.names()[kind]
