"""``batchlab elastisim``: run an ElastiSim project unchanged."""

from __future__ import annotations

import sys
from contextlib import ExitStack, redirect_stdout
from functools import partial
from pathlib import Path  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated, cast

import typer

from batchlab.cli.failure import at_least_one, check_directory, is_pace, wrong_usage
from batchlab.cli.guarded import check_named
from batchlab.cli.interruption import wait_no_longer
from batchlab.cli.memory import peak_memory
from batchlab.cli.options import FormatOption, existing_file, out_directory  # typer reads the annotations
from batchlab.cli.output import print_result
from batchlab.cli.progress import progress_bar
from batchlab.cli.recognised import check_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from batchlab.bridge.elastisim.runner import Run
    from batchlab.result.result import Result
    from batchlab.simulation import Simulation

__all__ = ["elastisim"]


_Configuration = Annotated[
    Path,
    typer.Argument(metavar="CONFIGURATION", exists=True, dir_okay=False, help="Its configuration.json."),
]
_Algorithm = Annotated[
    Path | None,
    existing_file(
        "Its scheduling algorithm; waits at zmq_url for one that connects unless given.", metavar="FILE.py"
    ),
]
_Protocol = Annotated[
    bool, typer.Option("--protocol", help="Run the algorithm as a process of its own, over ZeroMQ.")
]
_Replay = Annotated[Path | None, existing_file("Take the answers of a transcript instead.")]
_Record = Annotated[
    Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Gets a transcript of this run.")
]
_Timeout = Annotated[
    float,
    typer.Option(
        metavar="S", callback=is_pace, help="How long to wait for a process's connection and answers."
    ),
]
_Patience = Annotated[
    int,
    typer.Option(
        metavar="CALLS",
        callback=at_least_one,
        help="Give up after so many periodic calls in a row at which nothing runs, comes or is decided.",
    ),
]
_Out = Annotated[
    Path | None,
    out_directory(
        "Gets jobs.csv, metrics.json, manifest.json and the other files of a run; ElastiSim's own go where "
        "the configuration says."
    ),
]


def elastisim(
    context: typer.Context,
    configuration: _Configuration,
    *,
    algorithm: _Algorithm = None,
    protocol: _Protocol = False,
    replay: _Replay = None,
    record: _Record = None,
    timeout: _Timeout = 600.0,
    patience: _Patience = 1_000,
    out: _Out = None,
    form: FormatOption = "text",
) -> None:
    """Run an ElastiSim project unchanged: its platform, jobs, application models and scheduling algorithm."""
    check_directory(out)
    if replay is not None and (algorithm is not None or protocol):
        raise wrong_usage("goes without --algorithm and --protocol; leave them out.", "--replay")
    if protocol and algorithm is None:
        raise wrong_usage("needs an algorithm to run; add --algorithm FILE.py.", "--protocol")
    check_kind(configuration, "CONFIGURATION", "elastisim")
    # The algorithm may be a separate process, which must be stopped on Ctrl-C.
    wait_no_longer()
    from batchlab.bridge import elastisim as bridge  # noqa: PLC0415  # --help does without
    from batchlab.core.outputs import protect  # noqa: PLC0415  # as above

    said = bridge.read_configuration(configuration)
    protect(said.jobs_file, said.platform_file)
    if out is not None:
        check_named("elastisim", "out", out)
    _make_room(out, said.outputs)
    if algorithm is None and replay is None:
        typer.echo(f"waiting for an algorithm at {said.zmq_url} …", err=True)
    # Keep the algorithm's prints out of standard output.
    with redirect_stdout(sys.stderr):
        run = bridge.run(
            configuration,
            algorithm,
            protocol=protocol,
            replay=replay,
            record=record,
            timeout=timeout,
            patience=patience,
            drive=partial(_watched, title=configuration.name, progress=said.show_progress_bar),
        )
    for note in run.project.notes:
        typer.echo(f"note: {note}", err=True)
    written = run.write()
    if out is not None:
        inputs = _inputs(run, configuration, algorithm)
        run.result.write(out, inputs=inputs, command=cast("str", context.obj))
    print_result(run.result, form, out, _more(run, written))


def _watched(simulation: Simulation, *, title: str, progress: bool) -> Result:
    """Run a simulation that ``batchlab watch`` can query, with a progress bar if the project asks for one."""
    from batchlab.monitor import Monitor  # noqa: PLC0415  # --help does without

    with ExitStack() as stack:
        bar = stack.enter_context(progress_bar(title)) if progress else None
        monitor = Monitor(simulation, title=title, memory=peak_memory, progress=bar)
        return stack.enter_context(monitor).run()


def _make_room(out: Path | None, outputs: Mapping[str, Path]) -> None:
    """Remove the files of an earlier run, after checking that the files of this run do not collide."""
    from batchlab.bridge.elastisim import clear  # noqa: PLC0415  # --help does without
    from batchlab.result.manifest import remove_run  # noqa: PLC0415  # as above

    _check_apart(out, outputs)
    clear(outputs.values())
    if out is not None:
        remove_run(out)


def _check_apart(out: Path | None, outputs: Mapping[str, Path]) -> None:
    """Raise if ElastiSim's files and batchlab's would replace each other in the directory."""
    from batchlab.result.manifest import is_output  # noqa: PLC0415  # --help does without

    if out is None:
        return
    for key, path in outputs.items():
        if is_output(path.name) and path.parent.resolve() == out.resolve():
            raise wrong_usage(
                f"{out} gets a {path.name} of batchlab's, and the configuration's {key} would replace it; "
                "choose another directory.",
                "--out",
            )


def _inputs(run: Run, configuration: Path, algorithm: Path | None) -> dict[str, Path]:
    """Return the input files by role."""
    said = run.project.configuration
    found = {"configuration": configuration, "jobs": said.jobs_file, "platform": said.platform_file}
    return found | ({"algorithm": algorithm} if algorithm else {})


def _more(run: Run, written: list[Path]) -> Iterable[tuple[str, str]]:
    yield "algorithm", f"called {run.calls:,} times"
    for folder in dict.fromkeys(path.parent for path in written):
        names = ", ".join(path.name for path in written if path.parent == folder)
        yield "as ElastiSim", f"{folder}: {names}"
