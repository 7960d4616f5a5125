"""``batchlab generate`` and ``batchlab mix``: make workloads, by a model, like a log, or from two."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from batchlab.cli.declared_options import takes_reading_options
from batchlab.cli.failure import naming, wrong_usage
from batchlab.cli.options import (  # typer reads the annotations
    MACHINE,
    OUTPUT,
    AnyLog,
    Equivalence,
    SystemFile,
    amounts,
    existing_file,
    numbers,
    out_file,
    seed_number,
    whole_number,
)
from batchlab.cli.recognised import check_kind
from batchlab.cli.request import LogRequest, MachineRequest, located, machine_of_log, read_log
from batchlab.core.late import cli_spooled, experiment_source
from batchlab.core.late import core_python_file as python_file
from batchlab.core.late import generate as models
from batchlab.core.late import generate_mixing as mixing
from batchlab.core.late import workload as batchlab_workload
from batchlab.core.late import workload_custom_formats as custom_formats
from batchlab.core.vocabulary import LublinKind
from batchlab.errors import WorkloadError
from batchlab.workload.log_options import ReadingOptions  # typer reads the annotations

if TYPE_CHECKING:
    from collections.abc import Callable

    from batchlab.generate import Target
    from batchlab.system.system import System
    from batchlab.workload import Workload, Writer


__all__ = ["generate", "mix"]


Model = Literal["lublin", "feitelson", "jann"]
Estimates = Literal["log", "run_time", "tsafrir"]

_LIKE = "Like a log"
_OTHER_LOAD = "leave it out, and change the load in Python: bl.read_swf(FILE).scale_load(1.2)"
_NODES = 128
# The models that use an option. None stands for --like without a model.
_MODELS_OF: dict[str, tuple[Model | None, ...]] = {
    "kind": ("lublin",),
    "load": ("feitelson",),
    **dict.fromkeys(
        (
            "performance",
            "performance_of_log",
            "least",
            "most",
            "period",
            "whole_seconds",
            "start_time",
            "system",
            "equivalence",
        ),
        (None,),
    ),
    **dict.fromkeys(("nodes", "cores"), (None, "lublin", "feitelson")),
    **{each.name: (None, "jann") for each in fields(ReadingOptions)},
}


_ModelName = Annotated[
    Model | None,
    typer.Argument(metavar="[MODEL]", help="Workload model: lublin, feitelson, or jann (fitted to --like)."),
]
_Kind = Annotated[LublinKind, typer.Option(help="Kind of jobs of the model lublin.")]
_Load = Annotated[float, typer.Option(metavar="L", help="Load of the machine, for the model feitelson.")]
_Estimates = Annotated[
    Estimates | None,
    typer.Option(
        help="Requested times: as in the log, equal to the run times, or by the model of Tsafrir et al."
    ),
]
_Like = Annotated[
    Path | None,
    existing_file(
        "Log to imitate, in any format of batchlab run; - for standard input.", _LIKE, metavar="TRACE"
    ),
]
_Performance = Annotated[
    str,
    typer.Option(
        metavar="core=F,…",
        rich_help_panel=_LIKE,
        help="Performance of the machine's resources, GFLOP per second.",
    ),
]
_PerformanceOfLog = Annotated[
    str | None,
    typer.Option(
        metavar="core=F", rich_help_panel=_LIKE, help="Performance of the log's machine. [default: the same]"
    ),
]
_Least = Annotated[
    str, typer.Option(metavar="core=N,…", rich_help_panel=_LIKE, help="Minimum request per node.")
]
_Most = Annotated[
    str, typer.Option(metavar="core=N,…", rich_help_panel=_LIKE, help="Maximum request per node.")
]
_Period = Annotated[
    float | None,
    typer.Option(
        metavar="S", rich_help_panel=_LIKE, help="Period of submissions, seconds. [default: as in the log]"
    ),
]
_StartTime = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        rich_help_panel=_LIKE,
        help="Start of the log, seconds since 1970 UTC. [default: from its header]",
    ),
]
_WholeSeconds = Annotated[
    bool, typer.Option("--whole-seconds", rich_help_panel=_LIKE, help="Round run times to whole seconds.")
]
_Nodes = Annotated[
    int | None,
    whole_number(
        f"Number of identical nodes. [default: from the header of the log; {_NODES} for models]", MACHINE
    ),
]
_Cores = Annotated[int | None, whole_number("Cores of each node.", MACHINE)]
_Out = Annotated[
    Path,
    out_file("Workload file: .swf, .swf.gz, .csv or .parquet."),
]
_Writer = Annotated[
    str | None,
    typer.Option(
        metavar="FILE.py:NAME",
        rich_help_panel=OUTPUT,
        help="Subclass of Writer for any other format.",
    ),
]


@takes_reading_options
def generate(
    context: typer.Context,
    model: _ModelName = None,
    *,
    jobs: Annotated[int, whole_number("Number of jobs.")],
    seed: Annotated[int, seed_number("Seed of the workload.")] = 0,
    kind: _Kind = "all",
    load: _Load = 0.7,
    estimates: _Estimates = None,
    like: _Like = None,
    performance: _Performance = "core=1",
    performance_of_log: _PerformanceOfLog = None,
    least: _Least = "",
    most: _Most = "",
    period: _Period = None,
    whole_seconds: _WholeSeconds = False,
    start_time: _StartTime = None,
    reading: ReadingOptions,
    system: SystemFile = None,
    nodes: _Nodes = None,
    cores: _Cores = None,
    equivalence: Equivalence = None,
    out: _Out,
    writer: _Writer = None,
) -> None:
    """Generate a synthetic workload from a published model, or like a log."""
    request = _Request(
        model, jobs, seed, kind, load, estimates, like, performance, performance_of_log, least, most, period,
        whole_seconds, start_time, MachineRequest(system, nodes, cores, equivalence), reading,
    )  # fmt: skip
    request.check()
    _check_given(context, model)
    write = _writing(out, writer)
    workload = _generated(request)
    write(workload)
    first, *others = repr(workload).splitlines()
    typer.echo("\n".join([first, *others[:-1], f"  written to {out}"]))


@dataclass(frozen=True)
class _Request:
    """The arguments of the command, under their names."""

    model: Model | None
    jobs: int
    seed: int
    kind: LublinKind
    load: float
    estimates: Estimates | None
    like: Path | None
    performance: str
    performance_of_log: str | None
    least: str
    most: str
    period: float | None
    whole_seconds: bool
    start_time: float | None
    machine: MachineRequest
    reading: ReadingOptions

    def check(self) -> None:
        """Raise if arguments contradict each other."""
        if self.model is None and self.like is None:
            raise wrong_usage(
                "is missing: name a model (lublin, feitelson, jann), or pass --like TRACE.", "MODEL"
            )
        if self.model == "jann" and self.like is None:
            raise wrong_usage("takes its parameters from a log; pass --like TRACE.", "jann")
        if self.model in {"lublin", "feitelson"}:
            if self.like is not None:
                raise wrong_usage(
                    f"does not apply to the model {self.model}; leave one of the two out.", "--like"
                )
            if self.machine.system is not None:
                raise wrong_usage(
                    f"does not apply to the model {self.model}; pass --nodes and --cores.", "--system"
                )
        if self.estimates == "log" and self.model is not None:
            raise wrong_usage("log is for workloads like a log without a MODEL; pass tsafrir.", "--estimates")


def _check_given(context: typer.Context, model: Model | None) -> None:
    """Raise if an option has no effect on the model."""
    for option, known in _MODELS_OF.items():
        source = context.get_parameter_source(option)
        if model not in known and source is not None and source.name == "COMMANDLINE":
            named = f"--{option.replace('_', '-')}"
            of = f"the model {model}" if model else "workloads like a log"
            step = "leave it out" if option != "load" else _OTHER_LOAD
            raise wrong_usage(f"has no effect on {of}; {step}.", named)


def _generated(request: _Request) -> Workload:
    """Generate the workload."""
    processors = (request.machine.nodes or _NODES) * (request.machine.cores or 1)
    if request.model == "lublin":
        made = models.lublin(request.jobs, nodes=processors, kind=request.kind, seed=request.seed)
    elif request.model == "feitelson":
        made = models.feitelson(request.jobs, nodes=processors, load=request.load, seed=request.seed)
    elif request.model == "jann":
        made = models.jann(request.jobs, models.JannModel.fit(_log(request)), seed=request.seed)
    else:
        made = _like(request)
    return models.estimates(made, seed=request.seed) if request.estimates == "tsafrir" else made


def _like(request: _Request) -> Workload:

    # Check the options before a long log is read.
    performance = numbers(request.performance, "--performance")
    of_log = request.performance_of_log
    limits = {"min": amounts(request.least, "--least"), "max": amounts(request.most, "--most")}
    machine = request.machine.described
    log = _log(request)
    system: System = machine or machine_of_log(log.header, request.machine)
    return models.like(
        log,
        request.jobs,
        system=system,
        performance=performance,
        performance_of_log=numbers(of_log, "--performance-of-log") if of_log else None,
        request_limits=limits,
        requested_time="run_time" if request.estimates == "run_time" else "log",
        period=request.period,
        whole_seconds=request.whole_seconds,
        seed=request.seed,
    )


def _log(request: _Request) -> Workload:

    path = cli_spooled.spooled(request.like or Path(), "--like")
    check_kind(path, "--like", "log", "table")
    workload = experiment_source.LogFile(path, request.reading.given).load(request.seed)
    return workload if request.start_time is None else workload.starting_at(request.start_time)


def _writing(out: Path, writer: str | None) -> Callable[[Workload], None]:
    """Choose the writer of the file, before the workload is generated."""
    if writer is None and not out.name.lower().endswith(tuple(custom_formats.WRITERS)):
        raise wrong_usage(
            f"{out} must end in {', '.join(custom_formats.WRITERS)}; for other formats pass --writer.",
            "--out",
        )
    own = _own_writer(writer) if writer else None
    return lambda workload: custom_formats.write_workload(workload, out, writer=own)


def _own_writer(text: str) -> Writer:
    """Load the writer from ``FILE.py:NAME``."""
    file, _, name = text.rpartition(":")
    if not file or not Path(file).is_file():
        raise wrong_usage(f"{text!r}; must be FILE.py:NAME, of a file that exists.", "--writer")
    if Path(file).suffix != ".py":
        raise wrong_usage(f"{file} is no Python file.", "--writer")
    with naming("--writer"):
        writer = python_file.defined_in_file(text, "writer", WorkloadError).value
    if not isinstance(writer, custom_formats.Writer):
        raise wrong_usage(f"{file} has no class {name!r} derived from batchlab.Writer.", "--writer")
    return writer


_SUFFIXES = (".csv", ".parquet")

_Targets = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        metavar="SPEC",
        help="Job to insert: 'stencil_3d(size=512), tasks=2048, requested_time=3600'. Repeatable.",
    ),
]
_Background = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SPEC",
        help="Application for jobs of the log, chosen at random: 'allreduce(size=1024), weight=2'. "
        "Repeatable.",
    ),
]
_Share = Annotated[
    float, typer.Option(metavar="F", help="Share of the log's jobs that get an application, from 0 to 1.")
]
_Exclusive = Annotated[bool, typer.Option("--exclusive", help="All jobs use whole, idle nodes.")]
_MixedOut = Annotated[
    Path,
    out_file("Workload file: .csv or .parquet."),
]


@takes_reading_options
def mix(
    trace: AnyLog,
    *,
    target: _Targets = None,
    count: Annotated[int, whole_number("Number of jobs of each target without a count.")] = 1,
    background: _Background = None,
    share: _Share = 1.0,
    exclusive: _Exclusive = False,
    seed: Annotated[int, seed_number("Seed of the mix.")] = 0,
    reading: ReadingOptions,
    out: _MixedOut,
) -> None:
    """Insert application jobs into a log, and assign applications to its own jobs, at random."""
    if not (target or background):
        raise wrong_usage("is missing, and --background as well; give what is to be mixed in.", "--target")
    if not out.name.lower().endswith(_SUFFIXES):
        raise wrong_usage(f"{out} must end in {' or '.join(_SUFFIXES)}; logs have no applications.", "--out")

    # Check the options before a long log is read.
    with naming("--target"):
        targets = [_target(each, count) for each in target or ()]
    with naming("--background"):
        weights = _weights(background or [])
    log = _read_log(trace, reading)
    mixed = models.mix(log, targets, background=weights, share=share, exclusive=exclusive or None, seed=seed)
    batchlab_workload.write_table(mixed, out)
    _print_kinds(mixed, out)


def _target(text: str, count: int) -> Target:
    """Parse a target; `count` is the default number of its jobs."""
    says = "count" in mixing.columns_of(text, "target")[1]
    target = models.Target.parse(text)
    return target if says else replace(target, count=count)


def _weights(texts: list[str]) -> dict[str, float]:

    weights: dict[str, float] = {}
    for text in texts:
        application, columns = mixing.columns_of(text, "background")
        weight = columns.pop("weight", 1)
        if columns or application in weights:
            rule = "takes weight=W only" if columns else "stands there twice; add up its weights"
            raise wrong_usage(f"{text!r}: {rule}.", "--background")
        weights[application] = weight  # type: ignore[assignment]  # checked next
    mixing.weighted(weights)
    return weights


def _read_log(trace: Path, reading: ReadingOptions) -> Workload:
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
