"""Configurations are read as Slurm reads them: lines, includes, defaults, host lists, values, and errors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.slurm import RELEASES, SlurmConfiguration, read_configuration
from batchlab.slurm.configuration.values import KINDS, separated, tres
from support.slurm_configurations import FILES, SMALL, written

if TYPE_CHECKING:
    from pathlib import Path

# What the configurations of real virtual clusters of Slurm 22.05.8 say of nodes, partitions and scheduling.
BACKFILL = """
ClusterName=bf_a
SlurmctldHost=localhost(127.0.0.1)
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmdParameters=config_overrides
PriorityType=priority/basic
SelectType=select/linear
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,bf_resolution=1
NodeName=n[1-32] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[17301-17332] CPUs=1 State=UNKNOWN
PartitionName=batch Nodes=n[1-32] Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""
CORES = """
ClusterName=m2a
AccountingStorageEnforce=associations,limits,qos
Epilog=/bin/true
PriorityType=priority/multifactor
PriorityDecayHalfLife=00:05:00
PriorityCalcPeriod=00:01:00
PriorityMaxAge=00:10:00
PriorityFavorSmall=NO
PriorityWeightAge=1000
PriorityWeightFairshare=0
PriorityWeightJobSize=700
PriorityWeightPartition=500
PriorityWeightTRES=CPU=300,Mem=200
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=bf_interval=5,bf_resolution=1,bf_continue
DefMemPerCPU=2000
NodeName=n[1-16] Port=[17301-17316] CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=32000
PartitionName=batch Nodes=n[1-12] Default=YES MaxTime=00:20:00 PriorityTier=1 PriorityJobFactor=100
PartitionName=quick Nodes=n[9-16] MaxTime=00:03:00 MaxNodes=4 PriorityTier=2 PriorityJobFactor=300
"""


def read(text: str, folder: Path, **options: object) -> SlurmConfiguration:
    """Read one slurm.conf."""
    return read_configuration(written({"slurm.conf": text}, folder), **options)  # type: ignore[arg-type]


def refused(text: str, folder: Path, **options: object) -> str:
    """Give the error of one slurm.conf, without its folder."""
    with pytest.raises(bl.SystemDescriptionError) as error:
        read(text, folder, **options)
    return str(error.value).replace(f"{folder}/", "")


def test_a_real_backfill_configuration(tmp_path: Path) -> None:
    """Whole nodes, first come first served, backfill every 2 seconds in steps of 1."""
    found = read(BACKFILL, tmp_path, version="22.05.8")
    assert (found.cluster, found.release, found.release_from) == ("bf_a", "22.05", "given")
    assert found.in_service == tuple(f"n{number}" for number in range(1, 33))
    assert (found.selection.type, found.selection.unit, found.selection.memory) == ("linear", "node", False)
    assert (found.scheduler.type, found.scheduler.bf_interval, found.scheduler.bf_resolution) == (
        "backfill",
        2,
        1,
    )
    assert (found.scheduler.bf_max_job_test, found.scheduler.default_queue_depth) == (500, 100)
    assert (found.scheduler.sched_interval, found.scheduler.batch_sched_delay) == (60, 3)
    assert (found.timing.kill_wait, found.timing.epilog, found.timing.epilog_message_time) == (
        30,
        False,
        2000,
    )
    assert (found.timing.over_time_limit, found.timing.credential_lifetime) == (0, 120)
    assert found.priority.order == "fcfs"
    assert found.nodes_of(found.partitions[0]) == found.in_service
    assert found.partitions[0].max_time is None


def test_a_real_configuration_of_cores(tmp_path: Path) -> None:
    """Cores and memory, two partitions with tiers, and priorities from age, size, partition and resources."""
    found = read(CORES, tmp_path)
    node = found.nodes[0]
    assert (node.cpus, node.sockets, node.cores_per_socket, node.threads_per_core) == (8, 1, 8, 1)
    assert (node.memory, found.selection.unit, found.selection.memory) == (32000, "core", True)
    assert dict(found.selection.default_memory) == {"per_cpu": 2000}
    batch, quick = found.partitions
    assert (batch.default, batch.tier, batch.job_factor, batch.max_time) == (True, 1, 100, 20)
    assert (quick.default, quick.tier, quick.job_factor, quick.max_time) == (False, 2, 300, 3)
    assert (quick.max_nodes, found.nodes_of(quick)[0], len(found.nodes_of(quick))) == (4, "n9", 8)
    assert (found.priority.half_life, found.priority.period, found.priority.max_age) == (300, 60, 600)
    assert dict(found.priority.tres) == {"cpu": 300, "mem": 200}
    assert found.enforced == {"associations", "limits", "qos"}
    assert found.timing.epilog
    assert found.scheduler.bf_continue
    assert found.priority.order == (
        'multifactor(age=1000, job_size=700, partition=500, tres="core=300, mem=200", max_age=600, period=60)'
    )
    assert str(bl.Policy.parse(found.priority.order))


