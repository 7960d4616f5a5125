"""``batchlab mix``: insert target jobs into a log, and let its jobs run applications in the background."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from batchlab.cli.failure import is_in_directory, wrong_usage
from batchlab.cli.log import located, read_log
from batchlab.cli.options import OUTPUT, seed_number, whole_number
from batchlab.cli.reading import takes_reading_options
from batchlab.cli.request import LogRequest
from batchlab.workload.log_options import ReadingOptions  # noqa: TC001  # typer reads the annotations

if TYPE_CHECKING:
    from batchlab.generate import Target
    from batchlab.workload import Workload

__all__ = ["mix"]

_SUFFIXES = (".csv", ".parquet")

_Trace = Annotated[
    Path, typer.Argument(metavar="TRACE", help="The log, as for batchlab run: a file, a name, or -.")
]
_Targets = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        metavar="SPEC",
        help="A job to insert: 'stencil_3d(size=512), tasks=2048, requested_time=3600'. Once for each kind.",
    ),
]
_Background = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SPEC",
        help="What jobs of the log run in place of their run times, one of these at random: "
        "'allreduce(size=1024), weight=2'. Once for each.",
    ),
]
_Share = Annotated[
    float, typer.Option(metavar="F", help="The part of the log's jobs that run one, from 0 to 1.")
]
_Exclusive = Annotated[
    bool, typer.Option("--exclusive", help="All jobs take nodes that are idle, and take them whole.")
]
_Out = Annotated[
    Path,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        dir_okay=False,
        callback=is_in_directory,
        rich_help_panel=OUTPUT,
        help="The workload: .csv or .parquet.",
    ),
]


@takes_reading_options
def mix(
    trace: _Trace,
    *,
    target: _Targets = None,
    count: Annotated[int, whole_number("How many of each target, where it does not say.")] = 1,
    background: _Background = None,
    share: _Share = 1.0,
    exclusive: _Exclusive = False,
    seed: Annotated[int, seed_number("Other seeds make other mixes.")] = 0,
    reading: ReadingOptions,
    out: _Out,
) -> None:
    """Insert jobs that run an application at random points of a log; give its own jobs others at random."""
    if not (target or background):
        raise wrong_usage("is missing, and --background as well; give what is to be mixed in.", "--target")
    if not out.name.lower().endswith(_SUFFIXES):
        raise wrong_usage(f"{out} must end in {' or '.join(_SUFFIXES)}; logs have no applications.", "--out")
    from batchlab import generate  # noqa: PLC0415  # --help does without NumPy
    from batchlab.workload import write_table  # noqa: PLC0415  # here too

    # Check the options before a long log is read.
    targets = [_target(each, count) for each in target or ()]
    weights = _weights(background or [])
    log = _log(trace, reading)
    mixed = generate.mix(
        log, targets, background=weights, share=share, exclusive=exclusive or None, seed=seed
    )
    write_table(mixed, out)
    _print_kinds(mixed, out)


def _target(text: str, count: int) -> Target:
    """Parse a target; `count` is the default number of its jobs."""
    from batchlab.generate import Target  # noqa: PLC0415  # as above
    from batchlab.generate.mixing import columns_of  # noqa: PLC0415  # here too

    says = "count" in columns_of(text, "target")[1]
    target = Target.parse(text)
    return target if says else replace(target, count=count)


def _weights(texts: list[str]) -> dict[str, float]:
    from batchlab.generate.mixing import columns_of, weighted  # noqa: PLC0415  # as above

    weights: dict[str, float] = {}
    for text in texts:
        application, columns = columns_of(text, "background")
        weight = columns.pop("weight", 1)
        if columns or application in weights:
            rule = "takes weight=W only" if columns else "stands there twice; add up its weights"
            raise wrong_usage(f"{text!r}: {rule}.", "--background")
        weights[application] = weight  # type: ignore[assignment]  # checked next
    weighted(weights)
    return weights


def _log(trace: Path, reading: ReadingOptions) -> Workload:
    unlike = replace(reading, overrun=reading.overrun or "extend", use_memory=bool(reading.use_memory))
    return read_log(LogRequest.of(located(trace), unlike))


def _print_kinds(mixed: Workload, out: Path) -> None:
    """Print the numbers of jobs by kind."""
    first, *others = repr(mixed).splitlines()
    kinds = (
        mixed.jobs.group_by("mixed", "app_name", maintain_order=True).len("jobs").sort("mixed", "app_name")
    )
    lines = [
        f"  {'as in the log' if role is None else role:<14}{name if role else '':<14}{number:>9,}"
        for role, name, number in kinds.iter_rows()
    ]
    typer.echo("\n".join([first, *others[:-1], *lines, f"  written to {out}"]))
