"""The reference kernel against schedules worked out by hand from docs/semantics.md."""

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from reference import Expression, Job, Machine, Outcome, simulate
from reference.model import Order
from reference.numbers import divide, mix
from reference.orders import order_key
from support.schedule_cases import ALLOCATORS, BACKFILLS, Case, cases, seeded_cases

CORE = ("core",)


def job(
    row: int,
    tasks: int,
    run_time: float,
    requested_time: float | None = None,
    *,
    submit_time: float = 0,
    request: tuple[int, ...] = (1,),
    tasks_per_node: int = 0,
    exclusive: bool = False,
) -> Job:
    requested = run_time if requested_time is None else requested_time
    return Job(row, submit_time, run_time, requested, tasks, request, tasks_per_node, exclusive)


def cores(*amounts: int) -> Machine:
    return Machine(CORE, [(amount,) for amount in amounts])


def starts(outcomes: list[Outcome]) -> list[float | None]:
    return [outcome.start_time for outcome in outcomes]


def placements(outcomes: list[Outcome]) -> list[list[tuple[int, int]]]:
    return [outcome.placement for outcome in outcomes]


class TestEvents:
    """S2 to S4: what happens at one instant, and how a job ends."""

    def test_zero_run_times_end_in_their_instant(self) -> None:
        """Each zero-time job gives way to the next one at the same time."""
        outcomes = simulate([job(0, 1, 0), job(1, 1, 0), job(2, 1, 5)], cores(1))
        assert starts(outcomes) == [0, 0, 0]
        assert [outcome.end_time for outcome in outcomes] == [0, 0, 5]

    def test_completions_come_before_submissions_and_one_pass(self) -> None:
        """Both jobs that arrive when the node falls free are seen by the same pass."""
        jobs = [
            job(0, 1, 10),
            job(1, 1, 5, submit_time=1),
            job(2, 1, 3, submit_time=10),
            job(3, 1, 1, submit_time=10),
        ]
        assert starts(simulate(jobs, cores(1), "sjf")) == [0, 14, 11, 10]

    def test_arrivals_first_sees_what_ends_as_estimated(self) -> None:
        """The node is back before the first submission, whose own pass starts it."""
        jobs = [
            job(0, 1, 10),
            job(1, 1, 5, submit_time=1),
            job(2, 1, 3, submit_time=10),
            job(3, 1, 1, submit_time=10),
        ]
        outcomes = simulate(jobs, cores(1), "sjf", order_at_instant="arrivals_first")
        assert starts(outcomes) == [0, 14, 10, 13]

    def test_arrivals_first_does_not_see_what_ends_early(self) -> None:
        """An early end frees the node only after all submissions of the instant."""
        jobs = [
            job(0, 1, 10, 20),
            job(1, 1, 5, submit_time=1),
            job(2, 1, 3, submit_time=10),
            job(3, 1, 1, submit_time=10),
        ]
        outcomes = simulate(jobs, cores(1), "sjf", order_at_instant="arrivals_first")
        assert starts(outcomes) == [0, 14, 11, 10]

    def test_rejects_what_never_fits(self) -> None:
        """A task is on one node: two halves on two nodes do not make it fit."""
        jobs = [job(0, 1, 5, request=(3,)), job(1, 5, 5), job(2, 3, 5, tasks_per_node=1), job(3, 4, 5)]
        outcomes = simulate(jobs, cores(2, 2))
        assert [outcome.state for outcome in outcomes] == ["rejected", "rejected", "rejected", "completed"]
        assert outcomes[0] == Outcome("rejected", None, None, [], "never_fits")

    def test_rule_reject_rejects_everything(self) -> None:
        assert simulate([job(0, 1, 1)], cores(1), backfill="reject")[0].state == "rejected"

    def test_kill_ends_at_the_requested_time(self) -> None:
        """Only jobs that want more than they asked for are killed."""
        outcomes = simulate([job(0, 1, 9, 4), job(1, 1, 4, 4)], cores(1), walltime="kill")
        assert [outcome.state for outcome in outcomes] == ["killed", "completed"]
        assert [outcome.end_time for outcome in outcomes] == [4, 8]

    def test_run_ignores_the_requested_time(self) -> None:
        outcomes = simulate([job(0, 1, 9, 4), job(1, 1, 4, 4)], cores(1))
        assert [outcome.end_time for outcome in outcomes] == [9, 13]


