"""Lines of 80 columns, for answers on a terminal."""

from __future__ import annotations

import textwrap

__all__ = ["wrapped"]

_WIDTH = 80


def wrapped(text: str) -> list[str]:
    """Break a text into lines; those after the first are indented."""
    return textwrap.wrap(text, _WIDTH, subsequent_indent="  ", break_long_words=True)
