"""`bl.share`: closed forms by hand, properties on random platforms, and errors that name the flow."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import batchlab as bl
from batchlab.platform import Host, Link
from batchlab.platform.flows import MODELS

STAR = bl.Platform.crossbar(4, bandwidth="100MBps", latency="1ms", speed="1Gf")
NODES = [f"node{number}" for number in range(4)]


def line(*bandwidths: float, latency: float = 0.0, sharing: str = "shared") -> bl.Platform:
    """Describe hosts a, b, c... in a line; each link is one for both ways."""
    names = [chr(ord("a") + at) for at in range(len(bandwidths) + 1)]
    links = [Link(f"l{at}", bandwidth, latency, sharing) for at, bandwidth in enumerate(bandwidths)]  # type: ignore[arg-type]
    routes = {
        (names[i], names[j]): [f"l{at}" for at in range(i, j)]
        for i in range(len(names))
        for j in range(i + 1, len(names))
    }
    return bl.Platform.from_routes(links, routes, hosts=[Host(name, speed=10.0) for name in names])


def test_one_flow_takes_latency_and_bytes_over_bandwidth() -> None:
    """A flow alone has its route's narrowest link, after the latency."""
    platform = line(100.0, 50.0, latency=0.25)
    assert bl.share(platform, [bl.Flow("a", "c", 100.0, start=1.0)]).tolist() == [3.5]


def test_a_flow_that_ends_leaves_its_share_to_the_others() -> None:
    """Two flows share a link, then the longer one has it to itself."""
    assert bl.share(line(100.0), [("a", "b", 100.0), ("a", "b", 200.0)]).tolist() == [2.0, 3.0]


def test_max_min_gives_the_long_flow_its_bottleneck_and_the_short_one_the_rest() -> None:
    """The classic line: 40 and 40 on the narrow link, so 60 on the wide one, and 100 when left alone."""
    flows = [("a", "c", 40.0), ("a", "b", 80.0), ("b", "c", 40.0)]
    assert bl.share(line(100.0, 80.0), flows).tolist() == [1.0, 1.2, 1.0]


def test_a_fat_pipe_does_not_share() -> None:
    """On a fat pipe each flow has the whole bandwidth."""
    assert bl.share(line(100.0, sharing="fat_pipe"), [("a", "b", 100.0)] * 3).tolist() == [1.0] * 3


def test_shares_follow_round_trips_in_cm02() -> None:
    """Under CM02 a flow with twice the latency gets half the share."""
    links = [Link("near", 1e9, 1.0), Link("far", 1e9, 2.0), Link("narrow", 300.0, 0.0)]
    routes = {("a", "c"): ["near", "narrow"], ("b", "c"): ["far", "narrow"]}
    platform = bl.Platform.from_routes(links, routes)
    options = {"network/TCP-gamma": 0, "network/crosstraffic": False, "network/latency-factor": 1e-9}
    ends = bl.share(platform, [("a", "c", 200.0), ("b", "c", 100.0)], "CM02", options)
    assert ends == pytest.approx([1.0, 1.0])


def test_the_window_and_the_factors_are_those_of_the_options() -> None:
    """A window of w bytes allows w / (2 latency); factors slow the flow and its beginning."""
    platform = line(1000.0, latency=1.0)
    window = {"network/TCP-gamma": 20.0}
    assert bl.share(platform, [("a", "b", 100.0)], "bottleneck_max_min", window).tolist() == [11.0]
    factors = {"network/bandwidth-factor": 0.5, "network/latency-factor": 3.0}
    assert bl.share(platform, [("a", "b", 1000.0)], "max_min", factors).tolist() == [5.0]


def test_acknowledgements_load_the_way_back() -> None:
    """With cross-traffic a flow takes 5 % of its rate on the links back, here the same link."""
    ends = bl.share(line(105.0), [("a", "b", 100.0)], "CM02", {"network/crosstraffic": "yes"})
    assert ends == pytest.approx([1.0])


