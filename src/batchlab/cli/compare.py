"""``batchlab compare``: one log, one machine, several policies."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal, cast

import typer

from batchlab.cli.crossing import Wish, carry_out, check_report
from batchlab.cli.failure import at_least_one, check_directory, is_seed, wrong_usage
from batchlab.cli.log import catalogued_machine, located, read_log
from batchlab.cli.machine import check_memory, described_machine, machine_of_log
from batchlab.cli.request import (  # noqa: TC001  # here too
    Format,
    Invalid,
    OrderAtInstant,
    Overrun,
    Processors,
    WallTime,
)

__all__ = ["compare"]

_MACHINE, _READING, _RULES, _OUTPUT = "The machine", "Reading the log", "The rules", "The answer"
_USUAL = ("fcfs", "easy", "easy(order=sjf)", "conservative")


def compare(
    context: typer.Context,
    trace: Annotated[
        Path,
        typer.Argument(
            metavar="TRACE",
            help="The log: SWF (.gz too), CSV or Parquet; or the name of a fetched one (batchlab traces).",
        ),
    ],
    *,
    system: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            rich_help_panel=_MACHINE,
            help="Its description (TOML, JSON).",
        ),
    ] = None,
    nodes: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            callback=at_least_one,
            rich_help_panel=_MACHINE,
            help="Equal nodes; as the log's header says unless given.",
        ),
    ] = None,
    cores: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            callback=at_least_one,
            rich_help_panel=_MACHINE,
            help="Cores of each node; 1 with --nodes unless given.",
        ),
    ] = None,
    policy: Annotated[
        list[str],
        typer.Option(
            metavar="SPEC",
            rich_help_panel=_RULES,
            help="Who runs next, and where; once for each policy. See batchlab policies.",
        ),
    ] = list(_USUAL),  # noqa: B006  # typer never changes it
    seed: Annotated[
        int,
        typer.Option(
            metavar="N", callback=is_seed, rich_help_panel=_RULES, help="For policies that use chance."
        ),
    ] = 0,
    replications: Annotated[
        int,
        typer.Option(metavar="N", callback=at_least_one, rich_help_panel=_RULES, help="Runs of each policy."),
    ] = 1,
    walltime: Annotated[
        WallTime,
        typer.Option(rich_help_panel=_RULES, help="Past its requested time a job runs on, or is killed."),
    ] = "run",
    order_at_instant: Annotated[
        OrderAtInstant,
        typer.Option(rich_help_panel=_RULES, help="What comes first of what happens at one time."),
    ] = "completions_first",
    dispatch: Annotated[
        bool,
        typer.Option(
            "--dispatch", rich_help_panel=_RULES, help="Record what each decision costs; takes longer."
        ),
    ] = False,
    overrun: Annotated[
        Overrun,
        typer.Option(
            rich_help_panel=_READING,
            help="Run time above requested time: extend the request, cut the run, keep both.",
        ),
    ] = "extend",
    invalid: Annotated[
        Invalid, typer.Option(rich_help_panel=_READING, help="Jobs that break a rule: drop them, or stop.")
    ] = "drop",
    processors: Annotated[
        Processors,
        typer.Option(rich_help_panel=_READING, help="The field of an SWF log that is taken first."),
    ] = "requested",
    use_memory: Annotated[
        bool,
        typer.Option(
            "--use-memory",
            rich_help_panel=_READING,
            help="Jobs of an SWF log ask for memory too: mem, in kB.",
        ),
    ] = False,
    executor: Annotated[
        Literal["threads", "processes"], typer.Option(rich_help_panel=_OUTPUT, help="Who does the runs.")
    ] = "threads",
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N", callback=at_least_one, rich_help_panel=_OUTPUT, help="How many runs at a time."
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            file_okay=False,
            rich_help_panel=_OUTPUT,
            help="Keeps finished runs for another time.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            file_okay=False,
            rich_help_panel=_OUTPUT,
            help="Gets tables, figures and manifest.json.",
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", rich_help_panel=_OUTPUT, help="Gets a report in HTML.")
    ] = None,
    form: Annotated[
        Format, typer.Option("--format", rich_help_panel=_OUTPUT, help="How to print the answer.")
    ] = "text",
) -> None:
    """Replay a log under several policies, and tell how they differ."""
    check_directory(out)
    check_directory(store, "--store")
    check_report(report)
    from batchlab.experiment import Experiment, LogFile  # noqa: PLC0415  # --help does without
    from batchlab.experiment.plan import as_policy  # noqa: PLC0415

    # What is wrong with a policy or a system shall not wait until a long log is read.
    policies = {str(each): each for each in map(as_policy, policy)}
    if len(policies) < len(policy):
        raise wrong_usage(
            f"names a policy twice; different are: {', '.join(policies)}. Leave one out.", "--policy"
        )
    machine = described_machine(system, nodes, cores)
    log, name = located(trace)
    workload = read_log(log, overrun=overrun, invalid=invalid, processors=processors, use_memory=use_memory)
    machine = machine or catalogued_machine(name, cores) or machine_of_log(workload.header, cores)
    check_memory(machine, use_memory)
    experiment = Experiment(
        {LogFile(log).label: workload},
        machine,
        policies,
        seeds=seed,
        replications=replications,
        walltime=walltime,
        order_at_instant=order_at_instant,
        dispatch=dispatch,
    )
    with TemporaryDirectory(prefix="batchlab-") if store is None else nullcontext(store) as directory:
        wish = Wish(
            title=LogFile(log).label,
            executor=executor,
            workers=workers,
            store=Path(directory),
            kept=store is not None,
            out=out,
            report=report,
            baseline=None,
            plots=None,
            form=form,
            inputs={"trace": log} | ({"system": system} if system else {}),
            command=cast("str", context.obj),
        )
        carry_out(experiment, wish)
