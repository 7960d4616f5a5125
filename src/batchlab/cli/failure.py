"""Errors of commands: one line on standard error, and an exit code."""

import math
import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import typer

import batchlab.errors
from batchlab.cli.process import INTERRUPTED, print_interrupted
from batchlab.cli.wording import CommandOptions
from batchlab.core.late import cli_spooled as spooled
from batchlab.core.late import core_python_file as python_file
from batchlab.core.late import report_interactive as interactive
from batchlab.core.lazy import missing_package
from batchlab.core.vocabulary import LARGEST_SEED
from batchlab.errors import BatchlabError, ResultError, SimulationError, as_message, nearest

__all__ = [
    "SEVERAL_VALUES",
    "at_least_one",
    "beside",
    "check_directory",
    "check_page",
    "check_report",
    "code_of_failures",
    "explain",
    "is_in_directory",
    "is_pace",
    "is_seed",
    "is_table",
    "missing",
    "naming",
    "wrong_usage",
]

_FAILED, _WRONG_USAGE = 1, 2
_MOST_FILES = 10_000
_SHOW_TRACEBACK = "BATCHLAB_TRACEBACK"
SEVERAL_VALUES = {"--route": "needs two hosts, SOURCE TARGET: --route node0 node1"}
"""Hints for options with several values, because typer reports only their number."""
# Base class of typer's errors for wrong usage. Its package depends on the version of typer.
_COMMAND_LINE_ERROR = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def explain(error: BaseException, command: str = "batchlab", options: CommandOptions | None = None) -> int:
    """Print the error that ended a command, in one line.

    Parameters
    ----------
    error
        The error.
    command
        The command in the hint ``See … --help``, unless the error names one.
    options
        The options of the command.

    Returns
    -------
    int
        The exit code.
    """
    if isinstance(error, SystemExit):
        # typer has printed the message, or the reader of the output has closed it.
        return error.code if isinstance(error.code, int) else _FAILED
    if os.environ.get(_SHOW_TRACEBACK):
        traceback.print_exception(error)
    message, code = _format_error(error, command, options or CommandOptions())
    if "batchlab.cli.spooled" in sys.modules:
        message = spooled.named_as_given(message)
    if code == INTERRUPTED:
        print_interrupted()
        return code
    # Join the lines of a message: users overlook further lines.
    sys.stderr.write(f"batchlab: {as_message(' '.join(message.split()))}\n")
    return code


def code_of_failures(errors: Iterable[str], *, done: int) -> int:
    """Return the exit code if some runs failed.

    Parameters
    ----------
    errors
        The names of the classes of their errors.
    done
        The number of runs that succeeded.

    Returns
    -------
    int
        The code of bad input if no run succeeded and all errors are bad input; else the code of failure.
    """
    kinds = [getattr(batchlab.errors, name, Exception) for name in errors]
    return _WRONG_USAGE if not done and all(map(_is_bad_input, kinds)) else _FAILED


class _RefusedValue(typer.BadParameter):
    """An error of the library in the value of an option, which `explain` puts into the option's words."""

    def __init__(self, error: BatchlabError, option: str) -> None:
        super().__init__(str(error), param_hint=option)
        self.error = error
        self.option = option


def wrong_usage(problem: str | BatchlabError, option: str) -> Exception:
    """Return an error for the value of an option.

    Parameters
    ----------
    problem
        The problem and the next step, or an error of the library that states them.
    option
        The option.

    Returns
    -------
    Exception
        The error, for the caller to raise.
    """
    if isinstance(problem, BatchlabError):
        return _RefusedValue(problem, option)
    return typer.BadParameter(problem, param_hint=option)


@contextmanager
def naming(option: str) -> Iterator[None]:
    """Name an option in the errors of the library that its value causes."""
    try:
        yield
    except BatchlabError as error:
        if _place(error) is not None:
            raise
        raise wrong_usage(error, option) from error


def beside(path: Path) -> str:
    """Return a suggestion of a file with a similar name in the same directory; empty if there is none."""
    try:
        names = [each.name for each in islice(path.absolute().parent.iterdir(), _MOST_FILES)]
    except OSError:
        return ""
    near = nearest(path.name, names)
    return "" if near is None else f" Did you mean {str(path.with_name(near))!r}?"


def missing(argument: str, step: str) -> Exception:
    """Return an error for an argument that a command needs unless another option takes its place.

    Parameters
    ----------
    argument
        The argument.
    step
        The next step, a sentence without the full stop.
    """
    error: Exception = _COMMAND_LINE_ERROR(f"Missing argument {argument!r}. {step}")
    return error


def at_least_one(value: int | None) -> int | None:
    """Raise if a number is below 1; for options."""
    if value is not None and value < 1:
        raise typer.BadParameter(f"{value}; must be >= 1")
    return value


def is_seed(value: int) -> int:
    """Raise unless the seed is in the range of the kernel's generators; for options."""
    if not 0 <= value <= LARGEST_SEED:
        raise typer.BadParameter(f"{value}; must be a whole number from 0 to 2^64 - 1")
    return value