class TestRequests:
    """S3: tasks on nodes."""

    def test_exclusive_job_takes_an_idle_node_whole(self) -> None:
        """It passes over a node in use, and no job joins it."""
        jobs = [job(0, 1, 10), job(1, 1, 4, exclusive=True), job(2, 1, 4), job(3, 2, 1)]
        outcomes = simulate(jobs, cores(2, 2))
        assert placements(outcomes) == [[(0, 1)], [(1, 1)], [(0, 1)], [(0, 1), (1, 1)]]
        assert starts(outcomes) == [0, 0, 0, 4]

    def test_whole_nodes(self) -> None:
        """Exclusive with one task per node: as many idle nodes as tasks."""
        jobs = [job(0, 2, 5, exclusive=True, tasks_per_node=1), job(1, 4, 5)]
        outcomes = simulate(jobs, cores(4, 4))
        assert placements(outcomes) == [[(0, 1), (1, 1)], [(0, 4)]]
        assert starts(outcomes) == [0, 5]

    def test_scarcest_resource_counts(self) -> None:
        """Memory admits one task on the first node, cores two on the second."""
        machine = Machine(("core", "mem"), [(4, 5), (4, 9)])
        outcomes = simulate([job(0, 3, 5, request=(2, 3))], machine)
        assert placements(outcomes) == [[(0, 1), (1, 2)]]


class TestOrders:
    """The table of orders."""

    @pytest.mark.parametrize(
        ("order", "key"),
        [
            ("fcfs", 0),
            ("sjf", 10),
            ("ljf", -10),
            ("saf", 40),
            ("laf", -40),
            ("smallest", 4),
            ("largest", -4),
            ("wfp3", -32),
            ("unicef", -1),
            ("f1", 4 + 870 * 2),
            ("f2", math.sqrt(10) * 4 + 25600 * 2),
            ("f3", 40 + 6860000 * 2),
            ("f4", 20 + 530000 * 2),
            (("random", 0), float(0x6E789E6AA1B965F4)),
        ],
    )
    def test_keys(self, order: Order, key: float) -> None:
        """Two tasks of two cores, ten seconds, submitted at 100, looked at at 120."""
        asked = Job(1, 100, 5, 10, 2, (2,))
        assert order_key(order, asked, cores(8), 120) == key

    @pytest.mark.parametrize("order", ["wfp3", "unicef"])
    def test_nothing_over_nothing_counts_as_zero(self, order: str) -> None:
        """One processor, no time, no wait."""
        key = order_key(order, Job(0, 0, 0, 0, 1, (1,)), cores(1), 0)
        assert math.copysign(1, key) == 1
        assert key == 0

    def test_processors_are_tasks_where_there_are_no_cores(self) -> None:
        machine = Machine(("mem",), [(9,)])
        assert order_key("smallest", Job(0, 0, 1, 1, 3, (2,)), machine, 0) == 3

    def test_ties_go_by_submit_time_then_row(self) -> None:
        """Rows need not be in the order of submission."""
        jobs = [
            job(0, 1, 2, submit_time=3),
            job(1, 1, 2, submit_time=1),
            job(2, 1, 9),
            job(3, 1, 2, submit_time=1),
        ]
        assert starts(simulate(jobs, cores(1), "sjf")) == [13, 9, 0, 11]

    def test_static_and_dynamic_expressions(self) -> None:
        """Waiting relative to the request: at submission both had waited for 0, at 10 the last leads."""
        jobs = [job(0, 1, 10), job(1, 1, 8), job(2, 1, 2, submit_time=5)]

        def shrinking(waiting: Job, now: float, _processors: int) -> float:
            return -divide(now - waiting.submit_time, waiting.requested_time)

        dynamic = simulate(jobs, cores(1), Expression(shrinking, dynamic=True))
        static = simulate(jobs, cores(1), Expression(shrinking, dynamic=False))
        assert starts(dynamic) == [0, 12, 10]
        assert starts(static) == [0, 10, 18]

    def test_mix_is_splitmix64(self) -> None:
        """The first two numbers of SplitMix64 seeded with 0."""
        assert [mix(0, 0), mix(0, 1)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]


