"""Print the results of a command on standard output."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from batchlab.cli.memory import peak_memory
from batchlab.cli.terminal import print_blocks
from batchlab.core.text_tables import Facts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from batchlab.cli.options import Format
    from batchlab.core.text_tables import Block
    from batchlab.result.result import Result

__all__ = ["as_json", "print_answer", "print_result", "warn"]


def as_json(document: object) -> str:
    """Return the document as JSON text."""
    import json  # noqa: PLC0415  # the page for people does without

    return json.dumps(document, indent=2, ensure_ascii=False)


def print_answer(
    blocks: Callable[[], Sequence[Block]],
    metrics: Callable[[], Mapping[str, object]],
    form: Format,
    directory: Path | None,
    *,
    warnings: Iterable[str] = (),
    further: Iterable[tuple[str, str]] = (),
) -> None:
    """Print the results of a run, and where they were written.

    Parameters
    ----------
    blocks, metrics
        Functions for the text page and for the numbers; only the one needed is called.
    form
        ``"text"`` or ``"json"``.
    directory
        The directory of the run's files; None if nothing was written.
    warnings
        Warnings for standard error with JSON; the text page already has them.
    further
        Names and texts at the end of the text page.
    """
    if form == "json":
        warn(warnings)
        typer.echo(as_json(metrics()))
        return
    last = [*further]
    if directory is not None:
        import json  # noqa: PLC0415  # as above

        files = json.loads((directory / "manifest.json").read_text("utf-8"))["outputs"]
        last.insert(0, ("written to", f"{directory}: {', '.join([*files, 'manifest.json'])}"))
    if (memory := peak_memory()) is not None:
        last.insert(0, ("memory", f"{memory / 1e6:,.0f} MB at most"))
    print_blocks(*blocks(), *([Facts(last)] if last else []))


def print_result(
    result: Result, form: Format, directory: Path | None, further: Iterable[tuple[str, str]] = ()
) -> None:
    """Print a result like `print_answer`."""
    from batchlab.result.summary import blocks  # noqa: PLC0415  # --help does without

    print_answer(
        lambda: blocks(result.facts, result.metrics(), result.elapsed, result.warnings),
        result.metrics,
        form,
        directory,
        warnings=result.warnings,
        further=further,
    )


def warn(warnings: Iterable[str]) -> None:
    """Print each distinct warning on standard error, one line each."""
    for text in dict.fromkeys(warnings):
        sys.stderr.write(f"batchlab: warning: {text}\n")
