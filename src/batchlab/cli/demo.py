"""``batchlab demo``: see what batchlab does before having a log at hand."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  # typer reads the annotations
from typing import Annotated, cast

import typer

from batchlab.cli.answer import tell
from batchlab.cli.failure import at_least_one, check_directory, is_seed
from batchlab.cli.request import Format  # noqa: TC001  # here too
from batchlab.cli.run import simulate_with_progress

__all__ = ["demo"]

_COMPARED = ("fcfs", "sjf", "easy", "conservative")


def demo(
    context: typer.Context,
    *,
    policy: Annotated[
        str, typer.Option(metavar="SPEC", help="Who runs next, and where; see batchlab policies.")
    ] = "easy",
    jobs: Annotated[
        int, typer.Option(metavar="N", callback=at_least_one, help="How many jobs to make up.")
    ] = 2000,
    seed: Annotated[
        int, typer.Option(metavar="N", callback=is_seed, help="Other seeds make up other jobs.")
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", file_okay=False, help="Gets jobs.csv, metrics.json, manifest.json."),
    ] = None,
    form: Annotated[Format, typer.Option("--format", help="How to print the answer.")] = "text",
) -> None:
    """Make up a small workload, run it, and compare a few policies on it."""
    check_directory(out)
    from batchlab.generate import demo_system, demo_workload  # noqa: PLC0415  # --help does without polars
    from batchlab.policy import Policy  # noqa: PLC0415
    from batchlab.result.summary import compare  # noqa: PLC0415

    chosen = Policy.parse(policy)
    workload, system = demo_workload(jobs, seed=seed), demo_system()
    result = simulate_with_progress(workload, system, chosen, seed=seed)
    if out is not None:
        result.write(out, command=cast("str", context.obj))
    tell(result.summary, result.metrics, form, out)
    if form != "text":
        return
    others = [Policy.parse(name) for name in _COMPARED]
    results = [
        result if other == chosen else simulate_with_progress(workload, system, other, seed=seed)
        for other in others
    ]
    typer.echo(f"\nThe same jobs under other policies:\n\n{compare(results)}")
    typer.echo("\nNow a log of your own: batchlab run LOG.swf.gz --nodes 120 --cores 4 --policy easy")
