"""Same inputs, same bytes: however a simulation is driven, forked, or run beside others."""

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given, settings
from hypothesis import strategies as st

import batchlab as bl
from support.large_cases import QUICK, big_cases, record, run
from support.schedule_cases import Case
from support.schedule_runs import options_of, policy_of, simulation_of


@QUICK
@given(big_cases())
def test_same_seed_same_bytes(case: Case) -> None:
    """Two runs give the same record, and the policy's spec string stands for the policy."""
    first = run(case)
    assert record(first) == record(run(case))
    spec = str(policy_of(case))
    again = bl.simulate(
        first.workload,
        first.system,
        spec,
        options=options_of(case),
    )
    assert record(first) == record(again)


@QUICK
@given(big_cases(), st.floats(0, 1))
def test_forks_are_independent(case: Case, share: float) -> None:
    """A fork made on the way ends as the original does, in any order, and neither sees the other."""
    expected = record(run(case))
    simulation = simulation_of(case)
    steps = 0
    while simulation.step():
        steps += 1
    original = simulation_of(case)
    for _ in range(int(share * steps)):
        original.step()
    before = record(original.result())
    fork = original.fork()
    fork.run_until()
    assert record(original.result()) == before
    second = original.fork()
    original.run_until()
    assert record(second.result()) == before
    second.run_until()
    assert [record(each.result()) for each in (original, fork, second)] == [expected] * 3


@QUICK
@given(big_cases(), st.lists(st.floats(0, 1), max_size=6))
def test_pieces_make_the_whole(case: Case, shares: list[float]) -> None:
    """Running until several times, in order or not, is running at once."""
    whole = run(case)
    last = whole.outcome.now
    simulation = simulation_of(case)
    for share in shares:
        until = share * last
        before = simulation.now
        simulation.run_until(until)
        assert before <= simulation.now <= max(until, before)
        assert simulation.next_time is None or simulation.next_time > until
    simulation.run_until()
    assert record(simulation.result()) == record(whole)


@QUICK
@given(big_cases())
def test_steps_go_forward(case: Case) -> None:
    """Each step does all that happens at the next instant, which is a later one, until nothing is left."""
    simulation = simulation_of(case)
    while (instant := simulation.next_time) is not None:
        assert simulation.step()
        assert simulation.now == instant
        assert simulation.next_time is None or simulation.next_time > instant
    assert not simulation.step()
    assert simulation.finished == len(case.jobs)
    assert record(simulation.result()) == record(run(case))


@settings(QUICK, max_examples=15)
@given(st.lists(big_cases(), min_size=4, max_size=4))
def test_threads_do_not_disturb_each_other(four: list[Case]) -> None:
    """Four simulations in four threads give what they give one after the other."""
    expected = [record(run(case)) for case in four]
    with ThreadPoolExecutor(4) as threads:
        assert [record(result) for result in threads.map(run, four)] == expected
