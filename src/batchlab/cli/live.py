"""``batchlab slurm forecast``: when the waiting jobs of a live cluster start."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from batchlab.cli.failure import wrong_usage
from batchlab.cli.options import (  # typer reads the annotations
    OUTPUT,
    RULES,
    OutputFormat,
    Seed,
    SlurmFolder,
    Version,
    existing_file,
    whole_number,
)
from batchlab.cli.output import as_json, print_blocks
from batchlab.core.late import cli_spooled
from batchlab.core.late import slurm as batchlab_slurm
from batchlab.core.late import workload as batchlab_workload

if TYPE_CHECKING:
    from batchlab.slurm import LiveForecast


__all__ = ["forecast"]

_DUMPS = "The dumps"


_Squeue = Annotated[
    Path,
    existing_file(
        "Output of squeue --json, scontrol show job, or squeue -o with the documented format; - for standard "
        "input, as for one of the other dumps.",
        _DUMPS,
    ),
]
_Now = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        rich_help_panel=_DUMPS,
        help="Time of the dumps: seconds since 1970 (date +%s), or 2024-03-01T10:00:00.",
    ),
]
_Nodes = Annotated[Path | None, existing_file("Output of sinfo --json, or scontrol show node.", _DUMPS)]
_Reservations = Annotated[Path | None, existing_file("Output of scontrol show reservation.", _DUMPS)]
_Sprio = Annotated[Path | None, existing_file("Output of sprio.", _DUMPS)]
_History = Annotated[
    Path | None, existing_file("Jobs that ended: output of sacct, for run times and usage.", _DUMPS)
]
_Zone = Annotated[
    str,
    typer.Option(
        metavar="NAME", rich_help_panel=_DUMPS, help="Time zone of dumps as text, as Europe/Berlin."
    ),
]
_Incomplete = Annotated[
    bool,
    typer.Option(
        "--incomplete",
        rich_help_panel=_DUMPS,
        help="Accept dumps in which jobs are hidden: their nodes are out of service.",
    ),
]
_Order = Annotated[
    Literal["configured", "dump"],
    typer.Option(
        rich_help_panel=RULES, help="Order of the jobs: as configured, or by Slurm's present priorities."
    ),
]
_Jobs = Annotated[
    list[int] | None,
    typer.Option(
        "--job",
        metavar="ID",
        rich_help_panel=OUTPUT,
        help="Number of a waiting job. Repeatable. [default: all waiting jobs]",
    ),
]
_Samples = Annotated[int, whole_number("Number of simulated samples.", RULES)]


def forecast(
    *,
    conf: SlurmFolder,
    squeue: _Squeue,
    now: _Now,
    nodes: _Nodes = None,
    reservations: _Reservations = None,
    sprio: _Sprio = None,
    history: _History = None,
    timezone: _Zone = "UTC",
    incomplete: _Incomplete = False,
    version: Version = None,
    order: _Order = "configured",
    samples: _Samples = 200,
    seed: Seed = 0,
    job: _Jobs = None,
    form: OutputFormat = "text",
) -> None:
    """Forecast when the waiting jobs of a live cluster start, from dumps of its commands."""
    configuration = batchlab_slurm.read_configuration(conf, version=version)
    state = batchlab_slurm.read_dump(
        squeue, now=now, nodes=nodes, reservations=reservations, priorities=sprio, timezone=timezone
    )
    state = replace(state, files=tuple(cli_spooled.named_as_given(each) for each in state.files))
    past = None if history is None else batchlab_workload.read_sacct(history, timezone=timezone)
    live = batchlab_slurm.translate_dump(
        state,
        configuration,
        order=order,
        incomplete="keep" if incomplete else "raise",
        history=past,
    )
    known = {each.job_id for each in state.waiting}
    for number in job or ():
        if number not in known:
            raise wrong_usage(
                f"{number}: no such job waits in {squeue}. Give the number of one that does.", "--job"
            )
    found: LiveForecast = live.forecast(samples=samples, seed=seed, jobs=job)
    for remark in live.remarks:
        typer.echo(f"note: {remark}", err=True)
    if form == "json":
        typer.echo(as_json(found.to_dict()))
    else:
        print_blocks(*found.blocks())
