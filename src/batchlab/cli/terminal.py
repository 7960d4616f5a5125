"""What answers are written to: a terminal of some width, or a file, which takes lines of any length."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import typer

from batchlab.text_tables import drawn

if TYPE_CHECKING:
    from batchlab.text_tables import Block

__all__ = ["print_blocks", "width"]

_NARROWEST = 40


def width() -> int | None:
    """Give how many signs fit on a line of standard output; None where it is no terminal."""
    if not sys.stdout.isatty():
        return None
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal():
        return max(int(given), _NARROWEST)
    try:
        found = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return None
    # A terminal that does not know its width says 0.
    return max(found, _NARROWEST) if found else None


def print_blocks(*blocks: Block) -> None:
    """Print blocks as wide as the terminal is, in colours where it has some."""
    forced = bool(os.environ.get("FORCE_COLOR"))
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    colour = not plain and (forced or sys.stdout.isatty())
    typer.echo(drawn(blocks, width(), colour=colour), color=colour)
