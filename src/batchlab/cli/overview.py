"""``batchlab --help``, printed in typer's layout without importing typer and the commands."""

import os
from collections.abc import Iterable, Mapping

from rich.align import Align
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.text import Text

from batchlab.cli.commands import COMMANDS, DESCRIPTION, EPILOG, VERSION_HELP, VERSIONS_HELP
from batchlab.cli.help_layout import HelpTable

__all__ = ["show", "show_panel"]

_OPTIONS = (
    ("--version", "", VERSION_HELP),
    ("--versions", "", VERSIONS_HELP),
    ("--install-completion", "", "Install completion for the current shell."),
    (
        "--show-completion",
        "",
        "Show completion for the current shell, to copy it or customize the installation.",
    ),
    ("--help", "-h", "Show this message and exit."),
)
_COLOURED = ("GITHUB_ACTIONS", "FORCE_COLOR", "PY_COLORS")
"""Environment variables that make typer print colours without a terminal."""


def show() -> None:
    """Print the help of the command ``batchlab``."""
    console = _console()
    usage = Text("Usage: batchlab [OPTIONS] COMMAND [ARGS]...")
    usage.stylize("yellow", 0, len("Usage: "))
    console.print(Padding(usage, 1), style="bold")
    console.print(Padding(Align(Text(DESCRIPTION), pad=False), (0, 1, 1, 1)))
    options = _table()
    for _ in ("long", "short", "secondary long", "secondary short", "type"):
        options.add_column()
    options.add_column(ratio=1)
    for long, short, text in _OPTIONS:
        # Split at hyphens, like typer's highlighter.
        styled = Text.assemble(*((f"-{part}", "bold cyan") for part in long[1:].split("-"))), Text(short)
        styled[1].stylize("bold green")
        options.add_row(*styled, "", "", "", Text(text))
    _print_panels(console, [("Options", options)])
    show_panel("Commands", COMMANDS)
    console.print(Padding(Align(Text(EPILOG), pad=False), 1))


def show_panel(title: str, rows: Mapping[str, str]) -> None:
    """Print a panel of names and texts, as typer does.

    Parameters
    ----------
    title
        The title of the panel.
    rows
        The texts, by name.
    """
    table = _table()
    table.add_column(style="bold cyan", no_wrap=True, width=max(map(len, rows)))
    table.add_column(justify="left", no_wrap=False, ratio=10)
    for name, text in rows.items():
        table.add_row(Text(name), Text(text))
    _print_panels(_console(), [(title, table)])


def _console() -> Console:
    forced: bool | None = True if any(os.environ.get(name) for name in _COLOURED) else None
    if os.environ.get("_TYPER_FORCE_DISABLE_TERMINAL"):
        forced = False
    width = os.environ.get("TERMINAL_WIDTH")
    return Console(highlight=False, force_terminal=forced, width=int(width) if width else None)


def _table() -> HelpTable:
    return HelpTable(show_header=False, expand=True, box=None, pad_edge=False, padding=(0, 1))


def _print_panels(console: Console, tables: Iterable[tuple[str, HelpTable]]) -> None:
    for title, table in tables:
        console.print(Panel(table, border_style="dim", title=title, title_align="left"))