def test_what_is_not_given_depends_on_the_release(tmp_path: Path) -> None:
    """Until 23.02 whole nodes in the order of submission, since 23.11 cores and memory by factors."""
    before, after = (read(SMALL, tmp_path, version=version) for version in ("23.02.7", "23.11.0"))
    assert (before.selection.type, before.priority.type) == ("linear", "basic")
    assert (after.selection.type, after.priority.type) == ("cons_tres", "multifactor")
    assert (after.selection.unit, after.selection.memory) == ("core", True)


def test_the_release_is_the_newest_with_all_keys(tmp_path: Path) -> None:
    """Keys and options that are gone, and those that are new, tell the release."""
    assert read(SMALL, tmp_path).release == RELEASES[-1]
    assert read(SMALL + "RoutePlugin=route/default", tmp_path).release == "23.02"
    assert read(SMALL + "FastSchedule=1", tmp_path).release == "20.02"
    assert read(SMALL + "SchedulerParameters=no_env_cache", tmp_path).release == "24.11"
    assert read(SMALL + "FastSchedule=1\nTLSType=tls/none", tmp_path).release == "24.11"
    assert read(SMALL + "SelectType=select/cons_res", tmp_path).release == "23.02"
    assert refused(SMALL + "SelectType=select/cons_res", tmp_path, version="23.11").startswith(
        "slurm.conf:4: select/cons_res is no longer there after 23.02, and this is read as 23.11."
    )
    assert refused(SMALL + "TLSType=tls/none", tmp_path, version="22.05") == (
        "slurm.conf:4: TLSType is a key since 24.11, and this is read as 22.05. "
        "Read it as a later release, or take it out; batchlab slurm check lists all such keys."
    )
    kept = read(SMALL + "TLSType=tls/none", tmp_path, version="22.05", unknown="keep")
    (entry,) = [each for each in bl.slurm.Report.of(kept).entries if each.name == "TLSType"]
    assert entry.does.endswith("New in 24.11.")
    assert "must be a version of Slurm" in refused(SMALL, tmp_path, version="19.05")


def test_lines(tmp_path: Path) -> None:
    """Case, comments, quotes, continued lines, blanks around =, defaults and several keys on a line."""
    text = (
        "clustername = Much # a comment\n"
        "KILLWAIT=7 OverTimeLimit=2\n"
        "NodeName=DEFAULT CPUs=4\nNodeName=DEFAULT RealMemory=1000\n"
        'NodeName="a[1-2],b" \\\n  Reason="two words \\# one" \\\n  State=DOWN\n'
        "NodeName=c CPUs=2\n"
        "PartitionName=DEFAULT MaxTime=60\nPartitionName=p Nodes=a1,b\n"
        'PartitionName=q Nodes="" MaxTime=0:30\n'
        "KillWait=9\n"
    )
    found = read(text, tmp_path)
    assert found.cluster == "Much"
    assert (found.timing.kill_wait, found.timing.over_time_limit) == (9, 2)
    assert [(node.names, node.cpus, node.memory) for node in found.nodes] == [
        (("a1", "a2", "b"), 4, 1000),
        (("c",), 2, 1000),
    ]
    assert found.nodes[0].state == "DOWN"
    assert [(each.max_time, found.nodes_of(each)) for each in found.partitions] == [
        (60, ("a1", "b")),
        (1, ()),
    ]
    assert next(each for each in found.settings if each.key.name == "Reason").value == "two words # one"
    assert str(found.nodes[1].place).endswith("slurm.conf:8")