class TestAllocators:
    """Orders of nodes, filled greedily."""

    def test_best_fit_and_worst_fit_go_by_load(self) -> None:
        """The second job joins the first on the busier node, or avoids it."""
        jobs = [job(0, 1, 9, request=(2,)), job(1, 1, 9)]
        assert placements(simulate(jobs, cores(1, 4), allocator="best_fit")) == [[(1, 1)], [(1, 1)]]
        assert placements(simulate(jobs, cores(4, 4), allocator="worst_fit")) == [[(0, 1)], [(1, 1)]]

    def test_load_leaves_out_resources_that_are_not_there(self) -> None:
        """Half the cores are in use on both nodes, all GPUs on the first: the one without GPUs is idler."""
        machine = Machine(("core", "gpu"), [(4, 2), (4, 0)])
        jobs = [job(0, 1, 9, request=(2, 2)), job(1, 1, 9, request=(2, 0)), job(2, 1, 9, request=(1, 0))]
        outcomes = simulate(jobs, machine, allocator="worst_fit")
        assert placements(outcomes) == [[(0, 1)], [(1, 1)], [(1, 1)]]

    def test_random_goes_by_mix(self) -> None:
        """The nodes' numbers alone decide."""
        order = sorted(range(5), key=lambda node: mix(mix(3, 0), node))
        outcomes = simulate([job(0, 2, 1)], cores(1, 1, 1, 1, 1), allocator="random", seed=3)
        assert placements(outcomes) == [[(order[0], 1), (order[1], 1)]]

    def test_next_fit_begins_where_the_latest_start_ended(self) -> None:
        """It tries that very node first, and wraps around."""
        jobs = [job(0, 1, 5), job(1, 1, 9), job(2, 3, 9), job(3, 1, 9), job(4, 1, 9, submit_time=6)]
        outcomes = simulate(jobs, cores(2, 2, 2), allocator="next_fit")
        assert placements(outcomes) == [[(0, 1)], [(0, 1)], [(1, 2), (2, 1)], [(2, 1)], [(0, 1)]]

    def test_contiguous_waits_for_neighbours(self) -> None:
        """Two free nodes with a busy one between them do not do."""
        jobs = [job(0, 1, 5), job(1, 1, 10), job(2, 1, 5), job(3, 2, 5)]
        outcomes = simulate(jobs, cores(1, 1, 1), allocator="contiguous")
        assert starts(outcomes) == [0, 0, 0, 10]
        assert placements(outcomes)[3] == [(0, 1), (1, 1)]
        assert starts(simulate(jobs, cores(1, 1, 1)))[3] == 5

    def test_contiguous_window_begins_at_the_lowest_node_that_does(self) -> None:
        """The window is found from its lower end, and its first nodes are filled first."""
        outcomes = simulate([job(0, 4, 1)], cores(1, 0, 1, 2, 3), allocator="contiguous")
        assert placements(outcomes) == [[(2, 1), (3, 2), (4, 1)]]


class TestNoneAndFirstFit:
    """S5."""

    def test_none_blocks_on_the_head(self) -> None:
        jobs = [job(0, 1, 10), job(1, 2, 5), job(2, 1, 3)]
        assert starts(simulate(jobs, cores(2))) == [0, 10, 15]

    def test_first_fit_starts_whatever_fits(self) -> None:
        """Even where that delays the head."""
        jobs = [job(0, 1, 10), job(1, 2, 5), job(2, 1, 13)]
        assert starts(simulate(jobs, cores(2), backfill="first_fit")) == [0, 13, 0]


