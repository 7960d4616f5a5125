"""Platforms that are described by calls."""

import pickle
from collections.abc import Callable
from typing import Literal

import pytest

import batchlab as bl
from batchlab.errors import PlatformError
from batchlab.platform import (
    Cluster,
    Disk,
    Dragonfly,
    FatTree,
    Host,
    Link,
    Ray,
    Route,
    SharedStorage,
    Torus,
    Zone,
)

PFS = SharedStorage("PFS", "80GBps", "50GBps", "5us")


def test_crossbars() -> None:
    """Every node has a cable to the switch; a backbone lies between."""
    platform = bl.Platform.crossbar(3, bandwidth="1GBps", latency="1us", speed="1Gf", cores=4)
    assert [host.name for host in platform.nodes] == ["node0", "node1", "node2"]
    assert platform.route("node0", "node2") == (("cluster_link_0_UP", "cluster_link_2_DOWN"), 2e-6)
    assert platform.nodes[0] == Host("node0", "1Gf", 4)
    backbone = Link("any", "3GBps", 0.0, "fat_pipe")
    platform = bl.Platform.crossbar((7, 9), bandwidth="1GBps", backbone=backbone, name="c", prefix="n")
    assert platform.route("n7", "n9").links == ("c_link_7_UP", "c_backbone", "c_link_9_DOWN")
    assert platform.links[0] == Link("c_backbone", "3GBps", 0.0, "fat_pipe")


def test_fat_trees_tori_and_dragonflies() -> None:
    """As many nodes as their numbers say."""
    tree = bl.Platform.fat_tree(down=(4, 4), up=(1, 2), bandwidth="1GBps")
    torus = bl.Platform.torus((3, 4, 5), bandwidth="1GBps")
    dragonfly = bl.Platform.dragonfly(groups=3, chassis=4, blades=4, nodes_per_blade=4, blue=4, bandwidth=1e9)
    assert [len(platform.nodes) for platform in (tree, torus, dragonfly)] == [16, 60, 192]
    assert tree.route("node0", "node1").links == ("link_from_0_31_0_UP", "link_from_1_31_1_DOWN")
    blue = next(link for link in dragonfly.links if link.name.startswith("blue"))
    assert blue.bandwidth == 4e9


def test_bandwidth_of_a_torus_by_dimension() -> None:
    """One value each."""
    torus = bl.Platform.torus((2, 3), bandwidth=("1GBps", "2GBps"))
    bandwidths = {link.name: link.bandwidth for link in torus.links}
    assert bandwidths["cluster_link_from_0_to_1_UP"] == 1e9
    assert bandwidths["cluster_link_from_0_to_2_UP"] == 2e9


def test_shared_storage() -> None:
    """Reading and writing have a link each, and lead to the switch or to the first node."""
    crossbar = bl.Platform.crossbar(2, bandwidth="1GBps", storage=PFS)
    assert crossbar.route("PFS", "node1").links == ("PFS_read", "cluster_link_1_DOWN")
    assert crossbar.route("node1", "PFS").links == ("cluster_link_1_UP", "PFS_write")
    assert (crossbar.read_links, crossbar.write_links) == (("PFS_read",), ("PFS_write",))
    buffer = SharedStorage("BB", "1GBps", "1GBps", role="burst_buffer", gateway="node2")
    torus = bl.Platform.torus((4,), bandwidth="1GBps", storage=[PFS, buffer])
    assert torus.route("node1", "PFS").links == ("cluster_link_from_0_to_1_DOWN", "PFS_write")
    assert torus.route("BB", "node2").links == ("BB_read",)
    assert [(host.name, host.role) for host in torus.hosts[-2:]] == [
        ("PFS", "storage"),
        ("BB", "burst_buffer"),
    ]
    assert torus.read_links == ("PFS_read",)
    assert len(torus.nodes) == 4


