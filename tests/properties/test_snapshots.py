"""A run that is stopped anywhere, restored in another process and run on ends as the undisturbed one."""

import os
import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any, cast

import polars as pl
import pytest

import batchlab as bl
from support.snapshot_cases import (
    KINDS,
    random_run,
    record,
    resumed,
    sent,
    simulation_of,
    state_of,
    stopped,
    undisturbed,
)

pytestmark = pytest.mark.skipif(
    not hasattr(bl.Simulation, "snapshot"), reason="this version has no Simulation.snapshot"
)

CASES = 12
# `BATCHLAB_CASES=10000 pytest -m campaign tests/properties/test_snapshots.py`: of each kind
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "200"))
CAMPAIGN_CHUNK = 50
# In a process that has run nothing before, and whose sets are in another order.
FRESH = (
    "import pickle, sys\n"
    "sys.path[:0] = pickle.load(sys.stdin.buffer)\n"
    "from support.snapshot_cases import resumed\n"
    "sys.stdout.buffer.write(pickle.dumps(resumed(pickle.load(sys.stdin.buffer))))\n"
)
# Runs on, and after every step replaces a file by a snapshot; goes on where that file stands.
SAVING = (
    "import os, pickle, sys, time\n"
    "folder, kind, seed, latest = sys.argv[1:]\n"
    "sys.path.insert(0, folder)\n"
    "from support.snapshot_cases import random_run, received, sent, simulation_of\n"
    "run = random_run(kind, int(seed))\n"
    "simulation = simulation_of(run)\n"
    "if os.path.exists(latest):\n"
    "    simulation = received(pickle.load(open(latest, 'rb')))\n"
    "while simulation.step():\n"
    "    with open(latest + '.new', 'wb') as file:\n"
    "        pickle.dump(sent(simulation, run, whole=True), file)\n"
    "    os.replace(latest + '.new', latest)\n"
    "    print('saved', flush=True)\n"
    "print('at the end', flush=True)\n"
)
# A case with jobs that run after three steps.
PLAIN = 3


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[ProcessPoolExecutor]:
    """Give a process that inherits nothing from this one; it serves many cases."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool


def share_of(seed: int) -> float:
    """Give where a case is stopped; some before the first instant, some after the last."""
    rng = Random(seed)  # noqa: S311 - no secret
    return rng.choice((0.0, 1.0, *(rng.random() for _ in range(10))))


def check(kind: str, seed: int, pool: ProcessPoolExecutor) -> None:
    """Fail where the restored run, or the one that was stopped, differs from the undisturbed one."""
    expected, steps = undisturbed(random_run(kind, seed))
    run = random_run(kind, seed)
    simulation = stopped(run, round(share_of(seed) * steps))
    state = state_of(simulation)
    future = pool.submit(resumed, sent(simulation, run, whole=seed % 2 == 0))
    original = expected.differences(record(simulation))
    state_elsewhere, found = future.result()
    restored = expected.differences(found) + (["state"] if state_elsewhere != state else [])
    if original or restored:
        lines = [
            f"random_run({kind!r}, {seed}), stopped at {share_of(seed):.4f} of its steps",
            f"{run.policy} with {run.options}, {[type(each).__name__ for each in run.observers]}",
            f"differ in the run that was stopped: {original}",
            f"differ in the restored run: {restored}",
        ]
        pytest.fail("\n".join(lines), pytrace=False)


@pytest.mark.parametrize("kind", KINDS)
def test_restored_elsewhere(kind: str, elsewhere: ProcessPoolExecutor) -> None:
    """Jobs, interruptions, resizes, energy and passes are those of the undisturbed run, to the last bit."""
    for seed in range(CASES):
        check(kind, seed, elsewhere)


@pytest.mark.parametrize("kind", KINDS)
def test_restored_in_a_fresh_process(kind: str) -> None:
    """A process that hashes otherwise and has simulated nothing gives the same."""
    for seed, whole in ((1001, False), (1002, True)):
        expected, steps = undisturbed(random_run(kind, seed))
        run = random_run(kind, seed)
        simulation = stopped(run, steps // 2)
        message = sent(simulation, run, whole=whole)
        done = subprocess.run(  # noqa: S603  # our own program
            [sys.executable, "-W", "error", "-c", FRESH],
            input=pickle.dumps([str(Path(__file__).parents[1])]) + pickle.dumps(message),
            env={**os.environ, "PYTHONHASHSEED": "7"},
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        state, found = pickle.loads(done.stdout)  # noqa: S301  # our own
        assert state == state_of(simulation)
        assert expected.differences(found) == []


@pytest.mark.parametrize("kind", KINDS)
def test_again_and_again(kind: str, elsewhere: ProcessPoolExecutor) -> None:
    """Restored at every tenth of a run, one after the other, it is still the same run."""
    for seed in range(2001, 2004):
        expected, steps = undisturbed(random_run(kind, seed))
        run = random_run(kind, seed)
        simulation = simulation_of(run)
        for _ in range(10):
            for _ in range(steps // 10):
                simulation.step()
            simulation = pickle.loads(pickle.dumps(simulation))  # noqa: S301  # our own
        message = sent(simulation, run, whole=True)
        _, found = elsewhere.submit(resumed, message).result()
        assert expected.differences(found) == [], f"random_run({kind!r}, {seed})"


def test_what_does_not_belong_together_is_refused() -> None:
    """Another workload or system, or damaged bytes: one clear error, and no simulation."""
    run = random_run("built_in", PLAIN)
    simulation = stopped(run, 3)
    data, restore = cast("Any", simulation).snapshot(), cast("Any", bl.Simulation).restore
    restore(data, run.workload, run.system, simulation.policy)
    resources = run.system.resources
    table = run.workload.jobs.with_columns(pl.col("run_time") + 1.0)
    jobs = bl.Workload.from_table(table, overrun="keep", resources=resources)
    system = bl.System((*run.system.groups, bl.NodeGroup("more", 1, dict.fromkeys(resources, 1))))
    for workload, machine in ((jobs, run.system), (run.workload, system)):
        with pytest.raises(bl.BatchlabError, match="snapshot"):
            restore(data, workload, machine, simulation.policy)
    for damaged in (b"", b"batchlab", data[:-1], data[: len(data) // 2], data + b"\0", data[::-1]):
        with pytest.raises(bl.BatchlabError, match="snapshot"):
            restore(damaged, run.workload, run.system, simulation.policy)


def test_flipped_bits_are_an_error() -> None:
    """Whatever bit of a snapshot is wrong, the answer is an error, never a crash or another run."""
    run = random_run("built_in", PLAIN)
    simulation = stopped(run, 3)
    data, restore = cast("Any", simulation).snapshot(), cast("Any", bl.Simulation).restore
    rng = Random(0)  # noqa: S311 - no secret
    for _ in range(200):
        place = rng.randrange(len(data))
        damaged = data[:place] + bytes([data[place] ^ 1 << rng.randrange(8)]) + data[place + 1 :]
        with pytest.raises(bl.BatchlabError, match="snapshot"):
            restore(damaged, run.workload, run.system, simulation.policy)


def test_killed_while_it_takes_snapshots(tmp_path: Path) -> None:
    """A process that is killed at any time leaves a snapshot from which the run goes on as if undisturbed."""
    kind, seed = "in_python", 11
    expected, _ = undisturbed(random_run(kind, seed))
    latest = tmp_path / "latest"
    for kills in range(4):
        process = subprocess.Popen(  # noqa: S603  # our own program
            [sys.executable, "-c", SAVING, str(Path(__file__).parents[1]), kind, str(seed), str(latest)],
            stdout=subprocess.PIPE,
        )
        assert process.stdout is not None
        for _ in range(2 + 3 * kills):
            process.stdout.readline()
        process.kill()
        process.communicate()
        _, found = resumed(pickle.loads(latest.read_bytes()))  # noqa: S301  # our own
        assert expected.differences(found) == []


def test_coverage() -> None:
    """The cases stop runs while jobs run, while jobs wait, before the first instant and after the last."""
    seen: Counter[str] = Counter()
    for kind in KINDS:
        for seed in range(CASES):
            _, steps = undisturbed(random_run(kind, seed))
            done = round(share_of(seed) * steps)
            status = stopped(random_run(kind, seed), done).status()
            seen["running"] += len(status.running) > 0
            seen["waiting"] += len(status.queue) > 0
            seen["before"] += done == 0
            seen["after"] += done == steps
    assert min(seen[name] for name in ("running", "waiting", "before", "after")) > 3, seen


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
@pytest.mark.parametrize("kind", KINDS)
def test_campaign(kind: str, begin: int, elsewhere: ProcessPoolExecutor) -> None:
    """Cases that no other run has seen: 1,000 in all, unless more are asked for."""
    for seed in range(begin, min(begin + CAMPAIGN_CHUNK, CAMPAIGN)):
        check(kind, 1_000_000 + seed, elsewhere)
