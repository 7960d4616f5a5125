"""The width and colours of the terminal for printed results; files get lines of any length."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import typer

from batchlab.core.text_tables import render

if TYPE_CHECKING:
    from batchlab.core.text_tables import Block

__all__ = ["print_blocks", "width"]

_NARROWEST = 40


def width() -> int | None:
    """Return the line length of standard output, in characters; None if it is not a terminal."""
    if not sys.stdout.isatty():
        return None
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal():
        return max(int(given), _NARROWEST)
    try:
        found = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return None
    # A terminal of unknown width reports 0.
    return max(found, _NARROWEST) if found else None


def print_blocks(*blocks: Block) -> None:
    """Print blocks in the width of the terminal, in colours if it supports them."""
    forced = bool(os.environ.get("FORCE_COLOR"))
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    colour = not plain and (forced or sys.stdout.isatty())
    typer.echo(render(blocks, width(), colour=colour), color=colour)