def test_a_parallel_task_ends_when_its_slowest_part_does() -> None:
    """Operations and bytes progress together: 2 s for the bytes, 1 s for the operations make 2 s."""
    task = bl.ParallelTask(["a", "b"], flops=[10.0, 5.0], bytes=[[0, 200.0], [0, 0]])
    for model in ("max_min", "fair_bottleneck", "bottleneck_max_min"):
        assert bl.share(line(100.0, latency=0.5), [task], model).tolist() == [2.5]


def test_rules_differ_where_tasks_take_different_amounts() -> None:
    """Three tasks share the second link evenly; the fair bottleneck gives one of them less of it."""

    def task(first: float, second: float) -> bl.ParallelTask:
        return bl.ParallelTask(["a", "b", "c"], bytes=[[0, first, 0], [0, 0, second], [0, 0, 0]])

    tasks = [task(10, 50), task(10, 50), task(50, 20)]
    platform = line(100.0, 100.0)
    for model in ("max_min", "bottleneck_max_min"):
        assert bl.share(platform, tasks, model) == pytest.approx([1.2, 1.2, 0.6])
    assert bl.share(platform, tasks, "fair_bottleneck") == pytest.approx([1.2, 1.2, 1.0])


def test_nothing_takes_no_time() -> None:
    """No bytes and no operations are done after the latency at once."""
    assert bl.share(STAR, [("node0", "node1", 0.0, 2.0)]).tolist() == [2.002]
    assert bl.share(STAR, [bl.ParallelTask(["node0"])]).tolist() == [0.0]
    assert bl.share(STAR, []).tolist() == []


def test_a_host_sends_to_itself_over_the_loopback() -> None:
    """Where there is no route from a host to itself, bytes take the loopback's time."""
    options = {"network/loopback-bw": 50.0, "network/loopback-lat": 1.0}
    assert bl.share(line(1.0), [("a", "a", 100.0)], options=options).tolist() == [3.0]


def test_tasks_are_equal_only_to_themselves() -> None:
    """Tasks hold arrays: they are told apart by identity, and can be members of sets."""
    one, other = bl.ParallelTask(["a"], flops=[1.0]), bl.ParallelTask(["a"], flops=[1.0])
    assert one != other
    assert len({one, other}) == 2


def test_tables_of_all_kinds_are_taken() -> None:
    """Data frames, mappings of columns, mappings and tuples give the same; hosts are names or places."""
    table = {"src": ["node0", "node1"], "dst": ["node2", "node2"], "bytes": [1e8, 2e8], "start": [0.0, 0.5]}
    expected = bl.share(STAR, table).tolist()
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    places = {**table, "src": np.array([0, 1]), "dst": np.array([2, 2])}
    for flows in (pl.DataFrame(table), rows, places, [tuple(row.values()) for row in rows]):
        assert bl.share(STAR, flows).tolist() == expected


Load: TypeAlias = tuple[bl.Platform, list[tuple[int, int, float, float]]]


@st.composite
def loads(draw: st.DrawFn) -> Load:
    """Draw a line of links and flows on it."""
    bandwidths = draw(st.lists(st.floats(1.0, 100.0), min_size=1, max_size=5))
    host = st.integers(0, len(bandwidths))
    flow = st.tuples(host, host, st.floats(0.0, 500.0), st.floats(0.0, 9.0)).filter(
        lambda flow: flow[0] != flow[1]
    )
    return line(*bandwidths), draw(st.lists(flow, min_size=1, max_size=12))


@given(load=loads(), model=st.sampled_from(["max_min", "fair_bottleneck", "bottleneck_max_min"]))
def test_no_link_carries_more_than_it_can(load: Load, model: str) -> None:
    """No link carries more than its bandwidth while it has flows, and no flow is faster than alone."""
    platform, flows = load
    ends = bl.share(platform, flows, model, {"network/TCP-gamma": 0})
    for number, link in enumerate(platform.links):
        on = [
            at
            for at, (src, dst, size, _) in enumerate(flows)
            if min(src, dst) <= number < max(src, dst) and size
        ]
        if on:
            carried = sum(flows[at][2] for at in on)
            busy = ends[on].max() - min(flows[at][3] for at in on)
            assert carried <= link.bandwidth * busy * (1 + 1e-9) + 1e-9
    for flow, end in zip(flows, ends, strict=True):
        assert end >= bl.share(platform, [flow])[0] - 1e-9