def test_includes(tmp_path: Path) -> None:
    """%c is the cluster's name in lower case; places name files; circles and missing files are errors."""
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d" / "much.conf").write_text("# nodes\nNodeName=n[1-2]\n", "utf-8")
    found = read("ClusterName=MUCH\ninclude conf.d/%c.conf\nPartitionName=p Nodes=ALL\n", tmp_path)
    assert found.in_service == ("n1", "n2")
    assert str(found.nodes[0].place).endswith("much.conf:2")
    assert [file.rpartition("/")[2] for file in found.files] == ["slurm.conf", "much.conf"]
    assert refused("Include slurm.conf\n", tmp_path).startswith(
        "slurm.conf:1: Include slurm.conf includes itself."
    )
    assert "there is no file" in refused("Include other.conf\n", tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("KillWiat=3", "slurm.conf:1: KillWiat is not a key of slurm.conf. Did you mean KillWait?"),
        (
            "bf_interval=3",
            "slurm.conf:1: bf_interval is not a key of slurm.conf. It belongs to SchedulerParameters.",
        ),
        ("KillWait=soon", "slurm.conf:1: KillWait = 'soon'; must be a whole number from 0, or UNLIMITED."),
        ("KillWait=", "slurm.conf:1: KillWait = ''; must be a whole number from 0, or UNLIMITED."),
        ("PriorityMaxAge=1:2:3:4", "slurm.conf:1: PriorityMaxAge = '1:2:3:4'; must be minutes, or a time"),
        (
            "PriorityFlags=FAIR_TRE",
            "slurm.conf:1: FAIR_TRE is no option of PriorityFlags. Did you mean FAIR_TREE?",
        ),
        ("PriorityFavorSmall=maybe", "slurm.conf:1: PriorityFavorSmall = 'maybe'; must be YES or NO."),
        ("SelectType=select/best", "slurm.conf:1: SelectType = select/best; must be select/linear or"),
        ("some words", "slurm.conf:1: 'some words' is no Key=Value. Put values with blanks in quotes."),
        ("NodeName=n[1-", "slurm.conf:1: NodeName = 'n[1-'; must be names of nodes, as n[1-8,12]"),
        ("NodeName=n[1-3:0]", "slurm.conf:1: NodeName = 'n[1-3:0]'; must be names of nodes, as n[1-8,12]"),
        ("NodeName=n1 CPU=4", "slurm.conf:1: CPU is not a key of a line NodeName=…. Did you mean CPUs?"),
        ("NodeName=n1\nNodeName=n[1-2]", "slurm.conf:2: node n1 is also at"),
        (
            "NodeName=n1 Gres=gpu:a:b:4",
            "slurm.conf:1: Gres: gpu:a:b:4; must be name:count or name:type:count",
        ),
        (
            "PartitionName=p State=OPEN",
            "slurm.conf:1: State = OPEN; must be one of UP, DOWN, DRAIN, INACTIVE.",
        ),
        ("PartitionName=p OverSubscribe=MAYBE", "slurm.conf:1: OverSubscribe = MAYBE; must be NO, YES"),
        (
            "PartitionName=p PriorityTier=65534",
            "slurm.conf:1: PriorityTier = 65534; must be from 0 to 65533.",
        ),
        ("PartitionName=p\nPartitionName=p", "slurm.conf:2: partition p is also at"),
        ("KillWait=3 NodeName=n1", "slurm.conf:1: NodeName stands within a line; must begin one."),
    ],
)
def test_errors(text: str, message: str, tmp_path: Path) -> None:
    """One line with the file, the line, the value, the rule and what to do."""
    assert refused(text, tmp_path).startswith(message)


def test_unknown_keys_are_kept_where_that_is_asked_for(tmp_path: Path) -> None:
    """The name, the place and the nearest one that is known."""
    found = read(SMALL + "KillWiat=3\n", tmp_path, unknown="keep")
    assert [(each.written, each.value, each.place.line, each.nearest) for each in found.unknown] == [
        ("KillWiat", "3", 4, "KillWait")
    ]


