"""The report on a Slurm configuration in 80 columns: counts first, then unsupported settings."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from batchlab.core.documents import shown_path
from batchlab.core.units import format_count
from batchlab.errors import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from batchlab.slurm import Place, Report, ReportedKey
    from batchlab.slurm.configuration.report import Treatment

__all__ = ["report_lines"]

_WIDTH = 80
_COUNTS: tuple[tuple[Treatment, str], ...] = (
    ("modelled", "used by the simulated system or its policy"),
    ("read", "not modelled yet: read, but not used by simulations"),
    ("not_modelled", "not modelled, or modelled differently"),
    ("no_effect", "without effect on the schedule"),
    ("unknown", "unknown to every release since Slurm 20.02"),
)
_TITLES: tuple[tuple[Treatment, str], ...] = (
    ("unknown", "Unknown"),
    ("not_modelled", "Not modelled, or modelled differently"),
    ("read", "Not modelled yet"),
)
_LISTED_IN_FULL: tuple[tuple[Treatment, str], ...] = (
    ("modelled", "Used"),
    ("no_effect", "Without effect here"),
)
_OWNERS = {
    "nodes": "nodes",
    "down_nodes": "down nodes",
    "node_sets": "sets of nodes",
    "partitions": "partitions",
    "topology": "topology.conf",
    "gres": "gres.conf",
    "associations": "accounts",
    "qos": "QOS",
}
_MOST_VALUES = 3
_MOST_REMARKS = 5
_LONGEST_VALUE = 40


def report_lines(report: Report, *, everything: bool = False) -> Iterator[str]:
    """Yield the lines of a report; with `everything`, all keys."""
    yield from _head(report)
    for treatment, title in (*_TITLES, *(_LISTED_IN_FULL if everything else ())):
        entries = report.treated_as(treatment)
        if entries:
            yield from ("", title)
            for entry in entries:
                yield from _entry(entry)
    yield from _remarks(report)
    yield from _mended(report)
    yield from _changes(report)
    yield from _not_read(report)


def _head(report: Report) -> Iterator[str]:
    configuration = report.configuration
    number = sum(report.counts.values())
    files = len(configuration.files)
    yield from _wrapped(
        f"{shown_path(configuration.path)}: {format_count(number, 'key')} in {format_count(files, 'file')}"
    )
    why = (
        "as given"
        if configuration.release_from == "given"
        else "the newest release with all keys; see --slurm-version"
    )
    yield f"Read as Slurm {configuration.release}, {why}."
    nodes, partitions = len(configuration.in_service), len(configuration.partitions)
    lines = (configuration.node_names[name] for name in configuration.in_service)
    cores = sum(line.cpus - line.reserved_cpus for line in lines)
    counts = ((nodes, "node"), (cores, "CPU"), (partitions, "partition"))
    yield ", ".join(format_count(count, noun) for count, noun in counts) + "."
    accounting = configuration.accounting
    if accounting is None:
        yield "No output of sacctmgr dump, so there are no accounts, shares or user limits."
    else:
        accounts = format_count(len(accounting.accounts), "account")
        users = format_count(len({each.user for each in accounting.users}), "user")
        yield f"{accounts} with {users}, {len(configuration.qualities)} QOS."
    yield ""
    for treatment, says in _COUNTS:
        yield f"{report.counts[treatment]:5}  {says}"
    yield ""
    yield from _wrapped(f"The policy: {configuration.policy}", "  ")


def _entry(entry: ReportedKey) -> Iterator[str]:
    """Yield the lines on a key: its value and place, its effect, and the differences in batchlab."""
    owner = _OWNERS.get(entry.table)
    written = one_line(entry.name, _WIDTH)
    name = f"{written} of {owner}" if owner else written
    values = [one_line(each, _LONGEST_VALUE) for each in entry.values[:_MOST_VALUES]]
    more = ", …" if len(entry.values) > _MOST_VALUES else ""
    sign = "=" if "=" in name and not owner else " = "
    shown = f"{name}{sign}{', '.join(values)}{more}" if values else name
    place = _place(entry.places)
    room = _WIDTH - len(place) - 4
    head = textwrap.wrap(shown, _WIDTH - 2, subsequent_indent="    ", break_long_words=True)
    if len(head) == 1 and len(head[0]) <= room:
        yield f"  {head[0]:<{room}}  {place}"
    else:
        yield from (f"  {line}" for line in head)
        yield f"{place:>{_WIDTH}}"
    yield from _wrapped(entry.does, "      ", "      ")
    for says in entry.remarks[:_MOST_REMARKS]:
        yield from _wrapped(f"Here: {says}.", "      ", "      ")
    if len(entry.remarks) > _MOST_REMARKS:
        yield f"      … and {len(entry.remarks) - _MOST_REMARKS:,} more; --format json has all."


def _place(places: Sequence[Place]) -> str:
    """Return the first place, without its folder, and the number of further places."""
    first = places[0]
    name = first.file.replace("\\", "/").rpartition("/")[2]
    more = f" +{len(places) - 1}" if len(places) > 1 else ""
    return f"{one_line(name, 30)}:{first.line}{more}"


def _remarks(report: Report) -> Iterator[str]:
    if report.remarks:
        yield from ("", "Other differences")
        for each in report.remarks:
            yield from _wrapped(f"{each.key} {each.says}.", "  ", "      ")


def _mended(report: Report) -> Iterator[str]:
    mended = report.configuration.mended
    if mended:
        yield from ("", "Corrected here as by Slurm, which prints a message")
        for each in mended:
            yield from _wrapped(f"{_place([each.place])}: {each.says}.", "  ", "      ")


def _changes(report: Report) -> Iterator[str]:
    if report.changes:
        yield from ("", f"Differences between releases (read as {report.configuration.release})")
        for each in report.changes:
            yield from _wrapped(f"{each.key}, until {each.release}: {each.before}.", "  ", "      ")
            yield from _wrapped(f"since {each.release}: {each.after}.", "      ", "      ")


def _not_read(report: Report) -> Iterator[str]:
    if report.configuration.not_read:
        yield from ("", "Files that exist and are not read")
        for name, why in report.configuration.not_read:
            yield from _wrapped(f"{name}: {why}.", "  ", "      ")


def _wrapped(text: str, first: str = "", rest: str = "  ") -> list[str]:
    printable = text if text.isprintable() else ascii(text)[1:-1]
    return textwrap.wrap(printable, _WIDTH, initial_indent=first, subsequent_indent=rest)
