"""Parse durations, memory sizes and resource lists in the syntax of Slurm and PBS."""

import re
from string import ascii_letters

import polars as pl

__all__ = ["BINARY_EXPONENTS", "clock_of", "count", "duration", "kilobytes_of", "memory", "resource"]

_CLOCK = r"^\d{1,12}:\d\d:\d\d$"
_DURATION = r"^(?:(\d{1,9})-)?(?:(\d{1,12}):)?(\d{1,12}):(\d{1,12}(?:\.\d*)?)$"
_MEMORY = r"^\d{1,18}(?:\.\d*)?\s*[KkMmGgTtPpEe]?[Bb]?[NnCc]?$"
_PLAIN = r"^\d{1,15}$"
_COUNT = r"^\d{1,15}(?:\.\d*)?[KkMmGg]?$"
_DIGITS = "0123456789."
BINARY_EXPONENTS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
"""The power of 1024 that a unit letter denotes."""
# Keyed by the suffix of the number: GB, MBc, Kn.
_SUFFIXES = {
    f"{letter}{byte}{kind}": (letter, kind)
    for letter in BINARY_EXPONENTS
    for byte in ("", "B")
    for kind in ("", "N", "C")
}
_BINARY = 1024.0
_SIZE = re.compile(r"(\d{1,18}(?:\.\d*)?)([kmgtpe]?)([bw]?)", re.IGNORECASE)
_BYTES_OF_WORD = 8


def duration(text: pl.Expr) -> pl.Expr:
    """Parse ``[days-][hours:]minutes:seconds`` as seconds; null if invalid."""
    bare = text.str.strip_chars()
    is_clock = bare.str.contains(_CLOCK)
    clock = pl.when(is_clock).then(bare)
    shown = [clock.str.head(-6), clock.str.slice(-5, 2), clock.str.tail(2)]
    hour, minute, second = (part.cast(pl.Float64, strict=False) for part in shown)
    # Extracting groups is slow, and most durations are hours, minutes and seconds.
    parts = pl.when(~is_clock).then(bare).str.extract_groups(_DURATION)
    days, hours, minutes, seconds = (
        parts.struct.field(str(index)).cast(pl.Float64, strict=False) for index in range(1, 5)
    )
    other = ((days.fill_null(0) * 24 + hours.fill_null(0)) * 60 + minutes) * 60 + seconds
    return ((hour * 60 + minute) * 60 + second).fill_null(other)


def clock_of(seconds: float) -> str:
    """Format whole seconds in the syntax of `duration`."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{rest:02}"


def memory(text: pl.Expr, unit: str = "M") -> tuple[pl.Expr, pl.Expr]:
    """Parse an amount of memory.

    Parameters
    ----------
    text
        For example ``4Gn``, ``2000Mc`` or ``16G``.
    unit
        The default unit.

    Returns
    -------
    tuple
        The amount in kB, null if invalid; and its scope: ``"N"`` per node, ``"C"`` per processor, ``""`` per
        job.
    """
    number, suffix = _amount(text, _MEMORY)
    exponents = {key: float(BINARY_EXPONENTS[letter or unit]) for key, (letter, _) in _SUFFIXES.items()}
    kinds = {key: kind for key, (_, kind) in _SUFFIXES.items()}
    exponent = suffix.replace_strict(exponents, default=None, return_dtype=pl.Float64)
    kind = suffix.replace_strict(kinds, default=None, return_dtype=pl.String)
    return number * pl.lit(_BINARY).pow(exponent - 1), kind


def kilobytes_of(text: str | None) -> float | None:
    """Parse a PBS size in bytes or words of 8 bytes, such as ``8gb``, ``512mw`` or ``1024``.

    Returns
    -------
    float or None
        kB of 1024 bytes; None if invalid.
    """
    match = None if text is None else _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    words = _BYTES_OF_WORD if match[3] in ("w", "W") else 1
    return float(match[1]) * _BINARY ** (BINARY_EXPONENTS[match[2].upper()] - 1) * words


def _amount(text: pl.Expr, pattern: str) -> tuple[pl.Expr, pl.Expr]:
    """Split texts that match a pattern into the number and its suffix; null without a match."""
    bare = text.str.strip_chars()
    sound = pl.when(bare.str.contains(pattern)).then(bare)
    letters = sound.str.strip_chars_start(_DIGITS).str.strip_chars().str.to_uppercase()
    number = sound.str.strip_chars_end(ascii_letters).str.strip_chars()
    return number.cast(pl.Float64, strict=False), letters


def count(text: pl.Expr) -> pl.Expr:
    """Parse a number with an optional letter for powers of 1024; null if invalid."""
    bare = text.str.strip_chars()
    is_plain = bare.str.contains(_PLAIN)
    number, letter = _amount(pl.when(~is_plain).then(bare), _COUNT)
    factors = {key: _BINARY**exponent for key, exponent in BINARY_EXPONENTS.items()}
    large = number * letter.replace_strict(factors, default=None, return_dtype=pl.Float64)
    return pl.when(is_plain).then(bare).cast(pl.Float64, strict=False).fill_null(large)


def resource(text: pl.Expr, name: str) -> pl.Expr:
    """Extract the amount of one resource from a list such as ``cpu=8,mem=16G,gres/gpu:a100=2``, as text.

    ``name`` is a regular expression.
    """
    return text.str.extract(rf"(?:^|,)\s*{name}=([^,]*)")
