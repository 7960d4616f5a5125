"""One side of a case of `paired.py`: does the work with the batchlab on PYTHONPATH, and times the call.

`python paired_child.py TASK`, where TASK is the JSON of a `Task`; prints the CPU times of the calls (s).
"""

import importlib.util
import json
import sys
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from measure import SHARED, cpu_time
from numpy.typing import NDArray
from paired_cases import LOGS

import batchlab as bl

Work = Callable[[], "bl.Result | NDArray[np.float64]"]
Settings = dict[str, str]

HERE = Path(__file__).parent
ALGORITHM = HERE / "elastisim_example.py"
CABLE = "12.5GBps"
# The names of one model, the newest first: both sides run the same model under the name that they know.
MODELS = {
    "max_min": ("max_min",),
    "fair_bottleneck": ("fair_bottleneck",),
    "bottleneck_max_min": ("bottleneck_max_min",),
}


class Task(NamedTuple):
    """What a child does: `warm` calls that are not timed, `calls` that are, and where the rows go.

    `path` is the log's; `side` the folder in which batchlab must be.
    """

    kind: str
    log: str | None
    path: str
    jobs: int | None
    settings: Settings
    side: str
    warm: int
    calls: int
    rows: str | None


def system_of(log: str) -> bl.System:
    _, nodes, cores = LOGS[log]
    return bl.System.homogeneous(nodes=nodes, resources={"core": cores})


def option_of(text: str) -> dict[str, Any]:
    """Read an option of `simulate`, as in `walltime=kill`."""
    name, _, value = text.partition("=")
    return {name: True if value == "True" else value} if name else {}


def replay(task: Task) -> Work:
    """Replay a log under a built-in policy."""
    workload, system = bl.read_swf(task.path), system_of(task.log or "")
    options = option_of(task.settings.get("option", ""))
    return lambda: bl.simulate(workload, system, task.settings["policy"], **options)


def python(task: Task) -> Work:
    """Replay a log under a policy with a part written in Python."""
    from paired_policies import PARTS  # noqa: PLC0415  # likewise

    workload, system = bl.read_swf(task.path), system_of(task.log or "")
    return lambda: bl.simulate(workload, system, PARTS[task.settings["part"]]())


def observed(task: Task) -> Work:
    """Replay a log with observers."""
    from paired_policies import observed  # noqa: PLC0415  # likewise

    workload, system = bl.read_swf(task.path), system_of(task.log or "")

    def work() -> bl.Result:
        policy, observers = observed(task.settings["observers"])
        return bl.simulate(workload, system, policy, observers=observers)

    return work


def learning(task: Task) -> Work:
    """Simulate the deep-learning study in small, by the example that belongs to the side where it has one."""
    name = "examples/deep_learning_study.py"
    own = Path(task.side).parent / name
    spec = importlib.util.spec_from_file_location(
        "deep_learning_study", own if own.exists() else HERE.parent / name
    )
    if spec is None or spec.loader is None:
        sys.exit(f"cannot load {name}.")
    study = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(study)
    malleable, policy = study.POLICIES[task.settings["policy"]]
    workload, system = study.workload(task.jobs or 1, 1, malleable=malleable), study.cluster()
    return lambda: bl.simulate(workload, system, policy)


def elastisim_project(task: Task) -> Work:
    """Run an ElastiSim project with its algorithm in this process."""
    from batchlab.bridge import elastisim  # noqa: PLC0415  # other cases need not import it

    folder = SHARED / "oracles/elastisim" / task.settings["project"]
    own = folder / "algorithm.py"
    algorithm = own if own.exists() else ALGORITHM
    return lambda: elastisim.run(folder / "input/configuration.json", algorithm).result


def share(task: Task) -> Work:
    """Share a platform."""
    what, count = task.settings["what"], task.jobs or 1
    if what in ("all_to_all", "fat_tree"):
        platform = bl.Platform.crossbar(count, bandwidth=CABLE, latency="1us")
        if what == "fat_tree":
            platform = bl.Platform.fat_tree(down=(16, 16), up=(1, 8), bandwidth=CABLE, latency="1us")
        flows = all_to_all(count)
        return lambda: bl.share(platform, flows)
    platform = bl.Platform.crossbar(130, speed="1Gf", bandwidth=CABLE, latency="1us")
    if what == "one_more":
        more = one_more(128, count)
        return lambda: bl.share(platform, more)
    if what in ("CM02", "LV08"):
        random_flows = scattered(128, count)
        return lambda: bl.share(platform, random_flows, what)
    tasks = parallel_tasks(128, count)
    model = known_model(platform, tasks[:1], MODELS[what])
    return lambda: bl.share(platform, tasks, model)


