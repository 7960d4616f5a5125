"""What holds of routes on any platform."""

import math
import re
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

import batchlab as bl
from batchlab.platform import Link, Torus

LATENCY = 1e-6
SMALL = st.integers(1, 4)


@st.composite
def fat_trees(draw: DrawFn) -> bl.Platform:
    """Up to three levels, with parallel cables."""
    levels = draw(st.integers(1, 3))
    down, up, cables = (tuple(draw(st.integers(1, 3)) for _ in range(levels)) for _ in range(3))
    return bl.Platform.fat_tree(down=down, up=up, cables=cables, bandwidth=1e9, latency=LATENCY)


@st.composite
def tori(draw: DrawFn) -> bl.Platform:
    """Up to four dimensions."""
    dimensions = draw(
        st.lists(st.integers(1, 6), min_size=1, max_size=4).filter(lambda sizes: math.prod(sizes) < 200)
    )
    return bl.Platform.torus(dimensions, bandwidth=1e9, latency=LATENCY)


@st.composite
def dragonflies(draw: DrawFn) -> bl.Platform:
    """With as many groups as there may be, and fewer."""
    chassis, blades = draw(SMALL), draw(SMALL)
    groups = draw(st.integers(1, min(chassis * blades, 5)))
    return bl.Platform.dragonfly(
        groups=groups,
        chassis=chassis,
        blades=blades,
        nodes_per_blade=draw(SMALL),
        bandwidth=1e9,
        latency=LATENCY,
    )


@st.composite
def graphs(draw: DrawFn) -> bl.Platform:
    """Hosts and routers on a random tree, and more edges."""
    count = draw(st.integers(2, 12))
    pairs = [(draw(st.integers(0, end - 1)), end) for end in range(1, count)]
    more = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)).filter(
        lambda pair: pair[0] < pair[1]
    )
    joined = dict.fromkeys([*pairs, *draw(st.lists(more, max_size=8))])
    edges = [
        (f"v{one}", f"v{other}", Link(f"e{one}_{other}", 1e9, LATENCY, "split_duplex"))
        for one, other in joined
    ]
    hosts = [f"v{number}" for number in range(0, count, 2)]
    routing = draw(st.sampled_from(["dijkstra", "floyd"]))
    return bl.Platform.graph(edges, hosts=hosts, routing=routing)  # type: ignore[arg-type]  # one of the two


CROSSBARS = st.integers(1, 20).map(lambda nodes: bl.Platform.crossbar(nodes, bandwidth=1e9, latency=LATENCY))
ALL: SearchStrategy[bl.Platform] = st.one_of(fat_trees(), tori(), dragonflies(), graphs(), CROSSBARS)


@st.composite
def trips(draw: DrawFn, platforms: SearchStrategy[bl.Platform]) -> tuple[bl.Platform, str, str]:
    """Give a platform and two different hosts on it, or one host twice where there is no other."""
    platform = draw(platforms)
    names = [host.name for host in platform.hosts]
    source = draw(st.sampled_from(names))
    return platform, source, draw(st.sampled_from([name for name in names if name != source] or [source]))


def other_way(link: str) -> str:
    """Name the link for the other direction."""
    return link.removesuffix("_UP") + "_DOWN" if link.endswith("_UP") else link.removesuffix("_DOWN") + "_UP"


@settings(deadline=None)
@given(trips(ALL))
def test_latency_is_that_of_the_links(trip: tuple[bl.Platform, str, str]) -> None:
    """Every link of a route is one of the platform's; their latencies add up."""
    platform, source, target = trip
    latencies = {link.name: link.latency for link in platform.links}
    way = platform.route(source, target)
    assert way.latency == pytest.approx(math.fsum(latencies[link] for link in way.links), rel=1e-12)


@settings(deadline=None)
@given(trips(ALL))
def test_no_route_crosses_a_link_twice(trip: tuple[bl.Platform, str, str]) -> None:
    """Nor a cable in both directions, between different hosts."""
    platform, source, target = trip
    links = platform.route(source, target).links
    assert len(set(links)) == len(links)
    if source != target:
        assert not {other_way(link) for link in links} & set(links)


@settings(deadline=None)
@given(trips(st.one_of(graphs(), CROSSBARS)))
def test_ways_back_where_they_must_be_the_same(trip: tuple[bl.Platform, str, str]) -> None:
    """Of a crossbar, and of a graph in length."""
    platform, source, target = trip
    there, back = platform.route(source, target).links, platform.route(target, source).links
    assert len(there) == len(back)
    if len(there) == 2 and there[0].startswith("cluster"):
        assert back == tuple(other_way(link) for link in reversed(there))


def joined(links: tuple[str, ...], pattern: str) -> Iterator[tuple[str, str]]:
    """Give the two ends of each link in the direction in which it is used."""
    for link in links:
        match = re.fullmatch(pattern, link)
        assert match is not None
        ends = match["one"], match["other"]
        yield ends if match["way"] == "UP" else ends[::-1]


def check_connected(trip: tuple[bl.Platform, str, str], pattern: str) -> int:
    """Hold a route to leading from its source to its target without a gap; give the number of its links."""
    platform, source, target = trip
    here = source.removeprefix("node")
    links = platform.route(source, target).links
    for start, end in joined(links, pattern):
        assert start == here
        here = end
    assert here == target.removeprefix("node") or not links
    return len(links)


@settings(deadline=None)
@given(trips(tori()))
def test_tori_are_crossed_link_by_link(trip: tuple[bl.Platform, str, str]) -> None:
    """Without a gap, and by as few links as there can be."""
    links = check_connected(trip, r"cluster_link_from_(?P<one>\d+)_to_(?P<other>\d+)_(?P<way>UP|DOWN)")
    topology = trip[0].root.topology  # type: ignore[union-attr]  # a cluster
    assert isinstance(topology, Torus)
    source, target = (int(name.removeprefix("node")) for name in trip[1:])
    distance = 0
    for size in topology.dimensions:
        apart = abs(source % size - target % size)
        distance += min(apart, size - apart)
        source, target = source // size, target // size
    assert links == distance


@settings(deadline=None)
@given(trips(fat_trees()))
def test_fat_trees_go_up_and_down(trip: tuple[bl.Platform, str, str]) -> None:
    """Without a gap, first only upwards, then only downwards, as often."""
    links = check_connected(trip, r"link_from_(?P<one>-?\d+)_(?P<other>-?\d+)_\d+_(?P<way>UP|DOWN)")
    ways = [link.rpartition("_")[2] for link in trip[0].route(*trip[1:]).links]
    assert ways == ["UP"] * (links // 2) + ["DOWN"] * (links // 2)


@settings(deadline=None)
@given(trips(dragonflies()))
def test_dragonflies_take_one_blue_link_at_most(trip: tuple[bl.Platform, str, str]) -> None:
    """From the host's own link to the target's, across at most one link between groups."""
    platform, source, target = trip
    links = platform.route(source, target).links
    per_blade = platform.root.topology.nodes_per_blade  # type: ignore[union-attr]  # a dragonfly
    for link, host, way in ((links[0], source, "UP"), (links[-1], target, "DOWN")):
        router, node = divmod(int(host.removeprefix("node")), per_blade)
        assert link.startswith(f"local_link_from_router_{router}_to_node_{node}_")
        assert link.endswith(way)
    assert sum(link.startswith("blue") for link in links) <= 1
    assert len(links) <= 7