def test_graphs_take_the_fewest_links() -> None:
    """Ends of edges that are no hosts are routers."""
    edges = [
        ("a", "s", Link("as", "1GBps", "1us", "split_duplex")),
        ("s", "t", Link("st", "1GBps", "1us")),
        ("t", "b", Link("tb", "1GBps", "1us")),
        ("s", "b", Link("sb", "1GBps", "9us")),
    ]
    routings: tuple[Literal["dijkstra", "floyd"], ...] = ("dijkstra", "floyd")
    for routing in routings:
        graph = bl.Platform.graph(edges, hosts=["a", "b"], speed="1Gf", routing=routing)
        assert graph.route("a", "b").links == ("as_UP", "sb")
        assert graph.route("a", "b").latency == pytest.approx(1e-5)
        assert graph.route("b", "a").links == ("sb", "as_DOWN")
        assert [host.speed for host in graph.nodes] == [1e9, 1e9]


def test_given_routes() -> None:
    """Both ways unless told otherwise."""
    links = [Link("x", "1GBps", 0.5), Link("y", "1GBps", 0.25)]
    platform = bl.Platform.from_routes(links, {("a", "b"): ["x", "y"]})
    assert platform.route("a", "b") == (("x", "y"), 0.75)
    assert platform.route("b", "a").links == ("y", "x")
    platform = bl.Platform.from_routes(links, {("a", "b"): ["x"]}, hosts=[Host("a"), "b"], symmetrical=False)
    with pytest.raises(PlatformError, match="there is no route from 'b' to 'a'; add one"):
        platform.route("b", "a")


def test_stars_with_links_of_their_own() -> None:
    """A member's ray may be any links; a member without one is in the centre."""
    star = Zone(
        "star",
        "star",
        hosts=(Host("a"), Host("b"), Host("c")),
        links=(Link("up", "1GBps"), Link("down", "1GBps"), Link("b", "1GBps")),
        rays=(Ray("a", ("up",), ("down",)), Ray("b", ("b",), ("b",))),
    )
    platform = bl.Platform(star)
    assert platform.route("a", "b").links == ("up", "b")
    assert platform.route("b", "a").links == ("b", "down")
    assert platform.route("c", "a").links == ("down",)
    assert platform.route("b", "b").links == ("b",)


def test_everything_may_be_said_of_nodes() -> None:
    """GPUs, disks, striping, storage targets and properties ride along to each node."""
    platform = bl.Platform.crossbar(
        2,
        bandwidth="1GBps",
        storage=PFS,
        speed="1Tf",
        gpus=4,
        gpu_speed="20Tf",
        gpu_bandwidth="50GBps",
        disk=Disk("2GBps", "1GBps"),
        striping=2.0,
        storage_targets=("PFS",),
        properties={"rack": "7"},
    )
    node = platform.nodes[1]
    assert (node.gpus, node.gpu_speed, node.gpu_bandwidth, node.striping) == (4, 20e12, 50e9, 2.0)
    assert (node.disk, node.storage_targets, node.properties["rack"]) == (Disk(2e9, 1e9), ("PFS",), "7")


def test_platforms_compare_hash_and_pickle() -> None:
    """By what they describe; the kernel's is made again where they arrive."""
    platform = bl.Platform.torus((2, 2), bandwidth="1GBps", storage=PFS, properties={"a": "b"})
    again = pickle.loads(pickle.dumps(platform))  # noqa: S301  # our own
    assert again == platform
    assert hash(again) == hash(platform)
    assert again.route("node0", "node3") == platform.route("node0", "node3")
    assert platform.kernel is platform.kernel
    assert platform != bl.Platform.torus((2, 2), bandwidth="2GBps", storage=PFS)


def test_as_text() -> None:
    """Name and sizes, for people."""
    platform = bl.Platform.torus((2, 2), bandwidth="1GBps", storage=PFS)
    assert str(platform) == "cluster: 4 nodes, 5 hosts in all, 18 links"


def test_a_large_fat_tree_is_cheap() -> None:
    """16,384 hosts cost no table of routes: the parts alone, and O(hops) per route."""
    tree = bl.Platform.fat_tree(down=(32, 32, 16), up=(1, 16, 16), bandwidth="12.5GBps", latency="1us")
    assert len(tree.kernel.hosts) == 16_384
    assert len(tree.route("node0", "node16383").links) == 6


