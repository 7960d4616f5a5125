"""How many lines of logs of batch systems are read in a second, and how the time grows with their number.

`python benchmarks/read_logs.py [--jobs N]`
"""

import argparse
import io
from collections.abc import Callable, Iterator

from measure import cpu_time, verdict

import batchlab as bl

FEWEST_LINES, MOST_GROWTH = 10_000, 1.5
ORIGIN = 1_700_000_000


def sacct(job: int, submit: int) -> str:
    """Write a record of Slurm's sacct."""
    return f"{job}|ann|{submit}|{submit + 60}|{submit + 160}|COMPLETED|8|60|2|8G"


def pbs(job: int, submit: int) -> str:
    """Write the end of a job of OpenPBS."""
    return (
        f"11/14/2023 22:13:20;E;{job}.srv;user=ann queue=work ctime={submit} start={submit + 60} "
        "exec_host=n1/0*4+n2/0*4 Resource_List.ncpus=8 Resource_List.place=scatter "
        f"Resource_List.select=2:ncpus=4:mem={1 + job % 99}gb Resource_List.walltime=01:00:00 "
        f"end={submit + 160} Exit_status=0 resources_used.walltime=00:01:40"
    )


def lsf(job: int, submit: int) -> str:
    """Write a record of LSF 10.1."""
    usage = "0.5 0.25" + " -1" * 17
    needs = f'"rusage[mem={job % 99}] span[ptile=4]"'
    return (
        f'"JOB_FINISH" "10.1" {submit + 160} {job} 501 2 8 {submit} 0 0 {submit + 60} "ann" "work" {needs} '
        f'"" "" "login" "/home" "" "" "" "x" 0 2 "4*n1" "4*n2" 64 1.0 "" "run" {usage} "" "P" 0 8 "" "" 0 9 '
        '0 "" "" "" "" 0 "" 0 "" -1 "" "" "" "" -1 "" "" 0 "" 0 "" "" 0 0 3600 0 0 "" "" '
        '-1 "" -1 0 "" 0 0 "" 100 ""'
    )


def sge(job: int, submit: int) -> str:
    """Write a record of Grid Engine 6.2."""
    requests = f"-l h_rt=3600,h_vmem={1 + job % 99}M -pe mpi 8"
    return (
        f"all.q:n1:g:ann:x:{job}:sge:0:{submit}:{submit + 60}:{submit + 160}:0:0:100"
        f"{':0' * 17}:P:d:mpi:8:0:5:1:0:{requests}:0:NONE:2048:0:0"
    )


def maui(job: int, submit: int) -> str:
    """Write a record of Maui."""
    return (
        f"{job} 2 8 ann g 3600 Completed [work:1] {submit} {submit} {submit + 60} {submit + 160} - - - >= 0 "
        f">= 0 [fast] {submit} 8 4 high:high - P - - 0 1 base 1 {1 + job % 99} 0 0 0 0 n1:n2 - - - - - -"
    )


def gwf(job: int, submit: int) -> str:
    """Write a record of the Grid Workloads Archive."""
    return (
        f"{job} {submit} 60 100 8 5 7 8 3600 {1 + job % 99} 1 U1 G1 X1 Q1 -1 s0 s0 UNITARY{' -1' * 8} V0 P1"
    )


HEADER = "JobID|User|Submit|Start|End|State|ReqCPUS|TimelimitRaw|NNodes|ReqMem\n"
FORMATS: dict[str, tuple[Callable[..., bl.Workload], Callable[[int, int], str], str]] = {
    "sacct": (bl.read_sacct, sacct, HEADER),
    "pbs": (bl.read_pbs, pbs, ""),
    "lsf": (bl.read_lsf, lsf, ""),
    "sge": (bl.read_sge, sge, ""),
    "maui": (bl.read_maui, maui, ""),
    "gwf": (bl.read_gwf, gwf, ""),
}


def seconds(name: str, jobs: int) -> float:
    """Return the CPU time of reading a log of so many jobs."""
    read, write, header = FORMATS[name]
    content = (header + "".join(f"{line}\n" for line in lines(write, jobs))).encode()

    spent, workload = cpu_time(lambda: read(io.BytesIO(content)))
    if len(workload) != jobs:
        raise SystemExit(str(workload.report))
    return spent


def lines(write: Callable[[int, int], str], jobs: int) -> Iterator[str]:
    """Write the records of jobs that are submitted a second apart."""
    return (write(job, ORIGIN + job) for job in range(1, jobs + 1))


def main() -> None:
    """Read a log of each format, and one of a quarter of its length."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000)
    jobs = parser.parse_args().jobs
    for name in FORMATS:
        # The first call imports the reader.
        seconds(name, 10)
        part, whole = seconds(name, jobs // 4), seconds(name, jobs)
        verdict(f"{name}: lines read in a second of CPU time", jobs / whole, FEWEST_LINES, at_least=True)
        verdict(f"{name}: a line of four times as many", whole / part / 4, MOST_GROWTH, at_least=False)


if __name__ == "__main__":
    main()
