"""Compare distances and shared links of 64 nodes in four topologies."""

from itertools import permutations
from statistics import mean

import batchlab as bl


def platforms() -> dict[str, bl.Platform]:
    """Describe 64 nodes, connected in four ways by the same cables."""
    speed, latency = "12.5GBps", "1us"
    return {
        "crossbar": bl.Platform.crossbar(64, bandwidth=speed, latency=latency),
        "fat tree": bl.Platform.fat_tree(down=(8, 8), up=(1, 4), bandwidth=speed, latency=latency),
        "torus": bl.Platform.torus((4, 4, 4), bandwidth=speed, latency=latency),
        "dragonfly": bl.Platform.dragonfly(
            groups=4, chassis=2, blades=4, nodes_per_blade=2, bandwidth=speed, latency=latency
        ),
    }


def main() -> None:
    """Look at the routes between all pairs of nodes."""
    print(f"{'':10} {'links':>6} {'hops':>6} {'at most':>8} {'latency':>9} {'busiest link':>13}")
    for name, platform in platforms().items():
        names = [host.name for host in platform.nodes]
        routes = [platform.route(source, target) for source, target in permutations(names, 2)]
        hops = [len(route.links) for route in routes]
        crossed = dict.fromkeys((link.name for link in platform.links), 0)
        for link in (link for route in routes for link in route.links):
            crossed[link] += 1
        latency = mean(route.latency for route in routes)
        row = f"{len(crossed):6} {mean(hops):6.2f} {max(hops):8} {latency * 1e6:6.2f} us"
        print(f"{name:10} {row} {max(crossed.values()):6} routes")


if __name__ == "__main__":
    main()
