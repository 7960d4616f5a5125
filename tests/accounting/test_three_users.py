"""Fair share with three users, by hand: the factors at every pass, and who starts next.

Ann, bob and cy have 5, 3 and 2 of 10 shares, at the root. Jobs of one core take 10 s, one after the other,
and use fades with a half-life of 10 s. A run is worth u = 10 (1 - 1/2) / ln 2 at its end, and half as much
10 s later. So at 0, 10, 20, ... usage is, in units of u, and F = 2^-(usage / (sum x share)):

    time  usage of ann, bob, cy  sum     exponents of F           next
    0     0      0     0         0       0       0      0         ann (all equal: the first row)
    10    1      0     0         1       2       0      0         bob (equal to cy: the first row)
    20    1/2    1     0         3/2     2/3     20/9   0         cy
    30    1/4    1/2   1         7/4     2/7     20/21  20/7      ann
    40    9/8    1/4   1/2       15/8    6/5     4/9    4/3       bob
    50    9/16   9/8   1/4       31/16   18/31   60/31  20/31     ann
    60    41/32  9/16  1/8       63/32   82/63   20/21  20/63     cy
    70    41/64  9/32  17/16     127/64  82/127  60/127 340/127   bob
"""

import math

import polars as pl
import pytest

import batchlab as bl

USERS = ("ann", "bob", "cy")
SHARES = {"ann": 5, "bob": 3, "cy": 2}
STARTS = {"ann": [0, 30, 50], "bob": [10, 40, 70], "cy": [20, 60]}
USAGE = [
    (0, 0, 0),
    (1, 0, 0),
    (1 / 2, 1, 0),
    (1 / 4, 1 / 2, 1),
    (9 / 8, 1 / 4, 1 / 2),
    (9 / 16, 9 / 8, 1 / 4),
    (41 / 32, 9 / 16, 1 / 8),
    (41 / 64, 9 / 32, 17 / 16),
]
EXPONENTS = [
    (0, 0, 0),
    (2, 0, 0),
    (2 / 3, 20 / 9, 0),
    (2 / 7, 20 / 21, 20 / 7),
    (6 / 5, 4 / 9, 4 / 3),
    (18 / 31, 60 / 31, 20 / 31),
    (82 / 63, 20 / 21, 20 / 63),
    (82 / 127, 60 / 127, 340 / 127),
]


def test_factors_at_every_pass() -> None:
    """Usage and factors are those of the table above to 1e-12, and so is the order of the jobs."""
    system = bl.System.homogeneous(
        nodes=1,
        resources={"core": 1},
        accounts=(bl.Account("root", users=SHARES),),
        fair_share=bl.FairShare(rule="classic", half_life=10.0),
    )
    owners = [user for user in USERS for _ in STARTS[user]]
    jobs = bl.Workload.from_table(
        {"submit_time": [0] * 8, "run_time": [10] * 8, "tasks": [1] * 8, "user": owners}
    )
    result = bl.simulate(jobs, system, "multifactor(fair_share=1000000, period=0)", usage=True)
    assert result.jobs["start_time"].to_list() == [time for user in USERS for time in STARTS[user]]
    table = result.usage.filter(pl.col("user").is_not_null(), pl.col("time") < 80)
    unit = 10 * (1 - 1 / 2) / math.log(2)
    for place, user in enumerate(USERS):
        rows = table.filter(user=user).sort("time")
        assert rows["time"].to_list() == [10 * number for number in range(8)]
        assert rows["usage"].to_list() == pytest.approx([unit * row[place] for row in USAGE], abs=1e-12)
        assert rows["factor"].to_list() == pytest.approx([2 ** -row[place] for row in EXPONENTS], abs=1e-12)
