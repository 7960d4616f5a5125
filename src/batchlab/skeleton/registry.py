"""The built-in skeletons by name, and the conversion of their arguments to the declared types."""

from __future__ import annotations

import inspect
import json
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from batchlab.application.application import Application, Phase
from batchlab.core.arguments import checked
from batchlab.core.documents import without_duplicates
from batchlab.core.rules import is_finite, is_whole
from batchlab.core.spec import Call, Grammar, Value, as_json, flag_of, written
from batchlab.errors import ApplicationError, shown, suggest
from batchlab.skeleton import applications
from batchlab.skeleton.collectives.registry import AUTOMATIC, FAMILIES
from batchlab.skeleton.options import MessageOptions
from batchlab.skeleton.skeleton import Skeleton

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from batchlab.core.vocabulary import Fidelity
    from batchlab.skeleton.communicator import Communicator


_OPTIONAL = " | None"
_LIST = "Sequence["


def typed_value(value: object, annotation: str) -> object:
    """Convert a value to a declared type.

    Parameters
    ----------
    value
        A JSON value, or a text.
    annotation
        ``bool``, ``int``, ``float`` (an amount, >= 0), ``str``, or a ``Sequence[…]`` of them; with `` |
        None`` at the end if None is allowed.

    Raises
    ------
    ValueError
        If the value does not match the type; the message is the rule.

    Examples
    --------
    >>> typed_value("False", "bool"), typed_value(3.0, "int"), typed_value([4, 2], "Sequence[int] | None")
    (False, 3, (4, 2))
    """
    if hasattr(value, "tolist"):  # NumPy's
        value = value.tolist()
    if annotation.endswith(_OPTIONAL):
        return None if value is None else typed_value(value, annotation.removesuffix(_OPTIONAL))
    if annotation.startswith(_LIST):
        inside = annotation.removeprefix(_LIST).removesuffix("]")
        if not isinstance(value, list | tuple):
            raise ValueError("must be a list")
        return tuple(typed_value(each, inside) for each in value)
    return _TYPES[annotation](value)


def _whole(value: object) -> int:
    if is_whole(value) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    raise ValueError("must be a whole number")


def _amount(value: object) -> float:
    if is_finite(value) and value >= 0:
        return value
    raise ValueError("must be a finite number >= 0, without a unit")


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise ValueError("must be a text")


_TYPES: dict[str, Callable[[object], object]] = {
    "bool": flag_of,
    "int": _whole,
    "float": _amount,
    "str": _text,
}


_ARGUMENTS = Grammar("application", ApplicationError, "size=1024, iterations=10")
_ROOTED = {"bcast", "reduce", "gather", "scatter"}


def collective(
    world: Communicator,
    *,
    size: float = 1024,
    algorithm: str = AUTOMATIC,
    iterations: int = 1,
    seconds: float = 0.0,
    root: int = 0,
    family: str,
) -> None:
    """Compute, then call a collective, in each iteration."""
    call = getattr(world, family)
    for _ in range(iterations):
        world.compute(seconds)
        if family == "barrier":
            call(algorithm)
        elif family in _ROOTED:
            call(size, root, algorithm)
        else:
            call(size, algorithm)


APPLICATIONS: dict[str, Callable[..., None]] = {
    **{function.__name__: function for function in applications.APPLICATIONS},
    **{family: partial(collective, family=family) for family in FAMILIES},
}
"""The functions of the built-in skeletons by name."""

_MADE: WeakValueDictionary[tuple[str, int, str], Application] = WeakValueDictionary()