class TestEasy:
    """S6."""

    @pytest.mark.parametrize("reservations", [1, 2])
    @pytest.mark.parametrize(("requested_time", "expected"), [(10, [0, 10, 0]), (11, [0, 10, 15])])
    def test_backfills_what_ends_by_the_shadow_time(
        self, requested_time: float, expected: list[float], reservations: int
    ) -> None:
        """The shadow time is 10, and 10 itself is in time."""
        jobs = [job(0, 1, 10), job(1, 2, 5), job(2, 1, requested_time)]
        assert starts(simulate(jobs, cores(2), backfill="easy", reservations=reservations)) == expected

    def test_shadow_time_goes_by_estimates(self) -> None:
        """The first job ends at 4, and the backfilled one keeps the head waiting until 10."""
        jobs = [job(0, 1, 4, 10), job(1, 2, 5), job(2, 1, 10)]
        assert starts(simulate(jobs, cores(2), backfill="easy")) == [0, 10, 0]

    def test_room_is_counted_on_nodes(self) -> None:
        """Beside a long job of two cores the totals would do for the head, but not three on each node."""
        head = job(1, 2, 5, request=(3,))
        jobs = [job(0, 1, 10, request=(3,)), head, job(2, 1, 20, request=(2,))]
        assert starts(simulate(jobs, cores(4, 4), backfill="easy")) == [0, 10, 15]
        jobs[2] = job(2, 1, 20)
        assert starts(simulate(jobs, cores(4, 4), backfill="easy")) == [0, 10, 0]

    @pytest.mark.parametrize(("allocator", "start"), [("first_fit", 10), ("worst_fit", 0)])
    def test_allocator_does_not_look_at_the_reservation(self, allocator: str, start: float) -> None:
        """On the second node the long job does no harm; it starts only where the allocator chooses that."""
        jobs = [job(0, 1, 10, request=(2,)), job(1, 2, 5, request=(3,)), job(2, 1, 20, request=(2,))]
        outcomes = simulate(jobs, cores(4, 5), backfill="easy", allocator=allocator)
        assert starts(outcomes) == [0, 10, start]

    def test_job_past_its_estimate_is_taken_to_end_now(self) -> None:
        """At 5 the shadow time is 5: what lasts longer and takes the head's node waits."""
        jobs = [job(0, 1, 8, 4), job(1, 2, 5), job(2, 1, 1, submit_time=5), job(3, 1, 0, submit_time=5)]
        assert starts(simulate(jobs, cores(2), backfill="easy")) == [0, 8, 13, 5]

    def test_second_reservation_keeps_its_instant(self) -> None:
        """One reservation lets the long job delay the third one, two do not."""
        jobs = [job(0, 2, 10), job(1, 2, 10), job(2, 3, 5), job(3, 1, 25)]
        assert starts(simulate(jobs, cores(3), backfill="easy")) == [0, 10, 25, 0]
        assert starts(simulate(jobs, cores(3), backfill="easy", reservations=2)) == [0, 10, 20, 25]

    def test_reserved_nodes_may_change(self) -> None:
        """The reservation for 10 moves from the first two nodes to the last two."""
        jobs = [job(0, 1, 5), job(1, 1, 10), job(2, 1, 10), job(3, 2, 2), job(4, 1, 30, submit_time=5)]
        outcomes = simulate(jobs, cores(1, 1, 1), backfill="easy", reservations=2)
        assert starts(outcomes) == [0, 0, 0, 10, 5]
        assert placements(outcomes)[3:] == [[(1, 1), (2, 1)], [(0, 1)]]

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=cases())
    def test_one_reservation_is_the_shadow_time(self, case: Case) -> None:
        """The general text and the text of the shadow time say the same for k = 1."""
        assert_one_reservation_is_the_shadow_time(case)

    @pytest.mark.parametrize(("large", "seeds"), [(0.0, range(120)), (1.0, range(6))])
    def test_one_reservation_is_the_shadow_time_at_random(self, large: float, seeds: range) -> None:
        """Likewise on more cases, made faster."""
        for case in seeded_cases(seeds, large=large):
            assert_one_reservation_is_the_shadow_time(case)


