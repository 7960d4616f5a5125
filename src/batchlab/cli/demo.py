"""``batchlab demo``: try batchlab without a log."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated, cast

import typer

from batchlab.cli.failure import check_directory
from batchlab.cli.options import (  # here too
    FormatOption,
    out_directory,
    policy_spec,
    seed_number,
    whole_number,
)
from batchlab.cli.output import print_result
from batchlab.cli.progress import progress_bar
from batchlab.cli.terminal import print_blocks

if TYPE_CHECKING:
    from batchlab.policy import Policy
    from batchlab.result.result import Result
    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = ["demo"]

_COMPARED = ("fcfs", "sjf", "easy", "conservative")


def demo(
    context: typer.Context,
    *,
    policy: Annotated[str, policy_spec("Which job runs next, and where; see batchlab policies.")] = "easy",
    jobs: Annotated[int, whole_number("How many jobs to make up.")] = 2000,
    seed: Annotated[int, seed_number("Other seeds make up other jobs.")] = 0,
    out: Annotated[Path | None, out_directory("Gets jobs.csv, metrics.json, manifest.json.")] = None,
    form: FormatOption = "text",
) -> None:
    """Make up a small workload, run it, and compare a few policies on it."""
    check_directory(out)
    from batchlab.generate import demo_system, demo_workload  # noqa: PLC0415  # --help does without polars
    from batchlab.policy import Policy  # noqa: PLC0415
    from batchlab.policy.load import policy_of  # noqa: PLC0415
    from batchlab.result.summary import compare  # noqa: PLC0415

    chosen = policy_of(policy)
    workload, system = demo_workload(jobs, seed=seed), demo_system()
    result = _simulated(workload, system, chosen, seed)
    if out is not None:
        result.write(out, command=cast("str", context.obj))
    print_result(result, form, out)
    if form != "text":
        return
    others = [Policy.parse(name) for name in _COMPARED]
    results = [result if other == chosen else _simulated(workload, system, other, seed) for other in others]
    runs = [(str(each.policy), each.metrics()) for each in results]
    typer.echo("\nThe same jobs under other policies:\n")
    print_blocks(compare(runs))
    typer.echo("\nNow a log of your own: batchlab run LOG.swf.gz --nodes 120 --cores 2 --policy easy")


def _simulated(workload: Workload, system: System, policy: Policy, seed: int) -> Result:
    import batchlab  # noqa: PLC0415  # the library is imported when it is needed

    with progress_bar(str(policy)) as progress:
        return batchlab.simulate(workload, system, policy, seed=seed, progress=progress)
