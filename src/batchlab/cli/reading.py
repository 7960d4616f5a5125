"""Options for reading a log, one for each field of `ReadingOptions`."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import Field, fields
from typing import Annotated, Any, TypeVar, get_args

import typer

from batchlab.cli.options import READING
from batchlab.workload.log_options import ReadingOptions

__all__ = ["takes_reading_options"]

_Command = TypeVar("_Command", bound=Callable[..., Any])
_PARAMETER = "reading"


def takes_reading_options(*without: str) -> Callable[[_Command], _Command]:
    """Replace the parameter ``reading`` of a command by the options for reading a log.

    Parameters
    ----------
    without
        Names of options that the command does not have because it sets them itself.
    """
    options = [_option(each) for each in fields(ReadingOptions) if each.name not in without]
    names = [each.name for each in options]

    def with_options(command: _Command) -> _Command:
        own = inspect.signature(command, eval_str=True)
        parameters = []
        for each in own.parameters.values():
            parameters += options if each.name == _PARAMETER else [each]

        @functools.wraps(command)
        def collecting(*arguments: Any, **given: Any) -> object:  # noqa: ANN401  # those of the command
            reading = ReadingOptions(**{name: given.pop(name) for name in names})
            return command(*arguments, **{_PARAMETER: reading}, **given)

        # Without it, typer would read the annotations of the wrapped function.
        del collecting.__wrapped__
        vars(collecting)["__signature__"] = own.replace(parameters=parameters)
        collecting.__annotations__ = {each.name: each.annotation for each in parameters}
        return collecting  # type: ignore[return-value]  # it is called as the command is

    return with_options


def _option(field: Field[Any]) -> inspect.Parameter:
    """Return the option of a field. The field's type is annotated with a `Help`."""
    kind, told = get_args(field.type)
    option = typer.Option(
        metavar=told.metavar, rich_help_panel=READING, help=told.text, show_default=told.default or True
    )
    annotation = Annotated[kind, option]  # type: ignore[valid-type]  # it is one
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=annotation
    )
