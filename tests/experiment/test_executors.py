"""One suite over all executors: the same table from each, and from what is lost in between."""

from __future__ import annotations

import os
import sys
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import polars as pl
import pytest

import batchlab as bl
from batchlab.experiment import Experiment
from support.experiments import COSTS, SYSTEM, deadly, failing, made, small

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from batchlab.core.vocabulary import ExecutorName

HERE = Path(__file__).parents[1]
SOURCE = Path(bl.__file__).parents[1]


def experiment() -> Experiment:
    """Workloads of every kind, one of which fails for the seed 1."""
    workloads = {"given": small(), "made": made, "failing": failing}
    policies = ["easy", "fcfs(allocator=random)"]
    return Experiment(workloads, SYSTEM, policies, seeds=(0, 1), replications=2, dispatch=True)


def without_costs(runs: bl.Runs) -> str:
    """Write down all of a table that must not depend on who did the runs."""
    table = runs.table.drop(COSTS).write_csv()
    return table + runs.failures.drop("traceback").write_csv()


@contextmanager
def dask() -> Iterator[Executor]:
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "host": "127.0.0.1"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client.get_executor()


@contextmanager
def parsl(directory: Path) -> Iterator[Executor]:
    program = pytest.importorskip("parsl")
    provider = pytest.importorskip("parsl.providers").LocalProvider(init_blocks=1, max_blocks=1)
    workers = program.HighThroughputExecutor("local", provider, address="127.0.0.1", max_workers_per_node=2)
    config = program.Config(executors=[workers], run_dir=str(directory), initialize_logging=False)
    with pytest.importorskip("parsl.concurrent").ParslPoolExecutor(config) as executor:
        yield executor


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give the table that one thread makes."""
    runs = experiment().run(store=tmp_path_factory.mktemp("one") / "runs", workers=1)
    assert runs.table["status"].value_counts(sort=True).rows() == [("done", 22), ("failed", 2)]
    return without_costs(runs)


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes that are started by other programs find the tests' parts and those programs' parts."""
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(SOURCE), str(HERE), os.environ.get("PYTHONPATH", "")])
    )
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))


@pytest.mark.usefixtures("importable")
@pytest.mark.parametrize("kind", ["threads", "processes", "thread pool", "process pool", "Dask", "Parsl"])
def test_the_same_table_from_all(kind: str, expected: str, tmp_path: Path) -> None:
    """Byte by byte, but for what a run cost."""
    pools: dict[str, Callable[[], AbstractContextManager[Executor]]] = {
        "thread pool": lambda: ThreadPoolExecutor(3),
        "process pool": lambda: ProcessPoolExecutor(2, get_context("spawn")),
        "Dask": dask,
        "Parsl": lambda: parsl(tmp_path / "parsl"),
    }
    store = tmp_path / "runs"
    if kind in pools:
        with pools[kind]() as executor:
            runs = experiment().run(executor, store)
    else:
        runs = experiment().run(cast("ExecutorName", kind), store, workers=2)
    assert without_costs(runs) == expected
    assert runs.table.filter(status="done")["dispatch_cpu_time"].min() > 0  # type: ignore[operator]


def test_a_workload_is_sent_through_the_store(tmp_path: Path) -> None:
    """Other processes read it there, with all its columns."""
    jobs = small().jobs.with_columns(weight=pl.Series(range(20, 0, -1)), who=pl.lit("ann"))
    workload = bl.Workload.from_table(jobs)
    policies = 'expression("weight")'
    table = Experiment(workload, SYSTEM, policies).run("processes", tmp_path / "runs", workers=1).table
    alone = bl.simulate(workload, SYSTEM, policies).metrics()
    assert table["wait_mean"].item() == alone["wait"]["mean"]  # type: ignore[index]


def test_what_cannot_be_sent_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, with the way out, which works."""
    # A worker of the tests has no file, as a notebook has none, which sends more.
    monkeypatch.setattr(sys.modules["__main__"], "__file__", __file__, raising=False)
    local = Experiment(lambda seed: small(3 + seed), SYSTEM, "fcfs")
    pool = ProcessPoolExecutor(1, get_context("spawn"))
    for executor in ("processes", pool):
        with pytest.raises(bl.ExperimentError, match=r'workloads: .* cannot be sent .* executor="threads"'):
            local.run(executor, tmp_path / "runs")
    pool.shutdown()
    assert local.run("threads", tmp_path / "runs").table["jobs_submitted"].item() == 3


def test_a_dying_process_takes_no_other_run_along(tmp_path: Path) -> None:
    """The run in which it died is a failure; all others are done, though its pool broke."""
    runs = Experiment(deadly, SYSTEM, ["fcfs", "sjf"], seeds=range(6)).run(
        "processes", tmp_path / "runs", workers=2
    )
    failed = runs.failures
    assert failed.select("policy", "seed").rows() == [("fcfs", 1), ("sjf", 1)]
    assert failed["error"].unique().to_list() == ["BrokenProcessPool"]
    assert failed["message"][0] == "the process died in this run: killed, or out of memory."
    assert runs.table["status"].value_counts(sort=True).rows() == [("done", 10), ("failed", 2)]


def test_a_pool_of_the_users_that_breaks_is_told(tmp_path: Path) -> None:
    """What it did not get to is a failure, and is done the next time."""
    parts = Experiment(deadly, SYSTEM, "fcfs", seeds=range(3))
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        runs = parts.run(pool, tmp_path / "runs")
    assert "the executor broke down" in runs.failures["message"][0]
    again = parts.run("processes", tmp_path / "runs", workers=1)
    assert again.table["status"].to_list() == ["done", "failed", "done"]


def test_progress_is_told_as_it_goes(tmp_path: Path) -> None:
    """From nothing to all, one run at a time; what is there counts from the beginning."""
    told: list[tuple[int, int]] = []
    parts = Experiment(small(), SYSTEM, ["fcfs", "sjf", "easy"])
    parts.run(store=tmp_path / "runs", progress=lambda *at: told.append(at))
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]
    told.clear()
    parts.run(store=tmp_path / "runs", progress=lambda *at: told.append(at))
    assert told == [(3, 3)]


def test_an_interrupt_keeps_what_is_done(tmp_path: Path) -> None:
    """Ctrl-C ends the experiment; the runs that were finished are there."""

    def stop(done: int, _total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    parts = Experiment(made, SYSTEM, "fcfs", seeds=range(30))
    with pytest.raises(KeyboardInterrupt):
        parts.run(store=tmp_path / "runs", progress=stop, workers=1)
    done = parts.load(tmp_path / "runs").table["status"].to_list().count("done")
    assert 2 <= done < 30


@pytest.mark.parametrize("executor", ["thread", 3])
def test_unknown_executors(executor: Any, tmp_path: Path) -> None:  # noqa: ANN401  # anything
    """Are answered with the ones there are."""
    with pytest.raises(bl.ExperimentError, match=r"executor = .*; must be one of these or a concurrent"):
        Experiment(small(), SYSTEM, "fcfs").run(executor, tmp_path / "runs")


def test_the_number_of_workers_is_checked(tmp_path: Path) -> None:
    """None at all would never come to an end."""
    with pytest.raises(bl.ExperimentError, match=r"workers = 0; must be a whole number >= 1"):
        Experiment(small(), SYSTEM, "fcfs").run(store=tmp_path / "runs", workers=0)
