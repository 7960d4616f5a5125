"""A large ElastiSim project, made up: what batchlab costs per call of the algorithm.

`python benchmarks/elastisim_many.py` writes a project after the shape of a public one, whose nodes are the
cores of a cluster: 11,635 jobs, a third of them moldable, that come in bursts over five hours, on 13,248
nodes behind one crossbar, each busy for its run time. Every submission and every end is a call of an
algorithm that looks at every job and every node, as that of ElastiSim's example does: most of the time is
its own. ElastiSim was not measured on it; the target is a twentieth of what its simulator took per call of
its example, on 128 nodes.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from elastisim import RECORDED
from measure import cpu_time, verdict

from batchlab.bridge import elastisim
from batchlab.bridge.elastisim.algorithm_side.elastisim_python import JobState, NodeState

JOBS, NODES = 11_635, 13_248
HOURS = 5.0
# ElastiSim's example: calls of its algorithm in the recorded run without sensing.
EXAMPLE_CALLS = 2_486
FASTER = 20.0

PLATFORM = """\
<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="site" routing="Full">
    <zone id="front" routing="Full">
      <host id="batch" speed="0Gf"><prop id="batch_system" value="true"/></host>
    </zone>
    <cluster id="machine" prefix="n" radical="0-{last}" suffix="" speed="100Gf" bw="100Gbps" lat="50us">
      <prop id="pfs_targets" value="PFS"/>
    </cluster>
    <zone id="storage" routing="Full">
      <host id="PFS" speed="0Gf"><prop id="pfs_host" value="true"/></host>
    </zone>
    <link id="PFS_read" bandwidth="80GBps" latency="500us"/>
    <link id="PFS_write" bandwidth="50GBps" latency="500us"/>
    <zoneRoute src="storage" dst="machine" gw_src="PFS" gw_dst="nmachine_router" symmetrical="NO">
      <link_ctn id="PFS_read"/>
    </zoneRoute>
    <zoneRoute src="machine" dst="storage" gw_src="nmachine_router" gw_dst="PFS" symmetrical="NO">
      <link_ctn id="PFS_write"/>
    </zoneRoute>
  </zone>
</platform>
"""
MODEL = {
    "phases": [
        {
            "tasks": [
                {
                    "type": "busy_wait",
                    "name": "run",
                    "delay": "seconds*base_nodes/num_nodes",
                    "pattern": "uniform",
                }
            ]
        }
    ]
}
CONFIGURATION = {
    "jobs_file": "jobs.json",
    "platform_file": "platform.xml",
    "zmq_url": "ipc:///tmp/elastisim-many.ipc",
    "schedule_on_job_submit": True,
    "schedule_on_job_finalize": True,
    "schedule_on_scheduling_point": True,
    "forward_io_information": True,
    "log_task_times": True,
    "pfs_read_links": ["PFS_read"],
    "pfs_write_links": ["PFS_write"],
    **{name: f"output/{name}.csv" for name in ("job_statistics", "node_utilization", "task_times")},
}


def schedule(jobs: list[Any], nodes: list[Any], _system: dict[str, Any]) -> None:
    """First come, first served; as the example's it makes a list of the jobs and nodes in each state."""
    pending = [job for job in jobs if job.state == JobState.PENDING]
    for state in (JobState.RUNNING, JobState.IN_RECONFIGURATION, JobState.COMPLETED, JobState.KILLED):
        [job for job in jobs if job.state == state]
    free = [node for node in nodes if node.state == NodeState.FREE]
    for other in (NodeState.ALLOCATED, NodeState.RESERVED):
        [node for node in nodes if node.state == other]
    for job in pending:
        least, most = job.num_nodes or job.num_nodes_min, job.num_nodes or job.num_nodes_max
        count = min(len(free), most)
        if count < least:
            break
        job.assign(free[:count])
        del free[:count]


def write_project(folder: Path, count: int, *, moldable: float) -> Path:
    """Write the project; `moldable` is the share of jobs that may have twice or half their nodes."""
    rng = np.random.default_rng(7)
    bursts = np.sort(rng.uniform(0, HOURS * 3600, max(count // 12, 1)))
    times = np.sort(np.floor(rng.choice(bursts, count) + rng.exponential(20, count)))
    sizes = rng.choice(
        [1, 4, 16, 32, 36, 144, 288, 576, 756], count, p=[0.3, 0.1, 0.1, 0.33, 0.06, 0.05, 0.03, 0.02, 0.01]
    )
    seconds = np.ceil(rng.lognormal(5.0, 1.3, count))
    jobs = []
    for submit, size, length, share in zip(times, sizes, seconds, rng.random(count), strict=True):
        size = int(size)  # noqa: PLW2901  # JSON takes no numbers of NumPy's
        limits = {"num_nodes": size}
        if share < moldable:
            limits = {"num_nodes_min": max(size // 2, 1), "num_nodes_max": min(2 * size, 1024)}
        jobs.append(
            {
                "type": "moldable" if share < moldable else "rigid",
                "submit_time": submit,
                **limits,
                "application_model": "model.json",
                "arguments": {"seconds": int(length), "base_nodes": size},
            }
        )
    for name, content in (("jobs", {"jobs": jobs}), ("model", MODEL), ("configuration", CONFIGURATION)):
        (folder / f"{name}.json").write_text(json.dumps(content))
    (folder / "platform.xml").write_text(PLATFORM.format(last=NODES - 1))
    return folder / "configuration.json"


class Timed:
    """An algorithm that knows how long it took itself."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self, jobs: list[Any], nodes: list[Any], system: dict[str, Any]) -> None:
        begin = time.process_time()
        schedule(jobs, nodes, system)
        self.seconds += time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--moldable", type=float, default=0.3, help="share of moldable jobs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = write_project(Path(folder), options.jobs, moldable=options.moldable)
        algorithm = Timed()
        reading, _ = cpu_time(lambda: elastisim.open_project(path))
        whole, run = cpu_time(lambda: elastisim.run(path, algorithm))
        writing, _ = cpu_time(run.write)
    ours = whole - reading - algorithm.seconds
    print(f"{len(run.ledger.jobs):,} jobs on {NODES:,} nodes, {run.calls:,} calls, CPU time:")
    for name, seconds in (
        ("reading", reading),
        ("algorithm", algorithm.seconds),
        ("simulation and books", ours),
        ("output files", writing),
    ):
        print(f"  {name:<22}{seconds:9.3f} s {seconds / run.calls * 1e3:9.4f} ms per call")
    theirs = RECORDED["example500"].simulator / EXAMPLE_CALLS
    everything = (ours + reading + writing) / run.calls
    verdict(
        "ElastiSim per call of its example ÷ batchlab per call here",
        theirs / everything,
        FASTER,
        at_least=True,
    )


if __name__ == "__main__":
    main()
