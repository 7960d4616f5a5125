"""Routes that SimGrid 3.34 and ElastiSim took: links, order and latency, rebuilt from the platform files."""

import gzip
import json

import pytest

import batchlab as bl
from support.oracles import FACTS, SHARED, find

# Beside the repository, or else in it.
SIMGRID = next(path for path in (SHARED / "oracles/simgrid", FACTS / "simgrid") if path.is_dir())
CASES = sorted(path.name for path in SIMGRID.glob("*.jsonl.gz"))
PROJECTS = sorted(path.parent.name for path in SHARED.glob("oracles/elastisim/*/routes.json.gz"))


@pytest.mark.parametrize("name", CASES)
def test_simgrid(name: str) -> None:
    """Every recorded route is the one that is computed, and its latency the same to the last bit."""
    platforms: dict[str, bl.Platform] = {}
    checked: set[tuple[str, str, str]] = set()
    with gzip.open(find(f"oracles/simgrid/{name}")) as lines:
        for case in map(json.loads, lines):
            file = case["platform"]
            platform = platforms.setdefault(file, bl.read_platform(SIMGRID / "platforms" / file))
            for route in case["routes"]:
                ends = route["src"], route["dst"]
                if (file, *ends) not in checked:
                    assert platform.route(*ends) == (tuple(route["links"]), route["latency"])
                    checked.add((file, *ends))
    assert checked


@pytest.mark.parametrize("name", CASES)
def test_links_of_simgrid(name: str) -> None:
    """Bandwidths and latencies, too."""
    with gzip.open(find(f"oracles/simgrid/{name}")) as lines:
        case = json.loads(next(lines))
    platform = bl.read_platform(SIMGRID / "platforms" / case["platform"])
    links = {link.name: (link.bandwidth, link.latency) for link in platform.links}
    for link in case["links"]:
        assert links[link["name"]] == (link["bandwidth"], link["latency"])


@pytest.mark.parametrize("name", PROJECTS or ["microA_crossbar"])
def test_elastisim(name: str) -> None:
    """All pairs of hosts, storage among them."""
    recorded = json.loads(gzip.decompress(find(f"oracles/elastisim/{name}/routes.json.gz").read_bytes()))
    platform = bl.read_platform(find(f"oracles/elastisim/{name}/input/platform.xml"))
    names = [link[0] for link in recorded["links"]]
    for ends, (latency, *links) in recorded["routes"].items():
        source, target = (recorded["hosts"][int(end)] for end in ends.split(">"))
        assert platform.route(source, target) == (tuple(names[link] for link in links), latency)


def test_properties_of_elastisim() -> None:
    """GPUs, burst buffers, storage and the batch host are understood."""
    platform = bl.read_platform(find("oracles/elastisim/microA_crossbar/input/platform.xml"))
    node = platform.nodes[0]
    assert (node.gpus, node.gpu_speed, node.gpu_bandwidth) == (4, 1e12, 50e9)
    assert node.disk is not None
    assert (node.disk.read, node.disk.write, node.striping) == (2e9, 1e9, None)
    assert {host.name: host.role for host in platform.hosts if host.role != "compute"} == {
        "Batch_system": "batch",
        "PFS": "storage",
    }
    example = bl.read_platform(find("oracles/elastisim/example500/input/crossbar.xml"))
    assert len(example.nodes) == 128
    assert all(host.storage_targets == ("PFS",) for host in example.nodes)
