"""Described machines: what they hold, and what they refuse."""

import copy
import pickle
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from batchlab.errors import SystemDescriptionError
from batchlab.platform import Platform
from batchlab.system import NodeGroup, System

MIXED = System(
    (NodeGroup("thin", 2, {"core": 4, "mem": 8}), NodeGroup("fat", 1, {"core": 4, "gpu": 2, "mem": 0})),
    equivalence={"core": 2},
    name="Mixed",
    start_time=1_027_839_845,
)


def untyped(value: object) -> Any:  # noqa: ANN401  # what a caller without a type checker may pass
    """Hide a value's type."""
    return value


def test_heterogeneous_capacity() -> None:
    """Nodes are numbered group by group; what a group does not name, its nodes do not have."""
    assert MIXED.nodes == 3
    assert MIXED.resources == ("core", "mem", "gpu")
    assert MIXED.capacity.tolist() == [[4, 8, 0], [4, 8, 0], [4, 0, 2]]
    assert MIXED.total == {"core": 12, "mem": 16, "gpu": 2}


def test_capacity_is_ready_for_the_kernel() -> None:
    """The capacities are a read-only, C-contiguous array of int64, made once."""
    capacity = MIXED.capacity
    assert capacity.dtype == np.int64
    assert capacity.flags.c_contiguous
    assert not capacity.flags.writeable
    assert MIXED.capacity is capacity


def test_many_nodes() -> None:
    """A description of ten million nodes holds as many rows."""
    system = System.homogeneous(nodes=10_000_000, resources={"core": 4})
    assert system.capacity.shape == (10_000_000, 1)


def test_homogeneous() -> None:
    """The short form is one group; a processor is one core."""
    system = System.homogeneous(nodes=120, resources={"core": 4, "mem": 1_000_000}, name="Seth")
    assert system == System((NodeGroup("nodes", 120, {"core": 4, "mem": 1_000_000}),), {"core": 1}, "Seth")
    assert str(system) == "Seth: 120 nodes, 120 × (4 core, 1000000 mem)"


def test_numpy_integers_are_integers() -> None:
    """Numbers out of an array describe the same machine."""
    system = System.homogeneous(nodes=untyped(np.int32(3)), resources={"core": untyped(np.int64(4))})
    assert system == System.homogeneous(nodes=3, resources={"core": 4})
    assert type(system.groups[0].count) is int


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])  # noqa: S301
def test_copies_are_equal(duplicate: Callable[[System], System]) -> None:
    """Machines travel to other processes, and serve as keys."""
    twin = duplicate(MIXED)
    assert twin == MIXED
    assert hash(twin) == hash(MIXED)


