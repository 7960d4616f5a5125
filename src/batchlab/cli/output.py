"""What commands print: answers, tables in the width of the terminal, warnings, and progress bars."""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from batchlab.cli.process import peak_memory
from batchlab.core.late import result_summary as summary
from batchlab.core.late import rich_console as console
from batchlab.core.late import rich_progress
from batchlab.core.text_tables import Facts, render

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from threading import Event

    from rich.progress import Progress, ProgressColumn

    from batchlab.cli.options import Format
    from batchlab.core.text_tables import Block
    from batchlab.experiment.plan import Course
    from batchlab.result.result import Result


__all__ = [
    "as_json",
    "count_bar",
    "experiment_bar",
    "print_answer",
    "print_blocks",
    "print_result",
    "progress_bar",
    "reading_bar",
    "run_bar",
    "transfer_bar",
    "warn",
    "width",
]


_NARROWEST = 40


def width() -> int | None:
    """Return the line length of standard output, in characters; None if it is not a terminal."""
    if not sys.stdout.isatty():
        return None
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal():
        return max(int(given), _NARROWEST)
    try:
        found = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return None
    # A terminal of unknown width reports 0.
    return max(found, _NARROWEST) if found else None


def print_blocks(*blocks: Block) -> None:
    """Print blocks in the width of the terminal, in colours if it supports them."""
    forced = bool(os.environ.get("FORCE_COLOR"))
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    colour = not plain and (forced or sys.stdout.isatty())
    typer.echo(render(blocks, width(), colour=colour), color=colour)


def as_json(document: object) -> str:
    """Return the document as JSON text."""
    import json  # noqa: PLC0415  # the page for people does without

    return json.dumps(document, indent=2, ensure_ascii=False)


def print_answer(
    blocks: Callable[[], Sequence[Block]],
    metrics: Callable[[], Mapping[str, object]],
    form: Format,
    directory: Path | None,
    *,
    warnings: Iterable[str] = (),
    further: Iterable[tuple[str, str]] = (),
) -> None:
    """Print the results of a run, and where they were written.

    Parameters
    ----------
    blocks, metrics
        Functions for the text page and for the numbers; only the one needed is called.
    form
        ``"text"`` or ``"json"``.
    directory
        The directory of the run's files; None if nothing was written.
    warnings
        Warnings for standard error with JSON; the text page already has them.
    further
        Names and texts at the end of the text page.
    """
    if form == "json":
        warn(warnings)
        typer.echo(as_json(metrics()))
        return
    last = [*further]
    if directory is not None:
        import json  # noqa: PLC0415  # as above

        files = json.loads((directory / "manifest.json").read_text("utf-8"))["outputs"]
        last.insert(0, ("written to", f"{directory}: {', '.join([*files, 'manifest.json'])}"))
    if (memory := peak_memory()) is not None:
        last.insert(0, ("memory", f"{memory / 1e6:,.0f} MB at most"))
    print_blocks(*blocks(), *([Facts(last)] if last else []))


def print_result(
    result: Result, form: Format, directory: Path | None, further: Iterable[tuple[str, str]] = ()
) -> None:
    """Print a result like `print_answer`."""
    print_answer(
        lambda: summary.blocks(result.facts, result.metrics(), result.elapsed, result.warnings),
        result.metrics,
        form,
        directory,
        warnings=result.warnings,
        further=further,
    )


def warn(warnings: Iterable[str]) -> None:
    """Print each distinct warning on standard error, one line each."""
    for text in dict.fromkeys(warnings):
        sys.stderr.write(f"batchlab: warning: {text}\n")