CLUSTER = Cluster("c", range(4), Host(), "1GBps")


WRONG: list[tuple[Callable[..., object], tuple[object, ...], dict[str, object], str]] = [
    (Host, ("a",), {"cores": 0}, r"Host 'a': cores = 0; must be a whole number from 1 to"),
    (Host, ("a",), {"gpus": 1.5}, r"Host 'a': gpus = 1.5; must be a whole number from 0"),
    (Host, ("a",), {"role": "storag"}, r"role = 'storag'; must be one of .*Did you mean 'storage'"),
    (Host, ("a",), {"striping": 1.0}, r"striping = 1.0; needs a disk to stripe over; give one"),
    (Host, ("a\n",), {}, r"Host: name = 'a\\n'; must be a name of 1 to 200 printable"),
    (Host, ("a",), {"properties": {"x": 1}}, r"properties\.x = 1; must be a text"),
    (Host, ("a",), {"storage_targets": "PFS"}, r"storage_targets = 'PFS'; must be a list of names"),
    (Link, ("x", "1GBps"), {"sharing": "split"}, r"sharing = 'split'; must be one of"),
    (Cluster, ("c", (), Host(), 1.0), {}, r"Cluster 'c': numbers = \(\); must be whole numbers"),
    (Cluster, ("c", range(2**40), Host(), 1.0), {}, r"numbers = range.*at most 1048576"),
    (Cluster, ("c", range(2), "x", 1.0), {}, r"Cluster 'c': node = 'x'; must be a Host"),
    (Cluster, ("c", range(2), Host(), 1.0), {"limiter": 0}, r"limiter = 0; must be a bandwidth that is"),
    (FatTree, ((4, 4), (1,), (1, 1)), {}, r"FatTree: up = \(1,\); must have as many numbers as down"),
    (FatTree, ((4, 0), (1, 1), (1, 1)), {}, r"down = \(4, 0\); must be whole numbers from 1"),
    (Torus, ((2, 2), (1.0,)), {}, r"bandwidths = \(1.0,\); must have as many numbers as dimensions"),
    (Torus, ((2, 2), (1.0, "x")), {}, r"bandwidths\[1\] = 'x'; must be a bandwidth"),
    (Dragonfly, (0, 1, 1, 1), {}, r"Dragonfly: groups = 0; must be a whole number from 1"),
    (Zone, ("z", "ring"), {}, r"Zone 'z': routing = 'ring'; must be one of full"),
    (Zone, ("z",), {"hosts": ("a",)}, r"Zone 'z': hosts\[0\] = 'a'; must be a Host"),
    (Route, ("a", "b", "x"), {}, r"Route: links = 'x'; must be a list of names"),
    (SharedStorage, ("s", 1.0, 1.0), {"role": "batch"}, r"role = 'batch'; must be one of"),
    (bl.Platform, ("x",), {}, r"Platform: root = 'x'; must be a Zone or a Cluster"),
    (bl.Platform, (CLUSTER,), {"read_links": ("x",)}, r"Platform: no link is called 'x'"),
]


@pytest.mark.parametrize(("kind", "values", "named", "message"), WRONG)
def test_what_breaks_a_rule(
    kind: Callable[..., object], values: tuple[object, ...], named: dict[str, object], message: str
) -> None:
    """Part, field, value, rule and next step are told."""
    with pytest.raises(PlatformError, match=message):
        kind(*values, **named)


def zone(*routes: Route, **parts: object) -> Zone:
    """Give two hosts, a link, a cluster and routes."""
    return Zone(
        "z",
        hosts=(Host("a"), Host("b")),
        links=(Link("x", "1GBps"),),
        members=(CLUSTER,),
        routes=routes,
        **parts,  # type: ignore[arg-type]  # whatever a test gives
    )