def test_sockets_cores_and_threads(tmp_path: Path) -> None:
    """What is not given follows from what is, as Slurm makes it, with what it puts right."""
    text = """
        NodeName=a CPUs=16
        NodeName=b CPUs=32 CoresPerSocket=8 ThreadsPerCore=2
        NodeName=c Sockets=2 CoresPerSocket=8 ThreadsPerCore=2
        NodeName=d Boards=2 SocketsPerBoard=2 CoresPerSocket=4
        NodeName=e CPUs=16 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 CoreSpecCount=2
        NodeName=f CPUs=7 Sockets=2 CoresPerSocket=8
        NodeName=g Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 CoreSpecCount=2 RealMemory=9 MemSpecLimit=9
        NodeName=h CPUs=8 CpuSpecList=0-1,4
    """
    found = {node.names[0]: node for node in read(text, tmp_path).nodes}
    assert [found[name].cpus for name in "abcdefgh"] == [16, 32, 32, 16, 16, 16, 32, 8]
    assert [found[name].sockets for name in "abcdefgh"] == [16, 2, 2, 4, 2, 2, 2, 8]
    assert [found[name].reserved_cpus for name in "abcdefgh"] == [0, 0, 0, 0, 2, 0, 4, 3]
    assert found["g"].reserved_memory == 0
    assert [bool(found[name].mended) for name in "abcdefgh"] == [False] * 5 + [True] * 2 + [False]


def test_sets_of_nodes_and_features(tmp_path: Path) -> None:
    """Partitions name nodes, sets by names and by a feature, features, all; host lists of two dimensions."""
    text = (
        "NodeName=r[1-2]_b[0-3] Features=big,fast\nNodeName=n[08-10]\nNodeName=s[0-6:2]\n"
        "NodeSet=mixed Feature=big Nodes=n08\n"
        "PartitionName=a Nodes=mixed\nPartitionName=b Nodes=feature{fast},n[09-10]\n"
        "PartitionName=c Nodes=ALL\nPartitionName=d Nodes=s[2,6]\nPartitionName=e Nodes=n11\n"
    )
    found = read(text, tmp_path)
    big = tuple(f"r{row}_b{place}" for row in (1, 2) for place in range(4))
    names = {each.name: each for each in found.partitions}
    assert found.nodes_of(names["a"]) == (*big, "n08")
    assert found.nodes_of(names["b"]) == (*big, "n09", "n10")
    assert (
        found.nodes_of(names["c"]) == found.in_service == (*big, "n08", "n09", "n10", "s0", "s2", "s4", "s6")
    )
    assert found.nodes_of(names["d"]) == ("s2", "s6")
    with pytest.raises(
        bl.SystemDescriptionError, match=r"slurm.conf:9: Nodes: n11 is neither a node nor a set"
    ):
        found.nodes_of(names["e"])


def test_generic_resources(tmp_path: Path) -> None:
    """Names, types, counts with suffixes, no_consume, and what scontrol adds of sockets."""
    found = read(
        "NodeName=a Gres=gpu:tesla:2(S:0-1),gpu:kepler,bandwidth:lustre:no_consume:4G,craynetwork:4", tmp_path
    )
    assert [(each.name, each.type, each.count, each.consumed) for each in found.nodes[0].gres] == [
        ("gpu", "tesla", 2, True),
        ("gpu", "kepler", 1, True),
        ("bandwidth", "lustre", 4 * 1024**3, False),
        ("craynetwork", "", 4, True),
    ]


def test_scheduler_parameters(tmp_path: Path) -> None:
    """Beyond its bounds an option has its default, as in Slurm; -1 turns a loop off."""
    options = "bf_interval=0,sched_interval=-1,bf_window=20160,defer,bf_max_time=99999,bf_intervall=3"
    options += ",max_rpc_count=9"
    found = read(SMALL + f"SchedulerParameters={options}", tmp_path)
    given = found.scheduler
    assert (given.bf_interval, given.sched_interval, given.bf_window, given.defer) == (30, -1, 20160, True)
    assert (given.bf_max_time, given.max_rpc_cnt) == (None, 9)
    assert [each.says.partition(" ")[2].partition(" ")[0] for each in found.mended] == [
        "bf_interval=0",
        "bf_max_time=99999",
    ]
    written_options = found.settings[-1].options
    assert [each.written for each in written_options if each.key is None] == ["bf_intervall"]


