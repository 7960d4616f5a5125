"""The policy of a configuration: each parameter arrives in the policy `slurm`, and its order."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import pytest

import batchlab as bl
from batchlab.policy import SlurmParameters
from batchlab.policy.slurm import PARAMETERS
from batchlab.slurm import Controller, Entry, SchedulerParameters, Situation, read_configuration
from batchlab.slurm.configuration.keys import key_table
from batchlab.system.slurm import check
from support.slurm_configurations import FILES, SMALL, written
from support.slurm_small_runs import starts

if TYPE_CHECKING:
    from pathlib import Path

LINEAR = SMALL + "SelectType=select/linear\nPriorityType=priority/basic\n"
MULTIFACTOR = LINEAR.replace("basic", "multifactor")


def policy_of(text: str, folder: Path) -> bl.Policy:
    """Give the policy of one slurm.conf."""
    return bl.Policy.parse(read_configuration(written({"slurm.conf": text}, folder)).policy)


def test_usual_values_are_slurms() -> None:
    """So an option that is not given may be left out of the spec."""
    usual, slurms = SlurmParameters(), SchedulerParameters()
    same = {each.name for each in fields(SlurmParameters)} & {each.name for each in fields(slurms)}
    assert {"bf_interval", "default_queue_depth"} <= same
    # Windows are in other units; the usual requeue_delay follows from other settings.
    for name in same - {"bf_window", "requeue_delay"}:
        assert getattr(usual, name) == getattr(slurms, name), name
    assert usual.bf_window == slurms.bf_window * 60


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", {}),
        ("SchedulerType=sched/builtin", {"backfill": False}),
        ("Epilog=/etc/slurm/epilog", {"epilog": True}),
        ("KillWait=60", {"kill_wait": 60}),
        ("MessageTimeout=30", {"message_timeout": 30}),
        ("SchedulerParameters=sched_interval=-1", {"sched_interval": 31_536_000}),
        ("SchedulerParameters=bf_interval=-1", {"backfill": False}),
        ("SchedulerParameters=bf_window=10080", {"bf_window": 604_800}),
        ("OverTimeLimit=5", {"over_time_limit": 300}),
        ("OverTimeLimit=UNLIMITED", {"over_time_limit": 31_536_000}),
        # Priorities of priority/basic are far above it.
        ("SchedulerParameters=bf_min_prio_reserve=9", {}),
        ("SchedulerParameters=requeue_delay=5", {"requeue_delay": 6}),
        ("AuthInfo=cred_expire=300", {"requeue_delay": 301}),
    ],
)
def test_settings_arrive(line: str, expected: dict[str, object], tmp_path: Path) -> None:
    """With its value, in the units of the policy; all others are as usual."""
    found = policy_of(f"{LINEAR}{line}\n", tmp_path)
    assert found == bl.Policy(backfill="slurm", slurm=SlurmParameters(**expected))  # type: ignore[arg-type]  # each its type


OPTIONS = [name for name, each in PARAMETERS.items() if each.source.startswith("SchedulerParameters")]
"""Parameters of the policy that are options of SchedulerParameters."""


@pytest.mark.parametrize("name", OPTIONS)
def test_each_option_arrives(name: str, tmp_path: Path) -> None:
    """The policy has a value other than the default, and leaves it out on nodes that it is not for."""
    usual, is_switch = PARAMETERS[name].usual, PARAMETERS[name].kind == "switch"
    value = True if is_switch else int(getattr(SchedulerParameters(), name) or 0) + 1
    options = f"SchedulerParameters={name if is_switch else f'{name}={value}'}\n"
    shared = MULTIFACTOR.replace("linear", "cons_tres") + "PriorityWeightAge=5\n"
    found, without = policy_of(f"{shared}{options}", tmp_path).slurm, policy_of(shared, tmp_path).slurm
    assert found is not None
    assert without is not None
    key = key_table("SchedulerParameters").find(name)
    assert key is not None
    assert key.status == "modelled"
    changed: dict[str, Any] = {name: value * 60 if name == "bf_window" else value}
    assert found == replace(without, **changed)
    if PARAMETERS[name].requires == ("select", "cores"):
        assert getattr(policy_of(f"{LINEAR}{options}", tmp_path).slurm, name) == usual


def test_single_calls_have_the_depths_of_the_policy(tmp_path: Path) -> None:
    """`Controller` and the policy of one configuration look at as many jobs, and start as many."""
    found = policy_of(
        f"{LINEAR}SchedulerParameters=default_queue_depth=1,bf_max_job_test=3,bf_max_job_start=1\n", tmp_path
    )
    assert found.slurm is not None
    controller = Controller([(1, 0)] * 4, parameters=found.slurm)
    situation = Situation(0.0, range(4), [], [], [Entry(job, 60.0, nodes=1) for job in range(4)])
    assert [each.verdict for each in controller.main_loop(situation, full=False)].count("started") == 2
    assert [each.verdict for each in controller.main_loop(situation)].count("started") == 4
    assert [each.verdict for each in controller.backfill(situation)].count("started") == 1
    columns: dict[str, Any] = {"tasks": [1] * 4, "submit_time": [10.0] * 4}
    system = bl.System.homogeneous(nodes=4, resources={"core": 1})
    spec = f"{str(found)[:-1]}, main_phase=0.25, backfill_phase=0.75"
    assert starts(f"{spec}, backfill=false)", system, **columns) == [10.25, 10.25, 40.25, 40.25]
    assert starts(f"{spec})", system, **columns) == [10.25, 10.25, 10.75, 40.25]


def test_what_jobs_get(tmp_path: Path) -> None:
    """Whole nodes, or cores and memory."""
    assert policy_of(LINEAR, tmp_path) == bl.Policy.parse("slurm")
    cores = LINEAR.replace("linear", "cons_tres")
    assert policy_of(cores, tmp_path) == bl.Policy.parse("slurm(select=cores)")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("PriorityWeightAge=5", "age=5"),
        ("PriorityWeightJobSize=5", "job_size=5"),
        ("PriorityWeightPartition=5", "partition=5"),
        ("PriorityWeightTRES=cpu=5", 'tres="core=5"'),
        ("PriorityWeightAge=5\nPriorityMaxAge=2-0", "age=5, max_age=172800"),
        ("PriorityWeightAge=5\nPriorityCalcPeriod=1", "age=5, period=60"),
        ("PriorityWeightJobSize=5\nPriorityFavorSmall=YES", "job_size=5, favour=small"),
        (
            "PriorityWeightJobSize=5\nPriorityFlags=SMALL_RELATIVE_TO_TIME",
            "job_size=5, favour=large_for_time",
        ),
    ],
)
def test_each_weight_arrives(line: str, expected: str, tmp_path: Path) -> None:
    """The order is `multifactor` with the weights of the configuration."""
    found = policy_of(f"{MULTIFACTOR}{line}\n", tmp_path)
    assert found == bl.Policy.parse(f"slurm(order=multifactor({expected}))")


@pytest.mark.parametrize(("storage", "ages"), [("none", False), ("filetxt", False), ("slurmdbd", True)])
def test_jobs_age_with_a_database_only(storage: str, ages: bool, tmp_path: Path) -> None:
    """As in Slurm, whose thread that ages jobs starts with slurmdbd only; the report says so."""
    lines = (
        f"AccountingStorageType=accounting_storage/{storage}\nPriorityWeightAge=5\nPriorityWeightJobSize=3\n"
    )
    folder = written({"slurm.conf": f"{MULTIFACTOR}{lines}"}, tmp_path)
    order = bl.Policy.parse(read_configuration(folder).policy).order
    assert order == ("multifactor(age=5, job_size=3)" if ages else "multifactor(job_size=3)")
    remarks = next(each.remarks for each in check(folder).entries if each.name == "PriorityWeightAge")
    assert [("factor is left out" in each) for each in remarks] == ([] if ages else [True])


def test_the_least_priority_arrives(tmp_path: Path) -> None:
    """Where jobs have priorities by many factors."""
    line = "PriorityWeightAge=5\nSchedulerParameters=bf_min_prio_reserve=9\n"
    expected = "slurm(bf_min_prio_reserve=9, order=multifactor(age=5))"
    assert policy_of(f"{MULTIFACTOR}{line}", tmp_path) == bl.Policy.parse(expected)


def test_weights_of_accounts_and_qualities(tmp_path: Path) -> None:
    """They arrive where the files of sacctmgr are there."""
    text = FILES["slurm.conf"] + "PriorityWeightAssoc=7\n"
    policy = read_configuration(written({**FILES, "slurm.conf": text}, tmp_path)).policy
    assert "order=multifactor(age=1000, association=7, fair_share=100000, qos=10000" in policy
    assert 'tres="core=500, mem=500, gpu=1000"' in policy


def test_weights_of_what_is_not_there(tmp_path: Path) -> None:
    """They are left out, and the report says so; the policy runs."""
    weights = "PriorityWeightFairshare=9\nPriorityWeightAssoc=9\nPriorityWeightQOS=9\nPriorityWeightAge=1\n"
    text = f"{MULTIFACTOR}{weights}PriorityWeightTRES=cpu=1,gres/gpu=3,node=1\n"
    folder = written({"slurm.conf": text}, tmp_path)
    policy = read_configuration(folder).policy
    assert bl.Policy.parse(policy).order == 'multifactor(age=1, tres="core=1")'
    remarks = {name: each.remarks for each in check(folder).entries if (name := each.name)}
    for name in ("PriorityWeightFairshare", "PriorityWeightAssoc"):
        assert remarks[name] == ("there is no file of sacctmgr with accounts; the factor is left out",)
    assert remarks["PriorityWeightQOS"] == ("there is no file of sacctmgr with QOS; the factor is left out",)
    assert remarks["PriorityWeightTRES"] == (
        "no node has gres/gpu to give to jobs; its weight is left out",
        "no node has node to give to jobs; its weight is left out",
    )
    job = {"submit_time": [0], "run_time": [60], "requested_time": [60], "tasks": [1]}
    jobs = bl.Workload.from_table(job)
    assert bl.simulate(jobs, bl.read_system(folder), policy).jobs["state"].to_list() == ["completed"]


def test_other_schedulers(tmp_path: Path) -> None:
    """They count as builtin, and the report says so."""
    text = f"{LINEAR}SchedulerType=sched/hold\n"
    assert policy_of(text, tmp_path) == bl.Policy.parse("slurm(backfill=false)")
    entry = next(each for each in check(tmp_path).entries if each.name == "SchedulerType")
    assert entry.remarks == ("there is no scheduler hold; jobs start as with builtin",)


def test_orders_of_shared_nodes(tmp_path: Path) -> None:
    """Options that do not bear on nodes that jobs have whole are left out there."""
    options = "SchedulerParameters=pack_serial_at_end,bf_busy_nodes\n"
    shared = LINEAR.replace("linear", "cons_tres")
    expected = "slurm(select=cores, pack_serial_at_end=true, bf_busy_nodes=true)"
    assert policy_of(f"{shared}{options}", tmp_path) == bl.Policy.parse(expected)
    assert policy_of(f"{LINEAR}{options}", tmp_path) == bl.Policy.parse("slurm")


def test_grace_times(tmp_path: Path) -> None:
    """The policy of a cluster whose victims have a grace time runs: the victim goes when it is over."""
    text = (
        "SelectType=select/linear\nPriorityType=priority/basic\n"
        "PreemptType=preempt/partition_prio\nPreemptMode=CANCEL\nNodeName=n1 CPUs=1\n"
        "PartitionName=low Nodes=n1 Default=YES GraceTime=60\n"
        "PartitionName=high Nodes=n1 PriorityTier=2 GraceTime=60\n"
    )
    folder = written({"slurm.conf": text}, tmp_path)
    jobs = bl.Workload.from_table(
        {
            "submit_time": [0, 30],
            "run_time": [900, 60],
            "requested_time": [900, 60],
            "tasks": [1, 1],
            "partition": ["low", "high"],
        }
    )
    policy = read_configuration(folder).policy
    result = bl.simulate(jobs, bl.read_system(folder), policy)
    victim, other = result.jobs.iter_rows(named=True)
    assert victim["state"] == "killed"
    assert 30 + 60 <= victim["end_time"] <= 30 + 60 + 60 + 30
    assert victim["end_time"] < other["start_time"]


def test_the_least_loaded_nodes(tmp_path: Path) -> None:
    """CR_LLN is the policy's own, where nodes are shared."""
    shared = "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core,CR_LLN"
    assert policy_of(shared, tmp_path) == bl.Policy.parse("slurm(select=cores, cr_lln=true)")
