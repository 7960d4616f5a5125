"""Delays of the multiserver-job queue: by hand, against the recursion as written, against a simulation."""

import signal
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import batchlab as bl

delays = bl.queueing.delays


def literal(arrival: list[float], service: list[float], servers: list[int], c: int) -> list[float]:
    """Follow the recursion word by word: a sorted vector of the times at which servers are free."""
    free, found = [-np.inf] * c, []
    for at, time_of_service, needed in zip(arrival, service, servers, strict=True):
        start = max(at, free[needed - 1])
        free = sorted([start + time_of_service] * needed + free[needed:])
        found.append(start - at)
    return found


def test_by_hand() -> None:
    """A job that needs all servers blocks a narrow one behind it."""
    found = delays([0, 1, 1, 2], [4, 2, 1, 1], [1, 2, 1, 1], c=2)
    assert found.tolist() == [0, 3, 5, 4]


def test_no_jobs_have_no_delays() -> None:
    """Empty columns give an empty column."""
    assert delays([], [], [], c=3).shape == (0,)


def test_one_number_of_servers_is_for_all_jobs() -> None:
    """A number in place of the column of servers."""
    assert delays([0, 0, 0], [5, 5, 5], 1, c=2).tolist() == [0, 0, 5]


@given(
    st.integers(1, 6).flatmap(
        lambda c: st.tuples(
            st.just(c),
            st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9), st.integers(1, c)), max_size=60),
        )
    )
)
def test_equal_to_the_literal_recursion(case: tuple[int, list[tuple[int, int, int]]]) -> None:
    """Groups of servers give what a sorted vector of all of them gives, to the bit."""
    c, jobs = case
    arrival = np.cumsum([gap for gap, _, _ in jobs]) * 0.1
    service = np.array([length for _, length, _ in jobs]) * 0.1
    servers = [needed for _, _, needed in jobs]
    found = delays(arrival, service, servers, c)
    assert found.tolist() == literal(arrival.tolist(), service.tolist(), servers, c)


def test_equal_to_a_simulation() -> None:
    """The simulator's fcfs on as many nodes waits as long, to the bit, where times are whole numbers."""
    random = np.random.default_rng(3)
    arrival = np.cumsum(random.integers(0, 40, 3000))
    service, servers = random.integers(1, 300, 3000), random.integers(1, 17, 3000)
    columns = {"submit_time": arrival, "run_time": service, "tasks": servers}
    system = bl.System.homogeneous(nodes=16, resources={"core": 1})
    result = bl.simulate(bl.Workload.from_table(columns), system, "fcfs")
    waits = result.jobs["start_time"].to_numpy() - arrival
    assert waits.max() > 1000
    assert np.array_equal(delays(arrival, service, servers, c=16), waits)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            ([0, 2, 1], [1, 1, 1], [1, 1, 1]),
            r"arrival\[2\] = 1.0; must not be below arrival\[1\] = 2.0.",
        ),
        (([0, np.nan], [1, 1], [1, 1]), r"arrival\[1\] = nan; must be a finite number. Drop"),
        (([0, 0], [1, -3], [1, 1]), r"service\[1\] = -3.0; must be a finite number >= 0. Drop"),
        (([0, 0], [np.nan, 1], [1, 1]), r"service\[0\] = nan; must be a finite number >= 0"),
        (([0, 0], [1, np.inf], [1, 1]), r"service\[1\] = inf; must be a finite number >= 0"),
        (([0, 0], [1, 1], [1, 0]), r"servers\[1\] = 0; must be from 1 to c = 4. Drop"),
        (
            ([0, 0], [1, 1], [5, 1]),
            r"servers\[0\] = 5; must be from 1 to c = 4. Drop such jobs, or",
        ),
        (([0, 0], [1, 1], [1.5, 1]), r"servers\[0\] = 1.5; must be a whole number"),
        (([0, 0], [1, 1], 9), r"servers\[0\] = 9; must be from 1 to c = 4"),
        (([1e308, 1e308], [1e308, 1e308], 4), r"service\[0\] = 1e\+308; is too long"),
        (([0, 0], [1], [1, 1]), "arrival has 2 rows, service 1, servers 2; each must have one row"),
        (([[0]], [1], [1]), "arrival has 2 dimensions; must be a column"),
        ((["a"], [1], [1]), r"arrival = \['a'\]; must be a column of numbers"),
    ],
)
def test_columns_that_break_a_rule(columns: tuple[object, object, object], message: str) -> None:
    """The error names the place, the value, the rule and the next step."""
    with pytest.raises(bl.QueueingError, match=message):
        delays(*columns, c=4)  # type: ignore[arg-type]  # that is the test


@pytest.mark.parametrize("c", [0, -1, 2.5, "many"])
def test_a_number_of_servers_that_breaks_a_rule(c: object) -> None:
    """There must be a server."""
    with pytest.raises(bl.QueueingError, match=r"c = .*; must be a whole number from 1"):
        delays([0], [1], [1], c=c)  # type: ignore[arg-type]  # that is the test


def many_jobs(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give columns of the kinds that are taken without a copy."""
    random = np.random.default_rng(5)
    arrival = np.cumsum(random.exponential(1.0, count))
    return arrival, random.exponential(3.0, count), random.integers(1, 9, count)


def test_other_threads_go_on_meanwhile() -> None:
    """The GIL is released: another thread counts on while delays are computed."""
    columns = many_jobs(1_000_000)
    counted, stop = [0], threading.Event()

    def count() -> None:
        while not stop.is_set():
            counted[0] += 1
            # Gives the GIL back, so that without a release nearly nothing is counted.
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        for _ in range(100):
            before = counted[0]
            delays(*columns, c=40)
            if counted[0] - before > 100:
                break
        else:
            pytest.fail("the other thread stood still during 100 computations")
    finally:
        stop.set()
        thread.join()


@pytest.mark.skipif(sys.platform == "win32", reason="sets a timer of Unix")
def test_a_signal_breaks_off() -> None:
    """What a signal's handler raises, Ctrl-C's KeyboardInterrupt too, ends the computation before its end."""
    columns = many_jobs(4_000_000)
    begin = time.process_time()
    delays(*columns, c=40)
    whole = time.process_time() - begin

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    handler = signal.signal(signal.SIGPROF, interrupt)
    try:
        begin = time.process_time()
        # The timer counts CPU time, so that the load of the machine does not matter.
        signal.setitimer(signal.ITIMER_PROF, whole / 10)
        with pytest.raises(KeyboardInterrupt):
            delays(*columns, c=40)
        assert time.process_time() - begin < whole / 2
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
