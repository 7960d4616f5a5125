"""``batchlab policies``: what ``--policy`` understands."""

import typer

__all__ = ["EXAMPLES", "policies"]

EXAMPLES = {
    "easy": "first come, first served, with EASY backfilling",
    "sjf": "shortest job first, without backfilling",
    "easy(order=sjf, allocator=best_fit)": "",
    "easy(reservations=3)": "",
    "easy(predictor=last_two)": "",
    "fcfs(backfill=first_fit)": "",
    "random(7)": "",
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

    typer.echo(
        "A policy is an order or a backfilling rule, with what differs from the usual in parentheses:\n"
    )
    for spec, meaning in EXAMPLES.items():
        typer.echo(f"  {spec:14}{meaning}".rstrip())
    tables = {
        "Orders": ORDERS,
        "Backfilling rules": BACKFILLS,
        "Disciplines, which select among running and waiting jobs": DISCIPLINES,
        "Policies that resize jobs": SCHEDULERS,
        "Allocators": ALLOCATORS,
        "Predictors": PREDICTORS,
    }
    for title, table in tables.items():
        typer.echo(f"\n{title}\n")
        for name, rule in table.items():
            typer.echo(f"  {name:20}{rule.summary}")
