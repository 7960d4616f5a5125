"""One `slurm.conf` means one system and one policy, and a broken one is one error, by every door."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import batchlab as bl
from batchlab.cli import main
from batchlab.cli.request import MachineRequest, policy_for
from batchlab.errors import BatchlabError
from batchlab.experiment.specification import read_specification
from batchlab.policy.policy import CONFIGURED, as_policy
from batchlab.slurm import virtual
from batchlab.slurm.virtual.model import system_of
from support.live_dumps import FOLDER, NOW
from support.slurm_configurations import FILES, SMALL, written
from support.small_centre import submitted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from batchlab.policy import Policy

    Answer = tuple[bl.System, Policy]

NODES = """
GresTypes=gpu
NodeName=n[1-4] Sockets=2 CoresPerSocket=4 RealMemory=4000 Weight=3 Feature=a,b
NodeName=g[1-2] Sockets=1 CoresPerSocket=8 ThreadsPerCore=2 RealMemory=8000 Gres=gpu:2 CoreSpecCount=1
PartitionName=batch Nodes=ALL Default=YES MaxTime=120 DefaultTime=60
PartitionName=short Nodes=n[1-4] MaxTime=30 PriorityTier=5
"""
SELECTIONS = {
    "linear": "select/linear",
    "linear, memory": "select/linear\nSelectTypeParameters=CR_Memory",
    "cores": "select/cons_tres\nSelectTypeParameters=CR_Core",
    "CPUs, memory": "select/cons_tres\nSelectTypeParameters=CR_CPU_Memory",
    "cores, memory": "select/cons_tres\nSelectTypeParameters=CR_Core_Memory",
    "sockets": "select/cons_tres\nSelectTypeParameters=CR_Socket",
    "cores by cons_res": "select/cons_res\nSelectTypeParameters=CR_Core",
}
CLUSTERS = {
    "small": {"slurm.conf": SMALL + "PriorityType=priority/basic\n"},
    "much": FILES,
    **{
        name: {
            "slurm.conf": (
                f"ClusterName=six\nPriorityType=priority/basic\nSelectType={selection}\nInclude %c-nodes\n"
                "SchedulerParameters=bf_interval=20,bf_max_job_test=500\n"
            ),
            "six-nodes": NODES,
        }
        for name, selection in SELECTIONS.items()
    },
}


def by_machine(path: Path) -> Answer:
    """Read what the option --system names, as `run` and `compare` do."""
    machine = MachineRequest(path, None, None)
    assert machine.described is not None
    return machine.described, policy_for(None, machine)


def by_experiment(path: Path) -> Answer:
    """Read what an experiment file names, with the configured policy."""
    specification = path.parent / "experiment.toml"
    specification.write_text(
        f'policies = ["configured"]\n[workloads]\nlog = "log.csv"\n[systems]\nhere = "{path}"\n'
    )
    submitted(3).jobs.write_csv(path.parent / "log.csv")
    experiment = read_specification(specification).experiment
    (system,), (policy,) = experiment.systems.values(), experiment.policies.values()
    return system, policy.on(system.policy)


def by_twin(path: Path) -> Answer:
    """Read the twin of `slurm fit` and `slurm what-if`."""
    twin = bl.twin.read_twin(path)
    return twin.system, twin.policy


def by_translation(path: Path) -> Answer:
    """Read and translate, as `slurm check` does."""
    system = bl.slurm.translate(bl.slurm.read_configuration(path)).system
    return system, configured(system)


def configured(system: bl.System) -> Policy:
    """Return the policy of a system's description."""
    return as_policy(CONFIGURED).on(system.policy)


DOORS: dict[str, Callable[[Path], Answer]] = {
    "Python": lambda path: (bl.read_system(path), configured(bl.read_system(path))),
    "option": by_machine,
    "experiment": by_experiment,
    "twin": by_twin,
    "translation": by_translation,
}


