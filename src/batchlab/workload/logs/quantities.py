"""Durations, amounts of memory and lists of resources, as Slurm and PBS write them."""

import polars as pl

__all__ = ["count", "duration", "memory", "resource"]

_DURATION = r"^(?:(\d{1,9})-)?(?:(\d{1,12}):)?(\d{1,12}):(\d{1,12}(?:\.\d*)?)$"
_MEMORY = r"^(\d{1,18}(?:\.\d*)?)\s*([KkMmGgTtPpEe]?)(?:[Bb]?)([NnCc]?)$"
_COUNT = r"^(\d{1,15}(?:\.\d*)?)([KkMmGg]?)$"
_EXPONENT = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_BINARY = 1024.0


def duration(text: pl.Expr) -> pl.Expr:
    """Read ``[days-][hours:]minutes:seconds`` as seconds; null where it is none."""
    parts = text.str.strip_chars().str.extract_groups(_DURATION)
    days, hours, minutes, seconds = (
        parts.struct.field(str(index)).cast(pl.Float64, strict=False) for index in range(1, 5)
    )
    return ((days.fill_null(0) * 24 + hours.fill_null(0)) * 60 + minutes) * 60 + seconds


def memory(text: pl.Expr, unit: str = "M") -> tuple[pl.Expr, pl.Expr]:
    """Read an amount of memory.

    Parameters
    ----------
    text
        As ``4Gn``, ``2000Mc`` or ``16G``.
    unit
        Where none is written.

    Returns
    -------
    tuple
        kB, null where it is no amount; and what it is for: ``"N"`` a node, ``"C"`` a processor, ``""`` the
        job.
    """
    parts = text.str.strip_chars().str.extract_groups(_MEMORY)
    number = parts.struct.field("1").cast(pl.Float64, strict=False)
    letter = parts.struct.field("2").str.to_uppercase().replace("", unit)
    factor = letter.replace_strict(_EXPONENT, default=None, return_dtype=pl.Float64)
    return number * pl.lit(_BINARY).pow(factor - 1), parts.struct.field("3").str.to_uppercase()


def count(text: pl.Expr) -> pl.Expr:
    """Read a number, perhaps with a letter for powers of 1024; null where it is none."""
    parts = text.str.strip_chars().str.extract_groups(_COUNT)
    letter = parts.struct.field("2").str.to_uppercase()
    factor = letter.replace_strict(_EXPONENT, default=None, return_dtype=pl.Float64)
    return parts.struct.field("1").cast(pl.Float64, strict=False) * pl.lit(_BINARY).pow(factor)


def resource(text: pl.Expr, name: str) -> pl.Expr:
    """Take the amount of one resource out of a list as ``cpu=8,mem=16G,gres/gpu:a100=2``, as text.

    ``name`` is a pattern.
    """
    return text.str.extract(rf"(?:^|,)\s*{name}=([^,]*)")