@pytest.mark.parametrize(
    ("root", "message"),
    [
        (zone(Route("a", "q", ("x",))), r"route from 'a' to 'q': no host, router or zone is called \"q\""),
        (zone(Route("a", "b", ("y",))), r"route from 'a' to 'b': no link is called \"y\""),
        (zone(Route("a", "c", ("x",))), r"\"c\" is a zone; name the gateway in it"),
        (zone(Route("a", "c", ("x",), None, "b")), r"gateway \"b\" is no host or router in \"c\""),
        (zone(Route("a", "node1", ("x",))), r"\"node1\" is not directly in this zone"),
        (zone(Route("a", "b", ("x",)), Route("b", "a", ("x",))), r"already such a route; keep one"),
        (
            zone(Route("a", "b", ("x",), symmetrical=False), Route("b", "a", ("x",))),
            r"already a route the other way; routes go both ways unless",
        ),
        (zone(rays=(Ray("a", ("x",), ("x",)),)), r"ray of 'a': this zone computes its routes"),
        (zone(routers=("a",)), r"router 'a': there is already a host, router or zone called \"a\""),
        (Zone("z", members=(CLUSTER, CLUSTER)), r"cluster 'c': there is already a host, router or zone"),
        (Zone("z", hosts=(Host("a", storage_targets=("p",)),)), r"host 'a': storage target 'p' is no host"),
        (Cluster("c", range(3), Host(), 1.0, topology=Torus((2, 2))), r"one of 4 hosts, but there are 3"),
        (
            Cluster("c", range(6), Host(), 1.0, topology=Dragonfly(3, 1, 2, 1)),
            r"has 3 groups; must be",
        ),
        (
            Cluster("c", range(2), Host(), 1.0, topology=Torus((2**31,) * 9)),
            r"is too large; a platform",
        ),
    ],
)
def test_what_does_not_fit_together(root: Zone | Cluster, message: str) -> None:
    """The part is named, and the rule."""
    with pytest.raises(PlatformError, match=message) as caught:
        bl.Platform(root)
    # Errors come home from other processes.
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301  # our own


def test_zones_may_not_be_nested_without_end() -> None:
    """So many are a mistake."""
    inner = Zone("z0", hosts=(Host("a"),))
    for number in range(1, 200):
        inner = Zone(f"z{number}", members=(inner,))
    with pytest.raises(PlatformError, match="is nested too deeply; zones go 100 deep"):
        bl.Platform(inner)


def test_unknown_arguments_and_hosts() -> None:
    """The nearest is suggested."""
    with pytest.raises(TypeError, match=r"there is no argument 'spede'. Did you mean 'speed'"):
        bl.Platform.crossbar(2, bandwidth=1.0, spede=1.0)  # type: ignore[call-arg]
    platform = bl.Platform.crossbar(2, bandwidth=1.0)
    with pytest.raises(PlatformError, match=r"no host is called 'nod1'. Did you mean 'node1'"):
        platform.route("nod1", "node0")
    with pytest.raises(PlatformError, match=r"no host is called 3. Give a host's name"):
        platform.number(3)  # type: ignore[arg-type]


def test_disks_in_whole_bytes() -> None:
    """Those of all zones and clusters, however deep; a platform without disks is itself."""
    disk = Disk("2GBps", "1GBps")
    inner = Zone("inner", hosts=(Host("a", disk=disk), Host("b")))
    cluster = Cluster("c", range(2), Host(disk=disk), "1GBps", topology=Torus((2,)))
    platform = bl.Platform(Zone("all", members=(inner, cluster)))
    whole = platform.in_whole_bytes()
    assert [host.disk for host in whole.hosts] == [
        host.disk and Disk("2GBps", "1GBps", whole_bytes=True) for host in platform.hosts
    ]
    assert whole != platform
    assert pickle.loads(pickle.dumps(whole)) == whole  # noqa: S301  # our own
    bare = bl.Platform.crossbar(2, bandwidth="1GBps")
    assert bare.in_whole_bytes() is bare
    with pytest.raises(PlatformError, match="whole_bytes = 1; must be true or false"):
        Disk("2GBps", "1GBps", whole_bytes=1)  # type: ignore[arg-type]
