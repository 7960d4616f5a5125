"""What plots take: one result, several, replications, labels of one's own."""

from dataclasses import fields, replace

import pytest

import batchlab as bl
from batchlab.errors import ResultError
from batchlab.generate import demo_system, demo_workload
from batchlab.plot.results import Results, by_policy, groups, job_tables, single

WORKLOAD = demo_workload(20)


def run(policy: str = "easy", **options: object) -> bl.Result:
    """Run 20 jobs."""
    return bl.simulate(WORKLOAD, demo_system(), policy, **options)  # type: ignore[arg-type]


def shape(results: Results) -> dict[str, int]:
    """Give the labels, and how many results each has."""
    return {group.label: len(group.results) for group in groups(results)}


def test_one() -> None:
    """A result is a group of its own, named after its policy."""
    assert shape(run()) == {"easy": 1}


def test_policies_are_groups_and_seeds_replications() -> None:
    """In a sequence, only the seed may differ within a group; order is kept."""
    results = [run("random", seed=1), run("easy"), run("random", seed=2)]
    assert shape(results) == {"random(0)": 2, "easy": 1}
    assert shape(iter(results)) == {"random(0)": 2, "easy": 1}


def test_what_is_recorded_makes_no_groups() -> None:
    """Results with and without options that only record are replications."""
    options = bl.RunOptions()
    recording = {field.name for field in fields(options)} - options.schedule_options.keys()
    first = run()
    results = [first]
    for name in recording:
        value = {"interval": 10} if name == "sensing" else True
        results.append(replace(first, options=bl.RunOptions.from_dict({name: value})))
    assert {"key_events", "usage"} < recording
    assert shape(results) == {"easy": 1 + len(recording)}


def test_equal_jobs_are_the_same_jobs() -> None:
    """Results read from files, whose workloads are equal but not identical, are replications too."""
    other = bl.simulate(demo_workload(20), demo_system(), "easy", seed=3)
    assert shape([run(), other]) == {"easy": 2}


def test_what_differs_tells_groups_apart() -> None:
    """Groups of one policy are named by system, options or jobs, whichever differs."""
    small = bl.System.homogeneous(nodes=16, resources={"core": 16})
    on_small = bl.simulate(WORKLOAD, small, "easy")
    fewer = bl.simulate(WORKLOAD.head(10), demo_system(), "easy")
    assert shape([run(), on_small]) == {"easy (demo)": 1, "easy (16 nodes)": 1}
    assert shape([run(), fewer]) == {"easy (20 jobs)": 1, "easy (10 jobs)": 1}
    killed = [*shape([run(), run(walltime="kill")])]
    assert killed[1] == "easy (walltime=kill)"


def test_numbers_where_nothing_shows() -> None:
    """Groups that differ only within their jobs are numbered."""
    loaded = bl.simulate(WORKLOAD.scale_load(2), demo_system(), "easy")
    more = bl.simulate(WORKLOAD.scale_load(3), demo_system(), "easy")
    assert [*shape([run(), loaded, more])] == ["easy", "easy #2", "easy #3"]


def test_labels_of_ones_own() -> None:
    """A mapping's labels are kept, whatever stands under them."""
    labelled: dict[str, bl.Result | list[bl.Result]] = {"a": run(), "b": [run(), run("fcfs")]}
    assert shape(labelled) == {"a": 1, "b": 2}


def test_by_policy_alone() -> None:
    """For scalability, results of one policy are together whatever their jobs; one needs a time."""
    unknown = [replace(each, elapsed=None) for each in (run("fcfs"), run())]
    with pytest.raises(ResultError, match="none knows how long its simulation took"):
        bl.plot.scalability(unknown)

    fewer = bl.simulate(WORKLOAD.head(10), demo_system(), "easy")
    assert {group.label: len(group.results) for group in by_policy([run(), fewer])} == {"easy": 2}


def test_single() -> None:
    """Plots of one result take the first replication, and refuse several groups."""
    first = run("random", seed=1)
    assert single([first, run("random", seed=2)]) is first
    with pytest.raises(ResultError, match=r"results: 2 groups \(easy, fcfs\); this plot shows one"):
        single([run(), run("fcfs")])


@pytest.mark.parametrize("wrong", [3, "easy", [3], {"a": 3}, None])
def test_what_is_no_result(wrong: object) -> None:
    """What is no result is shown, with what would have been one."""
    with pytest.raises(ResultError, match="must be a Result, several, or a mapping of labels to results"):
        groups(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("empty", [[], {}, {"a": []}])
def test_no_result_at_all(empty: Results) -> None:
    """Nothing is not something that can be drawn."""
    with pytest.raises(ResultError, match=r"results (is empty|holds an empty group|holds no result)"):
        groups(empty)


def test_workloads() -> None:
    """Workloads and those of results are taken; the same jobs once; named after their file, else a word."""
    shorter = WORKLOAD.head(5)
    named = replace(WORKLOAD, report=replace(WORKLOAD.report, source="/logs/KTH-SP2.swf.gz"))
    assert [each.label for each in job_tables([run(), run("fcfs"), WORKLOAD])] == ["table"]
    assert [each.label for each in job_tables([run(), shorter])] == ["table (20 jobs)", "table (5 jobs)"]
    assert [each.label for each in job_tables(named)] == ["KTH-SP2"]
    both: list[bl.Result | bl.Workload] = [run(), shorter]
    assert [len(each.tables) for each in job_tables({"both": both})] == [2]
