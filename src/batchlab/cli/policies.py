"""``batchlab policies``: list the values of ``--policy``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.cli.terminal import print_blocks
from batchlab.core.text_tables import Facts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from batchlab.policy import Rule

__all__ = ["EXAMPLES", "policies"]

_WHAT = "A policy is an order or a backfilling rule, with what differs from the usual in parentheses"

EXAMPLES = {
    "easy": "first come, first served, with EASY backfilling",
    "sjf": "shortest job first, without backfilling",
    "easy(order=sjf, allocator=best_fit)": "",
    "easy(reservations=3)": "",
    "easy(predictor=last_two)": "",
    "fcfs(backfill=first_fit)": "",
    "random(7)": "",
    "configured": "what slurm.conf says, if it is the system; slurm(…) replaces single parameters",
    "server_filling": "preemptive: keeps servers busy with the widest of the first jobs",
    "malleable(order=srtf)": "",
    'expression("requested_time * tasks - wait_time")': "",
}


def policies() -> None:
    """List the orders, backfilling rules, disciplines, allocators and predictors."""
    # --help needs none.
    from batchlab.policy import (  # noqa: PLC0415
        ALLOCATORS,
        BACKFILLS,
        DISCIPLINES,
        ORDERS,
        PREDICTORS,
        SCHEDULERS,
    )

    tables = {
        _WHAT: EXAMPLES,
        "Orders": _summaries(ORDERS),
        "Backfilling rules": _summaries(BACKFILLS),
        "Disciplines, which select among running and waiting jobs": _summaries(DISCIPLINES),
        "Schedulers of their own kind": _summaries(SCHEDULERS),
        "Allocators": _summaries(ALLOCATORS),
        "Predictors": _summaries(PREDICTORS),
    }
    print_blocks(*(Facts([*rows.items()], title) for title, rows in tables.items()))


def _summaries(rules: Mapping[str, Rule]) -> dict[str, str]:
    return {name: rule.summary for name, rule in rules.items()}