def test_is_immutable() -> None:
    """Neither the description nor what it was made of can change it later."""
    resources = {"core": 4}
    group = NodeGroup("nodes", 1, resources)
    resources["core"] = 5
    assert group.resources["core"] == 4
    with pytest.raises(TypeError, match="does not support item assignment"):
        group.resources["core"] = 5  # type: ignore[index]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: NodeGroup("a", 0, {"core": 1}), "NodeGroup 'a': count = 0; must be a whole number from 1"),
        (
            lambda: NodeGroup("a", 10**9, {"core": 1}),
            "count = 1000000000; must be a whole number from 1 to 10^8",
        ),
        (
            lambda: NodeGroup("a", untyped(1.0), {"core": 1}),
            "count = 1.0; must be a whole number from 1 to 10^8; write it without",
        ),
        (lambda: NodeGroup("", 1, {"core": 1}), "name = ''; must be a name of 1 to 200 printable"),
        (lambda: NodeGroup("a", 1, {"core": True}), "resources.core = True; must be a whole number"),
        (
            lambda: NodeGroup("a", 1, {"core": -1}),
            "resources.core = -1; must be a whole number from 0 to 2^53",
        ),
        (
            lambda: NodeGroup("a", 1, {"core": 2**53 + 1}),
            "resources.core = 9007199254740993; must be a whole number",
        ),
        (lambda: NodeGroup("a", 1, {}), "resources = {}; must name at least one resource"),
        (lambda: NodeGroup("a", 1, untyped(["core"])), "resources = ['core']; must be a mapping"),
        (lambda: NodeGroup("a", 1, {"a b": 1}), "resources: key 'a b'; must be a resource's name"),
        (lambda: NodeGroup("a", 1, {"tasks": 1}), "key 'tasks'; is a column of every table of jobs"),
        (lambda: System(()), "groups = (); must hold at least one group"),
        (lambda: System(untyped(None)), "groups = None; must be a tuple of NodeGroup"),
        (lambda: System(untyped(("g0",))), "groups[0] = 'g0'; must be a NodeGroup"),
        (lambda: System(MIXED.groups * 2), "groups[2].name = 'thin'; must be unique"),
        (
            lambda: System(MIXED.groups, {"coer": 1}),
            "equivalence = {'coer': 1}; must say what one processor is",
        ),
        (lambda: System(MIXED.groups, {"core": 0}), "equivalence = {'core': 0}; must be at least 1"),
        (lambda: System(MIXED.groups, name="a\nb"), r"name = 'a\nb'; must be a name"),
        (
            lambda: System(MIXED.groups, start_time=float("nan")),
            "start_time = nan; must be a number of seconds",
        ),
        (lambda: System(MIXED.groups, start_time=10**400), "must be a number of seconds"),
        (
            lambda: System(MIXED.groups, start_time=untyped("0")),
            "start_time = '0'; must be a number of seconds",
        ),
        (lambda: System.homogeneous(nodes=1, resources={"gpu": 1}), "not 'core'. Known: gpu."),
        (
            lambda: System.homogeneous(nodes=10**8, resources={"core": 2**53}),
            "core adds up to 900719925474099200000000; must be at most 2^63 - 1",
        ),
        (
            lambda: System(tuple(NodeGroup(name, 10**8, {"core": 1}) for name in "ab")),
            "groups: 200000000 nodes in all; must be at most 100000000",
        ),
    ],
)
def test_refuses(build: Callable[[], object], message: str) -> None:
    """What breaks a rule is refused by name, value and rule."""
    with pytest.raises(SystemDescriptionError, match=re.escape(message)):
        build()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hosts": 3}, "hosts = 3; must be the names of compute hosts"),
        ({"hosts": "node0"}, "hosts = 'node0'; must be the names of compute hosts"),
        ({"hosts": [1]}, r"hosts\[0\] = 1; must be a compute host"),
        ({"hosts": ["nod0"]}, "Did you mean 'node0'"),
        ({"hosts": ["node0", "node0"]}, "names a host twice"),
        ({"resources": 3}, "resources = 3; must be a mapping"),
        ({"resources": {}}, "must name at least one resource"),
    ],
)
def test_what_a_platform_cannot_be(arguments: dict[str, object], message: str) -> None:
    """Hosts and resources of a system on a platform are checked."""
    platform = Platform.crossbar(2, speed="1Gf", bandwidth="1GBps")
    with pytest.raises(SystemDescriptionError, match=message):
        System.of(platform, **arguments)  # type: ignore[arg-type]


def test_no_platform() -> None:
    """What is no platform is refused as such."""
    with pytest.raises(SystemDescriptionError, match="platform = 'x'; must be a Platform"):
        System.of("x")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("groups", "equivalence", "processors"),
    [
        pytest.param([(120, {"core": 2})], {"core": 1}, 240, id="a core each"),
        pytest.param([(120, {"core": 4})], {"core": 2}, 240, id="two cores each"),
        pytest.param([(3, {"core": 5}), (1, {"core": 1})], {"core": 2}, 6, id="cores that are left over"),
        pytest.param([(2, {"core": 8, "mem": 30})], {"core": 1, "mem": 10}, 6, id="memory decides"),
        pytest.param(
            [(2, {"core": 8, "gpu": 0})], {"core": 2, "gpu": 0}, 8, id="nothing asked of a resource"
        ),
    ],
)
def test_processors_are_counted(
    groups: list[tuple[int, dict[str, int]]], equivalence: dict[str, int], processors: int
) -> None:
    """As tasks of one equivalence each that fit on the nodes."""
    described = tuple(NodeGroup(f"g{at}", count, has) for at, (count, has) in enumerate(groups))
    assert System(described, equivalence).processors == processors
