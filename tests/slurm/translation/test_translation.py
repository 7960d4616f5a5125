"""Systems from the configuration of clusters that run Slurm, and what their reports say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
import pytest

import batchlab as bl
from batchlab.slurm import read_configuration
from batchlab.system.slurm import Translation, check, translate
from support.slurm_configurations import FILES, SMALL, written

if TYPE_CHECKING:
    from pathlib import Path

    from batchlab.slurm import ReportedKey

PREEMPTING = """
ClusterName=m3a
AccountingStorageEnforce=associations,limits,qos
PriorityType=priority/multifactor
PriorityDecayHalfLife=00:05:00
PreemptType=preempt/qos
PreemptMode=REQUEUE
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
NodeName=n[1-32] CPUs=1
PartitionName=batch Nodes=n[1-32] Default=YES MaxTime=INFINITE
"""
QOS = (
    "Name|Priority|GraceTime|Preempt|PreemptMode|UsageFactor|GrpTRES|MaxTRESPU|MaxJobsPU\n"
    "normal|100|00:00:00||cluster|1.000000||node=12|3\n"
    "low|10|00:00:00||requeue|1.000000|cpu=28||\n"
    "high|1000|00:00:00|low|cluster|1.000000|node=16||\n"
)


def translated(files: dict[str, str] | str, folder: Path, **options: object) -> Translation:
    """Make the system of some files."""
    given = {"slurm.conf": files} if isinstance(files, str) else files
    return translate(read_configuration(written(given, folder), **options))  # type: ignore[arg-type]


def entry(translation: Translation, name: str, table: str) -> ReportedKey:
    """Give a key's entry of the report."""
    return next(each for each in translation.report.entries if (each.name, each.table) == (name, table))


def test_a_small_cluster(tmp_path: Path) -> None:
    """The folder and the file are read by `read_system`, whatever the file is called."""
    folder = written({"slurm.conf": SMALL, "other": SMALL}, tmp_path)
    system = bl.read_system(folder / "slurm.conf")
    assert system == bl.read_system(folder) == bl.read_system(folder / "other")
    assert (system.name, system.nodes, dict(system.total)) == ("small", 4, {"core": 32})
    assert [(each.name, each.nodes) for each in system.partitions] == [("all", "0-3")]
    assert system.groups[0].name == "n[1-4]"


def test_a_real_cluster_with_preemption_and_limits(tmp_path: Path) -> None:
    """QOS with limits and preemption as the configuration of a virtual cluster had them."""
    found = translated({"slurm.conf": PREEMPTING, "qos.txt": QOS}, tmp_path, version="22.05.8")
    system = found.system
    assert system.preemption == bl.Preemption(by="qos", mode="requeue")
    assert [(each.name, each.priority, each.preempts) for each in system.qos] == [
        ("normal", 100, ()),
        ("low", 10, ()),
        ("high", 1000, ("low",)),
    ]
    assert [
        (limit.name, limit.per, limit.running_jobs, limit.nodes, dict(limit.resources))
        for limit in system.limits
    ] == [
        ("QOS normal MaxJobsPU", ("user",), 3, None, {}),
        ("QOS normal MaxTRESPU", ("user",), None, 12, {}),
        ("QOS low GrpTRES", (), None, None, {"core": 28}),
        ("QOS high GrpTRES", (), None, 16, {}),
    ]
    assert system.fair_share == bl.FairShare(rule="fair_tree", half_life=300, decay="slurm")
    says = "QOS high: a node counts once for each job on it here, and once in all in Slurm"
    assert says in entry(found, "GrpTRES", "qos").remarks


