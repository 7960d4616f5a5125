"""Hops: closed forms within clusters, routes elsewhere, and the links that are none."""

import pytest

import batchlab as bl
from batchlab.platform import Cluster, Crossbar, Host, Link, Platform, Route, Zone
from batchlab.platform.hops import distance, hop_links

# What is on each route besides the cables between routers: the two links of the nodes.
CLUSTERS = {
    "torus": (Platform.torus((4, 3, 2), bandwidth=1e9), 0),
    "a torus of two by three": (Platform.torus((2, 3), bandwidth=1e9), 0),
    "several nodes at a router": (
        Platform.torus((3, 2), nodes_per_router=2, node_bandwidth=2e9, bandwidth=1e9),
        2,
    ),
    "fat tree": (Platform.fat_tree(down=(2, 3, 2), up=(1, 2, 2), cables=(1, 1, 2), bandwidth=1e9), 2),
    "nodes with two switches": (Platform.fat_tree(down=(2, 3), up=(2, 2), bandwidth=1e9), 2),
    "dragonfly": (Platform.dragonfly(groups=3, chassis=2, blades=2, nodes_per_blade=2, bandwidth=1e9), 2),
    "crossbar": (Platform.crossbar(5, bandwidth=1e9), 2),
}


@pytest.mark.parametrize(("platform", "besides"), CLUSTERS.values(), ids=CLUSTERS)
def test_hops_are_cables_of_the_routes(platform: Platform, besides: int) -> None:
    """Closed forms are the lengths of routes."""
    between, is_hop = distance(platform), hop_links(platform)
    names = [host.name for host in platform.hosts]
    for one, source in enumerate(names):
        for other, target in enumerate(names):
            length = len(platform.route(source, target).links)
            assert between(one, other) == (0 if one == other else length - besides)
            route = platform.kernel.route(one, other)
            assert route is not None
            assert between(one, other) == (0 if one == other else is_hop[route[0]].sum())


def test_what_is_inside_of_a_switch_is_no_hop() -> None:
    """A backbone, and limiters."""
    node = Host("", 1e9)
    inside = Cluster("c", range(4), node, 1e9, topology=Crossbar(Link("spine", 1e9)), limiter=1e9)
    between = distance(Platform(inside))
    assert len(Platform(inside).route("node0", "node3").links) == 5
    assert between(0, 3) == 0
    assert not hop_links(Platform(inside)).any()


def test_a_cable_may_have_any_name() -> None:
    """What is called like a limiter of a cluster and is none counts."""
    hosts = tuple(Host(name, 1e9) for name in "abc")
    ways = {"ab": ("up", "main_limiter", "b_up"), "bc": ("b_up", "c_up"), "ac": ("up", "c_up")}
    links = tuple(Link(name, 1e9) for name in ("up", "b_up", "c_up", "main_limiter"))
    routes = tuple(Route(ends[0], ends[1], way) for ends, way in ways.items())
    zone = Zone("zone", "full", (), hosts, (), links, routes)
    platform = Platform(zone)
    assert hop_links(platform).tolist() == [False, False, False, True]
    assert distance(platform)(0, 1) == 1


def test_between_clusters_and_hosts() -> None:
    """The cables from switch to switch count; those of nodes do not, nor the one of a host in no cluster."""
    clusters = [
        Cluster(name, range(2), Host("", 1e9), 1e9, prefix=name, topology=topology, router=router)
        for name, topology, router in (("a", Crossbar(Link("spine", 1e9)), "ra"), ("b", Crossbar(), "rb"))
    ]
    links = tuple(Link(name, 1e9) for name in ("ab", "own"))
    routes = (
        Route("a", "b", ("ab",), "ra", "rb"),
        Route("h", "a", ("own",), None, "ra"),
        Route("h", "b", ("own", "ab"), None, "rb"),
    )
    platform = Platform(Zone("all", "full", tuple(clusters), (Host("h", 1e9),), (), links, routes))
    between = distance(platform)
    number = platform.number
    assert len(platform.route("a0", "b1").links) == 4
    assert between(number("a0"), number("b1")) == between(number("b1"), number("a0")) == 1
    assert [between(number("h"), number(node)) for node in ("a0", "b0")] == [0, 1]
    assert [between(number(node), number("h")) for node in ("a0", "b0")] == [0, 1]
    assert between(number("a0"), number("a1")) == 0


def test_of_a_system() -> None:
    """Nodes are hosts by name; a system without a platform has no hops."""
    platform = Platform.torus((4,), bandwidth=1e9)
    reversed_hosts = [host.name for host in reversed(platform.hosts)]
    system = bl.System.of(platform, hosts=reversed_hosts)
    assert bl.placement.distance(system)(0, 2) == 2
    assert bl.placement.hops(system, [3, 2, 0]).total == 4
    with pytest.raises(bl.PlatformError, match=r"the system has no platform; hops are those of a platform"):
        bl.placement.distance(bl.System.homogeneous(nodes=4, resources={"core": 1}))
