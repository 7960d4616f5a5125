"""The command ``batchlab anonymise``: a log without names, to send to others."""

from __future__ import annotations

from pathlib import Path  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from batchlab.cli.declared_options import takes_reading_options
from batchlab.cli.failure import naming, wrong_usage
from batchlab.cli.options import AnyLog, out_file, seed_number, system_file
from batchlab.cli.output import print_blocks
from batchlab.cli.request import LogRequest, located, read_log
from batchlab.core.late import report_bundle
from batchlab.core.late import system as batchlab_system
from batchlab.core.late import workload as batchlab_workload
from batchlab.core.late import workload_custom_formats as custom_formats
from batchlab.core.text_tables import Facts
from batchlab.workload.log_options import ReadingOptions  # noqa: TC001  # typer reads the annotations

if TYPE_CHECKING:
    from batchlab.workload import Workload

__all__ = ["anonymise"]

_Out = Annotated[Path, out_file("Anonymous log: .csv, .parquet, .swf or .swf.gz.")]
_Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep-column",
        metavar="COLUMN",
        help="Column to leave unchanged. Repeatable.",
    ),
]
_System = Annotated[
    Path | None,
    system_file("Machine of the log: columns with names of its description stay, such as its accounts."),
]
_KeepOrder = Annotated[
    bool,
    typer.Option(
        "--keep-order",
        help="Number names in sorted order, so that neighbouring nodes stay neighbours. "
        "[default: in random order]",
    ),
]


@takes_reading_options
def anonymise(
    trace: AnyLog,
    *,
    keep: _Keep = None,
    keep_order: _KeepOrder = False,
    seed: Annotated[int, seed_number("Seed of the random order of names.")] = 0,
    reading: ReadingOptions,
    system: _System = None,
    out: _Out,
) -> None:
    """Replace the names of users, groups, accounts, jobs and hosts in a log by numbers."""
    if not out.name.lower().endswith(tuple(custom_formats.WRITERS)):
        raise wrong_usage(f"{out} must end in {', '.join(custom_formats.WRITERS)}.", "--out")
    machine = None if system is None else batchlab_system.read_system(system)
    log = read_log(LogRequest.of(located(trace), reading), machine)
    kept = () if machine is None else report_bundle.named_by(machine, log)
    with naming("--keep-column"):
        chosen = dict.fromkeys([*(keep or ()), *kept])
        made = batchlab_workload.anonymise(log, seed=seed, keep_order=keep_order, keep=[*chosen])
    custom_formats.write_workload(made, out)
    facts = [("replaced", ", ".join(_replaced(log, made)) or "nothing")]
    if kept:
        facts.append(("names kept", f"{', '.join(kept)}: the machine refers to them"))
    print_blocks(Facts([("written to", str(out)), *facts]))


def _replaced(log: Workload, made: Workload) -> list[str]:
    """Return the columns that differ."""
    return [name for name in log.jobs.columns if not log.jobs[name].equals(made.jobs[name])]
