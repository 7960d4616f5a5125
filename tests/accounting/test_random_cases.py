"""Random trees, usage and jobs: the kernel gives what the plain Python of the specification gives."""

from dataclasses import dataclass, field
from random import Random

import polars as pl
import pytest

import batchlab as bl
from batchlab.core.vocabulary import FAIR_SHARE_RULES, FAVOURED_SIZES
from reference import fair_share as reference
from reference import multifactor
from reference.fair_share import Member

CASES = range(1500)


def _chance(seed: object) -> Random:
    """Give numbers that are the same for the same seed."""
    return Random(str(seed))  # noqa: S311  # no secrets here


@dataclass
class Tree:
    """Accounts for the kernel, members for the reference, and what was charged to each."""

    accounts: list[bl.Account] = field(default_factory=list)
    root: Member = field(default_factory=lambda: Member("root"))
    usage: dict[tuple[str, str | None], float] = field(default_factory=dict)


def grow(chance: Random) -> Tree:
    """Make a tree whose nodes tie often: small whole shares and amounts, some 0, some the parent's."""
    tree = Tree()
    accounts = [("root", tree.root)]
    for number in range(chance.randint(0, 7)):
        parent, above = chance.choice(accounts)
        shares = None if chance.random() < 0.15 else float(chance.randint(1, 3))
        member = Member(f"account{number}", shares)
        above.members.append(member)
        accounts.append((member.name, member))
        _populate(tree, chance, member, parent)
    _populate(tree, chance, tree.root, "root")
    chance.shuffle(tree.accounts)
    return tree


def _populate(tree: Tree, chance: Random, member: Member, parent: str) -> None:
    users: dict[str, object] = {}
    for number in range(chance.randint(0, 3)):
        shares = chance.choice([0.0, None, 1.0, 1.0, 2.0, 3.0])
        user = Member(
            f"{member.name}/{number}", shares, user=True, usage=float(chance.choice([0, 0, 1, 2, 2, 4]))
        )
        member.members.append(user)
        users[user.name] = "parent" if shares is None else shares
        if user.usage:
            tree.usage[member.name, user.name] = user.usage
    if chance.random() < 0.1:
        member.usage = float(chance.randint(1, 5))
        tree.usage[member.name, None] = member.usage
    own = "parent" if member.shares is None else member.shares
    tree.accounts.append(bl.Account(member.name, parent, own, users))  # type: ignore[arg-type]  # shares


@pytest.mark.parametrize("rule", FAIR_SHARE_RULES)
def test_fair_share_of_random_trees(rule: str) -> None:
    """Factors are those of the reference: ranks exactly, powers to twelve digits."""
    ties = 0
    for seed in CASES:
        chance = _chance(f"{rule} {seed}")
        tree = grow(chance)
        damping, least = chance.choice([1.0, 2.0, 0.5]), chance.choice([0.0, 1.0, 3.0])
        table = bl.accounting.fair_share(tree.accounts, tree.usage, rule, damping=damping, least_usage=least)  # type: ignore[arg-type]  # a name
        found = dict(table.filter(pl.col("user").is_not_null()).select("user", "factor").iter_rows())
        expected = _expected(tree, rule, damping, least)
        ranks = rule in {"fair_tree", "pbs"}
        assert found == (expected if ranks else pytest.approx(expected, rel=1e-12, abs=1e-300)), seed
        ties += len(set(found.values())) < len(found)
    assert ties > len(CASES) / 10


def _expected(tree: Tree, rule: str, damping: float, least_usage: float) -> dict[str, float]:
    """Give the reference's factors."""
    match rule:
        case "classic":
            return reference.classic(tree.root, damping)
        case "depth_oblivious":
            return reference.depth_oblivious(tree.root)
        case "fair_tree":
            return reference.fair_tree(tree.root)
    return reference.pbs(tree.root, least_usage)


