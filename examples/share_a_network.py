"""Place two jobs on a fat tree, packed or scattered, and compare their all-to-alls under each model."""

import numpy as np

import batchlab as bl
from batchlab.platform.flows import MODELS

NODES, RANKS = 64, 16


def all_to_all(nodes: list[int], total: float) -> bl.ParallelTask:
    """Return a task in which every node of a job sends the same to every other, `total` bytes in all."""
    count = len(nodes)
    share = total / (count * (count - 1))
    return bl.ParallelTask(nodes, bytes=share * (1.0 - np.eye(count)))


def flows(tasks: list[bl.ParallelTask]) -> list[bl.Flow]:
    """Take the messages of tasks one by one."""
    return [
        bl.Flow(src, dst, size)
        for task in tasks
        for src, row in zip(task.hosts, np.asarray(task.bytes), strict=True)
        for dst, size in zip(task.hosts, row, strict=True)
        if src != dst
    ]


def main() -> None:
    """Print when the last message is through, by placement and model."""
    platform = bl.Platform.fat_tree(down=(8, 8), up=(1, 4), cables=(1, 1), bandwidth="10GBps", latency="1us")
    placements = {
        "packed": [list(range(RANKS)), list(range(RANKS, 2 * RANKS))],
        "scattered": [list(range(0, NODES, 4)), list(range(2, NODES, 4))],
    }
    print(f"{'model':20}" + "".join(f"{name + ', s':>16}" for name in placements))
    for model in MODELS:
        ends = []
        for jobs in placements.values():
            tasks = [all_to_all(nodes, 4e11) for nodes in jobs]
            works = flows(tasks) if model in {"CM02", "LV08"} else tasks
            ends.append(bl.share(platform, works, model).max())
        print(f"{model:20}" + "".join(f"{end:16.2f}" for end in ends))


if __name__ == "__main__":
    main()
