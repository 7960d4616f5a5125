"""Built-in skeletons: their messages, worked out by hand, and the columns that select them."""

from collections import Counter
from pathlib import Path

import pytest

import batchlab as bl
from batchlab.errors import ApplicationError, WorkloadError
from batchlab.skeleton import APPLICATIONS, named, run
from batchlab.skeleton.registry import arguments_of
from support.skeletons import star, torus

NEEDED: dict[str, dict[str, object]] = {
    "time_keeper": {"seconds": 2.0},
    "matrix": {"sizes": [[16 * i + j for j in range(16)] for i in range(16)]},
    "cannon": {"n": 64},
    "summa": {"n": 128},
}


def sent(name: str, ranks: int, **arguments: object) -> Counter[tuple[int, int, float]]:
    """Count the messages of a skeleton by ranks and size, but for those of collectives."""
    program = named(name, ranks, arguments).assembled
    columns = program.messages
    own = columns.kind == 0
    rows = zip(
        columns.source[own].tolist(), columns.target[own].tolist(), columns.size[own].tolist(), strict=True
    )
    return Counter(rows)


@pytest.mark.parametrize("name", APPLICATIONS)
def test_every_application_runs(name: str) -> None:
    """On 16 ranks, with the arguments that it needs."""
    time = run(named(name, 16, NEEDED.get(name, {})), torus()).time
    assert 0 < time < 10


def test_time_keeper_takes_its_time() -> None:
    """Whatever the ranks."""
    assert run(named("time_keeper", 3, {"seconds": 2.5}), star(3)).ends.tolist() == [2.5] * 3


def test_even_ranks_send_to_odd_ones() -> None:
    """One way unless mutual; the last of an odd number does nothing."""
    assert sent("even_odd", 5, size=10, iterations=2) == {(0, 1, 10): 2, (2, 3, 10): 2}
    assert sent("even_odd", 4, size=10, mutual=True) == {
        (0, 1, 10): 1,
        (1, 0, 10): 1,
        (2, 3, 10): 1,
        (3, 2, 10): 1,
    }


def test_stencils_exchange_with_each_neighbour_once() -> None:
    """X runs fastest; two ranks along a side are neighbours once, also where it is periodic."""
    assert {target for source, target, _ in sent("stencil_2d", 8, sides=[4, 2]) if source == 0} == {1, 3, 4}
    assert {
        target for source, target, _ in sent("stencil_2d", 8, sides=[4, 2], periodic=False) if source == 1
    } == {
        0,
        2,
        5,
    }
    box = sent("stencil_3d", 64, size=512, iterations=3)
    assert sum(box.values()) == 64 * 6 * 3
    assert {target for source, target, _ in box if source == 0} == {1, 3, 4, 12, 16, 48}


def test_random_traffic_is_a_permutation_each_time() -> None:
    """Each rank sends at most one message and receives at most one; the seed decides."""
    first = sent("random", 32, seed=1)
    assert all(count == 1 for count in Counter(source for source, _, _ in first).values())
    assert all(count == 1 for count in Counter(target for _, target, _ in first).values())
    assert first == sent("random", 32, seed=1) != sent("random", 32, seed=2)


def test_matrices_say_what_is_sent() -> None:
    """Without the diagonal and what is 0."""
    assert sent("matrix", 3, sizes=[[9, 1, 0], [2, 9, 0], [0, 3, 9]]) == {
        (0, 1, 1): 1,
        (1, 0, 2): 1,
        (2, 1, 3): 1,
    }


def test_cannon_skews_and_shifts_blocks() -> None:
    """(side² - side) messages for each skew, side² for each factor and each of side - 1 shifts."""
    messages = sent("cannon", 9, n=30)
    assert sum(messages.values()) == 2 * 6 + 2 * 2 * 9
    assert {size for _, _, size in messages} == {(30 / 3) ** 2 * 8}
    # Rank 5 is in row 1, column 2: it skews its block of the first factor by one to the left.
    assert messages[5, 4, 800.0] == 3


