"""The options of a run, as options of a command: one for each field of `RunOptions`."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer

from batchlab.cli.declared_options import parameter_of, value_of, with_options
from batchlab.cli.failure import wrong_usage
from batchlab.cli.options import OUTPUT, RULES
from batchlab.core.declared import Declared, declared, option_of
from batchlab.errors import SimulationError
from batchlab.options import RunOptions
from batchlab.options.run_options import RECORDED

__all__ = ["check_kept", "takes_run_options"]

_Command = TypeVar("_Command", bound=Callable[..., Any])
_RATE = inspect.Parameter(
    "rate",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        str | None,
        typer.Option(
            metavar="R",
            rich_help_panel=RULES,
            help="Units of work that all nodes do each second; short for --control 'constant(R)'.",
        ),
    ],
)


def takes_run_options(*without: str) -> Callable[[_Command], _Command]:
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

    def with_run_options(command: _Command) -> _Command:
        return with_options(command, "options", parameters, _collected)

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
    for name in ("reasons", "task_times", "sensing", "key_events", "usage"):
        if getattr(options, name):
            option = option_of(RunOptions, name)
            raise wrong_usage("is written to the directory of results; add --out DIR.", option)


def _collected(given: dict[str, Any]) -> RunOptions:
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
