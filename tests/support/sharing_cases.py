"""Random flows and parallel tasks on random small platforms, by the public API and by the reference."""

from dataclasses import dataclass
from random import Random

import batchlab as bl
from batchlab.platform import Host, Link
from reference.network import LV08, MAX_MIN, PARALLEL_TASKS, Model, Network, ends
from reference.sharing import RULES, Activity

__all__ = ["MODELS", "SharingCase", "expected", "found", "platform_of", "random_case"]

MODELS = ("max_min", "CM02", "LV08", "fair_bottleneck", "bottleneck_max_min")
FLOWS_ONLY = ("CM02", "LV08")
BASES = {"CM02": Model(), "LV08": LV08, "max_min": MAX_MIN}
WINDOWED = ("network/TCP-gamma", "network/loopback-bw", "network/loopback-lat")
FACTORS = ("network/bandwidth-factor", "network/latency-factor", "network/crosstraffic")
TAKEN = {
    "max_min": (*WINDOWED, *FACTORS),
    "CM02": (*WINDOWED, *FACTORS, "network/weight-S"),
    "LV08": (*WINDOWED, *FACTORS, "network/weight-S"),
    "fair_bottleneck": WINDOWED,
    "bottleneck_max_min": WINDOWED,
}
SPEED = 1e9


@dataclass(frozen=True)
class SharingCase:
    """Links, routes by pairs of hosts, and what goes on; `options` by SimGrid's names."""

    links: tuple[Link, ...]
    routes: dict[tuple[str, str], tuple[int, ...]]
    hosts: tuple[str, ...]
    flows: tuple[bl.Flow | bl.ParallelTask, ...]
    model: str
    options: dict[str, float]


def random_case(seed: int) -> SharingCase:
    """Draw a case."""
    random = Random(seed)  # noqa: S311 - no secret
    model = random.choice(MODELS)
    hosts = tuple(f"host{number}" for number in range(random.randint(2, 6)))
    links = tuple(_links(random, random.randint(1, 8)))
    routes = {
        (source, target): tuple(random.sample(range(len(links)), random.randint(1, min(4, len(links)))))
        for source in hosts
        for target in hosts
        if source != target
    }
    looped = random.random() < 0.3
    most = random.choice((3, 12))
    flows = tuple(_activity(random, hosts, model, looped=looped) for _ in range(random.randint(1, most)))
    options = {name: value for name, value in _options(random).items() if name in TAKEN[model]}
    return SharingCase(links, routes, hosts, flows, model, options)


def _links(random: Random, count: int) -> list[Link]:
    delayed = random.random() < 0.6
    return [
        Link(
            f"link{number}",
            random.choice((1e8, random.uniform(1e7, 1e9))),
            random.choice((0.0, 1e-4, random.uniform(1e-6, 1e-2))) if delayed else 0.0,
            random.choice(("shared", "shared", "shared", "fat_pipe")),
        )
        for number in range(count)
    ]


def _activity(
    random: Random, hosts: tuple[str, ...], model: str, *, looped: bool
) -> bl.Flow | bl.ParallelTask:
    start = random.choice((0.0, 0.0, 1.0, random.uniform(0, 5)))
    if model in FLOWS_ONLY or random.random() < 0.4:
        source, target = random.sample(hosts, 2)
        nothing = (0.0,) if model in FLOWS_ONLY else ()
        return bl.Flow(source, target, random.choice((*nothing, 1e8, random.uniform(1e3, 1e9))), start)
    chosen = random.sample(hosts, random.randint(1, len(hosts)))
    flops = [random.choice((0.0, random.uniform(1e7, 1e10))) for _ in chosen]
    amounts = [
        [
            0.0 if one == other and not looped else random.choice((0.0, 1e8, random.uniform(1e3, 1e9)))
            for other in chosen
        ]
        for one in chosen
    ]
    return bl.ParallelTask(chosen, flops, amounts, start)


def _options(random: Random) -> dict[str, float]:
    drawn = {
        "network/bandwidth-factor": random.uniform(0.5, 1),
        "network/latency-factor": random.uniform(1, 15),
        "network/weight-S": random.choice((0.0, random.uniform(0, 1e5))),
        "network/TCP-gamma": random.choice((0.0, random.uniform(1e3, 1e7))),
        "network/crosstraffic": random.choice((0.0, 1.0)),
        "network/loopback-bw": random.uniform(1e8, 1e10),
        "network/loopback-lat": random.uniform(0, 1e-2),
    }
    return {name: value for name, value in drawn.items() if random.random() < 0.4}


def platform_of(case: SharingCase) -> bl.Platform:
    """Give the hosts, and every route as the case has it."""
    hosts = [Host(name, speed=SPEED) for name in case.hosts]
    routes = {pair: [case.links[link].name for link in links] for pair, links in case.routes.items()}
    return bl.Platform.from_routes(case.links, routes, hosts=hosts, symmetrical=False)


def found(case: SharingCase) -> list[float]:
    """Give when each is done, by the kernel."""
    times: list[float] = bl.share(platform_of(case), case.flows, case.model, case.options).tolist()
    return times


def expected(case: SharingCase) -> list[float]:
    """Give when each is done, by the reference."""
    network = Network(
        [link.bandwidth for link in case.links],
        {
            pair: (links, sum(case.links[link].latency for link in links))
            for pair, links in case.routes.items()
        },
        [number for number, link in enumerate(case.links) if link.sharing == "fat_pipe"],
        case.hosts,
        SPEED,
    )
    model = model_of(case)
    activities = [activity_of(network, model, case.model, flow) for flow in case.flows]
    rule = {"max_min": "bottleneck_max_min", "CM02": "max_min", "LV08": "max_min"}.get(case.model, case.model)
    starts = [(flow.start, activity) for flow, activity in zip(case.flows, activities, strict=True)]
    return ends(RULES[rule], network.resources(), starts)


def model_of(case: SharingCase) -> Model:
    """Give the parameters of the case's model."""
    base, options = BASES.get(case.model, PARALLEL_TASKS), case.options
    return Model(
        options.get("network/bandwidth-factor", base.bandwidth_factor),
        options.get("network/latency-factor", base.latency_factor),
        options.get("network/weight-S", base.weight),
        options.get("network/TCP-gamma", base.gamma),
        bool(options.get("network/crosstraffic", base.crosstraffic)),
        options.get("network/loopback-bw", base.loopback_bandwidth),
        options.get("network/loopback-lat", base.loopback_latency),
    )


def activity_of(network: Network, model: Model, name: str, flow: bl.Flow | bl.ParallelTask) -> Activity:
    """Give what the case's model makes of a flow or parallel task."""
    if isinstance(flow, bl.ParallelTask):
        names = [str(host) for host in flow.hosts]
        return network.parallel_task(names, flow.flops, [float(n) for row in flow.bytes for n in row], model)
    ends_of = str(flow.src), str(flow.dst)
    if name in FLOWS_ONLY:
        return network.flow(*ends_of, flow.bytes, model)
    return network.parallel_task(ends_of, (0.0, 0.0), (0.0, flow.bytes, 0.0, 0.0), model)