def test_summa_broadcasts_panels() -> None:
    """Each panel to the rest of its row and of its column."""
    program = named("summa", 6, {"n": 60, "panel": 20}).assembled.messages
    assert len(program.size) == 3 * (3 * 1 + 2 * 2)
    assert {*program.size.tolist()} == {60 / 3 * 20 * 8, 60 / 2 * 20 * 8}


def test_transforms_transpose_in_rows_and_columns() -> None:
    """Each of 8 ranks in 4 × 2 sends to one rank in its row and three in its column."""
    program = named("fft", 8, {"n": 16}).assembled.messages
    part = 16**3 / 8 * 16
    assert Counter(program.size.tolist()) == {part / 2: 8, part / 4: 24}


def test_work_counts() -> None:
    """Cannon's time is (n / side)³ steps for each of side multiplications."""
    time = run(named("cannon", 4, {"n": 20, "seconds_per_step": 1e-3}), star(4)).time
    assert time == pytest.approx(2 * 10**3 * 1e-3, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "ranks", "arguments", "said"),
    [
        ("rings", 4, {}, "Did you mean 'ring'"),
        ("ring", 4, {"sizes": 3}, "no argument is called 'sizes'. Did you mean 'size'"),
        ("cannon", 5, {"n": 4}, "5 ranks; must be a square"),
        ("time_keeper", 4, {}, "time_keeper(): seconds is missing; add it."),
        ("ring", 4, {"size": "x"}, "must be a finite number >= 0"),
        ("ring", 4, {"iterations": "many"}, "ring(iterations=many)"),
        ("matrix", 4, {"sizes": [[1]]}, "must be ranks × ranks, 4"),
        ("stencil_2d", 6, {"sides": [4, 2]}, "must have 6 places"),
    ],
)
def test_wrong_arguments_are_refused(name: str, ranks: int, arguments: dict[str, object], said: str) -> None:
    """By the name of the skeleton and of the argument."""
    with pytest.raises(ApplicationError) as error:
        named(name, ranks, arguments)
    assert said in str(error.value)


def test_arguments_are_texts_or_json() -> None:
    """Values are JSON, or else texts."""
    assert arguments_of(None) == arguments_of("  ") == {}
    assert arguments_of('{"size": 8, "algorithm": "ring"}') == {"size": 8, "algorithm": "ring"}
    assert arguments_of("sides=[4, 2], periodic=false") == {"sides": [4, 2], "periodic": False}
    for text in ("size", "{size}"):
        with pytest.raises(ApplicationError, match="app_args"):
            arguments_of(text)


def jobs(**columns: object) -> dict[str, object]:
    """Make a table of four jobs."""
    return {"submit_time": [0.0] * 4, "tasks": [4] * 4, "requested_time": [100] * 4, **columns}


def test_columns_select_skeletons() -> None:
    """Of jobs with and without a run time, which is that of a time keeper; others keep theirs."""
    table = jobs(
        run_time=[None, None, 60.0, 60.0],
        app_name=["ring", "time_keeper", "time_keeper", "ring"],
        app_args=["size=1e6, iterations=100", '{"seconds": 3}', None, "size=1e6, iterations=100"],
    )
    workload = bl.Workload.from_table(table)
    assert len(workload.applications) == 2
    result = bl.simulate(workload, bl.System.of(star(16)), bl.Policy.parse("fcfs"), seed=0)
    once = 1e-5 + (1e6 + 16) * 1e-9
    assert result.jobs["end_time"].to_list() == pytest.approx([100 * once, 3, 60, 100 * once])
    assert result.jobs["app_name"].to_list() == ["ring", "time_keeper", "time_keeper", "ring"]
    assert workload.jobs["logged_run_time"].to_list() == [None, None, None, 60.0]
    note = "run_time and app_name given: runs the application"
    assert workload.report.counts()["noted"] == {note: 1}
    assert f"{note} (row 3)" in str(workload.report)


