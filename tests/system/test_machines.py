"""Ready machines: what they are, by hand, and where jobs go on them."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.system import machines

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

HOUR = 3600.0


def routed(
    name: str, nodes: Sequence[int], hours: Sequence[float], **others: list[str | None]
) -> list[tuple[str | None, str | None]]:
    """Give for whole-node jobs the queue and the partition that each runs in, one after the other."""
    system = bl.read_system(name)
    core = system.groups[0].resources["core"]
    jobs = bl.Workload.from_table(
        {
            "submit_time": [100 * HOUR * at for at in range(len(nodes))],
            "run_time": [1.0] * len(nodes),
            "requested_time": [hours_ * HOUR for hours_ in hours],
            "tasks": nodes,
            "core": [core] * len(nodes),
            **others,
        },
        resources=("core",),
    )
    rows = bl.simulate(jobs, system, "easy(order=mpp)").jobs.rows(named=True)
    return [(row["assigned_queue"], row.get("allocated_partition")) for row in rows]


@pytest.mark.parametrize(
    ("name", "nodes", "cores"),
    [
        ("cori", 2388 + 9688, 2388 * 32 + 9688 * 68),
        ("frontier", 9408, 9408 * 112),
        ("intrepid-147456", 36864, 147456),
        ("intrepid-36864", 9216, 36864),
        ("intrepid-73728", 18432, 73728),
        ("mira", 49152, 786432),
        ("mustang", 1600, 38400),
        ("theta", 4392, 281088),
        ("trinity", 9408, 301056),
    ],
)
def test_sizes(name: str, nodes: int, cores: int) -> None:
    """Nodes and cores are those of the sources; every machine is listed here."""
    system = bl.read_system(name)
    assert (system.nodes, system.processors) == (nodes, cores)
    assert len(machines.NAMES) == 9


@pytest.mark.parametrize("machine", machines.entries(), ids=lambda machine: machine.name)
def test_descriptions(machine: machines.Machine, tmp_path: Path) -> None:
    """Each names its sources, fits on a line of 80, and what is shown of it describes the same machine."""
    assert machine.sources
    assert len(machine.summary) <= 80 - 43
    shown = tmp_path / "shown.toml"
    shown.write_text(machine.text, "utf-8")
    assert bl.read_system(shown) == bl.read_system(machine.name)
    assert tomllib.loads(machine.text)
    assert max(map(len, machine.text.splitlines())) <= 100


def test_names_are_in_order() -> None:
    """The catalogue is in alphabetical order, and is what `bl.system.machines` has."""
    assert list(machines.NAMES) == sorted(machines.NAMES)
    assert bl.system.machines.find(" Mira ").name == "mira"


def test_queues_of_mira() -> None:
    """The queue by nodes and requested time; backfill only by its name."""
    assert [queue for queue, _ in routed("mira", [4096, 4095, 512, 511, 512], [24, 6, 6, 6, 7])] == [
        "prod-capability",
        "prod-long",
        "prod-long",
        "prod-short",
        "prod-short",
    ]
    assert routed("mira", [64], [1], queue=["backfill"]) == [("backfill", None)]
    order = sorted(bl.read_system("mira").queues, key=lambda queue: -queue.priority)
    assert [queue.name for queue in order] == ["prod-capability", "prod-long", "prod-short", "backfill"]


def test_queues_of_theta() -> None:
    """The longest time grows with the nodes; jobs for debugging have nodes of their own."""
    hours = [24, 12, 9, 6, 3]
    names = ["default-802", "default-640", "default-384", "default-256", "default-128"]
    assert routed("theta", [802, 640, 384, 256, 128], hours) == [(name, "production") for name in names]
    assert routed("theta", [801, 8, 127], [24, 1, 3]) == [
        (None, None),
        ("debug-cache-quad", "debug-cache-quad"),
        (None, None),
    ]
    assert routed("theta", [4100, 4101], [24, 24]) == [("default-802", "production"), ("default-802", None)]


def test_queues_of_cori() -> None:
    """The queue by QOS; the KNL nodes by the queue's name."""
    qos: list[str | None] = ["debug", "premium", None, "debug"]
    queue = [None, None, None, "debug-knl"]
    assert routed("cori", [64, 1772, 1932, 512], [0.5, 48, 48, 0.5], qos=qos, queue=queue) == [
        ("debug", "haswell"),
        ("premium", "haswell"),
        ("regular", "haswell"),
        ("debug-knl", "knl"),
    ]


@pytest.mark.parametrize(
    ("name", "nodes", "hours", "runs", "accepted"),
    [("mira", 512, 6, 5, 20), ("theta", 128, 3, 10, 20), ("theta", 1, 1, 1, 20), ("cori", 1, 1, 30, 30)],
)
def test_limits_of_a_user(name: str, nodes: int, hours: int, runs: int, accepted: int) -> None:
    """Of 30 jobs that a user submits at once so many are accepted, and so many run at a time."""
    system = bl.read_system(name)
    jobs = bl.Workload.from_table(
        {
            "submit_time": [0.0] * 30,
            "run_time": [hours * HOUR] * 30,
            "tasks": [nodes] * 30,
            "core": [system.groups[0].resources["core"]] * 30,
            "user": ["ann"] * 30,
        },
        resources=("core",),
    )
    starts = bl.simulate(jobs, system, "easy(order=mpp)").jobs["start_time"]
    assert (starts.eq(0.0).sum(), len(starts.drop_nulls())) == (runs, accepted)


def test_names_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file comes before a machine of its name, a folder does not; for neither there is the nearest name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "theta").mkdir()
    assert bl.read_system("theta").nodes == 4392
    (tmp_path / "folder").mkdir()
    with pytest.raises(bl.SystemDescriptionError, match=r"^folder: is a folder without slurm.conf"):
        bl.read_system("folder")
    with pytest.raises(bl.SystemDescriptionError, match=r"^mirra: there is no such file; .*mean 'mira'\?"):
        bl.read_system("mirra")
    (tmp_path / "mira").write_text('groups = [{ name = "n", count = 3, resources = { core = 1 } }]')
    assert bl.read_system("mira").nodes == 3
    with pytest.raises(bl.SystemDescriptionError, match=r"^folder/mira: cannot be read"):
        bl.read_system("folder/mira")
