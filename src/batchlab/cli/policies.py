"""``batchlab policies``: what ``--policy`` understands."""

import typer

__all__ = ["EXAMPLES", "policies"]

EXAMPLES = {
    "easy": "first come, first served, with EASY backfilling",
    "sjf": "shortest job first, without backfilling",
    "easy(order=sjf, allocator=best_fit)": "",
    "easy(reservations=3)": "",
    "fcfs(backfill=first_fit)": "",
    "random(7)": "",
    'expression("requested_time * tasks - wait_time")': "",
}


def policies() -> None:
    """List the orders, backfilling rules and allocators."""
    from batchlab.policy import ALLOCATORS, BACKFILLS, ORDERS  # noqa: PLC0415  # --help does without them

    typer.echo(
        "A policy is an order or a backfilling rule, with what differs from the usual in parentheses:\n"
    )
    for spec, meaning in EXAMPLES.items():
        typer.echo(f"  {spec:14}{meaning}".rstrip())
    for title, table in (("Orders", ORDERS), ("Backfilling rules", BACKFILLS), ("Allocators", ALLOCATORS)):
        typer.echo(f"\n{title}\n")
        for name, rule in table.items():
            typer.echo(f"  {name:14}{rule.summary}")