@checked(ApplicationError)
def named(
    name: str,
    ranks: int,
    arguments: Mapping[str, Any] | None = None,
    *,
    options: MessageOptions | None = None,
    fidelity: Fidelity = "exact",
) -> Skeleton:
    """Return a built-in skeleton.

    Parameters
    ----------
    name
        One of `APPLICATIONS`: patterns, stencils, multiplications, solvers, or a collective.
    ranks
        Number of ranks.
    arguments
        The arguments of its function, by name.
    options
        The options of message passing.
    fidelity
        As for `Skeleton`; may also be one of the arguments.

    Raises
    ------
    ApplicationError
        If the skeleton or an argument is unknown, or an argument breaks a rule.

    Examples
    --------
    >>> import batchlab as bl
    >>> bl.skeleton.named("stencil_3d", 64, {"size": 512, "iterations": 3}).name
    'stencil_3d'
    """
    if name not in APPLICATIONS:
        raise ApplicationError(f"no skeleton is called {shown(name)}.{suggest(str(name), APPLICATIONS)}")
    given = dict(arguments or {})
    fidelity = given.pop("fidelity", fidelity)
    typed = {each: _typed(name, each, given) for each in given}
    _check_required(name, given)
    function = partial(APPLICATIONS[name], **typed)
    try:
        return Skeleton(function, ranks, name=name, options=options or MessageOptions(), fidelity=fidelity)
    except (TypeError, ValueError, ZeroDivisionError) as error:
        if isinstance(error, ApplicationError):
            raise
        raise ApplicationError(f"{name}({_spelled(given)}): {error}.") from None


def _parameters(name: str) -> dict[str, inspect.Parameter]:
    """Return the parameters of a skeleton's function that are arguments of the skeleton."""
    parameters = inspect.signature(APPLICATIONS[name]).parameters
    return {each: parameters[each] for each in parameters if each not in {"world", "family"}}


def _check_required(name: str, given: Mapping[str, object]) -> None:
    """Raise for the first argument that is missing."""
    for argument, parameter in _parameters(name).items():
        if parameter.default is inspect.Parameter.empty and argument not in given:
            raise ApplicationError(f"{name}({_spelled(given)}): {argument} is missing; add it.")


def _typed(name: str, argument: str, given: Mapping[str, object]) -> object:
    """Convert an argument of a skeleton to the type that its function declares."""
    parameters = _parameters(name)
    if argument not in parameters:
        near = suggest(argument, [*parameters, "fidelity"])
        raise ApplicationError(f"{name}: no argument is called {shown(argument)}.{near}")
    try:
        return typed_value(given[argument], str(parameters[argument].annotation))
    except ValueError as error:
        said = f"{argument} = {shown(given[argument])}; {error}"
        raise ApplicationError(f"{name}({_spelled(given)}): {said}.") from None


def named_application(name: str, ranks: int, text: str | None) -> Application:
    """Return an application whose only task is a built-in skeleton; `text` is as for `arguments_of`.

    Applications in use are cached by name, ranks and arguments, since creating a program takes time and
    programs are immutable.
    """
    arguments = arguments_of(text)
    key = (name, ranks, json.dumps(arguments, sort_keys=True))
    known = _MADE.get(key)
    if known is None:
        known = Application([Phase([named(name, ranks, arguments)], scheduling_point=False)])
        _MADE[key] = known
    return known


def arguments_of(text: str | None) -> dict[str, Any]:
    """Parse arguments: a JSON object, or ``name=value, name=value``, with values as in specs.

    Examples
    --------
    >>> arguments_of("size=1024, algorithm=ring, sides=[4, 2]")
    {'size': 1024, 'algorithm': 'ring', 'sides': [4, 2]}
    """
    if text is None or not text.strip():
        return {}
    if text.lstrip().startswith("{"):
        try:
            found = json.loads(text, object_pairs_hook=without_duplicates)
        except ValueError as error:
            raise ApplicationError(f"app_args = {shown(text)}; must be a JSON object: {error}.") from None
        return dict(found)
    _, call = _ARGUMENTS.arguments(text, "app_args: ")
    if call.values:
        rule = f"must be as '{_ARGUMENTS.example}': a key and a value each"
        raise ApplicationError(f"app_args = {shown(text)}; {rule}.")
    return {key: _argument(each.value, text) for key, each in call.keys.items()}


def _argument(value: Value, text: str) -> object:
    """Convert a value to JSON types; calls are invalid."""
    found = as_json(value)
    if isinstance(found, Call):
        raise ApplicationError(f"app_args = {shown(text)}: {written(found)} is no value; write it in quotes.")
    return found


def _spelled(given: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in given.items())
