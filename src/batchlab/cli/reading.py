"""Options for reading a log, one for each field of `ReadingOptions`."""

from collections.abc import Callable
from typing import Any, TypeVar

from batchlab.cli.declared_options import parameter_of, value_of, with_options
from batchlab.cli.options import READING
from batchlab.core.declared import declared
from batchlab.workload.log_options import ReadingOptions, check_reading

__all__ = ["takes_reading_options"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


def takes_reading_options(command: _Command) -> _Command:
    """Replace the parameter ``reading`` of a command by the options of reading a log."""
    parameters = [parameter_of(each, READING) for each in declared(ReadingOptions).values()]
    return with_options(command, "reading", parameters, _collected)


def _collected(given: dict[str, Any]) -> ReadingOptions:
    known = declared(ReadingOptions)
    return ReadingOptions(
        **{name: value_of(known[name], value, check_reading) for name, value in given.items()}  # type: ignore[arg-type]  # they are checked
    )
