"""Controls of service rates as a side of an experiment: runs, labels, store, file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.cli.comparison import tables
from batchlab.control import ConstantRate, CountHysteresis
from batchlab.experiment.specification import read_specification
from support.experiments import SYSTEM, small

if TYPE_CHECKING:
    from pathlib import Path

    from batchlab.control import RateControl

FILE = """
policies = ["fcfs", "easy"]
workloads.made = {{ generator = "demo", jobs = 30 }}
systems.small = {{ nodes = 4, resources = {{ core = 8 }} }}
{controls}
"""


def test_every_control_runs_with_every_policy(tmp_path: Path) -> None:
    """Each run is the simulation under its control, and the results have both labels."""
    controls: dict[str, str | RateControl] = {"slow": "constant(0.5)", "by count": CountHysteresis(1, 3)}
    experiment = bl.Experiment(small(), SYSTEM, ["fcfs", "sjf"], controls=controls, seeds=(0, 1))
    assert repr(experiment) == (
        "<Experiment of 8 runs: 1 workload × 1 system × 2 policies × 2 controls × 2 seeds × 1 replication>"
    )
    assert experiment.controls == {"slow": ConstantRate(0.5), "by count": CountHysteresis(1, 3)}
    runs = experiment.run(store=tmp_path / "runs")
    assert runs.table["control"].to_list() == ["slow", "slow", "by count", "by count"] * 2
    results = runs.results()
    assert [*results] == ["fcfs, slow", "fcfs, by count", "sjf, slow", "sjf, by count"]
    for label, stored in results.items():
        policy, control = label.split(", ")
        alone = bl.simulate(small(), SYSTEM, policy, control=controls[control], seed=1)
        assert stored[1].jobs.equals(alone.jobs)
        assert stored[1].options == alone.options
        assert stored[1].metrics()["service"] == alone.metrics()["service"]


def test_labels_of_specs_and_of_several_groups(tmp_path: Path) -> None:
    """A control without a label is called by its spec; groups of nodes have controls of their own."""
    groups = [bl.NodeGroup("a", 2, {"core": 4}), bl.NodeGroup("b", 2, {"core": 4})]
    both = [ConstantRate(2.0, groups=("a",)), ConstantRate(0.5, groups=("b",))]
    experiment = bl.Experiment(small(), bl.System(tuple(groups)), "fcfs", controls=["constant(1.5)", both])
    labels = ["constant(1.5)", ", ".join(map(str, both))]
    assert [*experiment.controls] == labels
    runs = experiment.run(store=tmp_path / "runs")
    assert [*runs.results()] == labels
    assert runs.summary(metrics="wait_mean")["control"].to_list() == labels
    assert runs.summary("control", metrics="wait_mean").columns[0] == "control"
    of_two = runs.summary(["workload", "control"])
    assert of_two.columns[:2] == ["workload", "control"]
    assert runs.summary("workload", "control").equals(of_two)
    with pytest.raises(bl.ExperimentError, match="by: no column None"):
        runs.summary(None)  # type: ignore[arg-type]  # the point


def test_a_run_is_the_same_however_its_control_is_given() -> None:
    """As one of several or as an option, so the store has it once; without controls nothing changes."""
    compared = bl.Experiment(small(), SYSTEM, "fcfs", controls=["constant(2)", "performance"]).plan()
    alone = bl.Experiment(small(), SYSTEM, "fcfs", control="constant(2)").plan()
    assert alone[0].key == compared[0].key
    assert (alone[0].control, compared[0].control) == (None, "constant(2)")
    assert len({run.key for run in compared}) == 2


def test_tables_and_manifest_name_the_controls(tmp_path: Path) -> None:
    """The label is a column where there are several; the manifest says what each label stands for."""
    controls = {"slow": "constant(0.5)", "fast": "constant(2)"}
    runs = bl.Experiment(small(), SYSTEM, ["fcfs", "sjf"], controls=controls).run(store=tmp_path / "runs")
    assert [row[:2] for row in tables(runs)[0].rows[:3]] == [
        ["policy", "control"],
        ["fcfs", "slow"],
        ["fcfs", "fast"],
    ]
    assert ">slow</td>" in runs._repr_html_()
    manifest = json.loads((runs.write(tmp_path / "out") / "manifest.json").read_text())
    assert manifest["controls"] == {"slow": ["constant(0.5)"], "fast": ["constant(2)"]}
    assert manifest["options"]["control"] is None
    plain = bl.Experiment(small(), SYSTEM, "fcfs").run(store=tmp_path / "runs")
    assert "control" not in plain.table.columns


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"controls": ()}, r"controls is empty; an experiment has at least one\."),
        ({"controls": [None]}, r'controls: None; must be a control, such as "constant\(1\)"\.'),
        ({"controls": ["constnat(1)"]}, r"controls: .*constnat.*Did you mean 'constant'"),
        ({"controls": ["constant(1)", ConstantRate(1.0)]}, r"controls: two are called 'constant\(1\)'"),
        (
            {"controls": ["constant(1)"], "control": "constant(2)"},
            r"options\.control = 'constant\(2\)'; leave",
        ),
        ({"controls": [ConstantRate(1, groups=("gone",))]}, r"systems: .*gone"),
    ],
)
def test_what_is_refused(given: dict[str, object], message: str) -> None:
    """Before anything runs."""
    with pytest.raises(bl.ExperimentError, match=message):
        bl.Experiment(small(), SYSTEM, "fcfs", **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("controls", "labels"),
    [
        ('controls = ["constant(1.5)", "count(1, 3)"]', ["constant(1.5)", "count(1, 3)"]),
        ('[controls]\nslow = "constant(0.5)"\nfast = ["constant(2)"]', ["slow", "fast"]),
    ],
)
def test_a_file_names_controls(tmp_path: Path, controls: str, labels: list[str]) -> None:
    """By specs or by labels; the baseline of a report may name one."""
    file = tmp_path / "case.toml"
    baseline = f'\n[output]\nbaseline = "easy, {labels[1]}"\n'
    file.write_text(FILE.format(controls=controls) + baseline)
    said = read_specification(file)
    assert [*said.experiment.controls] == labels
    assert len(said.experiment) == 4
    file.write_text(FILE.format(controls=controls.replace("constant", "constnat")))
    with pytest.raises(bl.ExperimentError, match=r"case\.toml: controls: .*Did you mean 'constant'"):
        read_specification(file)
