"""``batchlab traces``: logs of the archive by name, and data sets with mappings."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path  # typer reads the annotations
from typing import TYPE_CHECKING, Annotated

import typer

from batchlab.cli.options import FormatOption  # noqa: TC001  # typer reads the annotations
from batchlab.cli.output import as_json
from batchlab.cli.progress import transfer_bar
from batchlab.cli.terminal import print_blocks
from batchlab.core.text_tables import Facts, Table

if TYPE_CHECKING:
    from batchlab.trace.catalogue import Trace

__all__ = ["traces"]

traces = typer.Typer(
    help="The logs of the Parallel Workloads Archive by name, and public data sets.", add_completion=False
)

_OF_SETS = ("name", "summary", "good_for", "source", "licence", "machine")
_NOTES = """
✓ was fetched. For another: batchlab traces fetch NAME; the beginning of a name will do.
Where something is missing, the catalogue does not know it; the log's own header may."""
_SETS = """
Files of these are known by their columns, or by --mapping NAME. For sources: batchlab traces show NAME."""
_Cache = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        metavar="DIR",
        envvar="BATCHLAB_CACHE",
        file_okay=False,
        help="Where fetched logs lie; batchlab/traces in the user's cache unless given.",
    ),
]


@traces.callback(invoke_without_command=True)
def _traces(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)


@traces.command("list")
def list_traces(
    *,
    cache: _Cache = None,
    form: FormatOption = "text",
) -> None:
    """List the logs, mark those that were fetched, and list the data sets that have a mapping."""
    from batchlab.trace import traces as library  # noqa: PLC0415  # --help does without
    from batchlab.trace.catalogue import entries  # noqa: PLC0415  # here too

    fetched = {trace.name: library.is_fetched(trace, cache=cache) for trace in entries()}
    if form == "json":
        rows = [{**asdict(trace), "page": trace.page, "fetched": fetched[trace.name]} for trace in entries()]
        typer.echo(as_json(rows + _data_sets()))
        return
    listed = [("", "name", "years", "jobs", "nodes × cores", "computer")]
    for trace in entries():
        jobs = "" if trace.jobs is None else f"{trace.jobs:,}"
        mark = "✓" if fetched[trace.name] else ""
        listed.append((mark, trace.name, _years(trace), jobs, _size(trace), trace.computer))
    sets = [("data set", "what it is", "good for")]
    sets += [(each["name"], each["summary"], each["good_for"]) for each in _data_sets()]
    print_blocks(Table(listed, _NOTES, labels=3, prose=True), Table(sets, _SETS, labels=2, prose=True))


def _data_sets() -> list[dict[str, str]]:
    """Describe the data sets with a mapping."""
    from batchlab.workload.mappings.catalogue import entries as mappings  # noqa: PLC0415  # --help does without

    return [{key: getattr(mapping, key) for key in _OF_SETS} for mapping in mappings()]


@traces.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As in the list: that of a data set.")],
    *,
    text: Annotated[
        bool, typer.Option("--toml", help="Print the mapping itself, for one of one's own.")
    ] = False,
) -> None:
    """Show what a data set is, where it and the meaning of its columns come from, and its mapping."""
    from batchlab.workload.mappings.catalogue import mapping_named, text_of  # noqa: PLC0415  # as above

    mapping = mapping_named(name)
    if text:
        typer.echo(text_of(mapping), nl=False)
        return
    facts = [(key.replace("_", " "), getattr(mapping, key)) for key in _OF_SETS if getattr(mapping, key)]
    held = ", ".join(f"{role} ({' or '.join(column.column)})" for (_, role), column in mapping.described())
    print_blocks(Facts([*facts, ("columns", held or "those of its log")]))


@traces.command()
def fetch(
    names: Annotated[list[str], typer.Argument(metavar="NAME…", help="As in the list, or their beginnings.")],
    *,
    mirror: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="BATCHLAB_MIRROR",
            help="An address or a directory with the archive's folders in it.",
        ),
    ] = None,
    cache: _Cache = None,
    trust: Annotated[
        bool, typer.Option("--trust", help="Take the file whatever its checksum, from now on.")
    ] = False,
) -> None:
    """Fetch logs, and check that they are what they should be."""
    from batchlab.trace import traces as library  # noqa: PLC0415  # --help does without

    found = [library.find(name) for name in names]
    for trace in found:
        with transfer_bar(trace.name) as progress:
            path = library.fetch(trace.name, mirror=mirror, cache=cache, trust=trust, progress=progress)
        typer.echo(str(path))
    thanks = dict.fromkeys(trace.thanks for trace in found if trace.thanks)
    typer.echo(f"{library.TERMS}\nCite: {library.CITATION}.", err=True)
    if thanks:
        typer.echo(f"Thank: {', '.join(thanks)}.", err=True)


def _years(trace: Trace) -> str:
    first, last = trace.first[:4], (trace.last or "")[:4]
    return f"{first}–{last}" if last not in ("", first) else first


def _size(trace: Trace) -> str:
    if trace.nodes is not None:
        return f"{trace.nodes:,} × {trace.cores}"
    return "" if trace.processors is None else f"{trace.processors:,} in all"
