"""Partitions, queues and limits in descriptions: constructors, files, and what is wrong with them."""

import pickle
from pathlib import Path

import pytest

import batchlab as bl

TEXT = """
[[groups]]
name = "thin"
count = 8
resources = { core = 4 }
[[groups]]
name = "fat"
count = 2
resources = { core = 8 }
[[partitions]]
name = "batch"
nodes = "0-6"
[[partitions]]
name = "debug"
nodes = "4-7"
groups = ["fat"]
tier = 2
admits = { max_nodes = 2, max_time = 1800 }
[[queues]]
name = "short"
partitions = ["debug", "batch"]
priority = 10
admits = { users = ["ann"] }
[[queues]]
name = "long"
partitions = ["batch"]
[[limits]]
name = "PerUser"
per = ["user", "queue"]
queues = ["long"]
partitions = ["debug"]
applies_to = { max_nodes = 3 }
running_jobs = 4
resources = { core = 16 }
time = 3600
running_minutes = { core = 600 }
total_minutes = { core = 9000 }
blocks = true
[preemption]
mode = "suspend"
exempt_time = 60
"""
NO_REQUEUE = "requeue = false\n"


@pytest.mark.parametrize("suffix", ["toml", "json"])
def test_files(suffix: str, tmp_path: Path) -> None:
    """What is written is read back, and can be pickled."""
    (tmp_path / "given.toml").write_text(NO_REQUEUE + TEXT)
    system = bl.read_system(tmp_path / "given.toml")
    assert not system.requeue
    assert [partition.name for partition in system.partitions] == ["batch", "debug"]
    assert system.partition_ranges(system.partitions[1]) == [(4, 8), (8, 10)]
    assert system.preemption == bl.Preemption("tier", "suspend", 60.0)
    assert system.queues[0] == bl.JobQueue("short", ("debug", "batch"), 10, bl.Conditions(users=("ann",)))
    bl.write_system(system, tmp_path / f"written.{suffix}")
    assert bl.read_system(tmp_path / f"written.{suffix}") == system
    assert pickle.loads(pickle.dumps(system)) == system  # noqa: S301


@pytest.mark.parametrize(
    ("text", "wrong", "message"),
    [
        ('nodes = "0-6"', 'nodes = "0-60"', "partitions[0].nodes = '0-60'; must be nodes from 0 to 9."),
        ('nodes = "0-6"', 'nodes = "6-0"', "partitions[0].nodes = '6-0'; must be ranges"),
        ('["fat"]', '["fit"]', "partitions[1].groups = 'fit'; must be a node group. Did you mean 'fat'?"),
        ('["batch"]', "[]", "queues[1].partitions of 'long' is empty; must name the partitions"),
        ('["debug", "batch"]', '["debag"]', "queues[0].partitions = 'debag'; must be a partition. Did you"),
        (
            "max_nodes = 2",
            "max_nodes = 0",
            "partitions[1].admits.max_nodes = 0; must be a whole number from 1",
        ),
        ("max_nodes = 2", "max_node = 2", "partitions[1].admits.max_node = 2; is not a key of a descript"),
        ("max_time = 1800", "max_time = -1", "partitions[1].admits.max_time = -1; must be a number of seco"),
        (
            "max_nodes = 2",
            "max_nodes = 2, min_nodes = 3",
            "partitions[1].admits.min_nodes = 3; must be at mo",
        ),
        (
            "priority = 10",
            'priority = "x"',
            "queues[0].priority = 'x'; must be a whole number",
        ),
        ('name = "long"', 'name = "short"', "queues[1].name = 'short'; must be unique"),
        ('name = "debug"', 'name = "batch"', "partitions[1].name = 'batch'; must be unique"),
        ("tier = 2", "tier = 2.5", "partitions[1].tier = 2.5; must be a whole number"),
        (
            "running_jobs = 4",
            "running_jobs = 0",
            "limits[0].running_jobs = 0; must be a whole",
        ),
        (
            "running_jobs = 4",
            "running = 4",
            "limits[0].running = 4; is not a key of a description. Did you mean",
        ),
        (
            'queues = ["long"]',
            'queues = ["lung"]',
            "limits[0].queues = 'lung'; must be a queue of the system. D",
        ),
        ("core = 16", "gpu = 16", "limits[0].resources = 'gpu'; must be a resource of the system."),
        ("core = 600", "gpu = 6", "limits[0].running_minutes = 'gpu'; must be a resource of the system."),
        ("core = 9000", "core = 0", "limits[0].total_minutes.core = 0; must be a whole"),
        ("time = 3600", "time = -1", "limits[0].time = -1; must be a number of seconds"),
        ('per = ["user", "queue"]', 'per = ["usr"]', "limits[0].per[0] = 'usr'; must be"),
        ("exempt_time = 60", "exempt_time = -1", "preemption.exempt_time = -1; must be a number of seconds"),
        ("exempt_time = 60", "exempt = 60", "preemption.exempt = 60; is not a key of a description. Did you"),
        (
            "max_nodes = 3",
            "max_nodes = -3",
            "limits[0].applies_to.max_nodes = -3; must be a whole number from 1",
        ),
        ('users = ["ann"]', "users = []", "queues[0].admits.users = []; must not be empty; leave it out"),
        ('users = ["ann"]', 'users = "ann"', "queues[0].admits.users = 'ann'; must be a list of names"),
    ],
)
def test_bad_descriptions(text: str, wrong: str, message: str, tmp_path: Path) -> None:
    """One line gives the path into the file, the value and the rule."""
    assert TEXT.count(text) == 1
    path = tmp_path / "system.toml"
    path.write_text(TEXT.replace(text, wrong))
    with pytest.raises(bl.SystemDescriptionError) as caught:
        bl.read_system(path)
    assert str(caught.value).startswith(f"{path}: {message}")
    assert "\n" not in str(caught.value)
