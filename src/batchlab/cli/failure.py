"""How a command fails: one line on standard error, and an exit code."""

import math
import os
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path

import typer

import batchlab.errors
from batchlab.cli.interruption import INTERRUPTED, say_interrupted
from batchlab.errors import BatchlabError, ResultError, SimulationError, as_message
from batchlab.vocabulary import LARGEST_SEED

__all__ = [
    "SEVERAL_VALUES",
    "at_least_one",
    "check_directory",
    "check_page",
    "check_report",
    "code_of_failures",
    "explain",
    "is_in_directory",
    "is_pace",
    "is_rate",
    "is_seed",
    "is_table",
    "wrong_usage",
]

_FAILED, _WRONG_USAGE = 1, 2
_SHOW_TRACEBACK = "BATCHLAB_TRACEBACK"
SEVERAL_VALUES = {"--route": "needs two hosts, SOURCE TARGET: --route node0 node1"}
"""What options need that take several values, since typer knows only how many."""
# What typer raises for wrong usage derives from this; its package differs between versions of typer.
_COMMAND_LINE_ERROR = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def explain(error: BaseException, command: str = "batchlab") -> int:
    """Tell the user in one line what ended a command.

    Parameters
    ----------
    error
        What was raised.
    command
        Whose help to point at, where the error does not know.

    Returns
    -------
    int
        The exit code that goes with it.
    """
    if isinstance(error, SystemExit):
        # typer has said what there was to say, or the reader of our output has gone.
        return error.code if isinstance(error.code, int) else _FAILED
    if os.environ.get(_SHOW_TRACEBACK):
        traceback.print_exception(error)
    message, code = _told(error, command)
    if "batchlab.cli.spooled" in sys.modules:
        from batchlab.cli.spooled import named_as_given  # noqa: PLC0415  # most logs are files

        message = named_as_given(message)
    if code == INTERRUPTED:
        say_interrupted()
        return code
    # A message of several lines is still one line here: what is not on it is easily overlooked.
    sys.stderr.write(f"batchlab: {as_message(' '.join(message.split()))}\n")
    return code


def code_of_failures(errors: Iterable[str], *, done: int) -> int:
    """Give the exit code of runs some of which failed.

    Parameters
    ----------
    errors
        The names of the classes of their errors.
    done
        How many other runs are done.

    Returns
    -------
    int
        That of bad input where no run could be done, and none of them failed for anything else.
    """
    kinds = [getattr(batchlab.errors, name, Exception) for name in errors]
    return _WRONG_USAGE if not done and all(map(_is_bad_input, kinds)) else _FAILED


def wrong_usage(message: str, option: str) -> Exception:
    """Make the error for options that are right by themselves but not here.

    Parameters
    ----------
    message
        What is wrong, and the next step.
    option
        The option it is about.

    Returns
    -------
    Exception
        To be raised.
    """
    return typer.BadParameter(message, param_hint=option)


def at_least_one(value: int | None) -> int | None:
    """Refuse numbers below 1; for options."""
    if value is not None and value < 1:
        raise typer.BadParameter(f"{value}; must be >= 1")
    return value


def is_seed(value: int) -> int:
    """Refuse what the kernel's generators cannot start from; for options."""
    if not 0 <= value <= LARGEST_SEED:
        raise typer.BadParameter(f"{value}; must be an integer from 0 to 2^64 - 1")
    return value


def is_pace(value: float | None) -> float | None:
    """Refuse what no clock can go at; for options."""
    if value is not None and not 0 < value < math.inf:
        raise typer.BadParameter(f"{value}; must be a number of seconds > 0")
    return value


def is_rate(value: float | None) -> float | None:
    """Refuse what is no rate of service; for options."""
    if value is not None and not 0 < value < math.inf:
        raise typer.BadParameter(f"{value}; must be a finite number > 0, in units of work per second")
    return value