def test_tables_in_files_select_skeletons(tmp_path: object) -> None:
    """As those in memory."""
    path = f"{tmp_path}/jobs.csv"
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123  # a text is enough
        file.write("submit_time,tasks,requested_time,app_name,app_args\n0,4,10,bcast,size=8\n")
    workload = bl.read_table(path)
    assert [*workload.applications] == ["bcast(size=8) on 4"]


def test_ranks_on_a_node_use_its_loopback() -> None:
    """Tasks are packed: two fit on a node, whose loopback has 1e10 B/s; four take two nodes."""
    platform = bl.Platform.torus((2,), bandwidth=1e9, latency=1e-5, cores=2)
    table = {"submit_time": [0, 1], "tasks": [2, 4], "requested_time": [10, 10], "app_name": ["bcast"] * 2}
    workload = bl.Workload.from_table({**table, "app_args": ["size=1e6", "size=1e6, algorithm=binomial"]})
    result = bl.simulate(workload, bl.System.of(platform), bl.Policy.parse("fcfs"), seed=0)
    inside, across = (1e6 + 16) / 1e10, 1e-5 + (1e6 + 16) / 1e9
    times = (result.jobs["end_time"] - result.jobs["start_time"]).to_list()
    assert times == pytest.approx([inside, across + inside])


def test_unknown_skeletons_of_a_workload_are_refused() -> None:
    """With the name of the table."""
    for columns in ({"app_name": ["rng"] * 4}, {"app_name": ["ring"] * 4, "app_args": ["size"] * 4}):
        with pytest.raises(WorkloadError, match="table: app_name"):
            bl.Workload.from_table(jobs(**columns))


def test_written_tables_select_skeletons_again(tmp_path: Path) -> None:
    """A workload with skeletons is the same once it was written and read."""
    workload = bl.Workload.from_table(
        jobs(run_time=[None, 9.0, None, None], app_name=["ring", "ring", "bcast", "ring"], tasks=[4.0] * 4)
    )
    for name in ("jobs.csv", "jobs.parquet"):
        bl.write_table(workload, tmp_path / name)
        again = bl.read_table(tmp_path / name)
        assert [*again.applications] == [*workload.applications] == ["ring() on 4", "bcast() on 4"]
        assert again.jobs["application"].equals(workload.jobs["application"])


def test_equal_skeletons_are_made_once() -> None:
    """However their arguments are written, and in whichever workload."""
    one = bl.Workload.from_table(
        jobs(app_name=["ring"] * 4, app_args=["size=8, iterations=2", '{"iterations": 2, "size": 8}'] * 2)
    )
    other = bl.Workload.from_table(jobs(app_name=["ring"] * 4, app_args=["size=8, iterations=2"] * 4))
    by_tasks = {id(each) for each in one.applications.values()}
    assert len(by_tasks) == len({*one.jobs["tasks"]})
    assert {id(each) for each in other.applications.values()} == by_tasks


def test_another_application_is_not_replaced() -> None:
    """A job that names an application of its own keeps it."""
    own = bl.Application([bl.Phase([named("time_keeper", 4, {"seconds": 7})])])
    table = jobs(run_time=[None] * 4, application=["own"] * 4, app_name=["ring"] * 4)
    workload = bl.Workload.from_table(table, applications={"own": own})
    assert workload.jobs["application"].to_list() == ["own"] * 4


def test_records_select_skeletons() -> None:
    """As tables do."""
    record = {
        "submit_time": 0,
        "tasks": 4,
        "requested_time": 9,
        "app_name": "time_keeper",
        "app_args": "seconds=3",
    }
    workload = bl.read_records([record, {"submit_time": 0, "tasks": 4, "run_time": 5}])
    assert [*workload.applications] == ["time_keeper(seconds=3) on 4"]
    result = bl.simulate(workload, bl.System.of(star(8)), "fcfs")
    assert result.jobs["end_time"].to_list() == [3, 5]
    with pytest.raises(WorkloadError, match="records: app_name = 'rng'"):
        bl.read_records([{**record, "app_name": "rng"}])
