"""``batchlab plot``: the plots of results, whose keyword arguments are its options.

The options are read from the source of `batchlab.plot`, so that its help does not import matplotlib.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path  # typer reads the annotations
from types import NoneType, SimpleNamespace, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from batchlab.cli import overview
from batchlab.cli.declared_options import with_options
from batchlab.cli.failure import is_in_directory, wrong_usage
from batchlab.cli.instants import read_duration, read_instant
from batchlab.cli.wording import SPELLED
from batchlab.cli.written import Folders, SystemOfRuns, written_results
from batchlab.core.late import matplotlib_figure, result_plots
from batchlab.core.late import plot_canvas as canvas
from batchlab.core.late import plot_scales as scales
from batchlab.core.rules import number_of
from batchlab.core.vocabulary import WaitSplit
from batchlab.errors import ResultError, shown, suggest

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

    from batchlab.result.result import Result
    from batchlab.workload.calendar_time import CalendarTime

    Runs = list[Result] | dict[str, list[Result]]


__all__ = ["plot"]

_SUFFIXES = (".png", ".pdf", ".svg")
_PANEL = "Of some kinds"
# Arguments that are instants of a run: they can be dates.
_INSTANTS = ("start", "end", "time")
_LEFT_OUT = ("ax", "title", "prices")
_METAVARS = (
    ("Sequence", "NAME,…"),
    ("Mapping", "core=F,…"),
    ("tuple[", "LOW:HIGH"),
    ("float", "S"),
    ("int", "ID"),
)
_TEXT_WIDTH = 52
_PAIR = 2


@dataclass(frozen=True)
class PlotArgument:
    """A keyword argument of a plot."""

    name: str
    annotation: str
    text: str

    @property
    def option(self) -> str:
        """The option of the command line."""
        return f"--{SPELLED.get(self.name, self.name).replace('_', '-')}"

    @property
    def is_switch(self) -> bool:
        """Whether the option has no value."""
        return "bool" in self.annotation

    @property
    def metavar(self) -> str:
        """The name of the value in the help."""
        if self.name in _INSTANTS:
            return "DATE|S"
        return next((metavar for kind, metavar in _METAVARS if kind in self.annotation), "WORD")


@dataclass(frozen=True)
class PlotKind:
    """A plot of results: its first line, its arguments by name, and what it needs that files do not have."""

    name: str
    about: str
    arguments: dict[str, PlotArgument] = field(default_factory=dict)
    unwritten: tuple[str, ...] = ()


def plot_kinds() -> dict[str, PlotKind]:
    """Return the plots of written results, by name."""
    return {name: kind for name, kind in _kinds().items() if not kind.unwritten}


@cache
def _kinds() -> dict[str, PlotKind]:
    """Read the plots of results, by name, from their source."""
    found: dict[str, PlotKind] = {}
    for file in (resources.files("batchlab") / "plot").iterdir():
        if not file.name.endswith(".py"):
            continue
        functions = {
            node.name: node
            for node in ast.parse(file.read_text("utf-8")).body
            if isinstance(node, ast.FunctionDef)
        }
        for node in functions.values():
            if _is_plot(node):
                unwritten = sorted(_attributes(node, functions) & result_plots.UNWRITTEN)
                found[node.name] = replace(_kind_of(node), unwritten=tuple(unwritten))
    return dict(sorted(found.items()))


def _attributes(node: ast.FunctionDef, functions: Mapping[str, ast.FunctionDef]) -> set[str]:
    """Return the attributes that a function reads, by itself or by functions of its file."""
    reached = {node.name}
    waiting = [node]
    attributes: set[str] = set()
    while waiting:
        for each in ast.walk(waiting.pop()):
            if isinstance(each, ast.Attribute):
                attributes.add(each.attr)
            if isinstance(each, ast.Name) and each.id in functions and each.id not in reached:
                reached.add(each.id)
                waiting.append(functions[each.id])
    return attributes


def _is_plot(node: ast.FunctionDef) -> bool:
    first = node.args.args[0].arg if node.args.args else ""
    return first in result_plots.RESULTS and any(
        isinstance(each, ast.Name) and each.id == "plot" for each in node.decorator_list
    )


def _kind_of(node: ast.FunctionDef) -> PlotKind:
    documentation = ast.get_docstring(node) or ""
    texts = _texts(documentation)
    arguments = {
        each.arg: PlotArgument(
            each.arg, ast.unparse(each.annotation) if each.annotation else "", texts.get(each.arg, "")
        )
        for each in node.args.kwonlyargs
        if each.arg not in _LEFT_OUT
    }
    return PlotKind(node.name, _about(documentation.partition("\n")[0]), arguments)


def _about(head: str) -> str:
    """Shorten the first line of a docstring to one line of a list."""
    text = (
        re.sub(r" \([^)]*\)|, as in \[1\]", "", head).removeprefix("Draw ").removeprefix("the ").rstrip(".")
    )
    text = re.sub(r"^distribution of (the )?", "distribution of ", text)
    for separator in (": ", ", one per", ", a line per", ", stacked", ", by "):
        text = text.partition(separator)[0]
    return textwrap.shorten(text[:1].upper() + text[1:], _TEXT_WIDTH, placeholder=" …")


def _texts(documentation: str) -> dict[str, str]:
    """Return the descriptions of arguments, each in one line."""
    section = documentation.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    found: dict[str, str] = {}
    for names, text in re.findall(r"^(\S.*)\n((?:    .*\n?)+)", section, re.MULTILINE):
        line = " ".join(text.split())
        for name in names.split(", "):
            found[name] = "" if line.startswith("As for") else line
    return found


@cache
def _options() -> dict[str, list[tuple[str, PlotArgument]]]:
    """Return for each option the kinds that take it, and their arguments."""
    found: dict[str, list[tuple[str, PlotArgument]]] = {}
    for kind in plot_kinds().values():
        for argument in kind.arguments.values():
            found.setdefault(argument.option, []).append((kind.name, argument))
    return dict(sorted(found.items()))


def _parameters() -> list[inspect.Parameter]:
    parameters = []
    for option, takers in _options().items():
        first = takers[0][1]
        kinds = ", ".join(name for name, _ in takers)
        shown_option = typer.Option(
            f"{option}/--no-{option.removeprefix('--')}" if first.is_switch else option,
            metavar=None if first.is_switch else first.metavar,
            rich_help_panel=_PANEL,
            help=f"{_help_of(takers)} For {kinds}.",
            show_default=False,
        )
        kind: Any = bool | None if first.is_switch else str | None
        parameters.append(
            inspect.Parameter(
                option.removeprefix("--").replace("-", "_") + "_option",
                inspect.Parameter.KEYWORD_ONLY,
                default=None,
                annotation=Annotated[kind, shown_option],
            )
        )
    return parameters


_WORD = re.compile(r'``"(\w+)"``')


def _help_of(takers: Sequence[tuple[str, PlotArgument]]) -> str:
    """Return the values of an option that differ by kind, or the first sentence of its description."""
    words = list(dict.fromkeys(word for _, each in takers for word in _WORD.findall(each.text)))
    if len(takers) > 1 and words:
        return f"{', '.join(words)}, by kind."
    return _sentence(next((each.text for _, each in takers if each.text), ""))


def _sentence(text: str) -> str:
    """Return the first sentence of a description, without its default and the words of Python."""
    plain = re.sub(r" \[default: [^]]*\]|, such as ``\{[^}]*\}``", "", text)
    plain = re.sub(r'``"?|"?``|`', "", plain)
    plain = re.split(r"(?<=[.;]) |: (?=[A-Z])", plain)[0].rstrip(";.")
    plain = re.sub(r"^True (?:to|for) ", "", plain)
    return (plain if text.startswith("``") else plain[:1].upper() + plain[1:]) + "."


def _given(values: dict[str, Any]) -> dict[str, Any]:
    """Return the options that a command line has, by option."""
    return {
        "--" + name.removesuffix("_option").replace("_", "-"): value
        for name, value in values.items()
        if value is not None
    }


def _complete(incomplete: str) -> list[str]:
    return [each for each in plot_kinds() if each.startswith(incomplete)]


_Kind = Annotated[
    str,
    typer.Argument(metavar="KIND", help="The plot: one of the kinds below.", autocompletion=_complete),
]
_Picture = Annotated[
    Path,
    typer.Option(
        "--out", "-o", metavar="FILE", callback=is_in_directory, help="The picture: .png, .pdf or .svg."
    ),
]
_PictureTitle = Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the picture.")]
_Policies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        "-p",
        metavar="SPEC",
        help="Draw only the runs of this policy or label; repeat it for several.",
    ),
]
_Size = Annotated[
    str | None,
    typer.Option(metavar="WIDTHxHEIGHT", help="Size of the picture in inches, such as 8x4."),
]


def _plot(
    kind: _Kind,
    folders: Folders,
    *,
    out: _Picture,
    title: _PictureTitle = None,
    policy: _Policies = None,
    size: _Size = None,
    options: dict[str, Any],
    system: SystemOfRuns = None,
) -> None:
    if out.suffix.lower() not in _SUFFIXES:
        raise wrong_usage(f"{out}; must end in {', '.join(_SUFFIXES)}.", "--out")
    known = plot_kinds()
    if kind in _kinds() and kind not in known:
        needed = " and ".join(_kinds()[kind].unwritten)
        step = f"Call bl.plot.{kind}(results) in the program that simulates"
        raise wrong_usage(
            f"{kind}; needs {needed} of results, which is not written to files. {step}.", "KIND"
        )
    if kind not in known:
        raise wrong_usage(f"{kind}; no plot of results has this name.{suggest(kind, known)}", "KIND")
    _check_taken(known[kind], options)
    inches = None if size is None else _inches(size)
    results = _of_policies(written_results(folders, system), policy or [])

    draw = result_plots.plots_of_results()[kind]
    arguments = _values(draw, known[kind], options, _clock(results))
    if inches is not None:
        projection = "3d" if arguments.get("view") == "3d" else None
        made = matplotlib_figure.Figure(figsize=inches, dpi=150, layout="constrained")
        arguments["ax"] = made.add_subplot(projection=projection)
    figure = draw(results, **arguments, title=title).get_figure(root=True)
    if figure is None:
        raise ResultError(f"{kind}: has drawn nothing.")
    try:
        canvas.save_picture(figure, out, dpi=150, bbox_inches="tight" if size is None else None)
    except OSError as error:
        raise ResultError(f"{out}: {error.strerror or error}. Choose another file.") from error
    typer.echo(f"plot          {out}")


def _check_taken(kind: PlotKind, options: Mapping[str, Any]) -> None:
    """Raise if an option is not one of the kind."""
    taken = [each.option for each in kind.arguments.values()]
    for option in options:
        if option not in taken:
            of_kind = f"its options are {', '.join(taken)}" if taken else "it has no options of its own"
            others = ", ".join(name for name, _ in _options()[option])
            raise wrong_usage(f"{kind.name} does not have it; {of_kind}. {others} have it.", option)


def _inches(size: str) -> tuple[float, float]:
    parts = [number_of(part) for part in map(_number, size.lower().split("x"))]
    if len(parts) != _PAIR or not all(part is not None and 0 < part <= 100 for part in parts):  # noqa: PLR2004  # inches
        raise wrong_usage(
            f"{shown(size)}; must be WIDTHxHEIGHT in inches, each above 0 and at most 100.", "--size"
        )
    return float(parts[0] or 0), float(parts[1] or 0)


def _number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text


def _of_policies(results: Runs, policies: Sequence[str]) -> Runs:
    """Keep the runs of some policies or labels."""
    if not policies:
        return results
    runs = results if isinstance(results, dict) else {str(each.policy): [each] for each in results}
    known = {*runs, *(str(each.policy) for group in runs.values() for each in group)}
    for policy in policies:
        if policy not in known:
            raise wrong_usage(
                f"{shown(policy)}; no run has this policy or label.{suggest(policy, known)}", "--policy"
            )
    if not isinstance(results, dict):
        # Several runs of one policy may differ in seeds, or in machines.
        return [each for each in results if str(each.policy) in policies]
    return {
        label: group
        for label, group in results.items()
        if label in policies or str(group[0].policy) in policies
    }


def _clock(results: Runs) -> CalendarTime | None:
    groups = [*results.values()] if isinstance(results, dict) else [results]
    return scales.clock_of(each for group in groups for each in group)


# Names that the plots import for their annotations only.
_NAMES = {
    "Sequence": Sequence,
    "Mapping": Mapping,
    "Axes": object,
    "WaitSplit": WaitSplit,
}


def _values(
    draw: Callable[..., Axes], kind: PlotKind, options: Mapping[str, Any], clock: CalendarTime | None
) -> dict[str, Any]:
    """Convert the values of options to arguments of the plot, by their annotations."""
    plain = inspect.unwrap(draw)
    given = {each.name: options[each.option] for each in kind.arguments.values() if each.option in options}
    annotated = SimpleNamespace(__annotations__={name: plain.__annotations__[name] for name in given})
    hints = get_type_hints(annotated, plain.__globals__, _NAMES)
    return {name: _value(kind.arguments[name], value, hints[name], clock) for name, value in given.items()}


def _value(argument: PlotArgument, given: Any, hint: Any, clock: CalendarTime | None) -> object:  # noqa: ANN401  # any type
    if isinstance(given, bool):
        return given
    kinds = _members(hint)
    if given == "none" and NoneType in kinds:
        return None
    words = [word for each in kinds if get_origin(each) is Literal for word in get_args(each)]
    origins = {get_origin(each) or each for each in kinds}
    if words:
        if given not in words:
            raise wrong_usage(
                f"{shown(given)}; must be a known word.{suggest(given, words)}", argument.option
            )
        return given
    return _read(argument, given, origins, clock)


def _read(argument: PlotArgument, given: str, origins: set[Any], clock: CalendarTime | None) -> object:
    """Read a value that is no word."""
    if tuple in origins:
        return _pair(argument, given)
    if Sequence in origins:
        return given.split(",")
    if Mapping in origins:
        return _amounts(argument, given)
    if int in origins:
        if not re.fullmatch(r"[+-]?\d+", given):
            raise wrong_usage(f"{shown(given)}; must be a whole number.", argument.option)
        return int(given)
    return _seconds(argument, given, clock) if float in origins else given


def _members(hint: Any) -> list[Any]:  # noqa: ANN401  # a type
    """Return the types of a union, or the type itself."""
    return [*get_args(hint)] if get_origin(hint) in {Union, UnionType} else [hint]


def _seconds(argument: PlotArgument, text: str, clock: CalendarTime | None) -> float:
    """Read seconds, a duration with a unit, or for an instant of the run a date."""
    if argument.name in _INSTANTS:
        return read_instant(text, argument.option, clock)
    return read_duration(text, argument.option)


def _pair(argument: PlotArgument, text: str) -> tuple[float, float]:
    parts = text.split(":")
    if len(parts) != _PAIR:
        raise wrong_usage(f"{shown(text)}; must be LOW:HIGH, such as 0:1h.", argument.option)
    low, high = (_seconds(argument, each, None) for each in parts)
    return low, high


def _amounts(argument: PlotArgument, text: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, amount = part.partition("=")
        number = _number(amount)
        if not name or not isinstance(number, float):
            raise wrong_usage(f"{shown(text)}; must be NAME=VALUE, or several with commas.", argument.option)
        found[name] = number
    return found


class _PlotCommand(TyperCommand):
    """The command, whose help lists the kinds."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  # typer brings its own click
        """Print the help of typer, then a panel of kinds, one a line."""
        super().format_help(ctx, formatter)
        overview.show_panel("Kinds", {each.name: each.about for each in plot_kinds().values()})


plot = with_options(_plot, "options", _parameters(), _given)
plot.__doc__ = "Draw a plot of written runs: distributions, time series, schedules."
plot.__name__ = "plot"
plot.command_class = _PlotCommand  # type: ignore[attr-defined]  # the application reads it
