"""An all-to-all among 1,024 hosts, a fat tree of 16,384 hosts, and what one more flow costs, by `bl.share`.

`python benchmarks/sharing.py`
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import cpu_time, run_process, verdict
from numpy.typing import NDArray

import batchlab as bl

SECONDS, MEBIBYTES, RATIO = 10.0, 1024.0, 3.0
CABLE = "12.5GBps"


def all_to_all(hosts: int) -> dict[str, NDArray[Any]]:
    """Let every one of the first hosts send a megabyte to every other one."""
    src, dst = (each.ravel() for each in np.divmod(np.arange(hosts * hosts), hosts))
    others = src != dst
    return {"src": src[others], "dst": dst[others], "bytes": np.full(hosts * (hosts - 1), 1e6)}


def crossbar() -> None:
    """Let all of 1,024 hosts around a switch send to all."""
    bl.share(bl.Platform.crossbar(1024, bandwidth=CABLE, latency="1us"), all_to_all(1024))


def fat_tree() -> None:
    """Let all of 1,024 hosts in a fat tree send to all."""
    bl.share(
        bl.Platform.fat_tree(down=(32, 32), up=(1, 16), bandwidth=CABLE, latency="1us"), all_to_all(1024)
    )


def large_fat_tree() -> None:
    """Let each of 16,384 hosts send to four others, drawn by chance: thousands of different ends."""
    platform = bl.Platform.fat_tree(down=(32, 32, 16), up=(1, 32, 16), bandwidth=CABLE, latency="1us")
    count = len(platform.hosts)
    random = np.random.default_rng(0)
    targets = np.concatenate([random.permutation(count) for _ in range(4)])
    table = {"src": np.tile(np.arange(count), 4), "dst": targets, "bytes": np.full(4 * count, 1e9)}
    bl.share(platform, table)


CASES: dict[str, Callable[[], None]] = {
    "all-to-all among 1,024 hosts around a switch": crossbar,
    "all-to-all among 1,024 hosts in a fat tree": fat_tree,
    "16,384 hosts in a fat tree, each to four others": large_fat_tree,
}


def one_more(hosts: int, flows: int = 200_000) -> float:
    """Give the CPU time (s) of a flow that meets no other, beside as many long flows as half of the hosts."""
    platform = bl.Platform.crossbar(hosts + 2, bandwidth=CABLE, latency="1us")
    senders = np.arange(0, hosts, 2)
    start = np.linspace(0.0, 20.0, flows)
    background = {"src": senders, "dst": senders + 1, "bytes": np.full(len(senders), 1e12)}
    more = {"src": np.full(flows, hosts), "dst": np.full(flows, hosts + 1), "bytes": np.full(flows, 1e5)}
    both = {name: np.concatenate([background[name], more[name]]) for name in background}
    both["start"] = np.concatenate([np.zeros(len(senders)), start])
    without, _ = cpu_time(lambda: bl.share(platform, background))
    together, _ = cpu_time(lambda: bl.share(platform, both))
    return (together - without) / flows


def main() -> None:
    for name in CASES:
        cost, _ = run_process([sys.executable, __file__, name])
        print(f"{name}: {cost}", flush=True)
        verdict(f"{name}: CPU time, s", cost.cpu, SECONDS, at_least=False)
        verdict(f"{name}: peak memory, MiB", cost.peak / 2**20, MEBIBYTES, at_least=False)
    rounds = [(one_more(1_000), one_more(64_000)) for _ in range(5)]
    small, large = (sorted(times)[2] for times in zip(*rounds, strict=True))
    print(f"one more flow: {small * 1e6:.2f} µs beside 500 others, {large * 1e6:.2f} µs beside 32,000")
    verdict("one more flow beside 32,000 others, in times of 500", large / small, RATIO, at_least=False)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        CASES[sys.argv[1]]()
    else:
        main()
