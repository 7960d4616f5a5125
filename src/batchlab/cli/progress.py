"""Progress bars for those who wait: on a terminal only, and only after a second."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

__all__ = ["count_bar", "progress_bar", "transfer_bar"]

_PATIENCE = 1.0


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show how far a simulation is, on standard error.

    Parameters
    ----------
    title
        What is going on.

    Yields
    ------
    callable or None
        To be called with the number of jobs done and that of all jobs now and then; None where nobody would
        see it.
    """
    with _patient_bar(title, _bar) as advance:
        yield advance


@contextmanager
def count_bar(title: str) -> Iterator[Callable[[int], None] | None]:
    """Show how many jobs are done, on standard error, where their total is not known.

    Parameters
    ----------
    title
        What is going on.

    Yields
    ------
    callable or None
        To be called with the number of jobs done now and then; None where it would not be seen.
    """
    with _patient_bar(title, _count_bar) as advance:
        yield None if advance is None else lambda done: advance(done, None)


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
        To be called with the number of bytes there and that of all bytes, if known; None where nobody would
        see it.
    """
    with _patient_bar(title, _transfer_bar) as advance:
        yield advance


@contextmanager
def _patient_bar(
    title: str, make: "Callable[[], Progress]"
) -> Iterator[Callable[[int, int | None], None] | None]:
    if not sys.stderr.isatty():
        yield None
        return
    with ExitStack() as stack:
        began = time.monotonic()
        shown: list[Progress] = []

        def advance(done: int, total: int | None) -> None:
            if time.monotonic() - began < _PATIENCE:
                return
            if not shown:
                shown.append(stack.enter_context(make()))
                shown[0].add_task(title)
            shown[0].update(shown[0].task_ids[0], completed=done, total=total)

        yield advance


def _transfer_bar() -> "Progress":
    from rich.progress import DownloadColumn, TransferSpeedColumn  # noqa: PLC0415  # most are over before

    return _with_columns(DownloadColumn(), TransferSpeedColumn())


def _bar() -> "Progress":
    from rich.progress import MofNCompleteColumn, TimeRemainingColumn  # noqa: PLC0415  # most are over before

    return _with_columns(MofNCompleteColumn(), TimeRemainingColumn())


def _count_bar() -> "Progress":
    from rich.progress import TextColumn, TimeElapsedColumn  # noqa: PLC0415  # most are over before

    return _with_columns(TextColumn("{task.completed:,.0f} jobs done"), TimeElapsedColumn())


def _with_columns(*columns: "ProgressColumn") -> "Progress":
    from rich.console import Console  # noqa: PLC0415  # as above
    from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415

    # A title is text of the user's, whose brackets are no markup.
    title = TextColumn("{task.description}", markup=False)
    return Progress(title, BarColumn(), *columns, console=Console(stderr=True), transient=True)