def test_preemption(tmp_path: Path) -> None:
    """Modes, and the options of victims in their old place and their new one."""
    old = read(
        SMALL + "PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG\n"
        "SchedulerParameters=preempt_youngest_first,preempt_reorder_count=4\n",
        tmp_path,
    )
    assert (old.preemption.type, old.preemption.mode, old.preemption.gang) == (
        "partition_prio",
        "suspend",
        True,
    )
    assert (old.preemption.youngest_first, old.preemption.reorder_count) == (True, 4)
    new = read(
        SMALL + "PreemptType=preempt/qos\nPreemptMode=REQUEUE,WITHIN\nPreemptExemptTime=10\n"
        "PreemptParameters=strict_order,reorder_count=2\n",
        tmp_path,
    )
    assert (new.preemption.mode, new.preemption.within, new.preemption.exempt_time) == ("requeue", True, 600)
    assert (new.preemption.strict_order, new.preemption.reorder_count) == (True, 2)


def test_files_beside(tmp_path: Path) -> None:
    """Switches with their nodes, devices of nodes, and which files are not read."""
    written({**FILES, "job_submit.lua": "", "topology.yaml": ""}, tmp_path)
    found = read_configuration(tmp_path)
    assert found.topology is not None
    assert [(each.name, len(each.nodes), each.switches) for each in found.topology.switches] == [
        ("leaf1", 8, ()),
        ("leaf2", 2, ()),
        ("top", 0, ("leaf1", "leaf2")),
    ]
    assert [(each.name, each.type, each.count) for each in found.devices[1:]] == [
        ("gpu", "a100", 4),
        ("mps", "", 400),
    ]
    assert found.devices[1].cores == tuple(range(16))
    assert [name for name, _ in found.not_read] == ["topology.yaml", "job_submit.lua"]
    (tmp_path / "topology.conf").write_text("SwitchName=s Nodes=x1", "utf-8")
    (mended,) = [each for each in read_configuration(tmp_path).mended if "topology" in each.place.file]
    assert mended.says == "s: x1: no nodes of slurm.conf; Slurm leaves them out"


def test_blocks(tmp_path: Path) -> None:
    """Blocks of nodes with their sizes."""
    files = {
        "slurm.conf": SMALL,
        "topology.conf": "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockSizes=2,4",
    }
    found = read_configuration(written(files, tmp_path)).topology
    assert found is not None
    assert ([each.name for each in found.blocks], found.block_sizes) == (["b1", "b2"], (2, 4))


def test_values() -> None:
    """Times, weights, resources and lists as Slurm writes them."""
    assert [KINDS["time"](text) for text in ("0", "90", "1:30", "1:00:00", "1-1", "1-0:30", "UNLIMITED")] == [
        *(0, 5400, 90, 3600, 90_000, 88_200),
        math.inf,
    ]
    assert [KINDS["minutes"](text) for text in ("0:30", "90", "INFINITE")] == [1, 90, math.inf]
    assert dict(tres("cpu=28,mem=4G,gres/gpu:tesla=2,node=-1")) == {
        "cpu": 28,
        "mem": 4096,
        "gres/gpu:tesla": 2,
        "node": None,
    }
    weights = KINDS["weights"]("CPU=1.0,Mem=0.25G,GRES/gpu=2")
    assert weights == {"cpu": 1.0, "mem": 0.25 / 1024, "gres/gpu": 2.0}
    assert separated("a[1,3],b, c{d,e}") == ("a[1,3]", "b", "c{d,e}")


@pytest.mark.parametrize("value", ["-1", "UNLIMITED", "infinite"])
def test_cpus_without_a_bound_are_refused(value: str, tmp_path: Path) -> None:
    """A node has a number of them; an unbounded one is not taken for one CPU."""
    said = refused(f"ClusterName=c\nNodeName=n1 CPUs={value}\nPartitionName=a Nodes=n1\n", tmp_path)
    assert f":2: CPUs = {value}; must be a number below 65,536." in said


def test_many_continuation_lines(tmp_path: Path) -> None:
    """They are one line, and take time in proportion to their number."""
    (tmp_path / "slurm.conf").write_text(
        "ClusterName=x\nNodeName=n[1-2] CPUs=4 \\\n" + " \\\n" * 100_000 + " State=UNKNOWN\n"
        "PartitionName=p Nodes=ALL\n"
    )
    assert bl.read_system(tmp_path).nodes == 2
