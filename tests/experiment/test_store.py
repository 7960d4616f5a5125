"""The store: whole or not at all, each run once, whatever is killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import batchlab as bl
from batchlab.experiment import Experiment
from batchlab.experiment.execution import MemoryWatch, execute, resident_memory
from batchlab.experiment.store import Store
from batchlab.result.archive import compact, read_archive, read_document, table_digest, write_archive
from support.experiments import COSTS, SYSTEM, made, small

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parents[1]

SCRIPT = """
import sys
import batchlab as bl
from support.experiments import SYSTEM, made
experiment = bl.Experiment(made, SYSTEM, ["fcfs", "easy"], seeds=range(20), replications=5)
if __name__ == "__main__":
    experiment.run(sys.argv[2], sys.argv[1], workers=2)
"""

LONG = """
import signal
import sys
import batchlab as bl
from support.experiments import SYSTEM, small
signal.signal(signal.SIGINT, signal.default_int_handler)
if __name__ == "__main__":
    experiment = bl.Experiment(small(20_000, 1.0), SYSTEM, ["conservative"], replications=6)
    try:
        experiment.run(sys.argv[2], sys.argv[1], workers=2)
    except KeyboardInterrupt:
        sys.exit(130)
"""


def started(script: Path, store: Path, executor: str = "threads") -> subprocess.Popen[bytes]:
    """Begin the experiment of 200 runs in a process (group) of its own."""
    command = [sys.executable, str(script), str(store), executor]
    path = os.pathsep.join([str(Path(bl.__file__).parents[1]), str(HERE)])
    environment = {**os.environ, "PYTHONPATH": path, "POLARS_MAX_THREADS": "1"}
    return subprocess.Popen(command, env=environment, start_new_session=True)  # noqa: S603


def the_experiment() -> Experiment:
    return Experiment(made, SYSTEM, ["fcfs", "easy"], seeds=range(20), replications=5)


def events(store: Path) -> list[tuple[str, str]]:
    lines = (store / "journal.jsonl").read_text("utf-8").splitlines()
    return [(entry["event"], entry["run"]) for entry in map(json.loads, lines)]


def finished(store: Path) -> dict[str, bytes]:
    return {path.stem: path.read_bytes() for path in (store / "runs").rglob("[!.]*.json")}


def count_finished(store: Path) -> int:
    """Count them, without taking the processor from the runs."""
    return sum(1 for path in (store / "runs").glob("*/*.json") if not path.name.startswith("."))


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals and process groups")
@pytest.mark.parametrize(("executor", "kills"), [("threads", 5), ("processes", 2)])
def test_killed_and_resumed(executor: str, kills: int, tmp_path: Path) -> None:
    """200 runs, some kill -9 at random: each is finished once, and the table is the undisturbed one."""
    script, store = tmp_path / "script.py", tmp_path / "runs"
    script.write_text(SCRIPT)
    chance = random.Random(20261121)  # noqa: S311  # no secrets here
    seen: list[tuple[int, dict[str, bytes]]] = []
    for kill in range(kills):
        process = started(script, store, executor)
        # Not by the clock, since machines differ: each time up to 35 runs later than the last.
        wanted = kill * 35 + chance.randrange(1, 35)
        while count_finished(store) < wanted:
            assert process.poll() is None, "it was over before it was killed"
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        seen.append((len(events(store)), finished(store)))
    assert len(seen[-1][1]) < 200
    assert started(script, store, executor).wait() == 0
    for at, before in seen:
        assert not {run for event, run in events(store)[at:] if event == "started"} & {*before}
        assert before.items() <= finished(store).items()
    done = [run for event, run in events(store) if event == "finished"]
    assert len(done) == len({*done})
    resumed, undisturbed = the_experiment().load(store), the_experiment().run(store=tmp_path / "other")
    assert resumed.table["status"].to_list() == ["done"] * 200
    assert resumed.table.drop(COSTS).write_csv() == undisturbed.table.drop(COSTS).write_csv()


@pytest.mark.skipif(os.name != "posix", reason="locks of files")
def test_two_processes_share_a_store(tmp_path: Path) -> None:
    """Both come to an end, and no run is done by both."""
    script, store = tmp_path / "script.py", tmp_path / "runs"
    script.write_text(SCRIPT)
    both = [started(script, store) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    runs = [run for event, run in events(store) if event == "started"]
    assert len(runs) == len(set(runs)) == 200
    hosts = {json.loads(line)["pid"] for line in (store / "journal.jsonl").read_text().splitlines()}
    assert hosts <= {process.pid for process in both}
    assert the_experiment().load(store).table["status"].unique().to_list() == ["done"]


def test_a_claim_keeps_others_out(tmp_path: Path) -> None:
    """The second to come waits until the first has gone, and leaves nothing behind."""
    store = Store(tmp_path / "runs")
    order: list[str] = []

    def second() -> None:
        with store.claim("key"):
            order.append("second")

    with store.claim("key"):
        assert store.is_claimed("key")
        other = threading.Thread(target=second)
        other.start()
        time.sleep(0.05)
        order.append("first")
    other.join()
    assert order == ["first", "second"]
    assert not store.is_claimed("key")


def test_a_damaged_record_is_done_again(tmp_path: Path) -> None:
    """What cannot be read counts as not there."""
    experiment = Experiment(small(), SYSTEM, "fcfs")
    table = experiment.run(store=tmp_path / "runs").table
    path = next((tmp_path / "runs/runs").rglob("*.json"))
    path.write_text(path.read_text()[:100])
    assert experiment.load(tmp_path / "runs").table["status"].to_list() == ["missing"]
    assert experiment.run(store=tmp_path / "runs").table.drop(COSTS).equals(table.drop(COSTS))


def test_a_lost_schedule_is_told(tmp_path: Path) -> None:
    """The table is there; only who asks for the jobs learns of it, with what to do."""
    experiment = Experiment(small(), SYSTEM, "fcfs")
    experiment.run(store=tmp_path / "runs")
    next((tmp_path / "runs/schedules").rglob("*.zip")).unlink()
    runs = experiment.load(tmp_path / "runs")
    assert runs.table["jobs_completed"].item() == 20
    with pytest.raises(bl.ResultError, match=r"cannot be read: No such file .* Run the experiment again"):
        runs.results()["fcfs"][0]
    assert experiment.run(store=tmp_path / "runs").results()["fcfs"][0].jobs.height == 20


@pytest.mark.parametrize(
    "change",
    [
        lambda _: {},
        dict.fromkeys,
        lambda record: record | {"key": "another"},
        lambda record: record | {"schedule": "../../../secret"},
        lambda record: record | {"costs": dict.fromkeys(record["costs"])},
        lambda record: record | {"costs": record["costs"] | {"dispatch_passes": 2**70}},
        lambda record: record | {"metrics": [1]},
        lambda record: record | {"metrics": {"wait": {"mean": "long", "max": [[2]]}}},
        lambda record: {key: value for key, value in record.items() if key != "schedule"},
    ],
)
def test_a_record_of_another_form_is_done_again(tmp_path: Path, change: Callable[[Any], Any]) -> None:
    """JSON that is no record, of a run or of a failure, counts as not there."""
    experiment = Experiment(small(), SYSTEM, "fcfs")
    table = experiment.run(store=tmp_path / "runs").table
    path = next((tmp_path / "runs/runs").rglob("*.json"))
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    failure = tmp_path / "runs/failures" / path.parent.name / path.name
    failure.parent.mkdir(parents=True)
    failure.write_text('{"error": null, "message": 3}')
    runs = experiment.load(tmp_path / "runs")
    assert (runs.table["status"].to_list(), runs.failures.height) == (["missing"], 0)
    again = experiment.run(store=tmp_path / "runs")
    assert again.table.drop(COSTS).equals(table.drop(COSTS))


@pytest.mark.parametrize("kind", ["schedules", "costs"])
def test_a_flipped_bit_is_seen_and_mended(tmp_path: Path, kind: str) -> None:
    """Wherever it is: the result is refused with one error, and the next call makes it anew."""
    experiment = Experiment(small(), SYSTEM, "fcfs", dispatch=True)
    runs = experiment.run(store=tmp_path / "runs")
    jobs, record = runs.results()["fcfs"][0].jobs, finished(tmp_path / "runs")
    path = next((tmp_path / "runs" / kind).rglob("*.zip"))
    whole, chance = path.read_bytes(), random.Random(26)  # noqa: S311  # no secrets here
    for _ in range(40):
        damaged = bytearray(whole)
        damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        with suppress(bl.ResultError):
            result = experiment.load(tmp_path / "runs").results()["fcfs"][0]
            assert result.jobs.equals(jobs)
            _ = result.dispatch
    path.write_bytes(whole[: len(whole) // 2] + b"\xff" + whole[len(whole) // 2 + 1 :])
    runs = experiment.run(store=tmp_path / "runs")
    assert runs.results()["fcfs"][0].jobs.equals(jobs)
    assert finished(tmp_path / "runs").keys() == record.keys()
    assert runs.results()["fcfs"][0].dispatch.height


def test_a_store_is_no_other_directory(tmp_path: Path) -> None:
    """Nor is a file; one of another version is not touched."""
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis/chapter.tex").write_text("")
    with pytest.raises(
        bl.ExperimentError, match=r"thesis: is a directory with .* Name a new or empty one\.$"
    ):
        Store(tmp_path / "thesis")
    with pytest.raises(bl.ExperimentError, match=r"store = .*chapter.tex: .* Choose another directory"):
        Store(tmp_path / "thesis/chapter.tex")
    Store(tmp_path / "runs")
    (tmp_path / "runs/store.json").write_text('{"format": 99}')
    with pytest.raises(bl.ExperimentError, match=r"of format 99; this version reads 2"):
        Store(tmp_path / "runs")


def test_a_full_disk_ends_the_experiment(tmp_path: Path) -> None:
    """What cannot be kept need not be run; the error says where."""
    Experiment(small(), SYSTEM, "fcfs").run(store=tmp_path / "runs")
    for name in ("claims", "failures"):
        folder = tmp_path / "runs" / name
        if folder.exists():
            folder.rmdir()
        folder.write_text("in the way")
    with pytest.raises(bl.ExperimentError, match=r"Make room, or choose another store"):
        Experiment(small(), SYSTEM, "easy").run(store=tmp_path / "runs")


def test_old_rubbish_is_removed(tmp_path: Path) -> None:
    """Not what another process may be writing now."""
    store = Store(tmp_path / "runs")
    old, new = (tmp_path / "runs" / f".{name}.0123456789abcdef.tmp" for name in ("old", "new"))
    old.write_text("")
    new.write_text("")
    os.utime(old, (0, 0))
    store.tidy()
    assert (old.exists(), new.exists()) == (False, True)


def test_archives_hold_arrays_tables_and_documents(tmp_path: Path) -> None:
    """As they were given; other programs can read them as ZIP."""
    table = pl.DataFrame({"a": [1, None], "b": ["x", "y"]})
    times = np.array([0.1, np.nan])
    write_archive(tmp_path / "a/b.zip", {"of/times": times, "table": table, "notes": {"a": [1, None]}})
    found = read_archive(tmp_path / "a/b.zip")
    assert found["of/times"].tobytes() == times.tobytes()
    assert found["table"].equals(table)
    assert found["notes"] == read_document(tmp_path / "a/b.zip", "notes") == {"a": [1, None]}


def test_the_same_run_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Archives do not depend on when they are written."""
    for days in (0, 400):
        clock = time.time() + 86_400 * days
        monkeypatch.setattr(time, "time", lambda clock=clock: clock)
        Experiment(small(), SYSTEM, "easy").run(store=tmp_path / f"{days} days")
        members = {"times": np.arange(3.0), "table": pl.DataFrame({"a": [1]}), "notes": {"a": 1}}
        write_archive(tmp_path / f"{days} days/members.zip", members)
    written = [
        {path.name: path.read_bytes() for path in tmp_path.glob(f"{n} days/**/*.zip")} for n in (0, 400)
    ]
    assert len(written[0]) == 2
    assert written[0] == written[1]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0, 255], "uint8"),
        ([256], "uint16"),
        ([70000], "uint32"),
        ([2**40], "uint64"),
        ([-1], "int64"),
        ([], "uint8"),
    ],
)
def test_integers_are_kept_small(values: list[int], kind: str) -> None:
    """In the smallest kind that holds them all."""
    assert compact(np.array(values, dtype=np.int64)).dtype == kind
    assert compact(np.array([0.5])).dtype == "float64"


