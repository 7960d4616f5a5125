"""Random cases that are ordered by priorities of several factors, and by scores that grow (S12)."""

import random
from dataclasses import replace
from math import inf

from reference import Account, Job, Machine, Multifactor, Quality, Sharing
from support.queue_cases import queued
from support.schedule_cases import Case


def prioritised(case: Case, rng: random.Random) -> Case:
    """Let jobs be ordered by the multifactor priority, most of the time with accounts (S12)."""
    case = queued(case, rng) if rng.random() < 0.6 else case
    accounts = random_accounts(rng) if rng.random() < 0.7 else ()
    qualities = rng.choice(((), (Quality("high", 10.0, 2.0), Quality("low", 1.0, 0.0), Quality("none"))))
    rule = random_rule(rng, case, accounts=bool(accounts), qualities=bool(qualities))
    partitions = tuple(
        replace(each, priority_factor=rng.choice((0.0, 1.0, 1.0, 3.0))) for each in case.machine.partitions
    )
    slurm = bool(rule.period) and rng.random() < 0.4
    machine = replace(
        case.machine,
        partitions=partitions,
        accounts=accounts,
        qualities=qualities,
        sharing=random_sharing(rng, case.machine, accounts, slurm=slurm),
    )
    users = [(each.name, user) for each in accounts for user, _ in each.users]
    users += [] if accounts else [("physics", "ann")]

    def of_user(job: Job) -> Job:
        account, user = rng.choice([*users, (None, None)])
        return replace(
            job,
            nice=rng.choice((0.0, 0.0, -5.0, 100.0)),
            user=user,
            account=account if rng.random() < 0.5 else None,
            qos=rng.choice([*(each.name for each in qualities), None]),
        )

    jobs = tuple(of_user(job) for job in case.jobs)
    return replace(case, machine=machine, jobs=jobs, order="multifactor", order_argument=rule)


def random_rule(rng: random.Random, case: Case, *, accounts: bool, qualities: bool) -> Multifactor:
    """Make a multifactor priority; times are on the grid of the case."""
    unit = max(0.1, min((job.requested_time for job in case.jobs if job.requested_time), default=1.0))

    def weight() -> float:
        return rng.choice((0.0, 10.0, 1000.0))

    resources = rng.sample(case.machine.resources, rng.choice((0, 0, 1)))
    return Multifactor(
        age=weight(),
        association=weight() if accounts else 0.0,
        fair_share=rng.choice((0.0, 1000.0, 100_000.0)) if accounts else 0.0,
        job_size=weight(),
        partition=weight() if case.machine.partitions else 0.0,
        qos=weight() if qualities else 0.0,
        tres=tuple((name, rng.choice((1.0, 500.0))) for name in resources),
        max_age=unit * rng.choice((1, 7, 1000)),
        favour=rng.choice(("large", "small", "large_for_time", "small_for_time")),
        period=unit * rng.choice((0.0, 0.0, 0.5, 1.0, 3.0, 30.0)),
    )


def random_accounts(rng: random.Random) -> tuple[Account, ...]:
    """Make a tree of accounts, some of them within others; a user may be in several."""

    def users() -> tuple[tuple[str, float | None], ...]:
        names = rng.sample(("ann", "ben", "cyd", "dee"), rng.randint(0, 3))
        return tuple((name, rng.choice((1.0, 1.0, 2.0, 0.0, None))) for name in names)

    def account(name: str, parent: str = "root") -> Account:
        shares = rng.choice((1.0, 1.0, 3.0, None))
        return Account(name, parent, shares, users(), rng.choice((0.0, 5.0, 10.0)))

    tree = [account("physics"), account("biology")]
    tree += [account("optics", "physics")] if rng.random() < 0.5 else []
    tree += [Account("root", users=(("eve", 1.0),))] if rng.random() < 0.3 else []
    return tuple(tree)


def random_sharing(
    rng: random.Random, machine: Machine, accounts: tuple[Account, ...], *, slurm: bool
) -> Sharing:
    """Make a way to count usage; mostly exactly, so that equal users are equal to the last bit."""
    members = [(each.name, user) for each in accounts for user in (*dict(each.users), None)]
    used = rng.sample(members, rng.randint(0, min(2, len(members))))
    return Sharing(
        rule=rng.choice(("fair_tree", "classic", "depth_oblivious", "pbs")),
        decay="slurm" if slurm else rng.choice(("exact", "exact", "steps")),
        half_life=rng.choice((inf, inf, 10.0, 1000.0)),
        damping=rng.choice((1.0, 2.0)),
        weights=rng.choice(((), tuple(rng.choice((0.0, 1.0, 2.0)) for _ in machine.resources))),
        max_tres=rng.random() < 0.3,
        decay_period=rng.choice((7.0, 1000.0)),
        least_usage=rng.choice((1.0, 50.0)),
        usage=tuple((account, user, rng.choice((1.0, 64.0))) for account, user in used),
    )


def scored(case: Case, rng: random.Random) -> Case:
    """Let jobs be ordered by scores that grow."""
    jobs = tuple(replace(job, score=rng.choice((0.0, 1.0, 2.5, -3.0))) for job in case.jobs)
    return replace(case, jobs=jobs, order="sbp", order_argument=rng.choice((0.0, 0.1, 2.0)))