@pytest.mark.parametrize("decay", ["exact", "slurm", "steps"])
def test_usage_of_random_jobs(decay: str) -> None:
    """Jobs that start and end at any time between passes are charged as piece by piece."""
    account = bl.Account("a", users={"u": 1})
    for seed in range(700):
        chance = _chance(f"{decay} {seed}")
        half_life, period = chance.choice([50.0, 300.0, 86_400.0]), chance.choice([7.0, 60.0])
        settings = bl.FairShare(
            decay=decay,  # type: ignore[arg-type]  # one of the names
            half_life=half_life,
            decay_factor=0.5,
            decay_period=period,
        )
        usage = bl.accounting.Usage([account], settings)
        jobs = [
            (chance.choice([0.0, 1.0, 2.5]), start := chance.uniform(0, 300), start + chance.uniform(0, 200))
            for _ in range(chance.randint(0, 8))
        ]
        passes = [period * at for at in range(int(500 / period) + 1)]
        calls = [(start, 0, (rate, start, end)) for rate, start, end in jobs]
        calls += [(end, 1, (rate, start, end)) for rate, start, end in jobs if end < passes[-1]]
        calls += [(now, 2, (0.0, 0.0, 0.0)) for now in passes]
        for now, kind, (rate, start, _) in sorted(calls):
            if kind == 0:
                usage.start("a", "u", rate, start)
            elif kind == 1:
                usage.end("a", "u", rate, start, now)
            else:
                usage.calculate(now)
        expected = {
            "exact": lambda: reference.exact(jobs, passes[-1], half_life),  # noqa: B023  # called at once
            "slurm": lambda: reference.slurm(jobs, passes, half_life),  # noqa: B023
            "steps": lambda: reference.stepped(jobs, passes[-1], 0.5, period),  # noqa: B023
        }[decay]()
        table = usage.table(passes[-1])
        assert table["usage"].to_list() == pytest.approx([expected] * 3, rel=1e-12, abs=1e-9), seed


def test_priorities_of_random_jobs() -> None:
    """Factors, sums and priorities of jobs are those of the reference."""
    chance = _chance(11)
    for _ in range(300):
        machine = (chance.randint(1, 64), chance.randint(64, 512))
        favour, max_age = chance.choice(FAVOURED_SIZES), chance.choice([60.0, 604_800.0])
        names = ("age", "association", "fair_share", "job_size", "partition", "qos")
        weights = {name: chance.choice([0, 1, 1000, 12_345]) for name in names}
        tres = {"cpu": chance.choice([0, 300]), "mem": 200}
        rows = [_job(chance, machine) for _ in range(5)]
        found = bl.accounting.priority(
            pl.DataFrame(rows, infer_schema_length=None),
            nodes=machine[0],
            processors=machine[1],
            weights=weights,
            resources=tres,
            max_age=max_age,
            favour=favour,
        )
        for row, total, priority in zip(rows, found["total"], found["priority"], strict=True):
            factors = {
                **row,
                "age": multifactor.age(row["eligible_for"], max_age),
                "job_size": multifactor.size(
                    favour, row["nodes"], row["processors"], row["requested_time"] / 60, machine
                ),
            }
            expected = multifactor.total({**weights, **tres}, factors, row["nice"], row["site"])
            assert total == pytest.approx(expected, rel=1e-12, abs=1e-9)
            assert priority == multifactor.priority(total)


def _job(chance: Random, machine: tuple[int, int]) -> dict[str, float]:
    parts = ("association", "fair_share", "partition", "qos", "cpu", "mem")
    return {
        "eligible_for": chance.choice([-10.0, 0.0, 59.0, 1e5, 1e7]),
        "nodes": float(chance.randint(1, machine[0])),
        "processors": float(chance.randint(1, machine[1])),
        "requested_time": chance.choice([1.0, 600.0, 86_400.0]),
        "nice": chance.choice([0.0, 500.0, -1e10]),
        "site": chance.choice([0.0, 77.0]),
        **{name: chance.random() for name in parts},
    }
