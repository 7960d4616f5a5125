"""The answer of a command, on standard output."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import typer

from batchlab.cli.memory import peak_memory
from batchlab.cli.options import Format

__all__ = ["as_json", "tell", "warn"]


def as_json(document: object) -> str:
    """Write an answer for programs."""
    return json.dumps(document, indent=2, ensure_ascii=False)


def tell(
    summary: Callable[[], str],
    metrics: Callable[[], Mapping[str, object]],
    form: Format,
    directory: Path | None,
    warnings: Iterable[str] = (),
) -> None:
    """Print what came of a run, and where it was written.

    Parameters
    ----------
    summary, metrics
        The page for people, and the numbers for programs; the one that is wanted is called.
    form
        ``"text"`` or ``"json"``.
    directory
        Where the run was written, if anywhere.
    warnings
        What the page for people holds anyway; with numbers for programs it goes to standard error.
    """
    if form == "json":
        warn(warnings)
        typer.echo(as_json(metrics()))
        return
    typer.echo(summary())
    typer.echo()
    if (memory := peak_memory()) is not None:
        typer.echo(f"memory        {memory / 1e6:,.0f} MB at most")
    if directory is not None:
        files = json.loads((directory / "manifest.json").read_text("utf-8"))["outputs"]
        typer.echo(f"written to    {directory}: {', '.join([*files, 'manifest.json'])}")


def warn(warnings: Iterable[str]) -> None:
    """Print warnings on standard error, each once and on a line of its own."""
    for text in dict.fromkeys(warnings):
        sys.stderr.write(f"batchlab: warning: {text}\n")
