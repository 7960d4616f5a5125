"""The options of a command that a dataclass declares: one for each field."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

import typer

from batchlab.cli.failure import wrong_usage
from batchlab.core.declared import Declared
from batchlab.errors import BatchlabError

__all__ = ["parameter_of", "value_of", "with_options"]

Command = TypeVar("Command", bound=Callable[..., Any])


def with_options(
    command: Command,
    name: str,
    parameters: list[inspect.Parameter],
    collect: Callable[[dict[str, Any]], object],
) -> Command:
    """Replace a parameter of a command by several options.

    Parameters
    ----------
    command
        The function of the command.
    name
        The parameter that is replaced.
    parameters
        The options in its place.
    collect
        Returns the argument for the parameter; called with the values of the options, by name.
    """
    own = inspect.signature(command, eval_str=True)
    taken: list[inspect.Parameter] = []
    for each in own.parameters.values():
        taken += parameters if each.name == name else [each]
    names = [each.name for each in parameters]

    @functools.wraps(command)
    def collecting(*arguments: Any, **given: Any) -> object:  # noqa: ANN401  # those of the command
        argument = collect({each: given.pop(each) for each in names})
        return command(*arguments, **{name: argument}, **given)

    # The parameters are those of no function, whose annotations typer would read.
    del collecting.__wrapped__
    vars(collecting)["__signature__"] = own.replace(parameters=taken)
    collecting.__annotations__ = {each.name: each.annotation for each in taken}
    return collecting  # type: ignore[return-value]  # it is called as the command is


def parameter_of(option: Declared, panel: str) -> inspect.Parameter:
    """Return the parameter of a command for an option; values are texts, which `value_of` reads."""
    told = option.help
    kind: Any = list[str] | None if told.is_list else str | None
    usual: object = _text(option.default)
    if option.is_switch:
        kind, usual = bool if isinstance(option.default, bool) else bool | None, option.default
    shown = typer.Option(
        *([f"{option.option}/{option.off}"] if option.is_switch else [option.option]),
        metavar=None if option.is_switch else told.metavar or f"[{'|'.join(option.choices)}]",
        autocompletion=_completion(option.choices) if option.choices else None,
        rich_help_panel=panel,
        help=told.text,
        show_default=told.default or True,
    )
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, default=usual, annotation=Annotated[kind, shown]
    )


def value_of(option: Declared, given: Any, check: Callable[[Mapping[str, object]], object]) -> object:  # noqa: ANN401  # of any type
    """Return the value of an option.

    Parameters
    ----------
    option
        The option.
    given
        What the command line has.
    check
        Raises a `BatchlabError` if a value breaks the rule of its option.

    Raises
    ------
    Exception
        Wrong usage of the option.
    """
    value = option.of_text(given)
    try:
        check({option.name: value})
    except BatchlabError as error:
        message = str(error).removeprefix(f"{option.name} = ")
        raise wrong_usage(message, option.option) from None
    return value


def _completion(choices: tuple[str, ...]) -> Callable[[str], list[str]]:
    """Return what offers words of some in a shell."""

    def completed(incomplete: str) -> list[str]:
        return [each for each in choices if each.startswith(incomplete)]

    return completed


def _text(value: object) -> str | None:
    return None if value is None else f"{value:g}" if isinstance(value, float) else str(value)