def assert_one_reservation_is_the_shadow_time(case: Case) -> None:
    by_shadow_time = replace(case, backfill="easy", reservations=1).expected()
    by_reservations = replace(case, backfill="easy_by_reservations", reservations=1).expected()
    assert by_shadow_time == by_reservations, case


class TestConservative:
    """S7."""

    def test_nobody_delays_anybody(self) -> None:
        """The long job may not have the core that the third one will need."""
        jobs = [job(0, 2, 10), job(1, 2, 10), job(2, 3, 5), job(3, 1, 25)]
        assert starts(simulate(jobs, cores(3), backfill="conservative")) == [0, 10, 20, 25]

    def test_compresses_when_a_job_ends_early(self) -> None:
        """Reservations at 10 and 15 become 4 and 9."""
        jobs = [job(0, 1, 4, 10), job(1, 2, 5), job(2, 1, 12)]
        assert starts(simulate(jobs, cores(2), backfill="conservative")) == [0, 4, 9]

    def test_keeps_its_nodes_where_compressing_gains_nothing(self) -> None:
        """Nodes change only with the instant: the one that falls free at 8 itself is not taken instead."""
        jobs = [job(0, 1, 6, 12), job(1, 1, 8, 8), job(2, 1, 5, 8, exclusive=True)]
        outcomes = simulate(jobs, cores(1, 1), backfill="conservative")
        assert starts(outcomes) == [0, 0, 6]
        assert placements(outcomes)[2] == [(0, 1)]
        jobs[0] = job(0, 1, 8, 12)
        outcomes = simulate(jobs, cores(1, 1), backfill="conservative")
        assert starts(outcomes) == [0, 0, 8]
        assert placements(outcomes)[2] == [(1, 1)]

    def test_waits_for_a_job_past_its_estimate(self) -> None:
        """The reservation due at 10 is made anew for now, and waits without another pass at once."""
        jobs = [job(0, 1, 20, 10), job(1, 1, 5)]
        assert starts(simulate(jobs, cores(1), backfill="conservative")) == [0, 20]

    def test_makes_a_pass_where_a_reservation_stands(self) -> None:
        """Nothing happens at 10 but a reservation, whose nodes an overdue job holds: the last job starts."""
        jobs = [job(0, 1, 20, 10), job(1, 2, 5), job(2, 1, 3, 10), job(3, 1, 8, submit_time=4)]
        assert starts(simulate(jobs, cores(2), backfill="conservative")) == [0, 20, 0, 10]

    def test_zero_requested_times_hold_nothing(self) -> None:
        """Reserved for one instant, they start one after the other within it."""
        jobs = [job(0, 1, 4), job(1, 1, 0), job(2, 1, 0)]
        assert starts(simulate(jobs, cores(1), backfill="conservative")) == [0, 4, 4]

    def test_zero_requested_times_keep_their_instant(self) -> None:
        """The last job reserves the same node for 4; the third is planned anew, and starts first."""
        jobs = [job(0, 1, 4), job(1, 1, 0), job(2, 1, 0), job(3, 1, 2)]
        assert starts(simulate(jobs, cores(1), backfill="conservative")) == [0, 4, 4, 4]

    def test_later_jobs_do_not_change_earlier_ones(self) -> None:
        """With exact estimates the schedule of the first jobs is that of the first jobs alone."""
        for case in seeded_cases(range(80)):
            jobs = tuple(
                replace(each, row=row, run_time=each.run_time + 1, requested_time=each.run_time + 1)
                for row, each in enumerate(sorted(case.jobs, key=lambda each: each.submit_time))
            )
            whole = replace(case, jobs=jobs, order="fcfs", order_argument=None, backfill="conservative")
            half = replace(whole, jobs=jobs[: len(jobs) // 2])
            assert half.expected() == whole.expected()[: len(half.jobs)], whole


class TestInvariants:
    """What holds for every rule, on random cases."""

    def test_every_schedule_is_possible(self) -> None:
        """Times, tasks and nodes are as asked, and no node holds too much."""
        for case in seeded_cases(range(300)):
            audit(case)

    @pytest.mark.parametrize("backfill", BACKFILLS)
    def test_long_queues(self, backfill: str) -> None:
        """Likewise with some sixty jobs on a tiny machine."""
        for case in seeded_cases(range(4), large=1.0):
            audit(replace(case, jobs=case.jobs[:60], backfill=backfill))


def audit(case: Case) -> None:
    """Check a schedule without knowing its policy."""
    started = [pair for pair in zip(case.jobs, case.expected(), strict=True) if pair[1].state != "rejected"]
    for asked, outcome in started:
        assert outcome.start_time is not None
        assert outcome.start_time >= asked.submit_time
        killed = case.walltime == "kill" and asked.run_time > asked.requested_time
        assert outcome.state == ("killed" if killed else "completed")
        duration = asked.requested_time if killed else asked.run_time
        assert outcome.end_time == outcome.start_time + duration
        assert sum(tasks for _, tasks in outcome.placement) == asked.tasks
        assert all(tasks <= (asked.tasks_per_node or asked.tasks) for _, tasks in outcome.placement)
        assert len({node for node, _ in outcome.placement}) == len(outcome.placement)
    for _, first in started:
        for node, capacity in enumerate(case.machine.capacity):
            audit_node(list(holders(started, node, first.start_time)), capacity)


def holders(
    started: list[tuple[Job, Outcome]], node: int, instant: float | None
) -> Iterator[tuple[Job, int]]:
    """Give the jobs on a node at an instant, with their tasks there."""
    assert instant is not None
    for asked, outcome in started:
        assert outcome.start_time is not None
        assert outcome.end_time is not None
        if outcome.start_time <= instant < outcome.end_time:
            yield from ((asked, tasks) for index, tasks in outcome.placement if index == node)


def audit_node(holding: list[tuple[Job, int]], capacity: tuple[int, ...]) -> None:
    assert len(holding) == 1 or not any(asked.exclusive for asked, _ in holding)
    for resource, amount in enumerate(capacity):
        assert sum(asked.request[resource] * tasks for asked, tasks in holding) <= amount


class TestCases:
    """The generator of random cases."""

    def test_reaches_every_setting(self) -> None:
        """All orders, rules and allocators, both walltimes and orders at an instant, every kind of end."""
        made = list(seeded_cases(range(600)))
        assert len({case.order for case in made}) == 18
        assert {case.backfill for case in made} == {*BACKFILLS, "reject"}
        assert {case.allocator for case in made} == {*ALLOCATORS}
        assert {case.reservations for case in made} == {1, 2, 3, 4}
        assert len({(case.walltime, case.order_at_instant) for case in made}) == 6
        ends = {outcome.state for case in made[:60] for outcome in case.expected()}
        assert ends == {"completed", "killed", "rejected"}

    def test_texts_of_orders(self) -> None:
        case = Case((), cores(1))
        assert case.order_text == "fcfs"
        assert replace(case, order="random", order_argument=7).order_text == "random(7)"
        formula = replace(case, order="expression", order_argument="-tasks")
        assert formula.order_text == 'expression("-tasks")'

    def test_leaving_a_job_out_numbers_rows_anew(self) -> None:
        case = Case((job(0, 1, 1), job(1, 1, 2), job(2, 1, 3)), cores(1)).without(1)
        assert [(each.row, each.run_time) for each in case.jobs] == [(0, 1), (1, 3)]