def test_much(tmp_path: Path) -> None:
    """Groups, partitions, accounts, limits and weights of a cluster with much in it."""
    found = translated(FILES, tmp_path)
    system = found.system
    # 64 CPUs, of which 4 of two cores are kept; 256,000 MiB without 6,000; FUTURE nodes are not there.
    assert [(group.name, group.count, dict(group.resources)) for group in system.groups] == [
        ("c[1-6]", 6, {"core": 64, "mem": 256_000_000}),
        ("c[7-8]", 2, {"core": 60, "mem": 518_144_000}),
        ("g[1-2]", 2, {"core": 64, "mem": 256_000_000, "gpu": 4, "mps": 400}),
    ]
    assert [(each.name, each.nodes, each.tier, each.priority_factor) for each in system.partitions] == [
        ("batch", "0-8", 10, 1),
        ("gpu", "8-9", 20, 1),
        ("big", "0-5", 1, 5),
    ]
    assert [each.admits.given for each in system.partitions] == [
        {"max_time": 172_800},
        {"max_nodes": 2, "max_time": 172_800, "accounts": ("physics", "optics"), "qos": ("normal", "high")},
        {
            "min_nodes": 2,
            "max_time": 172_800,
            "groups": ("staff", "ops"),
            "accounts": ("root", "physics", "optics"),
        },
    ]
    assert {each.name: (each.parent, each.shares, dict(each.users)) for each in system.accounts} == {
        "root": ("root", 1, {"root": 1}),
        "physics": ("root", 60, {"ann": 2, "bob": "parent"}),
        "biology": ("root", 40, {"cy": 1}),
        "optics": ("physics", "parent", {"dee": 1}),
    }
    limits = {limit.name: limit for limit in system.limits}
    of_gpu = limits["partition gpu GrpTRES"]
    assert (of_gpu.partitions, dict(of_gpu.resources)) == (("gpu",), {"gpu": 6})
    assert limits["partition gpu MaxJobsPU"].running_jobs == 2
    assert dict(limits["physics GrpTRES"].resources) == {"core": 200, "gpu": 4}
    assert limits["physics GrpTRES"].applies_to.accounts == ("physics", "optics")
    assert dict(limits["optics GrpTRESRunMins"].running_minutes) == {"core": 100_000}
    assert limits["QOS high MaxWall"].time == 86_400
    assert system.fair_share is not None
    assert dict(system.fair_share.weights) == {"core": 1.0, "mem": 0.25 / 1024 / 1024}
    assert system.fair_share.max_tres
    assert system.preemption == bl.Preemption(
        "qos", "requeue", exempt_time=600, grace_time=0, youngest_first=True
    )


def test_what_jobs_may_run_beyond_their_limits_and_again(tmp_path: Path) -> None:
    """OverTimeLimit of a partition in seconds, at most a year; JobRequeue of the cluster."""
    text = (
        "ClusterName=c\nJobRequeue=0\nNodeName=n[1-2]\nPartitionName=a Nodes=ALL Default=YES\n"
        "PartitionName=b Nodes=ALL OverTimeLimit=5\nPartitionName=c Nodes=ALL OverTimeLimit=UNLIMITED\n"
    )
    found = translated({"slurm.conf": text}, tmp_path)
    assert [each.over_time_limit for each in found.system.partitions] == [None, 300, 31_536_000]
    assert not found.system.requeue
    treatments = {each.name: each.treatment for each in found.report.entries}
    assert (treatments["JobRequeue"], treatments["OverTimeLimit"]) == ("modelled", "modelled")


def test_limits_of_users_are_the_nearest(tmp_path: Path) -> None:
    """A user's own limit, else the account's, else the cluster's; counted for each user and account."""
    limits = [
        limit for limit in translated(FILES, tmp_path).system.limits if limit.name.startswith("each user")
    ]
    assert [(limit.per, limit.running_jobs, limit.submitted_jobs, limit.time) for limit in limits] == [
        (("user", "account"), 4, None, None),
        (("user", "account"), 10, None, None),
        (("user", "account"), None, 5000, None),
        ((), None, None, 172_800),
    ]
    assert [(limit.applies_to.users, limit.applies_to.accounts) for limit in limits] == [
        (("ann",), ("physics",)),
        (None, ("biology",)),
        (None, ("root", "physics", "optics", "biology")),
        (("ann",), ("physics",)),
    ]


def test_limits_hold_only_where_they_are_enforced(tmp_path: Path) -> None:
    """Without `limits` in AccountingStorageEnforce there are none, and the report says so."""
    found = translated({"slurm.conf": SMALL, "qos.txt": QOS}, tmp_path)
    assert found.system.limits == ()
    assert [each.key for each in found.report.remarks] == ["AccountingStorageEnforce"]


def test_accounts_below_are_allowed_since_2302(tmp_path: Path) -> None:
    """Before, AllowAccounts named accounts alone."""
    found = {
        version: translated(FILES, tmp_path, version=version).system.partitions[1].admits.accounts
        for version in ("23.02", "23.11")
    }
    assert found["23.02"] == found["23.11"] == ("physics", "optics")
    before = {
        name: text
        for name, text in FILES.items()
        if name in {"slurm.conf", "much-nodes.conf", "much.cfg", "qos.txt"}
    }
    before["slurm.conf"] = before["slurm.conf"].replace(
        "PreemptParameters=youngest_first,reorder_count=3\n", ""
    )
    (tmp_path / "old").mkdir()
    old = translated(before, tmp_path / "old", version="22.05").system.partitions
    assert old[1].admits.accounts == ("physics",)


