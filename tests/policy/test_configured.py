"""The policy of a system's configuration: its name, and what bare ``slurm`` takes of it."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

import batchlab as bl
from batchlab.errors import PolicyError
from batchlab.policy.policy import Policy
from batchlab.policy.slurm import SlurmParameters

SYSTEM = bl.System.homogeneous(nodes=4, resources={"core": 8}, name="small")
CONFIGURED = (
    "slurm(select=cores, cr_lln=true, bf_interval=90, bf_min_prio_reserve=5, order=multifactor(age=1))"
)
JOBS = {"submit_time": [0, 0, 0], "run_time": [60, 60, 30], "tasks": [8, 32, 1]}

INTEGERS = (
    "bf_interval",
    "bf_window",
    "bf_max_job_test",
    "default_queue_depth",
    "sched_interval",
    "kill_wait",
)
SPECS = st.dictionaries(st.sampled_from(INTEGERS), st.sampled_from([1, 30, 60, 100, 500, 86_400])).map(
    lambda keys: f"slurm({', '.join(f'{key}={value}' for key, value in keys.items())})" if keys else "slurm"
)


def configured(policy: str = CONFIGURED) -> bl.System:
    """Make a system with a configured policy."""
    return bl.System(SYSTEM.groups, policy=policy)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("configured", CONFIGURED),
        ("slurm", CONFIGURED),
        (
            "slurm(bf_interval=30)",
            CONFIGURED.replace("bf_interval=90", "bf_interval=30"),
        ),
        (
            "slurm(order=fcfs)",
            "slurm(select=cores, cr_lln=true, bf_interval=90, bf_min_prio_reserve=0, order=fcfs)",
        ),
        (
            "slurm(select=linear)",
            CONFIGURED.replace("select=cores, cr_lln=true", "select=linear, cr_lln=false"),
        ),
        ("slurm(order=multifactor(age=9))", CONFIGURED.replace("age=1", "age=9")),
        (
            "sjf(backfill=slurm(bf_interval=60))",
            "slurm(select=cores, cr_lln=true, bf_interval=60, bf_min_prio_reserve=0, order=sjf)",
        ),
        ("easy", "easy"),
    ],
)
def test_what_is_written_replaces_single_parameters(written: str, expected: str) -> None:
    """The rest of a policy ``slurm`` is that of the configuration, also where the default is written."""
    result = bl.simulate(bl.Workload.from_table(JOBS), configured(), written)
    assert str(result.policy) == expected


@given(given_spec=SPECS, of_system=SPECS)
def test_parameters_come_from_the_spec_then_from_the_configuration(given_spec: str, of_system: str) -> None:
    """Each key has the value of the spec if it names it, else that of the configuration; and it stays so."""
    given_policy, base = Policy.parse(given_spec), Policy.parse(of_system)
    found = given_policy.on(of_system)
    assert given_policy.written is not None
    for key in (each.name for each in fields(SlurmParameters)):
        source = given_policy if key in given_policy.written else base
        assert getattr(found.slurm, key) == getattr(source.slurm, key)
    assert found.on(of_system) == found
    again = Policy.parse(str(found)).on(of_system)
    assert (again, str(again)) == (found, str(found))


def test_objects_are_taken_as_they_are() -> None:
    """Parameters that are given in Python take nothing from a configuration."""
    policy = Policy(backfill="slurm", slurm=SlurmParameters(bf_interval=60))
    assert policy.on(CONFIGURED) is policy


def test_configured_needs_a_configuration() -> None:
    """The error says where the name has a meaning."""
    with pytest.raises(
        PolicyError, match=r"the description of the system has no policy\. Give Slurm's slurm\.conf"
    ):
        bl.simulate(bl.Workload.from_table(JOBS), SYSTEM, "configured")
    with pytest.raises(PolicyError, match="configured takes no key 'order'"):
        Policy.parse("configured(order=sjf)")
    with pytest.raises(PolicyError, match="order goes not with the policy configured"):
        Policy(order="sjf", configured=True)


def test_experiments_name_it_for_each_system(tmp_path: object) -> None:
    """One label stands for the policy of each system."""
    systems = {"a": configured(), "b": configured("slurm(bf_interval=60)")}
    experiment = bl.Experiment({"jobs": bl.Workload.from_table(JOBS)}, systems, ["configured", "easy"])
    made = {(run.system, run.policy): run.made_from["policy"] for run in experiment.plan()}
    assert made["a", "configured"] == CONFIGURED
    assert made["b", "configured"] == "slurm(bf_interval=60)"
    assert made["a", "easy"] == "easy"
    with pytest.raises(PolicyError, match="has no policy"):
        bl.Experiment({"jobs": bl.Workload.from_table(JOBS)}, {"c": SYSTEM}, ["configured"])


def test_files_of_systems_keep_it(tmp_path: object) -> None:
    """A description in batchlab's own form has the policy, nodes that are out of service, and the note."""
    system = bl.System(SYSTEM.groups, policy=CONFIGURED, down="0,2-3", note="3 keys not modelled")
    for suffix in ("toml", "json"):
        file = f"{tmp_path}/system.{suffix}"
        bl.write_system(system, file)
        again = bl.read_system(file)
        assert (again, again.note) == (system, system.note)