def known_model(platform: bl.Platform, tasks: list[bl.ParallelTask], names: tuple[str, ...]) -> str:
    """Give the first name that this batchlab knows."""
    for name in names:
        with suppress(bl.PlatformError):
            bl.share(platform, tasks, name)
            return name
    sys.exit(f"no model of sharing is named {' or '.join(names)}.")


def all_to_all(hosts: int) -> dict[str, NDArray[Any]]:
    """Let each of the first hosts send a megabyte to each of the others."""
    src, dst = (each.ravel() for each in np.divmod(np.arange(hosts * hosts), hosts))
    others = src != dst
    return {"src": src[others], "dst": dst[others], "bytes": np.full(hosts * (hosts - 1), 1e6)}


def one_more(hosts: int, flows: int) -> dict[str, NDArray[Any]]:
    """Let flows one after the other use a link of their own while all other hosts send."""
    senders = np.arange(0, hosts, 2)
    src = np.concatenate([senders, np.full(flows, hosts)])
    dst = np.concatenate([senders + 1, np.full(flows, hosts + 1)])
    amounts = np.concatenate([np.full(len(senders), 1e12), np.full(flows, 1e5)])
    start = np.concatenate([np.zeros(len(senders)), np.linspace(0.0, 20.0, flows)])
    return {"src": src, "dst": dst, "bytes": amounts, "start": start}


def scattered(hosts: int, flows: int) -> dict[str, NDArray[Any]]:
    """Let random pairs of hosts exchange random amounts at random times."""
    random = np.random.default_rng(0)
    src = random.integers(0, hosts, flows)
    dst = (src + random.integers(1, hosts, flows)) % hosts
    return {
        "src": src,
        "dst": dst,
        "bytes": random.lognormal(18.0, 1.0, flows),
        "start": random.uniform(0.0, 2.0, flows),
    }


def parallel_tasks(hosts: int, count: int) -> list[bl.ParallelTask]:
    """Let parallel tasks of 2 to 8 hosts compute and exchange random amounts."""
    random = np.random.default_rng(0)
    tasks = []
    for _ in range(count):
        size = int(random.integers(2, 9))
        chosen = random.choice(hosts, size, replace=False).tolist()
        amounts = random.uniform(0.0, 1e8, (size, size))
        np.fill_diagonal(amounts, 0.0)
        start = float(random.uniform(0.0, 5.0))
        tasks.append(bl.ParallelTask(chosen, random.uniform(0.0, 1e9, size).tolist(), amounts, start))
    return tasks


KINDS: dict[str, Callable[[Task], Work]] = {
    "replay": replay,
    "python": python,
    "observed": observed,
    "learning": learning,
    "elastisim": elastisim_project,
    "share": share,
}


def rows_of(answer: bl.Result | NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    """Give state, start, end and a hash of the nodes of each job; of shared activities the ends."""
    if isinstance(answer, np.ndarray):
        return {"end_time": answer}
    jobs = answer.jobs
    counts = jobs["nodes"].list.len().to_numpy().astype(np.int64)
    nodes = jobs["nodes"].explode().drop_nulls().to_numpy().astype(np.uint64)
    ends = np.cumsum(counts)
    places = np.arange(len(nodes)) - np.repeat(ends - counts, counts)
    sums = np.concatenate([[np.uint64(0)], np.cumsum(mixed(nodes, places.astype(np.uint64)))])
    return {
        "state": np.array(jobs["state"].cast(str).to_list(), dtype="S16"),
        "start_time": jobs["start_time"].to_numpy(),
        "end_time": jobs["end_time"].to_numpy(),
        "nodes": sums[ends] - sums[ends - counts],
    }


def mixed(nodes: NDArray[np.uint64], places: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Give the hash of each node of a job and its place there; sums wrap around at 2^64."""
    value = (nodes + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) ^ places * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(31))) * np.uint64(0x94D049BB133111EB)
    hashed: NDArray[np.uint64] = value ^ (value >> np.uint64(29))
    return hashed


def checksum(rows: dict[str, NDArray[Any]]) -> int:
    """Give one number for all columns."""
    number = 0
    for name in sorted(rows):
        number = zlib.crc32(rows[name].tobytes(), number)
    return number


def main() -> None:
    task = Task(**json.loads(sys.argv[1]))
    found = Path(bl.__file__).resolve()
    if Path(task.side).resolve() not in found.parents:
        sys.exit(f"batchlab is imported from {found}, not from {task.side}.")
    work = KINDS[task.kind](task)
    for _ in range(task.warm):
        work()
    timed = [cpu_time(work) for _ in range(task.calls)]
    answer: dict[str, Any] = {"calls": [seconds for seconds, _ in timed]}
    if task.rows is not None:
        rows = rows_of(timed[-1][1])
        answer["checksum"] = checksum(rows)
        np.savez(task.rows, **rows)  # type: ignore[arg-type]  # the names are columns
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
