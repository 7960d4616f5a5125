"""Configurations of clusters for tests: small ones, one with much in it, and mutants of them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from batchlab.slurm.configuration.keys import tables
from support.mutations import mutated

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FILES", "SMALL", "mutant", "written"]

SMALL = "ClusterName=small\nNodeName=n[1-4] CPUs=8\nPartitionName=all Nodes=ALL Default=YES\n"

FILES = {
    "slurm.conf": r"""
# A cluster with much in it.
ClusterName=Much
SlurmctldHost=ctl(10.0.0.1)
SlurmctldHost=ctl2
Include %c-nodes.conf
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageEnforce=associations,limits,qos,safe
AccountingStorageTRES=gres/gpu
AuthInfo=cred_expire=300
CompleteWait=32
DefMemPerCPU=2000
DependencyParameters=kill_invalid_depend
Epilog=/etc/slurm/epilog.d/*
GresTypes=gpu,mps
JobRequeue=0
KillWait=60
Licenses=matlab:10
MaxArraySize=100001
OverTimeLimit=5
PreemptType=preempt/qos
PreemptMode=REQUEUE
PreemptExemptTime=00:10:00
PreemptParameters=youngest_first,reorder_count=3
PriorityType=priority/multifactor
PriorityFlags=MAX_TRES,SMALL_RELATIVE_TO_TIME
PriorityDecayHalfLife=14-0
PriorityWeightAge=1000
PriorityWeightFairshare=100000
PriorityWeightQOS=10000
PriorityWeightTRES=CPU=500,Mem=500,GRES/gpu=1000
SchedulerParameters=bf_interval=60,bf_window=10080,\
bf_resolution=600,bf_max_job_user=20,bf_continue,default_queue_depth=1000,\
partition_job_depth=100,max_rpc_cnt=150,nohold_on_prolog_fail,\
bf_busy_nodes,pack_serial_at_end,bf_yield_interval=1000000,bf_yield_sleep=100000,\
bf_max_time=90,bf_max_job_assoc=50
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory,CR_CORE_DEFAULT_DIST_BLOCK
SuspendTime=600
TopologyPlugin=topology/tree
TreeWidth=20
NodeSet=bigs Feature=big Nodes=c[1-2]
DownNodes=c7 State=DRAIN Reason="bad memory"
PartitionName=DEFAULT MaxTime=2-0 State=UP OverSubscribe=NO
PartitionName=DEFAULT TRESBillingWeights="CPU=1.0,Mem=0.25G"
PartitionName=batch Nodes=c[1-8],g1 Default=YES PriorityTier=10 DefaultTime=60 \
  GraceTime=120 OverTimeLimit=10
PartitionName=gpu Nodes=g[1-2] PriorityTier=20 AllowAccounts=physics AllowQos=high,normal MaxNodes=2 \
  QOS=gpuonly
PartitionName=big Nodes=bigs PriorityJobFactor=5 DenyAccounts=biology AllowGroups=staff,ops MinNodes=2 \
  OverSubscribe=EXCLUSIVE
PartitionName=none Nodes=""
""",
    "much-nodes.conf": """
NodeName=DEFAULT Sockets=2 CoresPerSocket=16 ThreadsPerCore=2
NodeName=DEFAULT RealMemory=256000 MemSpecLimit=6000 State=UNKNOWN
NodeName=c[1-6] Feature=skylake,big Weight=10
NodeName=c[7-8] Features=icelake RealMemory=512000 CoreSpecCount=2 TmpDisk=100000
NodeName=g[1-2] Gres=gpu:a100:4,mps:400 Weight=100
NodeName=f[1-10] State=FUTURE
""",
    "topology.conf": """
SwitchName=leaf1 Nodes=c[1-8]
SwitchName=leaf2 Nodes=g[1-2] LinkSpeed=100
SwitchName=top Switches=leaf[1-2]
""",
    "gres.conf": """
AutoDetect=off
NodeName=g[1-2] Name=gpu Type=a100 File=/dev/nvidia[0-3] Cores=0-15
NodeName=g[1-2] Name=mps Count=400 Flags=CountOnly
""",
    "much.cfg": """
# Parent - 'root'
Cluster - 'much':Fairshare=1:MaxSubmitJobs=5000:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'physics':Description='all: of it':Organization="lab one":Fairshare=60:GrpTRES=cpu=200,gres/gpu=4
Account - 'biology':Description='bio':Fairshare=40:MaxJobs=10:QOS='normal,high'
Parent - 'physics'
Account - 'optics':Fairshare=parent:GrpJobs=50:GrpTRESRunMins=cpu=100000
User - 'ann':DefaultAccount='physics':Fairshare=2:MaxJobs=4:MaxWallDurationPerJob=2880
User - 'bob':Fairshare=parent
Parent - 'optics'
User - 'dee':Fairshare=1:GrpTRES=gres/gpu:a100=2
Parent - 'biology'
User - 'cy':Fairshare=1:Partition='batch'
""",
    "qos.txt": (
        "Name|Priority|GraceTime|Preempt|PreemptMode|Flags|UsageFactor|GrpTRES|MaxTRESPU|MaxJobsPU|MaxSubmitPU|MaxWall\n"
        "normal|10|00:00:00||cluster||1.000000||cpu=256|20||\n"
        "high|100|00:00:00|low,normal|cluster|DenyOnLimit|2.000000|||||1-00:00:00\n"
        "low|0|00:02:00||cancel|NoReserve|0.500000|node=4||||\n"
        "gpuonly|0|00:00:00||cluster||1.000000|gres/gpu=6||2|8|\n"
    ),
}
"""The files of a cluster, by name."""

_VALUES = (
    *(
        "",
        "0",
        "1",
        "-1",
        "65536",
        "99999999999",
        "1e9",
        "UNLIMITED",
        "INFINITE",
        "YES",
        "NO",
        "ALL",
        "DEFAULT",
    ),
    *(
        "n[1-4]",
        "n[1-",
        "c[9-1]",
        "c[1-999999999]",
        "1-00:00:00",
        "7-0",
        "::",
        "a:b:c",
        "gpu:4",
        "gpu:tesla:4K",
    ),
    *(
        "cpu=4",
        "cpu=",
        "cpu=-1,mem=4G",
        "'",
        '"',
        "select/linear",
        "preempt/qos",
        "SUSPEND,GANG",
        "root",
        "é",
        "\\",
    ),
)


def written(files: dict[str, str], folder: Path) -> Path:
    """Write the files of a cluster, and give the folder."""
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    return folder


def mutant(number: int) -> dict[str, bytes]:
    """Make the files of a cluster of which one has been changed, by this number alone."""
    chance = random.Random(number)  # noqa: S311  # for tests
    files = {name: text.encode() for name, text in FILES.items()}
    name = chance.choice([*files])
    if chance.random() < 0.4:
        files[name] = mutated([files[name]], number)
        return files
    lines = FILES[name].splitlines()
    for _ in range(chance.randint(1, 4)):
        _change(lines, chance, name)
    files[name] = "\n".join(lines).encode()
    return files


def _change(lines: list[str], chance: random.Random, name: str) -> None:
    """Change a line as an editor may: repeat, drop, move, join, or give a key or a value another."""
    at = chance.randrange(len(lines)) if lines else 0
    kind = chance.randrange(7)
    if not lines or kind == 0:
        lines.insert(at, _setting(chance))
    elif kind == 1:
        del lines[at]
    elif kind == 2:
        lines.insert(chance.randrange(len(lines) + 1), lines[at])
    elif kind == 3:
        lines[at] += chance.choice((" ", ":", "|", "\\", ",", "")) + _setting(chance)
    else:
        sign = "|" if name == "qos.txt" else ":" if name.endswith(".cfg") else " "
        words = lines[at].split(sign)
        place = chance.randrange(len(words))
        key, equals, _ = words[place].partition("=")
        value = chance.choice(_VALUES)
        words[place] = _setting(chance) if kind == 4 else f"{key}={value}" if equals else value
        lines[at] = sign.join(words)


def _setting(chance: random.Random) -> str:
    """Make a setting of any key of any table with any value."""
    table = tables()[chance.choice([*tables()])]
    key = chance.choice(table.names)
    return f"{key if chance.random() < 0.8 else key.lower()}={chance.choice(_VALUES)}"
