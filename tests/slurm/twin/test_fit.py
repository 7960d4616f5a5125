"""Fits: hidden values are found, the test period is kept apart, and what cannot be fitted is refused."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import batchlab as bl
from batchlab.errors import AdequacyError, MissingExtraError, TwinError
from batchlab.slurm.twin import fitting, parameter
from batchlab.slurm.twin.fit_answer import assess, discrepancy
from batchlab.slurm.twin.log import Log
from batchlab.slurm.twin.parameters import changed, usual
from support.small_centre import CONFIGURATION, configured, submitted

if TYPE_CHECKING:
    from pathlib import Path

HIDDEN = {"submission": 2.0, "completion": 25.0}


@pytest.fixture
def twin(tmp_path: Path) -> bl.twin.Twin:
    """Read the small centre."""
    return bl.twin.read_twin(configured(tmp_path / "now"), name="now")


def logged(twin: bl.twin.Twin, jobs: int = 300, seed: int = 77) -> bl.Workload:
    """Give the log that Slurm's accounts would have of a run: ends are those of the runs."""
    workload = submitted(jobs, seed=3, load=0.6)
    start = pl.Series("start_time", twin.run(workload, seed=seed).outcome.start_time)
    return bl.Workload.from_table(workload.jobs.with_columns(start, end_time=start + pl.col("run_time")))


def test_hidden_overheads_are_found(twin: bl.twin.Twin) -> None:
    """Fitted values are near the hidden ones, and P on the test period is as with these."""
    hidden = changed(twin, HIDDEN)
    workload = logged(hidden)
    names = [parameter(twin, name) for name in HIDDEN]
    found = bl.twin.fit(workload, twin, parameters=names, trials=80, seeds=2, test_seeds=5)
    assert found.values["submission"] == pytest.approx(2, abs=1)
    assert found.values["completion"] == pytest.approx(25, abs=2)
    log = Log.of(workload)
    true = assess(hidden, log, log.submit >= found.boundary, seeds=range(2, 7), tolerance=60)
    assert found.after.median_P <= 1.1 * true.median_P
    assert found.after.median_P < found.before.median_P
    assert found.after.unexplained < found.before.unexplained
    assert found.trials["discrepancy"][0] == found.discrepancies[0] > found.discrepancies[1]
    assert max(map(len, str(found).splitlines())) <= 80


def test_the_test_period_is_not_looked_at(twin: bl.twin.Twin) -> None:
    """Other jobs after the boundary, and the fit is the same."""
    workload = logged(changed(twin, HIDDEN))
    boundary = Log.of(workload).boundary(0.5)
    late = pl.col("submit_time") >= boundary
    other = workload.jobs.with_columns(
        pl.when(late).then(pl.col("start_time") + 5000).otherwise("start_time").alias("start_time"),
        pl.when(late).then(pl.col("end_time") + 5000).otherwise("end_time").alias("end_time"),
    )
    both = [
        bl.twin.fit(each, twin, trials=8, seeds=1, test_seeds=2)
        for each in (workload, bl.Workload.from_table(other))
    ]
    assert both[0].values == both[1].values
    assert both[0].trials.equals(both[1].trials)
    assert both[0].after.median_P < both[1].after.median_P


def test_same_seed_same_fit(twin: bl.twin.Twin) -> None:
    """The search is seeded."""
    workload = logged(changed(twin, HIDDEN), jobs=150)
    one, same, other = (
        bl.twin.fit(workload, twin, trials=6, seeds=1, test_seeds=1, seed=seed) for seed in (1, 1, 2)
    )
    assert one.trials.equals(same.trials)
    assert not one.trials.equals(other.trials)