def test_jobs_run_on_it(tmp_path: Path) -> None:
    """Jobs of the default partition and of another run where they may."""
    system = bl.read_system(written(FILES, tmp_path))
    jobs = bl.Workload.from_table(
        {
            "submit_time": [0, 0, 0, 0],
            "run_time": [60, 60, 60, 60],
            "requested_time": [120, 120, 200_000, 120],
            "tasks": [1, 2, 1, 1],
            "core": [4, 4, 1, 1],
            "partition": [None, "gpu", "batch", "gpu"],
            "account": ["biology", "physics", "physics", "biology"],
            "user": ["cy", "ann", "ann", "cy"],
            "qos": ["normal", "normal", "normal", "normal"],
        },
        resources=("core",),
    )
    result = bl.simulate(jobs, system, "conservative(order=multifactor(age=100, qos=10))")
    assert result.jobs.select("state", "allocated_partition", pl.col("nodes").list.first()).rows() == [
        ("completed", "batch", 0),
        ("completed", "gpu", 8),
        ("rejected", None, None),
        ("rejected", None, None),
    ]


@pytest.mark.parametrize(
    ("text", "name", "table", "says"),
    [
        ("NodeName=n1 RealMemory=9\nSelectType=select/linear", "RealMemory", "nodes", "memory is not"),
        (
            "NodeName=n1 CPUs=4 ThreadsPerCore=2\nNodeName=n2 CPUs=2",
            "ThreadsPerCore",
            "nodes",
            "whole cores of 2 CPUs in Slurm, and single CPUs here, since nodes differ",
        ),
        (
            "NodeName=n1\nPartitionName=p Nodes=n1 OverSubscribe=FORCE",
            "OverSubscribe",
            "partitions",
            "may share",
        ),
        ("NodeName=n1 Gres=gpu:a:2,gpu:b:1", "Gres", "nodes", "types such as gpu:a"),
        ('NodeName=n1\nPartitionName=p Nodes=""', "Nodes", "partitions", "partition p has no nodes"),
        ("NodeName=n1\nPartitionName=p Nodes=n1 DenyQos=x", "DenyQos", "partitions", "the QOS are not known"),
    ],
)
def test_what_is_different_is_told(text: str, name: str, table: str, says: str, tmp_path: Path) -> None:
    """A key that the system cannot have as Slurm has it is not among those that are used."""
    found = entry(translated(text, tmp_path), name, table)
    assert found.treatment == "not_modelled"
    assert any(says in each for each in found.remarks)


def test_what_asks_for_nothing_has_no_effect(tmp_path: Path) -> None:
    """OverSubscribe=NO is no loss; YES is one."""
    text = "NodeName=n1\nPartitionName=p Nodes=n1 OverSubscribe={}"
    fates = [
        entry(translated(text.format(value), tmp_path), "OverSubscribe", "partitions").treatment
        for value in ("NO", "YES:4")
    ]
    assert fates == ["no_effect", "not_modelled"]


def test_whole_cores_and_whole_nodes(tmp_path: Path) -> None:
    """What jobs get together on a node: cores with their threads, sockets, nodes."""
    node = "NodeName=n1 CPUs=16 Sockets=2 CoresPerSocket=4 ThreadsPerCore=2\n"
    for parameters, multiple in ("CR_Core", 2), ("CR_Core_Memory", 2), ("CR_CPU", 1), ("CR_Socket", 8):
        text = f"SelectType=select/cons_tres\nSelectTypeParameters={parameters}\n{node}"
        assert translated(text, tmp_path).system.core_multiple == multiple
    partitions = "PartitionName=a Nodes=n1 OverSubscribe=EXCLUSIVE\nPartitionName=b Nodes=n1"
    shared = translated(f"SelectType=select/cons_tres\n{node}{partitions}", tmp_path)
    assert [each.exclusive for each in shared.system.partitions] == [True, False]
    assert entry(shared, "OverSubscribe", "partitions").treatment == "modelled"
    linear = translated(f"SelectType=select/linear\n{node}{partitions}", tmp_path).system
    assert [each.exclusive for each in linear.partitions] == [True, True]
    assert linear.core_multiple == 1


def test_what_is_no_longer_there_has_no_effect(tmp_path: Path) -> None:
    """A key that the release does not have any more is listed with its last one."""
    found = entry(
        translated(SMALL + "RoutePlugin=route/default\nTLSType=tls/none", tmp_path),
        "RoutePlugin",
        "slurm_conf",
    )
    assert (found.treatment, found.does.endswith("Removed after 23.02.")) == ("no_effect", True)


