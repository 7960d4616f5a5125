"""Logs to be given away: no name is left, and all that is simulated is as before."""

import pytest

import batchlab as bl
from batchlab.errors import WorkloadError
from support.oracles import find


def named(**columns: list[object]) -> bl.Workload:
    """Make three jobs with more columns."""
    return bl.Workload.from_table(
        {"submit_time": [0, 1, 2], "run_time": [5, 5, 5], "tasks": [1, 1, 1], **columns}
    )


def test_no_name_is_left() -> None:
    """Of a real dump: what is simulated is equal, what names persons and hosts is not."""
    path = find("oracles/slurm-multifactor/m3a/sacct_all.txt.gz")
    workload = bl.read_sacct(path, node_names=True)
    made = bl.anonymise(workload, seed=4)
    changed = ["user", "account", "job_name", "node_list", "node_names", "cancelled_by", "reservation"]
    changed += ["user_id", "group", "group_id"]
    assert made.jobs.drop(changed).equals(workload.jobs.drop(changed))
    for name in "user", "account", "job_name", "reservation":
        pairs = set(zip(workload.jobs[name], made.jobs[name], strict=True))
        assert len(pairs) == workload.jobs[name].n_unique() == made.jobs[name].n_unique()
        assert set(workload.jobs[name].drop_nulls()).isdisjoint(made.jobs[name])
    assert made.jobs["node_names"].list.len().equals(workload.jobs["node_names"].list.len())
    assert set(made.jobs["node_names"].explode().drop_nulls()) == {f"node{n}" for n in range(1, 33)}
    assert made.jobs["node_list"][0].split(",") == made.jobs["node_names"][0].to_list()
    assert made.report.source == "anonymised"
    assert made.header.unix_start_time == workload.header.unix_start_time


def test_seeds_and_order() -> None:
    """A random order, the same for the same seed; or that of the names."""
    workload = named(user=["u10", "u2", "u10"], user_id=[77, 5, -1], host=["b", None, "a"])
    ordered = bl.anonymise(workload, keep_order=True).jobs
    assert ordered["user"].to_list() == ["user2", "user1", "user2"]
    assert ordered["user_id"].to_list() == [2, 1, -1]
    assert ordered["host"].to_list() == ["host2", None, "host1"]
    many = named(user=["a", "b", "c"])
    orders = {tuple(bl.anonymise(many, seed=seed).jobs["user"]) for seed in range(20)}
    assert len(orders) > 2
    assert bl.anonymise(many, seed=3).jobs.equals(bl.anonymise(many, seed=3).jobs)


def test_several_logs_share_their_numbers() -> None:
    """A user is the same in every month."""
    first, second = bl.anonymise([named(user=["a", "b", "c"]), named(user=["c", "c", "b"])], seed=1)
    by_name = dict(zip("abc", first.jobs["user"], strict=True))
    assert second.jobs["user"].to_list() == [by_name["c"], by_name["c"], by_name["b"]]


def test_what_stays() -> None:
    """What is asked for, what a system's description has, the size of the machine; not whose it is."""
    header = bl.Workload.from_table({"submit_time": [0], "run_time": [1], "tasks": [1]}).header.from_fields(
        {"Computer": "Secret", "MaxProcs": 8, "UnixStartTime": 1000, "Note": "by Ann"}
    )
    table = {
        "submit_time": [0],
        "run_time": [1],
        "tasks": [1],
        "partition": ["batch"],
        "account": ["physics"],
    }
    workload = bl.Workload.from_table(table, header=header)
    made = bl.anonymise(workload, keep=["account"], shift=604_800)
    assert made.jobs.equals(workload.jobs)
    assert (made.header.max_processors, made.header.unix_start_time) == (8, 605_800)
    assert made.header.computer is None
    assert not made.header.notes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed = -1; must be a whole number"),
        ({"shift": float("nan")}, "shift = nan; must be a finite number of seconds"),
        ({"keep": ["usr"]}, "keep: 'usr' is no column. Did you mean 'user'"),
    ],
)
def test_what_breaks_a_rule(arguments: dict[str, object], message: str) -> None:
    """The message says which."""
    with pytest.raises(WorkloadError, match=message):
        bl.anonymise(named(user=["a", "b", "c"]), **arguments)  # type: ignore[call-overload]
