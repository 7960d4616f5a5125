"""`batchlab platform`."""

import json
from pathlib import Path

import pytest

from batchlab.cli import main

FILE = """\
name = "small"

[[clusters]]
name = "c"
bandwidth = "10GBps"
latency = "1us"
topology = { kind = "torus", dimensions = [3, 3] }

[clusters.node]
speed = "1Tf"
cores = 8
gpus = 4
gpu_speed = "20Tf"
gpu_bandwidth = "50GBps"
disk = { read = "2GBps", write = "1GBps" }

[[storage]]
name = "PFS"
read = "80GBps"
write = "50GBps"
latency = "5us"
"""
SHOWN = """\
small: 9 nodes, 10 hosts in all, 38 links

nodes         9 × 8 cores at 1 Tflop/s
              4 GPUs at 20 Tflop/s, 50 GB/s between them
              burst buffer: reads 2 GB/s, writes 1 GB/s
storage       PFS
links         36 × 10 GB/s, 1 us
              1 × 80 GB/s, 5 us
              1 × 50 GB/s, 5 us

c_platform  full routes, 2 given
  c  torus (3 × 3) of 9 hosts, node0, node1 … node8
  PFS_zone  full routes: PFS
"""
ROUTE = """\
node1 → PFS: 6 us, 10 GB/s at most
  c_link_from_0_to_1_DOWN  10 GB/s, 1 us
  PFS_write                50 GB/s, 5 us
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    """Describe nine nodes and storage."""
    path = tmp_path / "small.toml"
    path.write_text(FILE)
    return str(path)


def test_what_is_in_a_file(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nodes, storage, links and zones, each kind once."""
    assert main(["platform", file]) == 0
    assert capsys.readouterr().out == SHOWN


def test_a_route(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Its links, latency and narrowest bandwidth."""
    assert main(["platform", file, "--route", "node1", "PFS"]) == 0
    assert capsys.readouterr().out == ROUTE
    assert main(["platform", file, "--route", "node1", "node1"]) == 0
    assert capsys.readouterr().out == "node1 → node1: 0 s\n"


def test_for_programs(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The same as JSON, every host and link."""
    assert main(["platform", file, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["links"]) == 38
    assert document["hosts"][0]["disk"] == {"read": 2e9, "write": 1e9, "whole_bytes": False, "capacity": None}
    assert main(["platform", file, "--route", "PFS", "node0", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["links"] == ["PFS_read"]


def test_errors_are_one_line(file: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """With file and line, and exit code 2."""
    assert main(["platform", file, "--route", "node1", "PFX"]) == 2
    assert "no host is called 'PFX'" in capsys.readouterr().err
    wrong = tmp_path / "wrong.xml"
    wrong.write_text('<platform version="4.1">\n<zon/></platform>')
    assert main(["platform", str(wrong)]) == 2
    assert f"{wrong}:2: <zon> is no element of a platform. Did you mean 'zone'?" in capsys.readouterr().err


def test_kinds_of_topologies(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Each says what it is."""
    topologies = {
        'kind = "crossbar", backbone = { bandwidth = 1 }': "crossbar with a backbone of node0, node1",
        'kind = "crossbar"': "crossbar of node0, node1",
        'kind = "fat_tree", down = [2], up = [1], cables = [1]': "fat tree (2; 1; 1) of node0, node1",
        'kind = "dragonfly", groups = 1, chassis = 1, blades = 1, nodes_per_blade = 2': (
            "dragonfly (1 × 1 × 1 × 2) of node0, node1"
        ),
    }
    for topology, shown in topologies.items():
        path = tmp_path / "x.toml"
        path.write_text(
            f'[[clusters]]\nname = "c"\nnodes = 2\nbandwidth = 1\nnode = {{}}\ntopology = {{ {topology} }}'
        )
        assert main(["platform", str(path)]) == 0
        assert f"  c  {shown}\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    "route", [["--route", "node0"], ["--route"], ["--route", "node0", "--format", "json"]]
)
def test_a_route_needs_two_hosts(route: list[str], file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The line shows how, also where the next option would have been taken for a host."""
    assert main(["platform", file, *route]) == 2
    rule = "needs two hosts, SOURCE TARGET: --route node0 node1. See batchlab platform --help.\n"
    assert rule in capsys.readouterr().err


def test_an_option_without_a_value_names_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    """The help that it points at has the option."""
    assert main(["run", "log.swf", "--nodes"]) == 2
    assert "See batchlab run --help." in capsys.readouterr().err