def test_the_report(tmp_path: Path) -> None:
    """Unknown keys and options, changes of meanings, and all of it as JSON."""
    text = SMALL.replace("ALL", "ALL AllowAccounts=a") + "Unheard=1\nSchedulerParameters=bf_intervall=3\n"
    report = check(written({"slurm.conf": text}, tmp_path), unknown="keep")
    assert [(each.name, each.values) for each in report.treated_as("unknown")] == [
        ("Unheard", ("1",)),
        ("SchedulerParameters=bf_intervall", ("3",)),
    ]
    assert [each.key for each in report.changes] == ["SelectType", "PriorityType", "AllowAccounts"]
    document = report.to_dict()
    assert document["counts"] == report.counts
    assert len(document["keys"]) == sum(report.counts.values())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ClusterName=x", "slurm.conf: has no line NodeName="),
        ("NodeName=n1 State=FUTURE", "slurm.conf: has no line NodeName="),
        (
            "NodeName=n1\nPartitionName=p Nodes=n1 MinNodes=3 MaxNodes=2",
            "slurm.conf:2: min_nodes = 3; must be",
        ),
        (
            "NodeName=n1 RealMemory=99999999999999\nSelectType=select/cons_tres",
            "slurm.conf:1: NodeGroup 'n1': res",
        ),
    ],
)
def test_errors(text: str, message: str, tmp_path: Path) -> None:
    """What is no system is an error that names the place."""
    with pytest.raises(bl.SystemDescriptionError) as error:
        translated(text, tmp_path)
    assert str(error.value).replace(f"{tmp_path}/", "").startswith(message)


OUT_OF_SERVICE = """
ClusterName=odd
PriorityType=priority/basic
SchedulerParameters=bf_interval=60
NodeName=a[1-2] CPUs=8
NodeName=b1 CPUs=8 State=DRAIN
NodeName=b2 CPUs=8 State=CLOUD
NodeName=b3 CPUs=8 State=FUTURE
NodeName=b[4-5] CPUs=8 State=FAIL
DownNodes=a1,b5 State=DOWN Reason=broken
DownNodes=b4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES OverSubscribe=EXCLUSIVE
"""


def test_nodes_that_are_out_of_service(tmp_path: Path) -> None:
    """DOWN, DRAIN and FAIL nodes are there and take no job; CLOUD nodes are there, FUTURE ones are not."""
    configuration = read_configuration(written({"slurm.conf": OUT_OF_SERVICE}, tmp_path), version="23.11")
    assert configuration.in_service == ("a1", "a2", "b1", "b2", "b4", "b5")
    assert configuration.out_of_service == {"a1": "DOWN", "b1": "DRAIN", "b5": "DOWN"}
    found = translate(configuration)
    assert (found.system.nodes, found.system.down) == (6, "0,2,5")
    assert found.system.policy == configuration.policy == "slurm(select=cores, bf_interval=60)"
    assert {entry(found, "State", "nodes").treatment, entry(found, "State", "down_nodes").treatment} == {
        "modelled"
    }
    assert found.system.note == ("3 nodes DOWN or DRAIN; keys: 1 without effect; see batchlab slurm check")
    assert (
        f"              {found.system.note}"
        in bl.simulate(
            bl.Workload.from_table({"submit_time": [0], "run_time": [1], "tasks": [1]}),
            found.system,
            "configured",
        )
        .summary()
        .splitlines()
    )


def test_all_nodes_down(tmp_path: Path) -> None:
    """A line DownNodes=ALL is for all nodes."""
    files = {"slurm.conf": f"{SMALL}DownNodes=ALL State=DRAIN\n"}
    assert translated(files, tmp_path).system.down == "0-3"


def test_partitions_that_are_not_up(tmp_path: Path) -> None:
    """They are left out, with a remark by their state; where none is UP, all count as UP."""
    lines = "".join(
        f"PartitionName={state.lower()} Nodes=ALL State={state}\n" for state in ("DOWN", "DRAIN", "INACTIVE")
    )
    found = translated(SMALL + lines, tmp_path)
    assert [each.name for each in found.system.partitions] == ["all"]
    remarks = entry(found, "State", "partitions").remarks
    assert [each.split(";")[0] for each in remarks] == [
        "partition down is DOWN: Slurm queues jobs and starts none",
        "partition drain is DRAIN: Slurm takes no new job, and starts those that wait",
        "partition inactive is INACTIVE: Slurm takes no job and starts none",
    ]
    assert found.system.note.startswith("3 partitions DOWN or DRAIN or INACTIVE; keys: ")
    none = translated(SMALL.replace("Default=YES", "Default=YES State=DOWN"), tmp_path)
    assert [each.name for each in none.system.partitions] == ["all"]
    assert entry(none, "State", "partitions").remarks == ("no partition is UP; all of them count as UP here",)
