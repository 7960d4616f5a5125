"""Options of commands that a dataclass declares: one for each field of `RunOptions` and `ReadingOptions`."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

import typer

from batchlab.cli.failure import naming, wrong_usage
from batchlab.cli.options import OUTPUT, READING, RULES
from batchlab.core.declared import Declared, declared, option_of
from batchlab.errors import SimulationError
from batchlab.options import RunOptions
from batchlab.options.run_options import RECORDED
from batchlab.workload.log_options import ReadingOptions, check_reading

__all__ = ["check_kept", "takes_reading_options", "takes_run_options", "with_options"]

# Records that an answer or a file of their own shows; the others are files in the directory of results.
_SHOWN = frozenset({"dispatch", "messages"})

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
    with naming(option.option):
        check({option.name: value})
    return value


def _completion(choices: tuple[str, ...]) -> Callable[[str], list[str]]:
    """Return what offers words of some in a shell."""

    def completed(incomplete: str) -> list[str]:
        return [each for each in choices if each.startswith(incomplete)]

    return completed


def _text(value: object) -> str | None:
    return None if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def takes_reading_options(command: Command) -> Command:
    """Replace the parameter ``reading`` of a command by the options of reading a log."""
    parameters = [parameter_of(each, READING) for each in declared(ReadingOptions).values()]
    return with_options(command, "reading", parameters, _reading_options)


def _reading_options(given: dict[str, Any]) -> ReadingOptions:
    known = declared(ReadingOptions)
    return ReadingOptions(
        **{name: value_of(known[name], value, check_reading) for name, value in given.items()}  # type: ignore[arg-type]  # they are checked
    )


_RATE = inspect.Parameter(
    "rate",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        str | None,
        typer.Option(
            metavar="R",
            rich_help_panel=RULES,
            help="Service rate of all nodes, units of work per second; short for --control 'constant(R)'.",
        ),
    ],
)


def takes_run_options(*without: str) -> Callable[[Command], Command]:
    """Replace the parameter ``options`` of a command by the options of a run.

    Parameters
    ----------
    without
        Options that the command does not have: of a record that it does not write, or that it decides itself.
    """
    known = [each for each in declared(RunOptions).values() if each.name not in without]
    parameters = []
    for each in known:
        parameters += [_RATE] if each.name == "control" else []
        parameters.append(parameter_of(each, OUTPUT if each.name in RECORDED else RULES))

    def with_run_options(command: Command) -> Command:
        return with_options(command, "options", parameters, _run_options)

    return with_run_options


def check_kept(options: RunOptions, *places: object) -> None:
    """Refuse that a run records what no output gets.

    Parameters
    ----------
    options
        Those of the run.
    places
        Where results go; None is a place that was not given.
    """
    if any(place is not None for place in places):
        return
    for name in options.recorded:
        if name not in _SHOWN:
            option = option_of(RunOptions, name)
            raise wrong_usage("is written to the directory of results; add --out DIR.", option)


def _run_options(given: dict[str, Any]) -> RunOptions:
    rate = given.pop("rate")
    if rate is not None:
        given["control"] = _constant(rate, given["control"])
    known = declared(RunOptions)
    asked = {name: value for name, value in given.items() if not _is_usual(known[name], value)}
    return RunOptions.from_dict(
        {name: value_of(known[name], value, RunOptions.from_dict) for name, value in asked.items()}
    )


def _is_usual(option: Declared, given: object) -> bool:
    """Return whether a command line leaves an option as it is: most runs then need no checks."""
    return given is None or given == [] or option.of_text(given) == option.default  # type: ignore[arg-type]  # of typer


def _constant(rate: str, control: list[str] | None) -> list[str]:
    """Return the control that ``--rate`` stands for."""
    if control:
        rule = f"{rate} sets the rate that --control {control[0]!r} would change; leave one out."
        raise wrong_usage(rule, "--rate")
    try:
        RunOptions(reference_rate=float(rate))
    except (ValueError, SimulationError):
        raise wrong_usage(f"{rate!r}; must be a finite number > 0.", "--rate") from None
    return [f"constant({rate})"]