def is_table(value: Path | None) -> Path | None:
    """Refuse files that could not be written as a table; for options."""
    if value is not None and value.suffix.lower() not in (".csv", ".parquet"):
        raise typer.BadParameter(f"{value}; must end in .csv or .parquet")
    return is_in_directory(value)


def is_in_directory(value: Path | None) -> Path | None:
    """Refuse files in directories that are not there, or may not be written to; for options."""
    if value is not None and not value.absolute().parent.is_dir():
        raise typer.BadParameter(f"{value.parent} is no directory; make it first, or choose another")
    if value is not None and _is_closed(value):
        raise typer.BadParameter(f"{value.parent} may not be written to; choose another directory")
    return value


def check_directory(path: Path | None, option: str = "--out") -> None:
    """Refuse a directory for results that cannot be written, before hours of simulation.

    Parameters
    ----------
    path
        The value of the option, if any.
    option
        Its name.
    """
    if path is None:
        return
    nearest = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    if not nearest.is_dir():
        raise wrong_usage(f"{nearest} is not a directory; choose another.", option)
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise wrong_usage(f"{nearest} may not be written to; choose another directory.", option)


def check_page(path: Path | None, option: str = "--report") -> None:
    """Refuse a page that cannot be written, before the work; `path` is that of an option, if it was given."""
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        raise wrong_usage(f"{path} is no file in a directory that is there; name one.", option)
    if path is not None and _is_closed(path):
        raise wrong_usage(f"{path.parent} may not be written to; choose another directory.", option)


def check_report(report: Path | None, option: str = "--report") -> None:
    """Refuse a report that cannot be written, before hours of simulation.

    Parameters
    ----------
    report
        Where to, if it was given.
    option
        By which option.
    """
    if report is None:
        return
    check_page(report, option)
    from batchlab.report.interactive import find_plotly  # noqa: PLC0415  # an extra, looked for in time

    find_plotly()


def _is_closed(path: Path) -> bool:
    """Tell whether no file can be put there: files are replaced whole, devices and pipes are written to."""
    target = path.resolve()
    is_replaced = target.is_file() or not target.exists()
    return is_replaced and target.parent.is_dir() and not os.access(target.parent, os.W_OK | os.X_OK)


def _told(error: BaseException, command: str) -> tuple[str, int]:
    # Python makes a RuntimeError of one that comes while a class is made.
    if any(isinstance(each, KeyboardInterrupt | typer.Abort) for each in (error, error.__cause__)):
        return "interrupted.", INTERRUPTED
    if isinstance(error, _COMMAND_LINE_ERROR):
        return _usage(error, command), _WRONG_USAGE
    if isinstance(error, BatchlabError):
        place = _place(error)
        code = _WRONG_USAGE if _is_bad_input(type(error)) else _FAILED
        return str(error) if place is None else f"{place}: {error}", code
    if isinstance(error, MemoryError):
        return "out of memory; try --stream, or a part of the log.", _FAILED
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}.", _FAILED
    return _unexpected(error), _FAILED


def _is_bad_input(kind: type[BaseException]) -> bool:
    return issubclass(kind, BatchlabError) and not issubclass(kind, SimulationError | ResultError)


def _unexpected(error: BaseException) -> str:
    """Tell an error of the user's own Python files by its place; others are batchlab's."""
    where = _place(error) or f"internal error, please report it ({_SHOW_TRACEBACK}=1 shows where)"
    return f"{where}: {type(error).__name__}: {error}"


def _place(error: BaseException) -> str | None:
    """Name the place in the user's own Python files that an error comes from, if it does."""
    from batchlab.python_file import place_in_files  # noqa: PLC0415  # for errors only

    return place_in_files(error)


def _usage(error: BaseException, command: str) -> str:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else command
    message = getattr(error, "format_message", error.__str__)()
    if getattr(error, "option_name", None) in SEVERAL_VALUES:
        message = f"Option {error.option_name!r} {SEVERAL_VALUES[error.option_name]}"  # type: ignore[attr-defined]  # it has one
    return f"{message.rstrip('. ')}. See {command} --help."