_PATIENCE = 1.0
_LONGEST_TITLE = 20
_REFRESH = 0.2


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show progress on standard error: amount done, rate and remaining time.

    Parameters
    ----------
    title
        The title of the bar.

    Yields
    ------
    callable or None
        To be called repeatedly with the number done and the total; None without a terminal.
    """
    with _patient_bar(title, _bar) as advance:
        yield None if advance is None else lambda done, total: advance(done, total, "")


@contextmanager
def run_bar(
    title: str, date: Callable[[float], dt.datetime | None]
) -> Iterator[Callable[[int, int | None, float], None] | None]:
    """Show the progress of a simulation on standard error: simulated date, jobs done, rate, remaining time.

    Parameters
    ----------
    title
        The title of the bar.
    date
        Returns the date of a simulated time; None if the log has no dates.

    Yields
    ------
    callable or None
        To be called repeatedly with the number of jobs done, the total (None if unknown) and the simulated
        time (s); None without a terminal.
    """
    with _patient_bar(title, _bar) as advance:
        yield (
            None
            if advance is None
            else lambda done, total, now: advance(done, total, _moment(date(now), now))
        )


@contextmanager
def count_bar(
    title: str, date: Callable[[float], dt.datetime | None]
) -> Iterator[Callable[[int, float], None] | None]:
    """Show the same as `run_bar` if the total number of jobs is unknown."""
    with _patient_bar(title, _count_bar) as advance:
        yield None if advance is None else lambda done, now: advance(done, None, _moment(date(now), now))


@contextmanager
def experiment_bar(title: str) -> Iterator[Callable[[Course], None] | None]:
    """Show the progress of an experiment on standard error: runs, and jobs and date of those running.

    Parameters
    ----------
    title
        The title of the bar.

    Yields
    ------
    callable or None
        To be called repeatedly with the course of the experiment; None without a terminal. The date is the
        earliest simulated date among the current runs.
    """
    with _patient_bar(title, _experiment_bar) as advance:
        if advance is None:
            yield None
            return

        def show(course: Course) -> None:
            last = min(course.underway, key=lambda each: each.time, default=None)
            moment = "" if last is None else _moment(last.date, last.time)
            advance(course.part, course.runs, moment, course.done, course.jobs_done)

        yield show


@contextmanager
def transfer_bar(title: str) -> Iterator[Callable[[int, int | None], None] | None]:
    """Show the progress of a download on standard error.

    Parameters
    ----------
    title
        The title of the bar.

    Yields
    ------
    callable or None
        To be called with the number of bytes received and the total, if known; None without a terminal.
    """
    with _patient_bar(title, _transfer_bar) as advance:
        yield None if advance is None else lambda done, total: advance(done, total, "")


@contextmanager
def reading_bar(path: Path) -> Iterator[None]:
    """Show the progress of reading a file on standard error.

    Readers report no progress. On Linux, the position in the file is read from the operating system.
    """
    if not sys.stderr.isatty() or not path.is_file():
        yield
        return
    from threading import Event, Thread  # noqa: PLC0415  # on terminals only

    over = Event()
    watcher = Thread(target=_watch_reading, args=(path, over), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _watch_reading(path: Path, over: Event) -> None:
    if over.wait(_PATIENCE):
        return
    size = path.stat().st_size
    with _transfer_bar() as progress:
        task = progress.add_task(_shortened(f"reading {path.name}"), total=None)
        while not over.wait(_REFRESH):
            position = _position_in(path)
            if position is not None and position < size:
                progress.update(task, completed=position, total=size)


def _position_in(path: Path) -> int | None:
    """Return the position at which this process reads a file; None if the system does not report it."""
    try:
        file = path.resolve()
        for number in Path("/proc/self/fd").iterdir():
            if number.resolve() == file:
                lines = Path(f"/proc/self/fdinfo/{number.name}").read_text("ascii").splitlines()
                return int(lines[0].partition(":")[2])
    except (OSError, ValueError, IndexError):
        # No such file system, or the file was closed meanwhile.
        return None
    return None


def _moment(date: dt.datetime | None, now: float) -> str:
    """Format the simulated date, or the simulated day without a date."""
    if date is not None:
        return f"{date:%Y-%m-%d}"
    return f"day {now // 86_400:,.0f}"


def _shortened(title: str) -> str:
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"


@contextmanager
def _patient_bar(title: str, make: Callable[[], Progress]) -> Iterator[Callable[..., None] | None]:
    if not sys.stderr.isatty():
        yield None
        return
    with ExitStack() as stack:
        began = time.monotonic()
        shown: list[Progress] = []

        def advance(
            done: float, total: int | None, moment: str, runs: int = 0, jobs: int | None = None
        ) -> None:
            elapsed = time.monotonic() - began
            if elapsed < _PATIENCE:
                return
            unit, counted = ("/s", done) if jobs is None else (" jobs/s", jobs)
            rate = f"{counted / max(elapsed, _REFRESH):,.0f}{unit}"
            if not shown:
                bar = make()
                bar.add_task(_shortened(title), total=total, moment=moment, rate=rate, runs=runs)
                shown.append(stack.enter_context(bar))
            task = shown[0].task_ids[0]
            shown[0].update(task, completed=done, total=total, moment=moment, rate=rate, runs=runs)

        yield advance


def _transfer_bar() -> Progress:

    return _with_columns(
        rich_progress.DownloadColumn(),
        rich_progress.TransferSpeedColumn(),
        rich_progress.TimeRemainingColumn(),
    )


def _bar() -> Progress:

    return _with_columns(
        rich_progress.TextColumn("{task.completed:,.0f}/{task.total:,.0f}"),
        *_course(),
        rich_progress.TimeRemainingColumn(compact=True),
        rich_progress.TextColumn("left"),
    )


def _experiment_bar() -> Progress:

    return _with_columns(
        rich_progress.TextColumn("{task.fields[runs]:,}/{task.total:,.0f} runs"),
        rich_progress.TextColumn("{task.fields[rate]}"),
        rich_progress.TextColumn("{task.fields[moment]}", style="cyan"),
        rich_progress.TimeRemainingColumn(compact=True),
        rich_progress.TextColumn("left"),
    )


def _count_bar() -> Progress:

    return _with_columns(
        rich_progress.TextColumn("{task.completed:,.0f} jobs done"),
        *_course(),
        rich_progress.TimeElapsedColumn(),
    )


def _course() -> tuple[ProgressColumn, ...]:

    return rich_progress.TextColumn("{task.fields[rate]}"), rich_progress.TextColumn(
        "{task.fields[moment]}", style="cyan"
    )


def _with_columns(*columns: ProgressColumn) -> Progress:

    # The title is the user's text; brackets in it are not markup.
    title = rich_progress.TextColumn("{task.description}", markup=False)
    bar = rich_progress.BarColumn(bar_width=None)
    return rich_progress.Progress(
        title, bar, *columns, console=console.Console(stderr=True), transient=True, expand=True
    )
