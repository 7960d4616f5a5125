"""Random cases with service rates that are controlled."""

import random
from dataclasses import replace

from reference.rates import Control
from support.schedule_cases import Case

__all__ = ["RULES", "controlled"]

RULES = ("constant", "random", "count", "workload", "ondemand", "schedutil")
# Sums and products of these are exact, so that coinciding instants stay so.
RATES = (0.25, 0.5, 1.0, 2.0, 4.0)


def controlled(case: Case, rng: random.Random) -> Case:
    """Control the rates of the whole machine, or of some of its groups."""
    groups = range(len(case.machine.groups))
    if len(groups) > 1 and rng.random() < 0.5:
        first = tuple(groups[: rng.randint(1, len(groups) - 1)])
        rest = tuple(group for group in groups if group not in first)
        controls = [random_control(case, rng, first)]
        if rng.random() < 0.6:
            controls.append(random_control(case, rng, rest))
        return replace(case, controls=tuple(controls))
    return replace(case, controls=(random_control(case, rng, ()),))


def random_control(case: Case, rng: random.Random, groups: tuple[int, ...]) -> Control:
    """Make a control: of two rates mostly, sometimes a longer ladder."""
    rule = rng.choice(RULES)
    rates = tuple(sorted(rng.sample(RATES, rng.choice((2, 2, 2, 3)))))
    steps = len(rates) - 1
    most = 6 if rule == "count" else sum(job.run_time for job in case.jobs) / 2 + 1
    low = sorted(float(rng.randint(0, int(most))) for _ in range(steps))
    high = [bottom + rng.randint(0, int(most)) for bottom in low]
    coins = tuple(rng.randrange(1000) / 1000 for _ in range(4 * len(case.jobs)))
    return Control(
        rule,
        rates,
        low=tuple(low),
        high=tuple(sorted(high)),
        up=rng.choice((0.0, 0.3, 0.6, 1.0)),
        down=rng.choice((0.0, 0.4, 1.0)),
        coins=coins,
        weighted=rng.random() < 0.3,
        printed=rng.random() < 0.3,
        threshold=rng.choice((0.5, 0.8, 1.0)),
        window=rng.choice((5.0, 50.0)),
        interval=rng.choice((1.0, 7.0, 30.0)),
        groups=groups,
    )
