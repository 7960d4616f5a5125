"""Random cases, and logs under every rule, have the schedules whose digests `tests/kept/schedules.txt` has.

`support/schedule_digests.py` says how to see what changed, and how to record a deliberate change.
A sample of the random cases runs every time; `pytest -m campaign tests/test_schedules.py` runs all
random cases and the logs of `../shared/data`.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial

import pytest

import batchlab as bl
from properties import (
    test_cancellations,
    test_compact,
    test_events,
    test_kernel_equals_reference,
    test_mappings,
    test_mixed,
    test_node_events,
    test_node_groups,
    test_priorities,
    test_queues,
    test_rankings,
    test_rates,
    test_run_events,
    test_sleep,
    test_slurm_runs,
    test_time_limits,
    test_traffic,
    test_whole_nodes_and_cores,
)
from support import (
    discipline_cases,
    everything_cases,
    long_queue_cases,
    schedule_digests,
    slurm_run_cases,
    snapshot_cases,
)
from support.kth_sample import kth_workload
from support.oracles import find
from support.schedule_cases import Case
from support.schedule_rules import EVERY_POLICY, OPTIONS, SLOW, with_scores
from support.schedule_runs import result_of

SAMPLE = {"everything": 40, "combinations": 126, "crowded": 1}
CAMPAIGN = {"everything": 2000, "combinations": 504, "crowded": 20}
USUAL_SAMPLE, USUAL_CAMPAIGN = 10, 60
CHUNK = 250

CASES: dict[str, Callable[[int], Case]] = {
    "cancellations": test_cancellations.WITHDRAWN.case,
    "combinations": test_kernel_equals_reference.numbered_case,
    "compact": test_compact.case_of,
    "counted": long_queue_cases.counted_case,
    "crowded": long_queue_cases.crowded_case,
    "disciplines": discipline_cases.discipline_case,
    "events": test_events.EVENTFUL.case,
    "large": test_kernel_equals_reference.large_case,
    "mappings": test_mappings.case_of,
    "mixed": test_mixed.case_of,
    "neighbours": long_queue_cases.neighbour_case,
    "node_events": test_node_events.numbered_case,
    "node_groups": test_node_groups.GROUPED.case,
    "powers_of_two": discipline_cases.power_of_two_case,
    "priorities": test_priorities.PRIORITISED.case,
    "queues": test_queues.QUEUED.case,
    "rankings": test_rankings.ranked_case,
    "rates": test_rates.CONTROLLED.case,
    "run_events": test_run_events.BEFALLEN.case,
    "separated": test_queues.SEPARATED.case,
    "sleep": test_sleep.case_of,
    "slow_suspension": discipline_cases.slow_case,
    "time_limits": test_time_limits.LIMITED.case,
    "waiting": long_queue_cases.waiting_case,
    "whole_nodes": test_whole_nodes_and_cores.WHOLE.case,
}


def of_case(case_of: Callable[[int], Case], number: int) -> bl.Result:
    """Run a case that the reference can run too."""
    return result_of(case_of(number))


def of_run(run_of: Callable[[int], snapshot_cases.Run], seed: int) -> bl.Result:
    """Run a case with observers, forks and parts in Python."""
    simulation = snapshot_cases.simulation_of(run_of(seed))
    simulation.run_until()
    return simulation.result()


def under_slurm(number: int) -> bl.Result:
    """Run a case under Slurm's controller."""
    case = slurm_run_cases.random_case(number)
    parameters = test_slurm_runs.parameters_of(case)
    return test_slurm_runs.result_of(case, bl.Policy(case.order, "slurm", slurm=parameters))


FAMILIES: dict[str, Callable[[int], bl.Result]] = {
    **{name: partial(of_case, case_of) for name, case_of in CASES.items()},
    **{
        f"parts_{kind}": partial(of_run, partial(snapshot_cases.random_run, kind))
        for kind in snapshot_cases.KINDS
    },
    "everything": partial(of_run, everything_cases.random_run),
    "slurm": under_slurm,
    "traffic": lambda number: test_traffic.case_of(number).result,
}


def numbered(family: str, numbers: range) -> Iterator[schedule_digests.Case]:
    """Name the cases of a family."""
    run = FAMILIES[family]
    for number in numbers:
        yield f"{family}/{number}", partial(lambda each: [run(each)], number)


@pytest.mark.parametrize("family", FAMILIES)
def test_random_cases(family: str) -> None:
    """A sample of the campaign."""
    schedule_digests.check(numbered(family, range(SAMPLE.get(family, USUAL_SAMPLE))))


CHUNKS = [
    (family, begin) for family in FAMILIES for begin in range(0, CAMPAIGN.get(family, USUAL_CAMPAIGN), CHUNK)
]


@pytest.mark.campaign
@pytest.mark.parametrize(("family", "begin"), CHUNKS)
def test_campaign(family: str, begin: int) -> None:
    """All random cases."""
    end = min(begin + CHUNK, CAMPAIGN.get(family, USUAL_CAMPAIGN))
    schedule_digests.check(numbered(family, range(begin, end)))


def under(
    name: str, workload: bl.Workload, system: bl.System, policies: Iterable[str]
) -> Iterator[schedule_digests.Case]:
    """Name the runs of a workload under policies."""
    for policy in policies:
        yield (
            f"{name}/{policy}".replace(" ", ""),
            partial(lambda each: [bl.simulate(workload, system, each)], policy),
        )


def with_options(name: str, workload: bl.Workload, system: bl.System) -> Iterator[schedule_digests.Case]:
    """Name the runs of a workload under EASY with each option."""
    for option, given in OPTIONS.items():
        yield (
            f"{name}/easy/{option}",
            partial(lambda each: [bl.simulate(workload, system, "easy", **each)], given),
        )


def cores(nodes: int, each: int = 1) -> bl.System:
    """Return a system of equal nodes."""
    return bl.System.homogeneous(nodes=nodes, resources={"core": each})


def test_sample_of_a_log() -> None:
    """400 jobs under every policy, and with every option."""
    workload, system = with_scores(kth_workload()), cores(100)
    schedule_digests.check(under("sample", workload, system, EVERY_POLICY))
    schedule_digests.check(with_options("sample", workload, system))


# Files, machines, and how many jobs run under rules that take long.
LOGS = {
    "kth": ("KTH-SP2-1996-2.1-cln", cores(100), 28_000),
    "ctc": ("CTC-SP2-1996-3.1-cln", cores(430), 20_000),
    "seth": ("HPC2N-2002-2.2-cln", cores(120, 2), 20_000),
}


@cache
def log(name: str) -> bl.Workload:
    """Read a log; skip the test if the folder of logs is missing."""
    return with_scores(bl.read_swf(find(f"data/{LOGS[name][0]}.swf.gz")))


@pytest.mark.campaign
@pytest.mark.parametrize("policy", EVERY_POLICY)
@pytest.mark.parametrize("name", LOGS)
def test_logs(name: str, policy: str) -> None:
    """Whole logs under every policy; the first jobs of those that are long under rules that are slow."""
    _, system, first = LOGS[name]
    workload = log(name).head(first) if policy in SLOW else log(name)
    schedule_digests.check(under(name, workload, system, [policy]))


@pytest.mark.campaign
@pytest.mark.parametrize("name", LOGS)
def test_options(name: str) -> None:
    """Whole logs under EASY with each option."""
    schedule_digests.check(with_options(name, log(name), LOGS[name][1]))
