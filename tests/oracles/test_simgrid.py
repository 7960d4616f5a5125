"""SimGrid 3.34: completion times of flows and parallel tasks, on given routes and on those of its XML."""

import gzip
import json
from collections.abc import Iterator
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pytest

import batchlab as bl
from batchlab.platform import Host, Link
from support.exchanges import simulated
from support.oracles import find

TOLERANCE = 1e-9
MANY = 64
MODELS = {
    "LV08": "LV08",
    "CM02": "CM02",
    "L07_fairbottleneck": "fair_bottleneck",
    "L07_bmf": "bottleneck_max_min",
}

Case: TypeAlias = dict[str, Any]


def files() -> list[Path]:
    """Find the recorded cases."""
    return sorted(find("oracles/simgrid").glob("*.jsonl.gz"))


def cases(path: Path) -> Iterator[Case]:
    """Read the cases of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def model(case: Case) -> str:
    """Say which of our models a setting is."""
    return next(name for prefix, name in MODELS.items() if case["setting"].startswith(prefix))


def options(case: Case) -> dict[str, float | bool | str]:
    """Give all options in effect, whether or not the model looks at them."""
    given: dict[str, float | bool | str] = case.get("options") or case["effective_config"]
    return given


def activity(flow: Case) -> bl.Flow | bl.ParallelTask:
    """Take a flow or a parallel task over."""
    if "hosts" not in flow:
        return bl.Flow(flow["src"], flow["dst"], flow["bytes"], flow["start"])
    matrix = np.reshape(flow["bytes"], (len(flow["hosts"]),) * 2)
    return bl.ParallelTask(flow["hosts"], flow["flops"], matrix, flow["start"])


def link(given: Case) -> Link:
    """Take a link over; the two ways of a split-duplex one are shared links by now."""
    sharing: Literal["shared", "fat_pipe"] = "fat_pipe" if given["policy"] == "FATPIPE" else "shared"
    return Link(given["name"], given["bandwidth"], given["latency"], sharing)


def given(case: Case) -> bl.Platform:
    """Describe a case's platform by its links and routes."""
    links = [link(each) for each in case["links"]]
    routes = {(route["src"], route["dst"]): route["links"] for route in case["routes"]}
    names = {name for pair in routes for name in pair}
    names |= {name for flow in case["flows"] for name in flow.get("hosts", ())}
    hosts = [Host(name, speed=1e9) for name in sorted(names)]
    return bl.Platform.from_routes(links, routes, hosts=hosts, symmetrical=False)


@cache
def rebuilt(name: str) -> bl.Platform:
    """Read a case's platform from SimGrid's XML."""
    return bl.read_platform(find(f"oracles/simgrid/platforms/{name}"))


def error(case: Case, platform: bl.Platform) -> float:
    """Give the greatest relative difference of a completion time."""
    ends = bl.share(platform, [activity(flow) for flow in case["flows"]], model(case), options(case))
    expected = np.array([flow["end"] for flow in case["flows"]])
    return float(np.max(np.abs(ends - expected) / expected))


def worst(path: Path, way: str) -> tuple[float, str]:
    """Give the greatest difference in a file, and where it is."""
    compared = []
    for number, case in enumerate(cases(path)):
        platform = given(case) if way == "given" else rebuilt(case["platform"])
        label = f"{case['platform']} {case.get('flow_set', number)} {case['setting']}"
        compared.append((error(case, platform), label))
    return max(compared)


@pytest.mark.parametrize("way", ["given", "rebuilt"])
def test_every_case_agrees(way: str) -> None:
    """All recorded completion times agree to 1e-9, whether routes are given or come from the XML."""
    found = {path.name: worst(path, way) for path in files()}
    assert found
    assert {name: label for name, (difference, label) in found.items() if not difference <= TOLERANCE} == {}


def test_simulations_agree_bit_for_bit() -> None:
    """Jobs that do the recorded parallel tasks end when `share` says, to the last bit."""
    compared = 0
    for path in files():
        for case in cases(path):
            if len(case["flows"]) > MANY or not bl.NetworkModel(model(case)).knows_tasks:
                continue
            network = bl.NetworkModel.from_simgrid(options(case), model(case))
            flows = sorted((activity(flow) for flow in case["flows"]), key=lambda flow: flow.start)
            platform = given(case)
            assert simulated(platform, flows, network) == bl.share(platform, flows, network).tolist()
            compared += 1
    assert compared > 50


def test_tables_and_lists_agree() -> None:
    """A table of columns gives what a list of tuples gives."""
    paths = [path for path in files() if "parallel" not in path.name]
    for case in chain.from_iterable(islice(cases(path), 6) for path in paths):
        flows = [(flow["src"], flow["dst"], flow["bytes"], flow["start"]) for flow in case["flows"]]
        table = {name: [flow[name] for flow in case["flows"]] for name in ("src", "dst", "bytes", "start")}
        platform = given(case)
        of_list, of_table = (bl.share(platform, each, model(case), options(case)) for each in (flows, table))
        assert of_list.tolist() == of_table.tolist()