@pytest.fixture(params=CLUSTERS)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Write the files of a cluster."""
    folder = tmp_path / "conf"
    folder.mkdir()
    return written(CLUSTERS[request.param], folder)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", ["", "slurm.conf"])
def test_one_system_and_one_policy(door: str, name: str, cluster: Path) -> None:
    """The folder and the file are the same."""
    system, policy = DOORS[door](cluster / name)
    expected = by_translation(cluster)
    assert (system, str(policy)) == (expected[0], str(expected[1]))
    assert system.note == expected[0].note


def test_the_model_of_virtual_nodes(cluster: Path) -> None:
    """It has the nodes, partitions and rules of the file; accounts are those of its daemons."""
    if (cluster / "qos.txt").exists():
        pytest.skip("a virtual cluster has accounts of its own")
    configuration = virtual.read_configuration(cluster)
    found = system_of(configuration.nodes, configuration)
    expected = bl.read_system(cluster)
    # It lists the names of nodes one by one.
    groups = tuple(
        replace(each, name=other.name) for each, other in zip(found.groups, expected.groups, strict=True)
    )
    found = replace(found, groups=groups, name=expected.name)
    for field in fields(bl.System):
        if field.name != "note":
            assert getattr(found, field.name) == getattr(expected, field.name), field.name


def test_one_result_from_every_command(
    cluster: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`run`, `compare` and Python have the same measures."""
    log = tmp_path / "log.csv"
    partition = {"small": "all", "Much": "batch"}.get(bl.read_system(cluster).name, "short")
    jobs = submitted(40).jobs.drop("qos", "account")
    jobs.with_columns(partition=pl.lit(partition), tasks=1).write_csv(log)
    by_python: Any = bl.simulate(bl.read_table(log), bl.read_system(cluster), "configured").metrics()
    words = [str(log), "--system", str(cluster), "--format", "json"]
    assert main(["run", *words]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(by_python))
    assert main(["compare", *words, "--policy", "configured", "--policy", "fcfs"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert by_python["wait"]["mean"] in json_numbers(rows)


def json_numbers(document: object) -> list[float]:
    """Return all numbers in a document."""
    if isinstance(document, dict):
        document = [*document.values()]
    if isinstance(document, list):
        return [number for each in document for number in json_numbers(each)]
    return [document] if isinstance(document, int | float) else []


# A line of a file, what replaces it, and what is said of it.
BROKEN: dict[str, tuple[str, str, str]] = {
    "no number": ("MaxTime=120", "MaxTime=soon", "MaxTime = 'soon'"),
    "no such node": ("Nodes=n[1-4] MaxTime", "Nodes=x[1-4] MaxTime", "x1"),
    "no such key": ("GresTypes=gpu", "GresTypos=gpu", "GresTypos"),
    "no such file": ("GresTypes=gpu", "Include none.conf", "none.conf"),
    "no count": ("Sockets=2", "Sockets=two", "Sockets = 'two'"),
    "a range": ("n[1-4] Sockets", "n[1- Sockets", "n[1-"),
}


@pytest.fixture(params=BROKEN)
def broken(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """Write the files of a cluster with one fault, and return what names it."""
    old, new, message = BROKEN[request.param]
    files = {**CLUSTERS["cores, memory"], "six-nodes": NODES.replace(old, new, 1)}
    folder = tmp_path / "conf"
    folder.mkdir()
    return written(files, folder), message


def said_by(read: Callable[[], object]) -> str:
    """Return the error of a reader."""
    with pytest.raises(BatchlabError) as error:
        read()
    return str(error.value)


def test_one_error(broken: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    """The same file, line, value and rule are named by Python and by every command that reads the file."""
    folder, message = broken
    expected = said_by(partial(by_translation, folder))
    assert message in expected
    for door, read in DOORS.items():
        assert expected in said_by(partial(read, folder)), door
    log = folder.parent / "log.csv"
    conf, system, jobs = ["--conf", str(folder)], ["--system", str(folder)], str(log)
    dumps = ["--squeue", str(FOLDER / "squeue.json"), "--now", str(NOW)]
    commands: list[list[str]] = [
        ["run", jobs, *system],
        ["run", jobs, *system, "--stream"],
        ["compare", jobs, *system, "--policy", "configured"],
        ["forecast", jobs, *system, "--at", "5"],
        ["experiment", str(folder.parent / "experiment.toml")],
        ["vnodes", jobs, *conf, "--mode", "model"],
        ["slurm", "fit", jobs, *conf],
        ["slurm", "what-if", jobs, *conf],
    ]
    # That command lists unknown keys.
    commands += [] if "GresTypos" in expected else [["slurm", "check", str(folder)]]
    # The recorded dump has nodes of another cluster, of which is said first unless a file cannot be read.
    commands += [] if "is no node" in expected else [["slurm", "forecast", *conf, *dumps]]
    for words in commands:
        assert main(words) == 2, words
        assert " ".join(expected.split()) in capsys.readouterr().err, words