def test_tables_are_known_by_content() -> None:
    """Not by how they are put together in memory."""
    table = pl.DataFrame({"a": [1, 2, 3], "b": ["x", None, "z"]})
    parts = pl.concat([table[:1], table[1:]], rechunk=False)
    assert table_digest(parts) == table_digest(table)
    assert table_digest(table.rename({"a": "c"})) != table_digest(table)
    assert table_digest(table.with_columns(a=pl.Series([1, 2, 4]))) != table_digest(table)
    assert table_digest(table.with_columns(pl.col("a").cast(pl.Int32))) != table_digest(table)


def test_memory_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there for a while between the ends of the block is seen."""
    told = [100]
    looks: list[int] = []

    def tell() -> int:
        looks.append(told[0])
        return told[0]

    monkeypatch.setattr("batchlab.experiment.execution.resident_memory", tell)
    with MemoryWatch() as watch:
        told[0] = 1000
        seen = len(looks)
        while len(looks) <= seen + 1:
            time.sleep(0.001)
        told[0] = 100
    assert watch.maximum == 1000
    assert watch.average == sum(looks) / len(looks)


RESIDENT = """
import mmap
from batchlab.experiment.execution import resident_memory
before = resident_memory()
block = mmap.mmap(-1, 64_000_000)
block.write(bytes(64_000_000))
print(before, resident_memory() - before)
"""


@pytest.mark.skipif(resident_memory() is None, reason="the system does not tell")
def test_resident_memory_is_that_of_the_process() -> None:
    """64 MB that a fresh process maps and writes are resident: no memory that it had before could serve."""
    command = [sys.executable, "-c", RESIDENT]
    path = str(Path(bl.__file__).parents[1])
    done = subprocess.run(  # noqa: S603  # our own code
        command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": path}
    )
    before, more = map(int, done.stdout.split())
    assert before > 5_000_000
    assert more > 50_000_000


def test_memory_that_nobody_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Is None, not 0."""
    monkeypatch.setattr("batchlab.experiment.execution._STATUS", Path("/nonexistent"))
    with MemoryWatch() as watch:
        pass
    assert watch.average is watch.maximum is None
    assert made(0).jobs.height == 5


