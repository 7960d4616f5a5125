"""Parts of ElastiSim projects, made by hand."""

import json
from collections.abc import Mapping
from pathlib import Path

from batchlab.bridge.elastisim.jobs import ElastisimJob
from batchlab.core.vocabulary import JobType

__all__ = ["add_storage", "job_of", "write_project"]

PLATFORM = """\
<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="site" routing="Full">
    <zone id="front" routing="Full">
      <host id="batch" speed="0Gf"><prop id="batch_system" value="true"/></host>
    </zone>
    <cluster id="machine" prefix="n" radical="8-11" suffix="" speed="1Gf" bw="1GBps" lat="0us">
      <prop id="num_gpus" value="2"/><prop id="flops_per_gpu" value="1Gf"/>
      <prop id="gpu_to_gpu_bw" value="1GBps"/>
    </cluster>
  </zone>
</platform>
"""
_END = "  </zone>\n</platform>"
_STORAGE = """\
    <zone id="storage" routing="Full">
      <host id="PFS" speed="0Gf"><prop id="pfs_host" value="true"/></host>
    </zone>
    <link id="in" bandwidth="4GBps" latency="0us"/>
    <link id="out" bandwidth="2GBps" latency="0us"/>
    <zoneRoute src="storage" dst="machine" gw_src="PFS" gw_dst="nmachine_router" symmetrical="NO">
      <link_ctn id="in"/>
    </zoneRoute>
    <zoneRoute src="machine" dst="storage" gw_src="nmachine_router" gw_dst="PFS" symmetrical="NO">
      <link_ctn id="out"/>
    </zoneRoute>
"""
# Four iterations of 40 s on one node.
APPLICATION = {
    "phases": [
        {
            "iterations": 4,
            "tasks": [
                {"type": "cpu", "flops": "work/num_nodes", "computation_pattern": "uniform", "name": "work"}
            ],
        }
    ]
}
CONFIGURATION = {
    "jobs_file": "jobs.json",
    "platform_file": "platform.xml",
    "schedule_on_job_submit": True,
    "schedule_on_job_finalize": True,
    "schedule_on_scheduling_point": True,
}
SIZES = {
    "rigid": {"num_nodes": 2},
    "malleable": {"num_nodes_min": 1, "num_nodes_max": 4},
}


def write_project(
    folder: Path,
    jobs: list[dict[str, object]],
    *,
    application: object = APPLICATION,
    **configuration: object,
) -> Path:
    """Write a project of four nodes (n8 to n11, two GPUs each); give its configuration.

    Jobs are given by what differs: malleable on one to four nodes, submitted at 0 s, and 40 s of work.
    """
    written = [
        {
            "type": "malleable",
            "submit_time": 0,
            "application_model": "application.json",
            "arguments": {"work": 4e10},
            **SIZES["rigid" if job.get("type") == "rigid" else "malleable"],
            **job,
        }
        for job in jobs
    ]
    for name, content in (
        ("jobs.json", json.dumps({"jobs": written})),
        ("application.json", json.dumps(application)),
        ("platform.xml", PLATFORM),
        ("configuration.json", json.dumps(CONFIGURATION | configuration)),
    ):
        (folder / name).write_text(content)
    return folder / "configuration.json"


def job_of(
    kind: JobType = "malleable", nodes: tuple[int, int] = (1, 3), arguments: Mapping[str, str] | None = None
) -> ElastisimJob:
    """Describe a job."""
    return ElastisimJob(
        place="jobs.json: jobs[0]",
        type=kind,
        submit_time=0.0,
        walltime=0.0,
        nodes=nodes,
        gpus_per_node=(0, 2) if kind != "rigid" else (0, 0),
        application_model="app.json",
        arguments=arguments or {},
        attributes={},
    )


def add_storage(path: Path) -> None:
    """Add a parallel file system to the platform of a project: links "in" (4 GB/s) and "out" (2 GB/s)."""
    platform = path.parent / "platform.xml"
    platform.write_text(platform.read_text().replace(_END, _STORAGE + _END))
