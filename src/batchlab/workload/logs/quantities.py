"""Parse durations, memory sizes, resource lists and generic resources in the syntax of Slurm and PBS."""

import re
from collections.abc import Iterable, Mapping
from string import ascii_letters

import polars as pl

from batchlab.workload.resource_names import resource_of

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


ASKED = "asked in all: "
"""Prefix of record columns with the total amount of a generic resource that a job requests."""

_ENTRY = r"gres[/:][^,]+"
_OF_JOB = re.compile(r"gres[/:]([^:=,]+)(?::([^=,]*))?=(\d{1,15}(?:\.\d+)?)([KkMmGgTt]?)$")
# A list of an old version may begin with gres: or gres/, and end in sockets or an index: gpu:v100:1(S:0).
_OF_NODE = re.compile(
    r"(?:gres[/:])?([^:=,()]+)(?::([^:=,()]*[^:=,()\d][^:=,()]*))?(?:[:=](\d{1,15})([KkMmGgTt]?))?(?:\(.*\))?$"
)
_SPLIT = re.compile(r",(?![^(]*\))")
# Spellings of an empty list.
_NOTHING = {"", "(null)", "N/A", "none", "None", "0"}


def of_job(text: str) -> dict[str, float]:
    """Return the amounts of generic resources in a list of trackable resources, by resource.

    A resource may appear with its types and without: ``gres/gpu=4,gres/gpu:a100=4`` means four.

    Examples
    --------
    >>> of_job("billing=8,cpu=8,gres/gpu=4,gres/gpu:a100=4,gres/fpga:x=1"), of_job("cpu=8")
    ({'gpu': 4.0, 'fpga': 1.0}, {})
    """
    return _summed(_OF_JOB.match(part.strip()) for part in text.split(","))


def of_node(text: str) -> dict[str, float]:
    """Return the amounts in a list of generic resources, by resource.

    Examples
    --------
    >>> of_node("gpu:2"), of_node("gres:gpu:a100:4"), of_node("mps:50,gpu:v100:1(S:0)")
    ({'gpu': 2.0}, {'gpu': 4.0}, {'gpu': 1.0, 'mps': 50.0})
    """
    if text.strip() in _NOTHING:
        return {}
    return _summed(_OF_NODE.match(part.strip()) for part in _SPLIT.split(text))


def _summed(matches: Iterable[re.Match[str] | None]) -> dict[str, float]:
    plain: dict[str, float] = {}
    typed: dict[str, float] = {}
    for match in matches:
        if match is None:
            continue
        name = resource_of(f"gres/{match[1]}")
        amount = float(match[3] or 1) * _BINARY ** BINARY_EXPONENTS[match[4].upper() if match[4] else ""]
        into = typed if match[2] else plain
        into[name] = into.get(name, 0.0) + amount
    return {**typed, **plain}


def with_totals(table: pl.DataFrame, nodes: pl.Expr) -> pl.DataFrame:
    """Add a column with the total request for each generic resource.

    Parameters
    ----------
    table
        The text of sacct's fields, null if missing.
    nodes
        The nodes of each job, for fields with amounts per node.

    Returns
    -------
    polars.DataFrame
        With the columns `ASKED` + resource, null for jobs that do not request it.
    """
    of_nodes = pl.coalesce(
        pl.when(~pl.col(name).str.strip_chars().is_in([*_NOTHING])).then(name)
        for name in ("trespernode", "reqgres")
    )
    texts = table.select(
        pl.when(pl.col("reqtres").str.contains("gres", literal=True))
        .then("reqtres")
        .str.extract_all(_ENTRY)
        .list.join(",")
        .replace("", None)
        .alias("job"),
        pl.when(~pl.col("tresperjob").str.strip_chars().is_in([*_NOTHING])).then("tresperjob").alias("whole"),
        of_nodes.alias("node"),
        nodes.fill_null(1.0).alias("nodes"),
    )
    known: dict[str, list[pl.Expr]] = {}
    for column, read, times in (
        ("job", of_job, 1.0),
        ("whole", of_node, 1.0),
        ("node", of_node, pl.col("nodes")),
    ):
        amounts = {text: read(text) for text in texts[column].unique().drop_nulls()}
        for name in names_of(amounts.values()):
            values = {text: found[name] for text, found in amounts.items() if name in found}
            each = pl.col(column).replace_strict(
                [*values], [*values.values()], default=None, return_dtype=pl.Float64
            )
            known.setdefault(name, []).append(each * times)
    totals = texts.select(pl.coalesce(found).alias(f"{ASKED}{name}") for name, found in known.items())
    return table.with_columns(totals.get_columns())


def names_of(found: Iterable[Mapping[str, float]]) -> list[str]:
    """Return the distinct resources with a positive request."""
    return [*dict.fromkeys(name for each in found for name, amount in each.items() if amount > 0)]


def asked_columns(columns: Iterable[str]) -> dict[str, str]:
    """Return the columns of totals in a table, by resource."""
    return {name.removeprefix(ASKED): name for name in columns if name.startswith(ASKED)}
