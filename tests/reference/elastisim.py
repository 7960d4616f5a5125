"""ElastiSim's projects for the reference: their jobs and platforms, and schedulers that are replayed or run.

Of platform files it knows what the oracles have: one cluster, and storage hosts behind it.
"""

import gzip
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from math import inf
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from reference.elastic import Decide, Decision, Elastic, Invocation, Job, Node, Settings
from reference.world import Host, Link, Platform, Route

UNITS = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "": 1.0, "u": 1e-6, "m": 1e-3}


def quantity(text: str) -> float:
    """Read "12.5GBps", "100Gbps", "2Tf", "50us" in bytes/s, flops/s, seconds."""
    found = re.fullmatch(r"([\d.]+)([kMGTum]?)(Bps|bps|f|s|)", text)
    assert found is not None, text
    return float(found[1]) * UNITS[found[2]] / (8 if found[3] == "bps" else 1)


def argument(value: float | str) -> float | str:
    """Give an argument as ElastiSim sees it: with six decimals."""
    return value if isinstance(value, str) else round(float(value), 6)


def read_jobs(folder: Path) -> list[Job]:
    """Read the jobs in the order of their numbers: that of submission."""
    listed = json.loads((folder / "input/jobs.json").read_text())["jobs"]
    listed.sort(key=lambda each: each["submit_time"])
    return [job(folder, number, each) for number, each in enumerate(listed)]


@cache
def read_model(path: Path) -> Mapping[str, Any]:
    model: Mapping[str, Any] = json.loads(path.read_text())
    return model


def job(folder: Path, number: int, listed: Mapping[str, Any]) -> Job:
    def limits(name: str, default: int) -> tuple[int, int]:
        if listed["type"] == "rigid":
            return (listed.get(name, default),) * 2
        return listed.get(f"{name}_min", default), listed.get(f"{name}_max", default)

    return Job(
        number,
        listed["type"],
        float(listed["submit_time"]),
        limits("num_nodes", 1),
        read_model(folder / listed["application_model"]),
        {name: argument(value) for name, value in listed.get("arguments", {}).items()},
        limits("num_gpus_per_node", 0),
        float(listed.get("walltime", 0)) or inf,
    )


def properties(element: ET.Element) -> dict[str, str]:
    return {each.attrib["id"]: each.attrib["value"] for each in element.findall("prop")}


def read_platform(folder: Path, file: str) -> tuple[Platform, list[Node]]:
    """Read the platform, with the routes that stand beside it if there are any; nodes by name."""
    root = ET.parse(folder / "input" / file).getroot()  # noqa: S314 - the oracle's own file
    cluster = next(root.iter("cluster"))
    low, high = map(int, cluster.attrib["radical"].split("-"))
    names = [f"{cluster.attrib['prefix']}{number}" for number in range(low, high + 1)]
    given = folder / "routes.json.gz"
    if given.exists():
        table = json.loads(gzip.decompress(given.read_bytes()))
        order, links = table["hosts"], [Link(link[1], link[3] == "FATPIPE") for link in table["links"]]
        route = given_routes(table["routes"])
    else:
        order, links, route = crossbar(root, cluster, names)
    storage = tuple(order.index(name) for name in ("PFS",))
    computing = compute_host(cluster, storage)
    hosts = [computing if name in names else Host(0.0) for name in order]
    return Platform(hosts, links, route), [Node(order.index(name)) for name in sorted(names)]


def given_routes(routes: Mapping[str, Any]) -> Route:
    """Take the routes that stand in a file."""

    def route(source: int, target: int) -> tuple[Sequence[int], float]:
        latency, *links = routes[f"{source}>{target}"]
        return links, latency

    return route


def crossbar(root: ET.Element, cluster: ET.Element, names: list[str]) -> tuple[list[str], list[Link], Route]:
    """Work out the routes of a flat cluster whose storage is reached over PFS_read and PFS_write."""
    inside = Link(quantity(cluster.attrib["bw"]))
    outside = {link.attrib["id"]: link.attrib for link in root.iter("link")}
    count, hop = len(names), quantity(cluster.attrib["lat"])
    storage = [Link(quantity(outside[name]["bandwidth"])) for name in ("PFS_read", "PFS_write")]
    links = [*[inside] * (2 * count), *storage]
    far = quantity(outside["PFS_read"]["latency"]) + hop

    def route(source: int, target: int) -> tuple[Sequence[int], float]:
        if source == count:
            return (2 * count, count + target), far
        return ((source, 2 * count + 1), far) if target == count else ((source, count + target), 2 * hop)

    return [*names, "PFS"], links, route


def compute_host(cluster: ET.Element, storage: tuple[int, ...]) -> Host:
    said = properties(cluster)
    disk = None
    if said.get("node_local_bb") == "true":
        disk = quantity(said["bb_read_bw"]), quantity(said["bb_write_bw"])
    return Host(
        speed=quantity(cluster.attrib["speed"]),
        targets=storage,
        gpus=int(said.get("num_gpus", "0")),
        gpu_speed=quantity(said.get("flops_per_gpu", "0")),
        gpu_bandwidth=quantity(said.get("gpu_to_gpu_bw", "0")),
        disk=disk,
        whole_bytes=True,
    )


def read_project(folder: Path, decide: Decide) -> Elastic:
    """Set up the simulation of a project."""
    configuration = json.loads((folder / "input/configuration.json").read_text())
    platform, nodes = read_platform(folder, Path(configuration["platform_file"]).name)
    settings = Settings(grace=float(configuration.get("job_kill_grace_period", 0)))
    return Elastic(platform, nodes, read_jobs(folder), decide, settings)


def read_transcript(folder: Path) -> list[dict[str, Any]]:
    """Read what the scheduler was asked and answered."""
    text = gzip.decompress((folder / "transcript.jsonl.gz").read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines()]


class Replay:
    """Decide as a transcript says, and hold every question to it."""

    def __init__(self, transcript: Sequence[Mapping[str, Any]]) -> None:
        self.transcript = transcript
        self.deviation = 0.0

    def __call__(self, simulation: Elastic, asked: Invocation) -> Sequence[Decision]:
        expected = self.transcript[len(simulation.invocations) - 1]
        kind = expected["type"].removeprefix("INVOKE_").removeprefix("JOB_").lower()
        found = (asked.kind, asked.job and asked.job.number, asked.tasks)
        wanted = (kind, expected.get("job"), expected.get("evolving_request", 0))
        assert found == wanted, f"invocation {expected['n']} at {expected['time']}: {found}, not {wanted}"
        self.deviation = max(self.deviation, abs(asked.time - expected["time"]))
        decisions: Sequence[Decision] = expected["reply"]
        return decisions