def test_an_interruption_waits_for_no_process(tmp_path: Path) -> None:
    """Ctrl-C ends runs that are going on, which would take minutes; nothing is written of them."""
    script = tmp_path / "long.py"
    script.write_text(LONG)
    process = started(script, tmp_path / "runs", "processes")
    try:
        deadline = time.monotonic() + 60
        while not (tmp_path / "runs/journal.jsonl").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(timeout=20) == 130
    finally:
        process.kill()
        process.wait()
    assert not (tmp_path / "runs/runs").exists()
    assert not (tmp_path / "runs/failures").exists()


def test_a_stopped_run_leaves_nothing(tmp_path: Path) -> None:
    """Threads end their runs when they are told: no record, no failure, no claim."""
    store = Store(tmp_path / "runs")
    experiment = Experiment(small(2000, 100.0), SYSTEM, "easy")
    [task] = experiment._tasks(experiment.plan(), store, send=False)  # noqa: SLF001  # what an executor is given
    stopped = threading.Event()
    stopped.set()
    with pytest.raises(KeyboardInterrupt):
        execute(task, stopped)
    assert (store.record(task.key), store.failure(task.key)) == (None, None)
    assert not store.is_claimed(task.key)


def test_the_order_of_resources_tells_systems_apart(tmp_path: Path) -> None:
    """What a run keeps of resources is in that order; another system's would be read wrongly."""
    workload = bl.Workload.from_table(
        {"submit_time": [0], "run_time": [9], "tasks": [2], "core": [1], "mem": [7]}
    )
    for amounts in ({"core": 8, "mem": 64}, {"mem": 64, "core": 8}):
        system = bl.System.homogeneous(nodes=4, resources=amounts)
        [result] = Experiment(workload, system, "fcfs").run(store=tmp_path / "runs").results()["fcfs"]
        assert result.jobs.select("allocated_core", "allocated_mem").row(0) == (2, 14)
