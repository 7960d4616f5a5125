"""Progress bars for those who wait: on a terminal only, and only after a second."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterator
    from threading import Event

    from rich.progress import Progress, ProgressColumn

    from batchlab.experiment.course import Course

__all__ = ["count_bar", "experiment_bar", "progress_bar", "reading_bar", "run_bar", "transfer_bar"]

_PATIENCE = 1.0
_LONGEST_TITLE = 20
_REFRESH = 0.2


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show how far something is, on standard error: how much is done, at which rate, and how long it takes.

    Parameters
    ----------
    title
        What is going on.

    Yields
    ------
    callable or None
        To be called with the number done and that of all now and then; None where it would not be seen.
    """
    with _patient_bar(title, _bar) as advance:
        yield None if advance is None else lambda done, total: advance(done, total, "")


@contextmanager
def run_bar(
    title: str, date: Callable[[float], dt.datetime | None]
) -> Iterator[Callable[[int, int | None, float], None] | None]:
    """Show how far a simulation is, on standard error: simulated date, jobs done, rate and remaining time.

    Parameters
    ----------
    title
        What is simulated.
    date
        Gives the date of a simulated time; None where that is not known.

    Yields
    ------
    callable or None
        To be called with the number of jobs done, that of all jobs (None where it is not known) and the
        simulated time (s) now and then; None where it would not be seen.
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
    """Show what `run_bar` does, where the number of all jobs is not known."""
    with _patient_bar(title, _count_bar) as advance:
        yield None if advance is None else lambda done, now: advance(done, None, _moment(date(now), now))


@contextmanager
def experiment_bar(title: str) -> Iterator[Callable[[Course], None] | None]:
    """Show how far an experiment is, on standard error: runs, and the jobs and the date of those under way.

    Parameters
    ----------
    title
        What is run.

    Yields
    ------
    callable or None
        To be called with the course now and then; None where it would not be seen. The date is that of the
        run that is behind the others.
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
    """Show how far a download is, on standard error.

    Parameters
    ----------
    title
        What is fetched.

    Yields
    ------
    callable or None
        To be called with the number of bytes there and that of all bytes, if known; None where it would not
        be seen.
    """
    with _patient_bar(title, _transfer_bar) as advance:
        yield None if advance is None else lambda done, total: advance(done, total, "")


@contextmanager
def reading_bar(path: Path) -> Iterator[None]:
    """Show how much of a file has been read, on standard error.

    Readers do not tell; where the system does (Linux), it is asked for the position in the file.
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
    """Give the position at which this process reads a file; None where the system does not tell."""
    try:
        file = path.resolve()
        for number in Path("/proc/self/fd").iterdir():
            if number.resolve() == file:
                lines = Path(f"/proc/self/fdinfo/{number.name}").read_text("ascii").splitlines()
                return int(lines[0].partition(":")[2])
    except (OSError, ValueError, IndexError):
        # No such file system, or the file has been closed meanwhile.
        return None
    return None


def _moment(date: dt.datetime | None, now: float) -> str:
    """Write the simulated date, or else the simulated time."""
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
    from rich.progress import DownloadColumn, TimeRemainingColumn, TransferSpeedColumn  # noqa: PLC0415  # as below

    return _with_columns(DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn())


def _bar() -> Progress:
    from rich.progress import TextColumn, TimeRemainingColumn  # noqa: PLC0415  # most are over before

    return _with_columns(
        TextColumn("{task.completed:,.0f}/{task.total:,.0f}"),
        *_course(),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
    )


def _experiment_bar() -> Progress:
    from rich.progress import TextColumn, TimeRemainingColumn  # noqa: PLC0415  # as above

    return _with_columns(
        TextColumn("{task.fields[runs]:,}/{task.total:,.0f} runs"),
        TextColumn("{task.fields[rate]}"),
        TextColumn("{task.fields[moment]}", style="cyan"),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
    )


def _count_bar() -> Progress:
    from rich.progress import TextColumn, TimeElapsedColumn  # noqa: PLC0415  # most are over before

    return _with_columns(TextColumn("{task.completed:,.0f} jobs done"), *_course(), TimeElapsedColumn())


def _course() -> tuple[ProgressColumn, ...]:
    from rich.progress import TextColumn  # noqa: PLC0415  # as above

    return TextColumn("{task.fields[rate]}"), TextColumn("{task.fields[moment]}", style="cyan")


def _with_columns(*columns: ProgressColumn) -> Progress:
    from rich.console import Console  # noqa: PLC0415  # as above
    from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415

    # A title is text of the user's, whose brackets are no markup.
    title = TextColumn("{task.description}", markup=False)
    bar = BarColumn(bar_width=None)
    return Progress(title, bar, *columns, console=Console(stderr=True), transient=True, expand=True)