def test_ctrl_c_gives_the_best_so_far(twin: bl.twin.Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trials that are done count; without any there is nothing to give."""
    calls = []

    def interrupted(*arguments: Any) -> float:  # noqa: ANN401  # as it is called
        calls.append(arguments)
        if len(calls) == stop:
            raise KeyboardInterrupt
        return discrepancy(*arguments)

    monkeypatch.setattr(fitting, "discrepancy", interrupted)
    workload, stop = logged(changed(twin, HIDDEN), jobs=150), 4
    found = bl.twin.fit(workload, twin, trials=50, seeds=1, test_seeds=1)
    assert found.interrupted
    assert found.trials.height == 3
    assert "3 trials of 1 run each, seed 0, ended by Ctrl-C" in str(found)
    calls.clear()
    stop = 1
    with pytest.raises(KeyboardInterrupt):
        bl.twin.fit(workload, twin, trials=50)


def test_minutes_end_the_search(twin: bl.twin.Twin) -> None:
    """The first trial is always made."""
    found = bl.twin.fit(logged(twin, 150), twin, trials=50, seeds=1, test_seeds=1, minutes=1e-9)
    assert found.trials.height == 1
    assert not found.interrupted


def test_what_is_usually_fitted(twin: bl.twin.Twin, tmp_path: Path) -> None:
    """Overheads that are no distribution, depth where there is backfill, weights but the greatest."""
    assert [each.name for each in usual(twin)] == ["submission", "completion", "bf_max_job_test"]
    text = CONFIGURATION.replace("priority/basic", "priority/multifactor")
    text += "PriorityWeightAge=1000\nPriorityWeightQOS=10\nPriorityWeightJobSize=50\n"
    text += "SchedulerType=sched/builtin\n"
    other = bl.twin.read_twin(
        configured(tmp_path / "other", text=text),
        overheads=bl.Overheads(completion="uniform(low=0, high=2)"),
    )
    names = [each.name for each in usual(other)]
    assert names[0] == "submission"
    assert "completion" not in names
    assert "bf_max_job_test" not in names
    assert "age" not in names
    assert "job_size" in names
    size = parameter(other, "job_size")
    assert (size.configured, size.low, size.high, size.is_logarithmic) == (50, 0.5, 5000, True)
    assert "job_size=70" in str(changed(other, {"job_size": 70.0}).policy)


def test_ends_of_simulations_are_those_of_nodes(twin: bl.twin.Twin) -> None:
    """A log whose jobs last longer than their runs ends when nodes are free."""
    hidden = changed(twin, {"completion": 25.0})
    workload = submitted(150)
    result = hidden.run(workload, seed=1)
    outcome = result.outcome
    times = (pl.Series("start_time", outcome.start_time), pl.Series("end_time", outcome.end_time))
    log = Log.of(bl.Workload.from_table(workload.jobs.with_columns(times)))
    assert log.ends_at_release
    everything = np.ones(150, np.bool_)
    assert discrepancy(hidden, log, everything, [1]) == 0
    assert not Log.of(logged(hidden, 150)).ends_at_release


def test_jobs_that_did_not_start_are_left_out(twin: bl.twin.Twin) -> None:
    """They are counted."""
    jobs = logged(twin, 150).jobs.with_columns(
        pl.when(pl.col("job_id") % 30 == 0).then(None).otherwise("start_time").alias("start_time")
    )
    found = bl.twin.fit(bl.Workload.from_table(jobs), twin, trials=1, seeds=1, test_seeds=1)
    assert found.left_out == 5
    assert "left out    5 jobs" in str(found)


def test_files(twin: bl.twin.Twin, tmp_path: Path) -> None:
    """What was fitted is written, read, and applied, but for what another configuration sets otherwise."""
    found = bl.twin.fit(logged(changed(twin, HIDDEN), 150), twin, trials=5, seeds=1, test_seeds=1)
    path = tmp_path / "fitted.toml"
    bl.twin.write_fitted(found.fitted, path)
    read = bl.twin.read_fitted(path)
    assert read == found.fitted
    assert read.applied(twin) == found.twin
    other = bl.twin.read_twin(configured(tmp_path / "other", "bf_max_job_test=70"))
    applied = read.applied(other)
    assert applied.submission == found.twin.submission
    assert "bf_max_job_test=70" in str(applied.policy)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[completon]\nfitted = 1",
            r"fitted.toml: \[completon\]: no such parameter. Did you mean 'completion'",
        ),
        ("[completion]\nconfigured = 1", "must be a table with a value fitted"),
        ("completion = 3", "must be a table with a value fitted"),
        ("[completion]\nfitted = -1", "fitted = -1; must be a finite number >= 0"),
        ("[completion]\nfitted = 1\nwas = 2", "was: no such key"),
        ("[completion", "is not TOML"),
    ],
)
def test_wrong_files(tmp_path: Path, text: str, message: str) -> None:
    """Each error names the file and the parameter."""
    path = tmp_path / "fitted.toml"
    path.write_text(text)
    with pytest.raises(TwinError, match=message):
        bl.twin.read_fitted(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"train": 1.5}, "train = 1.5; must be a number > 0 and < 1"),
        ({"train": 0.1}, "the train period: 1[0-9] jobs were submitted and started in it; must be >= 50"),
        ({"train": 0.9}, "the test period: 15 jobs were submitted in it; must be >= 50"),
        ({"trials": 0}, "trials = 0; must be a whole number >= 1"),
        ({"minutes": 0}, "minutes = 0; must be a finite number > 0"),
        ({"tolerance": -1}, "tolerance = -1; must be a finite number > 0"),
        ({"parameters": []}, r"parameters = \[\]; must be at least one"),
    ],
)
def test_refusals(twin: bl.twin.Twin, arguments: dict[str, Any], message: str) -> None:
    """Each rule names the value and the next step."""
    with pytest.raises(TwinError, match=message):
        bl.twin.fit(logged(twin, 150), twin, **arguments)


def test_logs_that_cannot_be_fitted_on(twin: bl.twin.Twin) -> None:
    """No starts, or too few jobs."""
    with pytest.raises(AdequacyError, match="the workload has no start times"):
        bl.twin.fit(submitted(150), twin)
    with pytest.raises(TwinError, match="60 of 60 jobs started and ended; must be >= 100"):
        bl.twin.fit(logged(twin, 60), twin)


def test_parameters_that_cannot_be_fitted(twin: bl.twin.Twin, tmp_path: Path) -> None:
    """Unknown ones, those that the policy does not have, wrong bounds, and two that are alike."""
    for name, bounds, message in (
        ("bf_max_job_tset", None, "cannot be fitted. Did you mean 'bf_max_job_test'"),
        ("age", None, "age is a weight of the order multifactor"),
        ("completion", (5.0, 9.0), "completion: configured as 0, which is not within 5 to 9"),
        ("completion", (9.0, 5.0), "must be 0 <= LOW < HIGH"),
    ):
        with pytest.raises(TwinError, match=message):
            parameter(twin, name, bounds)
    easy = bl.twin.read_twin(configured(tmp_path / "easy"), name="easy", policy="easy")
    with pytest.raises(TwinError, match="bf_interval is a parameter of the policy slurm; easy is"):
        parameter(easy, "bf_interval")
    with pytest.raises(TwinError, match="launch and completion cannot both be fitted: only their sum"):
        bl.twin.fit(
            logged(twin, 150), twin, parameters=[parameter(twin, each) for each in ("launch", "completion")]
        )
    phase = parameter(twin, "main_phase")
    assert phase.configured is None
    assert phase.high < 60


def test_without_optuna(twin: bl.twin.Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message is the command that installs it."""
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingExtraError, match=r"a fit needs optuna\. Install with: "):
        bl.twin.fit(logged(twin, 150), twin)
