"""The answer of a command, on standard output."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from batchlab.cli.memory import peak_memory
from batchlab.cli.terminal import print_blocks
from batchlab.text_tables import Facts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from batchlab.cli.options import Format
    from batchlab.result.result import Result
    from batchlab.text_tables import Block

__all__ = ["as_json", "tell", "tell_result", "warn"]


def as_json(document: object) -> str:
    """Write an answer for programs."""
    import json  # noqa: PLC0415  # the page for people does without

    return json.dumps(document, indent=2, ensure_ascii=False)


def tell(
    blocks: Callable[[], Sequence[Block]],
    metrics: Callable[[], Mapping[str, object]],
    form: Format,
    directory: Path | None,
    *,
    warnings: Iterable[str] = (),
    further: Iterable[tuple[str, str]] = (),
) -> None:
    """Print what came of a run, and where it was written.

    Parameters
    ----------
    blocks, metrics
        The page for people, and the numbers for programs; the one that is wanted is called.
    form
        ``"text"`` or ``"json"``.
    directory
        Where the run was written, if anywhere.
    warnings
        What the page for people holds anyway; with numbers for programs it goes to standard error.
    further
        What the page for people ends with: names and texts.
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


def tell_result(
    result: Result, form: Format, directory: Path | None, further: Iterable[tuple[str, str]] = ()
) -> None:
    """Print a result, as `tell` does."""
    from batchlab.result.summary import blocks  # noqa: PLC0415  # --help does without

    tell(
        lambda: blocks(result.facts, result.metrics(), result.elapsed, result.warnings),
        result.metrics,
        form,
        directory,
        warnings=result.warnings,
        further=further,
    )


def warn(warnings: Iterable[str]) -> None:
    """Print warnings on standard error, each once and on a line of its own."""
    for text in dict.fromkeys(warnings):
        sys.stderr.write(f"batchlab: warning: {text}\n")