@given(load=loads())
def test_one_link_conserves_work(load: Load) -> None:
    """A link is never idle while it has flows: the last end is that of a queue with the same bytes."""
    _, flows = load
    on_one = [("a", "b", size, start) for _, _, size, start in flows]
    done = 0.0
    for _, _, size, start in sorted(on_one, key=lambda flow: flow[3]):
        done = max(done, start) + size / 10.0
    for model in MODELS:
        ends = bl.share(
            line(10.0), on_one, model, {"network/crosstraffic": False, "network/bandwidth-factor": 1}
        )
        assert ends.max() == pytest.approx(done, rel=1e-9)


@given(load=loads(), seed=st.randoms(use_true_random=False))
def test_the_order_of_the_list_does_not_matter(load: Load, seed: object) -> None:
    """Shuffled flows end when they ended before, but for rounding."""
    platform, flows = load
    order = list(range(len(flows)))
    seed.shuffle(order)  # type: ignore[attr-defined]
    ends = bl.share(platform, flows)
    shuffled = bl.share(platform, [flows[at] for at in order])
    assert shuffled == pytest.approx(ends[order], rel=1e-9)


WRONG: dict[str, tuple[Callable[[], object], str]] = {
    "model": (
        lambda: bl.share(STAR, [], "maxmin"),
        r"no sharing model is called 'maxmin'\. Did you mean 'max_min'\?",
    ),
    "option": (
        lambda: bl.share(STAR, [], options={"network/TCP-gama": 1}),
        r"no option is called 'network/TCP-gama'\. Did you mean 'network/TCP-gamma'\?",
    ),
    "value": (
        lambda: bl.share(STAR, [], options={"network/weight-S": -1}),
        r"network/weight-S = -1; must be a finite",
    ),
    "factor": (
        lambda: bl.share(STAR, [], options={"network/bandwidth-factor": 0}),
        r"must be a finite number > 0",
    ),
    "truth": (lambda: bl.share(STAR, [], options={"network/crosstraffic": 2}), r"must be true or false"),
    "text": (lambda: bl.share(STAR, [], options={"network/weight-S": "many"}), r"= 'many'; must be a number"),
    "bytes": (
        lambda: bl.share(STAR, [("node0", "node1", -1)]),
        r"flow 0: Flow: bytes = -1; must be a finite",
    ),
    "start": (
        lambda: bl.share(STAR, [bl.Flow("node0", "node1", 1), ("node0", "node1", 1, float("inf"))]),
        r"flow 1: Flow: start = inf",
    ),
    "host": (lambda: bl.share(STAR, [("node0", "nod1", 1)]), r"flow 0: .*'nod1'.* Did you mean 'node1'\?"),
    "place": (lambda: bl.share(STAR, [(0, 9, 1)]), r"flow 0: host = 9; there are 4 hosts, numbered from 0"),
    "place_of_table": (
        lambda: bl.share(STAR, {"src": [0], "dst": [-1], "bytes": [1]}),
        r"host = -1; there are 4",
    ),
    "no_host": (lambda: bl.share(STAR, [(None, 1, 1)]), r"flow 0: host = None; must be a name"),
    "no_flow": (lambda: bl.share(STAR, [7]), r"flow 0: 7 must be a Flow, a ParallelTask, or"),
    "no_list": (lambda: bl.share(STAR, 7), r"flows = 7; must be a list"),  # type: ignore[arg-type]
    "column": (lambda: bl.share(STAR, {"src": [0], "dst": [1], "byte": [1]}), r"Did you mean 'bytes'\?"),
    "no_column": (lambda: bl.share(STAR, {"src": [0], "dst": [1]}), r"flows needs 'bytes'"),
    "scalar": (
        lambda: bl.share(STAR, {"src": [0], "dst": [1], "bytes": [1], "start": 0.0}),
        r"start = 0\.0; must be a column, one value per flow",
    ),
    "ragged": (
        lambda: bl.share(STAR, {"src": [[0], [1, 2]], "dst": [1], "bytes": [1]}),
        r"src = \[\[0\], \[1, 2\]\]; must be a column",
    ),
    "lengths": (
        lambda: bl.share(STAR, {"src": [0], "dst": [1, 2], "bytes": [1]}),
        r"columns have 1 and 2 rows",
    ),
    "numbers": (
        lambda: bl.share(STAR, {"src": [0], "dst": [1], "bytes": ["x"]}),
        r"column 'bytes' must hold numbers",
    ),
    "row": (
        lambda: bl.share(STAR, {"src": [0], "dst": [1], "bytes": [np.nan]}),
        r"flow 0: bytes = nan; must be",
    ),
    "flops": (
        lambda: bl.ParallelTask(["a"], flops=[1, 2]),
        r"flops has 2 numbers; must be 1, as there are hosts",
    ),
    "matrix": (
        lambda: bl.ParallelTask(["a", "b"], bytes=[[0, 1]]),
        r"bytes has 1 × 2 numbers; must be 2 × 2",
    ),
    "negative": (
        lambda: bl.ParallelTask(["a", "b"], bytes=[[0, -1], [0, 0]]),
        r"bytes\[0, 1\] = -1; must be",
    ),
    "hosts": (lambda: bl.ParallelTask([]), r"hosts = \[\]; must be a list of one or more hosts"),
    "words": (lambda: bl.ParallelTask(["a"], flops="many"), r"flops = 'many'; must be 1 numbers"),  # type: ignore[arg-type]
    "tasks": (
        lambda: bl.share(STAR, [bl.ParallelTask(["node0"])], "LV08"),
        r"'LV08' knows flows only; use 'max_min'",
    ),
    "route": (
        lambda: bl.share(bl.Platform.from_routes([], {}, hosts=["a", "b"]), [("a", "b", 1)]),
        r"flow 0: there is no route from 'a' to 'b'",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_name_the_flow_and_the_rule(name: str) -> None:
    """Whatever is wrong is said in one line with its place, the value and the rule."""
    call, message = WRONG[name]
    with pytest.raises(bl.PlatformError, match=message):
        call()


@pytest.mark.parametrize(
    ("configuration", "model"),
    [
        ({"host/model": "default", "network/model": "LV08", "network/optim": "Full"}, "LV08"),
        ({"network/model": "CM02", "network/solver": "maxmin", "cpu/model": "Cas01"}, "CM02"),
        ({"host/model": "ptask_L07", "network/model": "LV08"}, "fair_bottleneck"),
        ({"host/model": "ptask_L07", "host/solver": "bmf", "network/model": "LV08"}, "bottleneck_max_min"),
        ({"network/TCP-gamma": 0}, "max_min"),
    ],
)
def test_a_whole_configuration_chooses_the_model(configuration: dict[str, str], model: str) -> None:
    """Options of SimGrid that choose its models choose ours."""
    platform = bl.Platform.crossbar(3, bandwidth="100MBps", latency="1ms")
    flows = [("node0", "node1", 1e8, 0.0), ("node0", "node2", 5e7, 0.5), ("node1", "node2", 3e7, 0.2)]
    chosen = bl.share(platform, flows, options=configuration)
    own = {name: value for name, value in configuration.items() if name == "network/TCP-gamma"}
    assert chosen.tolist() == bl.share(platform, flows, model=model, options=own).tolist()


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("CM02", {"network/model": "LV08"}, "model = 'CM02', but the options choose 'LV08'"),
        (None, {"network/model": "SMPI"}, "option network/model = 'SMPI'; must be one of LV08, CM02"),
        (None, {"network/optim": "full"}, "option network/optim = 'full'; must be one of Full, Lazy, TI"),
    ],
)
def test_configurations_that_make_no_sense(model: str | None, options: dict[str, str], message: str) -> None:
    """What contradicts the model, or is no value of SimGrid's, is refused."""
    platform = bl.Platform.crossbar(2, bandwidth="100MBps")
    with pytest.raises(bl.PlatformError, match=message):
        bl.share(platform, [("node0", "node1", 1)], model=model, options=options)
