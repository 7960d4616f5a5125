"""Parse applications in texts: ``stencil_3d(size=512), tasks=64``."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from batchlab.core import rules
from batchlab.core.spec import Call, Grammar, as_json
from batchlab.errors import ApplicationError, WorkloadError, shown, suggest
from batchlab.skeleton.applications.registry import APPLICATIONS, arguments_of

__all__ = ["SkeletonSpec", "columns_of", "skeleton_spec", "weighted"]

_SPECS = Grammar("application", WorkloadError, "stencil_3d(size=512, iterations=10)")


class SkeletonSpec(NamedTuple):
    """A built-in skeleton: the values of the columns ``app_name`` and ``app_args``."""

    name: str
    arguments: str | None


def skeleton_spec(text: object) -> SkeletonSpec:
    """Parse ``NAME`` or ``NAME(arguments)``.

    Raises
    ------
    WorkloadError
        If the syntax is invalid, or the skeleton is unknown. Arguments are checked later, when the skeleton
        is created with the number of ranks of a job.
    """
    if not isinstance(text, str):
        raise WorkloadError(f"application = {shown(text)}; must be a text, as '{_SPECS.example}'.")
    _, call = _SPECS.parse(text, f"application = {shown(text)}: ")
    if call.name not in APPLICATIONS:
        known = suggest(call.name, APPLICATIONS)
        raise WorkloadError(f"application = {shown(text)}: no skeleton is called {call.name!r}.{known}")
    name, parenthesis, arguments = text.strip().partition("(")
    arguments = arguments.removesuffix(")").strip() if parenthesis else ""
    try:
        arguments_of(arguments)
    except ApplicationError as error:
        raise WorkloadError(f"application = {shown(text)}: {error}") from None
    return SkeletonSpec(name.strip(), arguments or None)


def columns_of(text: object, what: str) -> tuple[str, dict[str, object]]:
    """Parse ``APPLICATION, column=value, …``; return the text of the application, and the columns.

    Raises
    ------
    WorkloadError
        If the syntax is invalid.
    """
    if not isinstance(text, str):
        raise WorkloadError(f"{what} {shown(text)}; must be a text, as '{_SPECS.example}, tasks=64'.")
    spec, call = _SPECS.arguments(text, f"{what} {shown(text)}: ")
    if len(call.values) != 1 or not isinstance(call.values[0].value, Call):
        rule = f"must be an application and columns, as '{_SPECS.example}, tasks=64'"
        raise WorkloadError(f"{what} {shown(text)}; {rule}.")
    first = min((each.key_position for each in call.keys.values()), default=len(text))
    application = spec.text[:first].strip().removesuffix(",").strip()
    return application, {key: as_json(each.value) for key, each in call.keys.items()}


def weighted(applications: Mapping[str, float] | Sequence[str]) -> list[tuple[SkeletonSpec, float]]:
    """Check and return applications with positive weights."""
    if isinstance(applications, str) or not isinstance(applications, Mapping | Sequence):
        raise WorkloadError(
            f"background = {shown(applications)}; must be a list of applications, or a mapping to weights."
        )
    pairs = (
        applications.items() if isinstance(applications, Mapping) else ((each, 1) for each in applications)
    )
    chosen = [(skeleton_spec(text), weight) for text, weight in pairs]
    for each, weight in chosen:
        rules.check(WorkloadError, f"background: the weight of {each.name}", weight, rules.POSITIVE)
    return [(each, float(weight)) for each, weight in chosen]
