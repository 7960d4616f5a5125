"""ElastiSim (commit 26c03fb) on its own projects: by transcript, and by running the algorithms."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

import polars as pl
import pytest
from scipy.stats import ks_2samp

import batchlab as bl
from batchlab.bridge.elastisim import Run, run
from batchlab.bridge.elastisim.algorithm import Algorithm, Invocation
from batchlab.bridge.elastisim.jobs import Ledger, Reply
from batchlab.bridge.elastisim.project import open_project
from batchlab.bridge.elastisim.protocol import Replay, read_transcript
from batchlab.bridge.elastisim.runner import simulate_project
from support.oracles import find

EXAMPLE = Path(__file__).parents[2] / "benchmarks/elastisim_example.py"
# Seconds, at any time: a relative tolerance would forgive whole seconds after some weeks.
TOLERANCE = 1e-6
# After that rounding is amplified into other decisions, in ElastiSim itself as well.
EXACT_CALLS = 330


def folder_of(name: str) -> Path:
    """Find a project, or skip the test where the folder is absent."""
    return find(f"oracles/elastisim/{name}")


def recorded(folder: Path) -> Iterator[dict[str, object]]:
    """Give the calls that ElastiSim made of the algorithm."""
    with gzip.open(folder / "transcript.jsonl.gz", "rt") as file:
        yield from map(json.loads, file)


def made(path: Path) -> list[dict[str, object]]:
    """Give the calls that were made now."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def assert_equal_times(done: Run, folder: Path) -> None:
    """Compare start and end of every job."""
    expected = pl.read_csv(folder / "jobs_expected.csv").sort("job_id")
    entries = done.ledger.jobs
    assert [entry.id for entry in entries] == expected["job_id"].to_list()
    for name in ("start_time", "end_time"):
        found = [getattr(entry, name) for entry in entries]
        assert found == pytest.approx(expected[name].to_list(), abs=TOLERANCE, rel=0)
    assert [entry.state for entry in entries] == expected["state"].to_list()


def assert_equal_calls(now: list[dict[str, object]], folder: Path, calls: int | None = None) -> None:
    """Compare time, cause, number of jobs and nodes told of, and answer of every call."""
    then = list(recorded(folder))[:calls]
    now = now[:calls]
    assert [line.pop("time") for line in now] == pytest.approx(
        [line.pop("time") for line in then], abs=TOLERANCE, rel=0
    )
    assert now == then


@pytest.mark.parametrize("name", ["microA_crossbar", "torus192_mall100"])
def test_replay(name: str) -> None:
    """With ElastiSim's decisions every job starts and ends as in ElastiSim."""
    folder = folder_of(name)
    done = run(folder / "input/configuration.json", replay=folder / "transcript.jsonl.gz")
    assert_equal_times(done, folder)


@pytest.mark.parametrize("name", ["microA_crossbar", "torus192_mall100"])
@pytest.mark.parametrize("protocol", [False, True], ids=["in process", "over ZeroMQ"])
def test_algorithm(name: str, tmp_path: Path, *, protocol: bool) -> None:
    """The project's algorithm is called at the same times for the same reasons, and decides the same."""
    folder = folder_of(name)
    path = tmp_path / "transcript.jsonl"
    done = run(
        folder / "input/configuration.json",
        folder / "algorithm.py",
        protocol=protocol,
        record=path,
        timeout=60,
    )
    assert_equal_times(done, folder)
    assert_equal_calls(made(path), folder)


def test_example_until_rounding_decides(tmp_path: Path) -> None:
    """The first 330 calls of ElastiSim's example of 500 jobs, with all job types, are ElastiSim's."""
    folder = folder_of("example500")
    path = tmp_path / "transcript.jsonl"
    done = run(folder / "input/configuration.json", EXAMPLE, record=path)
    assert_equal_calls(made(path), folder, EXACT_CALLS)
    # What follows differs job by job, and hardly on the whole.
    expected = pl.read_csv(folder / "jobs_expected.csv").sort("job_id")
    for name in ("start_time", "end_time"):
        found = [getattr(entry, name) - entry.job.submit_time for entry in done.ledger.jobs]
        then = (expected[name] - expected["submit_time"]).to_list()
        assert ks_2samp(found, then).pvalue > 0.5
        assert mean(found) == pytest.approx(mean(then), rel=0.01)


class _Beginning(Algorithm):
    """The first answers of a transcript; then the simulation is given up."""

    class Enough(Exception):  # noqa: N818  # it is no error
        """All is seen."""

    def __init__(self, replay: Replay, calls: int) -> None:
        self.replay = replay
        self.calls = calls
        self.times: list[float] = []

    def decide(self, invocation: Invocation, ledger: Ledger) -> tuple[Reply, ...]:
        if len(self.times) == self.calls:
            raise self.Enough
        self.times.append(invocation.time)
        return tuple(self.replay.decide(invocation, ledger))


def test_replay_of_the_example() -> None:
    """With ElastiSim's decisions its example comes to the same calls at the same times."""
    folder = folder_of("example500")
    lines = read_transcript(folder / "transcript.jsonl.gz")
    beginning = _Beginning(Replay(lines), EXACT_CALLS)
    with pytest.raises((_Beginning.Enough, bl.BatchlabError)):
        simulate_project(open_project(folder / "input/configuration.json"), beginning)
    assert beginning.times == pytest.approx([line.time for line in lines[:EXACT_CALLS]], abs=TOLERANCE, rel=0)
