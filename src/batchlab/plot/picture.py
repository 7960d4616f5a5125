"""Files of figures, with the mark by which batchlab recognises its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from batchlab.core.outputs import output

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

__all__ = ["save_picture"]

# The metadata field of each format that has the name of the program.
_FIELDS = {"png": "Software", "pdf": "Creator", "svg": "Creator"}


def save_picture(
    figure: Figure, path: Path, *, dpi: float, bbox_inches: Literal["tight"] | None = None
) -> None:
    """Write a figure, completely or not at all.

    Parameters
    ----------
    figure
        The figure.
    path
        The file, ending in ``.png``, ``.pdf`` or ``.svg``.
    dpi
        Dots per inch.
    bbox_inches
        ``"tight"`` cuts the margins.

    Raises
    ------
    OutputError
        If the file is an input, or was not written by batchlab.
    OSError
        If the file cannot be written.
    """
    form = path.suffix.lower().removeprefix(".")
    with output(path, "wb") as file:
        figure.savefig(
            file, format=form, dpi=dpi, bbox_inches=bbox_inches, metadata={_FIELDS[form]: "batchlab"}
        )
