"""Platforms in TOML."""

import io

import pytest

import batchlab as bl
from batchlab.errors import PlatformError
from batchlab.platform import Crossbar, Disk, Link, SharedStorage

EXAMPLE = """
name = "example"

[[clusters]]
name = "c"
nodes = 16
bandwidth = "12.5GBps"
latency = "1us"
topology = { kind = "fat_tree", down = [4, 4], up = [1, 2], cables = [1, 2] }

[clusters.node]
speed = "1Tf"
cores = 16
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
ZONES = """
routing = "full"
links = [{ name = "x", bandwidth = 1e9, latency = 0.5, sharing = "split_duplex" }]

[[zones]]
name = "left"
hosts = [{ name = "a", speed = "1Gf" }]

[[zones]]
name = "right"
routing = "star"
hosts = [{ name = "b" }, { name = "c" }]
links = [{ name = "y", bandwidth = "1GBps" }]
rays = [{ member = "b", up = ["y"], down = ["y"] }]

[[routes]]
source = "left"
target = "right"
links = ["x_UP"]
source_gateway = "a"
target_gateway = "c"
"""


def read(text: str) -> bl.Platform:
    """Read a document."""
    return bl.read_platform(io.StringIO(text))


def test_a_cluster_and_its_storage() -> None:
    """The same as by calls."""
    by_calls = bl.Platform.fat_tree(
        down=(4, 4),
        up=(1, 2),
        cables=(1, 2),
        bandwidth="12.5GBps",
        latency="1us",
        name="c",
        speed="1Tf",
        cores=16,
        gpus=4,
        gpu_speed="20Tf",
        gpu_bandwidth="50GBps",
        disk=Disk("2GBps", "1GBps"),
        storage=SharedStorage("PFS", "80GBps", "50GBps", "5us"),
    )
    platform = read(EXAMPLE)
    assert platform.root == by_calls.root
    assert (platform.name, platform.read_links, platform.write_links) == (
        "example",
        by_calls.read_links,
        by_calls.write_links,
    )


def test_zones_and_routes() -> None:
    """Nested as one likes."""
    platform = read(ZONES)
    assert platform.route("a", "b") == (("x_UP", "y"), 0.5)
    assert platform.route("b", "a").links == ("y", "x_DOWN")
    assert platform.name == "platform"


def test_crossbars_and_tori() -> None:
    """Nodes by number, backbones and loopbacks as links, bandwidths by dimension."""
    platform = read("""
        [[clusters]]
        name = "c"
        numbers = [3, 5]
        prefix = "n"
        bandwidth = 1e9
        node = { speed = 1e9 }
        topology = { kind = "crossbar", backbone = { bandwidth = "5GBps", sharing = "fat_pipe" } }
        loopback = { bandwidth = "9GBps" }
        limiter = "3GBps"
    """)
    assert platform.route("n3", "n3").links == ("c_link_3_loopback",)
    cluster = platform.root.members[0]  # type: ignore[union-attr]  # a zone
    assert cluster.topology == Crossbar(Link("backbone", 5e9, 0.0, "fat_pipe"))  # type: ignore[union-attr]
    torus = read("""
        [[clusters]]
        name = "c"
        bandwidth = 1e9
        node = { speed = 1e9 }
        topology = { kind = "torus", dimensions = [2, 3], bandwidths = ["1GBps", "2GBps"] }
    """)
    assert len(torus.nodes) == 6


CLUSTER = '[[clusters]]\nname = "c"\nbandwidth = 1.0\nnode = {}\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hosts = [", r"platform: is neither XML nor TOML"),
        ("a = 1" + "0" * 5000, r"holds a number of thousands of digits"),
        ("hosst = []", r"platform: hosst = \[\]; is not a key of a platform. Did you mean 'hosts'"),
        ("members = []", r"platform: members = \[\]; is not a key of a platform"),
        ("hosts = 3", r"hosts = 3; must be a list of hosts; in TOML write \[\[hosts\]\] before each"),
        ("hosts = [3]", r"hosts\[0\] = 3; must be an object of keys and values"),
        ('hosts = [{ name = "a", cores = 0 }]', r"hosts\[0\].cores = 0; must be a whole number"),
        (
            'hosts = [{ name = "a", core = 1 }]',
            r"hosts\[0\].core = 1; is not a key of a platform. Did you mean 'cores'",
        ),
        ('hosts = [{ name = "a", disk = { read = 1 } }]', r"hosts\[0\].disk.write is missing; add it"),
        ('links = [{ name = "x" }]', r"links\[0\].bandwidth is missing; add it"),
        (
            'routes = [{ source = "a", target = "b", links = [] }]',
            r"routes\[0\]: route from 'a' to 'b': no host",
        ),
        (CLUSTER, r"clusters\[0\].nodes is missing; say how many nodes"),
        (CLUSTER + "nodes = 0", r"clusters\[0\].nodes = 0; must be a whole number from 1"),
        (CLUSTER + "nodes = 2\nnumbers = [1]", r"clusters\[0\].nodes = 2; keep nodes or numbers, not both"),
        (
            CLUSTER + 'topology = { kind = "ring" }',
            r"clusters\[0\].topology.kind = 'ring'; must be a topology",
        ),
        (
            CLUSTER + "topology = {}",
            r"clusters\[0\].topology.kind is missing; must be a topology. Known: crossbar",
        ),
        (CLUSTER + 'topology = { kind = "torus" }', r"clusters\[0\].topology.dimensions is missing"),
        (
            CLUSTER + "nodes = 2\n[[storage]]\nname = 's'",
            r"storage\[0\].read is missing; add it \(and 1 more\)",
        ),
        ("[[storage]]\nname = 's'\nread = 1\nwrite = 1", r"storage: is for documents of one cluster"),
        ("read_links = 3", r"read_links = 3; must be a list of names"),
        ("read_links = ['x']", r"Platform: no link is called 'x'"),
    ],
)
def test_wrong_documents(text: str, message: str) -> None:
    """The path into the document, the value, the rule and the next step."""
    with pytest.raises(PlatformError, match=message):
        read(text)


def test_bytes_that_are_no_text() -> None:
    """Say so."""
    with pytest.raises(PlatformError, match=r"is not UTF-8 text \(byte 0\)"):
        bl.read_platform(io.BytesIO(b"\xff\xfe"))
