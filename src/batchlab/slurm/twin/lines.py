"""Text wrapped at 80 columns, for output in a terminal."""

from __future__ import annotations

import textwrap

__all__ = ["wrapped"]

_WIDTH = 80


def wrapped(text: str) -> list[str]:
    """Wrap a text into lines; continuation lines are indented."""
    return textwrap.wrap(text, _WIDTH, subsequent_indent="  ", break_long_words=True)