def is_pace(value: float | None) -> float | None:
    """Raise unless the value is a positive, finite number of seconds; for options."""
    if value is not None and not 0 < value < math.inf:
        raise typer.BadParameter(f"{value}; must be a number of seconds > 0")
    return value


def is_table(value: Path | None) -> Path | None:
    """Raise unless the file name has the suffix of a table; for options."""
    if value is not None and value.suffix.lower() not in (".csv", ".parquet"):
        raise typer.BadParameter(f"{value}; must end in .csv or .parquet")
    return is_in_directory(value)


def is_in_directory(value: Path | None) -> Path | None:
    """Raise unless the file's directory exists and is writable; for options."""
    if value is not None and not value.absolute().parent.is_dir():
        raise typer.BadParameter(f"{value.parent} is no directory; make it first, or choose another")
    if value is not None and value.is_dir():
        raise typer.BadParameter(f"{value} is a directory; name a file")
    if value is not None and _is_closed(value):
        raise typer.BadParameter(f"{value.parent} may not be written to; choose another directory")
    return value


def check_directory(path: Path | None, option: str = "--out") -> None:
    """Raise if a directory for results is not writable, before a long simulation.

    Parameters
    ----------
    path
        The value of the option; None if missing.
    option
        The option's name.
    """
    if path is None:
        return
    nearest = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
    if not nearest.is_dir():
        raise wrong_usage(f"{nearest} is not a directory; choose another.", option)
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise wrong_usage(f"{nearest} may not be written to; choose another directory.", option)


def check_page(path: Path | None, option: str = "--report") -> None:
    """Raise if a report cannot be written to the file, before the work; None if the option is missing."""
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        raise wrong_usage(f"{path} is no file in a directory that is there; name one.", option)
    if path is not None and _is_closed(path):
        raise wrong_usage(f"{path.parent} may not be written to; choose another directory.", option)


def check_report(report: Path | None, option: str = "--report") -> None:
    """Raise if a report cannot be written or plotly is missing, before a long simulation.

    Parameters
    ----------
    report
        The file; None if the option is missing.
    option
        The option's name.
    """
    if report is None:
        return
    check_page(report, option)

    interactive.find_plotly()


def _is_closed(path: Path) -> bool:
    """Return whether writing is refused. Files are replaced, which needs a writable directory."""
    target = path.resolve()
    is_replaced = target.is_file() or not target.exists()
    return is_replaced and target.parent.is_dir() and not os.access(target.parent, os.W_OK | os.X_OK)


def _format_error(error: BaseException, command: str, options: CommandOptions) -> tuple[str, int]:
    # Python wraps an error in a class body into a RuntimeError.
    if any(isinstance(each, KeyboardInterrupt | typer.Abort) for each in (error, error.__cause__)):
        return "interrupted.", INTERRUPTED
    if isinstance(error, _RefusedValue):
        error.param_hint = options.subject(error.error) or error.option
        error.message = options.text(error.error, error.param_hint)
    if isinstance(error, _COMMAND_LINE_ERROR):
        return _usage(error, command), _WRONG_USAGE
    if isinstance(error, BatchlabError):
        return _of_library(error, command, options)
    if isinstance(error, MemoryError):
        return "out of memory; try --stream, or a part of the log.", _FAILED
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}.", _FAILED
    lacking = missing_package(error, "this command")
    return (_unexpected(error), _FAILED) if lacking is None else (str(lacking), _WRONG_USAGE)


def _of_library(error: BatchlabError, command: str, options: CommandOptions) -> tuple[str, int]:
    """Return the message of an error of the library in the words of the command line, and its exit code."""
    code = _WRONG_USAGE if _is_bad_input(type(error)) else _FAILED
    place = _place(error)
    if place is not None:
        return f"{place}: {error}", code
    option = options.subject(error)
    if option is None:
        return options.text(error), code
    return _usage(typer.BadParameter(options.text(error, option), param_hint=option), command), _WRONG_USAGE


def _is_bad_input(kind: type[BaseException]) -> bool:
    return issubclass(kind, BatchlabError) and not issubclass(kind, SimulationError | ResultError)


def _unexpected(error: BaseException) -> str:
    """Format an unexpected error with its place in the user's Python files, or as an internal error."""
    where = _place(error) or f"internal error, please report it ({_SHOW_TRACEBACK}=1 shows where)"
    return f"{where}: {type(error).__name__}: {error}"


def _place(error: BaseException) -> str | None:
    """Return the place in the user's Python files that raised the error; None if it is elsewhere."""
    return python_file.place_in_files(error)


def _usage(error: BaseException, command: str) -> str:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else command
    message = getattr(error, "format_message", error.__str__)()
    if getattr(error, "option_name", None) in SEVERAL_VALUES:
        message = f"Option {error.option_name!r} {SEVERAL_VALUES[error.option_name]}"  # type: ignore[attr-defined]  # it has one
    return f"{message.rstrip('. ')}. See {command} --help."
