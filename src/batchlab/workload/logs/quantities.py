"""Amounts in logs (durations, memory, resources), and the requests of jobs made of them (S3).

A logged job requests processors, and optionally nodes and generic resources such as GPUs. Without the latter
two, each processor is a task. A job that requests N nodes only has one task per node.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_letters
from typing import Self

import numpy as np
import polars as pl

from batchlab.workload.logs.reading import Notes, Reading
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


CHUNKS = "equal chunks asked for"
"""Record column: number of equal one-node chunks of a job, if the log has it; 0 or null if each processor is
a task."""

NODES = "nodes asked for"
"""Record column: number of requested nodes, null if not in the log."""

MOST_PER_NODE = "processors of tasks on a node"
"""Record column: maximum number of processors of a job per node."""

WHOLE = "asks for whole nodes"
"""Record column: whether a job requested whole nodes."""

MEMORY = "memory in all"
"""Record column: total memory requested by a job, kB; null if it was requested per processor."""

WHOLE_MEMORY = "asks for all memory"
"""Record column: whether a job requested all memory of its nodes."""

REQUESTS = (NODES, CHUNKS, MOST_PER_NODE, WHOLE, MEMORY, WHOLE_MEMORY)

_GIVEN_NODES = "nodes asked for are not logged: at least so many as were given taken"
_ONE_NODE = "nodes of a job with generic resources are not logged: one taken"
_ROUNDED = "processors or generic resources do not divide evenly among the nodes: rounded up on each"
_ALL_MEMORY = "asks for all memory of its nodes: whole nodes taken"


def with_chunks(jobs: pl.DataFrame, notes: Notes, reading: Reading) -> pl.DataFrame:
    """Add the columns of requests per task.

    Parameters
    ----------
    jobs
        With ``tasks``, the processors of each job, ``memory`` in kB per processor, ``allocated_nodes``, and
        the available columns of `REQUESTS` and totals of generic resources.
    notes
        Collects remarks on assumptions.
    reading
        Whether to use memory, and which processor field takes precedence.

    Returns
    -------
    polars.DataFrame
        With new ``tasks``; ``core`` (processors per task), ``mem`` (kB), ``tasks_per_node`` and ``exclusive``
        if a job needs them; and a column for each generic resource.
    """
    if NODES not in jobs.columns and CHUNKS not in jobs.columns:
        return jobs.with_columns(pl.col("memory").alias("mem")) if reading.use_memory else jobs
    generic = asked_columns(jobs.columns)
    is_said = CHUNKS in jobs.columns
    lacking = [name for name in (*REQUESTS, "allocated_nodes") if name not in jobs.columns]
    jobs = jobs.with_columns(pl.lit(None).alias(name) for name in lacking)
    totals = [*generic.values()]
    forms = _Forms.said(jobs, totals) if is_said else _Forms.of(jobs, totals, reading)
    forms.remark(jobs, totals, notes, reading)
    is_chunk = forms.chunks > 0
    tasks = pl.when(is_chunk).then(forms.chunks).otherwise("tasks")
    core = pl.when(is_chunk).then((pl.col("tasks") / tasks).ceil()).otherwise(1.0)
    columns = [tasks.alias("tasks")]
    if is_chunk.any():
        columns.append(core.cast(pl.Int64, strict=False).alias("core"))
    columns += [
        (pl.col(total).fill_null(0.0) / tasks).ceil().cast(pl.Int64, strict=False).alias(name)
        for name, total in generic.items()
    ]
    if (forms.most > 0).any():
        columns.append(pl.lit(forms.most.cast(pl.Int64)).alias("tasks_per_node"))
    if forms.exclusive.any():
        columns.append(pl.lit(forms.exclusive).alias("exclusive"))
    if reading.use_memory:
        # Slurm counts memory per processor: all processors of a task have the same share.
        of_job = (pl.col(MEMORY).cast(pl.Float64) / tasks / core).ceil() * core
        columns.append(pl.coalesce(of_job, pl.col("memory") * core).alias("mem"))
    return jobs.with_columns(columns).drop(*REQUESTS, *generic.values())


@dataclass(frozen=True)
class _Forms:
    """The form of each request: how it is divided into tasks.

    Attributes
    ----------
    chunks
        Number of tasks if each has several processors or generic resources; 0 if each processor is a task.
    most
        Maximum number of tasks per node; 0 for no bound.
    exclusive
        Whether nodes are allocated exclusively.
    takes_given
        Whether the allocated nodes replace missing requested nodes.
    takes_one
        Whether one node is assumed, since the log has no nodes.
    """

    chunks: pl.Series
    most: pl.Series
    exclusive: pl.Series
    takes_given: pl.Series
    takes_one: pl.Series

    @classmethod
    def of(cls, jobs: pl.DataFrame, totals: Sequence[str], reading: Reading) -> Self:
        """Derive the forms from requested and allocated nodes."""
        frame = _facts(jobs, totals, reading).with_columns(
            (
                pl.col("asked").is_not_null() & ~(pl.col("given") > pl.col("nodes")).fill_null(value=False)
            ).alias("exact"),
            (pl.col("tasks") / pl.col("nodes")).ceil().alias("each"),
        )
        several = pl.col("nodes") > 1
        # Uneven processors can be expressed as a bound per node if the bound implies the same number of
        # nodes.
        is_even = pl.col("tasks") % pl.col("nodes") == 0
        is_bounded = (pl.col("tasks") / pl.col("each")).ceil() == pl.col("nodes")
        by_node = pl.col("exact") & several & (is_even | ~is_bounded | pl.col("exclusive"))
        on_nodes = pl.col("generic") & (pl.col("exact") | pl.col("asked").is_null())
        frame = frame.with_columns((by_node | on_nodes).alias("by_node"))
        spread = pl.col("generic") & ~pl.col("by_node")
        chosen = frame.select(
            pl.when("by_node").then("nodes").otherwise(0.0).alias("chunks"),
            pl.when("by_node").then(1.0).when(several & ~spread).then("each").otherwise(0.0).alias("most"),
            spread.alias("spread"),
            (pl.col("asked").is_null() & several).alias("takes_given"),
            (pl.col("asked").is_null() & ~several & pl.col("generic")).alias("takes_one"),
        )
        chunks = chosen["chunks"]
        if chosen["spread"].any():
            chunks = chunks.zip_with(~chosen["spread"], _spread(jobs, frame, totals))
        return cls(chunks, chosen["most"], frame["exclusive"], chosen["takes_given"], chosen["takes_one"])

    @classmethod
    def said(cls, jobs: pl.DataFrame, totals: Sequence[str]) -> Self:
        """Use the forms in the log.

        A job with generic resources and unknown chunks is divided into as many equal chunks of whole numbers
        as possible.
        """
        none = pl.zeros(jobs.height, pl.Int64, eager=True) > 0
        generic = jobs.select(pl.any_horizontal(pl.lit(value=False), *(pl.col(name) > 0 for name in totals)))
        chunks = jobs[CHUNKS].cast(pl.Float64).fill_null(0.0)
        unknown = (chunks == 0) & generic.to_series().fill_null(value=False)
        if unknown.any():
            chunks = chunks.zip_with(~unknown, _common(jobs["tasks"], jobs, totals))
        core = pl.when(chunks > 0).then((pl.col("tasks") / chunks).ceil()).otherwise(1.0)
        most = (_known(MOST_PER_NODE) / core).floor().clip(lower_bound=1.0).fill_null(0.0)
        whole = jobs[WHOLE].cast(pl.Boolean).fill_null(value=False)
        return cls(chunks, jobs.select(most.alias("most")).to_series(), whole, none, none)

    def remark(self, jobs: pl.DataFrame, totals: Sequence[str], notes: Notes, reading: Reading) -> None:
        """Add remarks on missing fields and rounded amounts."""
        chunks = self.chunks.replace(0.0, None)
        uneven = pl.zeros(jobs.height, pl.Int64, eager=True) > 0
        for name in ("tasks", *totals):
            uneven |= (jobs[name] % chunks != 0).fill_null(value=False)
        remarks = [
            ("noted", _GIVEN_NODES, self.takes_given),
            ("noted", _ONE_NODE, self.takes_one),
            ("mended", _ROUNDED, uneven),
        ]
        if reading.use_memory:
            remarks.append(("noted", _ALL_MEMORY, jobs[WHOLE_MEMORY].cast(pl.Boolean).fill_null(value=False)))
        for outcome, reason, where in remarks:
            if where.any():
                found = jobs.filter(where)
                notes.add(outcome, reason, found["line"], found["job_id"])


def _facts(jobs: pl.DataFrame, totals: Sequence[str], reading: Reading) -> pl.DataFrame:
    """Return the facts that determine the form of a request; ``nodes`` is the number of nodes to use."""
    asked, given = (_known(name) for name in (NODES, "allocated_nodes"))
    if reading.processors == "allocated":
        asked = pl.coalesce(given, asked)
    bounded = (pl.col("tasks") / _known(MOST_PER_NODE)).ceil()
    asks_generic = pl.any_horizontal(pl.lit(value=False), *(pl.col(name) > 0 for name in totals))
    exclusive = pl.col(WHOLE).cast(pl.Boolean).fill_null(value=False)
    if reading.use_memory:
        exclusive |= pl.col(WHOLE_MEMORY).cast(pl.Boolean).fill_null(value=False)
    return jobs.select(
        "tasks",
        pl.max_horizontal(asked, bounded).alias("asked"),
        given.alias("given"),
        asks_generic.fill_null(value=False).alias("generic"),
        exclusive.alias("exclusive"),
    ).with_columns(pl.coalesce("asked", "given", pl.lit(1.0)).alias("nodes"))


def _known(name: str) -> pl.Expr:
    number = pl.col(name).cast(pl.Float64, strict=False)
    return pl.when(number >= 1).then(number)


def _spread(jobs: pl.DataFrame, frame: pl.DataFrame, totals: Sequence[str]) -> pl.Series:
    """Return the number of chunks of jobs whose generic resources may be on any number of nodes.

    Use the largest number of equal chunks of whole numbers, but at least the number of allocated nodes.
    """
    common = _common(frame["tasks"], jobs, totals)
    given = frame["given"].fill_null(1.0)
    return common.zip_with(common >= given, given)


def _common(tasks: pl.Series, jobs: pl.DataFrame, totals: Sequence[str]) -> pl.Series:
    """Return the greatest common divisor of the processors and the generic resources of each job."""
    amounts = [tasks, *(jobs[name].fill_null(0.0) for name in totals)]
    whole = [each.ceil().clip(0, 2**53).cast(pl.Int64).to_numpy() for each in amounts]
    return pl.Series("chunks", np.gcd.reduce(np.array(whole), axis=0)).cast(pl.Float64)
