"""Small logs of Slurm and PBS, as their versions write them; and what must hold of any reading."""

from __future__ import annotations

import io
import zlib
from typing import TYPE_CHECKING, Any

import batchlab as bl

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["JOBCOMP", "PBS", "SACCT", "reading_of"]

SACCT = (
    b"""JobID|JobIDRaw|JobName|User|Account|Partition|State|Submit|Start|End|Elapsed|Timelimit|ReqCPUS|ReqMem|NodeList
12|12|solve|ann|lab|batch|PREEMPTED|2024-03-01T10:00:00|2024-03-01T10:01:00|2024-03-01T10:03:00|00:02:00|01:00:00|8|16G|n[1-2]
12|12|solve|ann|lab|batch|COMPLETED|2024-03-01T10:03:00|2024-03-01T10:30:00|2024-03-01T11:10:00|00:40:00|01:00:00|8|16G|n[1-2]
12.batch|12.batch|batch||lab||COMPLETED|2024-03-01T10:30:00|2024-03-01T10:30:00|2024-03-01T11:10:00|00:40:00||4||n1
13_[4-6%2]|13|swe|ep|bob|lab|batch|CANCELLED by 7|2024-03-01T10:02:00|Unknown|2024-03-01T10:50:00|00:00:00|UNLIMITED|2|4Gn|None assigned
13_2|14|swe
ep|bob|lab|batch|TIMEOUT|2024-03-31T02:30:00|2024-10-27T02:30:00|2024-10-27T02:31:00|1-00:00:00|Partition_Limit|2|400Mc|n3
15+1|16|het|bob|lab|batch|RUNNING|2024-03-01T10:04:00|2024-03-01T10:04:00|Unknown|01:30:00|UNLIMITED|2|4G|n3
""",
    b"""JobIDRaw|State|ExitCode|Submit|Start|End|ElapsedRaw|TimelimitRaw|ReqTRES|AllocTRES|Comment|
5|FAILED|1:0|1709287200|1709287260|1709287320|60|5|billing=8,cpu=8,gres/gpu:a100=2,mem=2G,node=1|cpu=8,node=1|a|b|
5.extern|FAILED|1:0|1709287200|1709287260|1709287320|60||||||
7|OUT_OF_ME+|0:125|1709287201|1709287260|1709287320|60|5|billing=8,cpu=8,node=1|cpu=8,node=1||
""",
)
JOBCOMP = (
    b"JobId=2 UserId=u1(3001) GroupId=u1(3001) Name=j 2 JobState=COMPLETED Partition=batch TimeLimit=1 "
    b"StartTime=2026-11-22T01:31:28 EndTime=2026-11-22T01:31:38 NodeList=n[5-11] NodeCnt=7 ProcCnt=7 "
    b"WorkDir=/tmp ReservationName= Tres=cpu=7,mem=7M,node=7,billing=7 Account=lab QOS=high WcKey= "
    b"Cluster=m3a SubmitTime=2026-11-22T01:31:25 EligibleTime=unknown DerivedExitCode=0:0 ExitCode=0:0 \n"
    b"JobId=21 UserId=u4(3004) GroupId=u4(3004) Name=j21 JobState=CANCELLED Partition=batch "
    b"TimeLimit=UNLIMITED StartTime=2026-11-22T01:33:54 EndTime=2026-11-22T01:33:54 NodeList=(null) "
    b"NodeCnt=0 ProcCnt=2 WorkDir=/tmp SubmitTime=2026-11-22T01:32:35 ArrayJobId=21 ArrayTaskId=5 \n",
)
PBS = (
    b"""03/01/2024 10:00:00;Q;7.server;queue=batch
03/01/2024 10:01:00;S;7.server;user=ann group=staff jobname=run queue=batch ctime=1709287200 qtime=1709287200 start=1709287260 exec_host=n1/0*4+n2/0-3 Resource_List.nodes=2:ppn=4 Resource_List.walltime=01:00:00
03/01/2024 10:02:00;R;7.server;user=ann queue=batch ctime=1709287200 start=1709287260 Resource_List.nodes=2:ppn=4
03/01/2024 10:02:00;L;license;floating
03/01/2024 10:05:00;D;7.server;requestor=ann@host
03/01/2024 10:05:00;E;7.server;user=ann account="a b" ctime=1709287200 qtime=1709287200 start=1709287280 exec_host=n1/0+n1/1 Resource_List.nodes=n1:ppn=2+n2 Resource_List.mem=4gb end=1709287500 Exit_status=271 resources_used.walltime=00:03:40 resources_used.mem=3068kb
03/01/2024 10:06:00;E;9[4].server;user=ann queue=batch ctime=1709287200 start=1709287280 end=1709287500 Exit_status=0 Resource_List.select=2:ncpus=8:mem=4gb Resource_List.walltime=3600
03/01/2024 10:07:00;A;9[].server;
""",
)
_OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"timezone": "Europe/Berlin", "overrun": "keep"},
    {"requeues": "each", "processors": "allocated"},
    {"use_memory": True, "unlimited": {"batch": 60.0}, "overrun": "cut"},
    {"invalid": "raise"},
)


def reading_of(read: Callable[..., bl.Workload]) -> Callable[[bytes, Path], object]:
    """Read a log with arguments that its content chooses, and check the report."""

    def of_content(content: bytes, _folder: Path) -> object:
        options = _OPTIONS[zlib.crc32(content) % len(_OPTIONS)]
        workload = read(io.BytesIO(content), **options)
        report = workload.report
        assert report.read == report.kept + report.dropped.height
        assert report.kept == len(workload)
        return repr(workload), str(report), workload.header.unix_start_time

    return of_content
