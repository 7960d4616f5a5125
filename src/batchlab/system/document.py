"""Shared parts of the formats of system files: typed fields, and errors with the path into the document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, PlainValidator, ValidationError

from batchlab.core.documents import written
from batchlab.errors import SystemDescriptionError, shown, suggest
from batchlab.system import rules

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = [
    "Amount",
    "Count",
    "GroupName",
    "Model",
    "Resources",
    "Seconds",
    "Title",
    "checked",
    "refusal",
    "written",
]


class Model(BaseModel):
    """A mapping in a document: unknown keys and conversions of types are errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _not_empty(value: dict[str, int]) -> dict[str, int]:
    if not value:
        raise ValueError("must name at least one resource, e.g. core")
    return value


Amount = Annotated[int, PlainValidator(rules.amount)]
Count = Annotated[int, PlainValidator(rules.count)]
GroupName = Annotated[str, PlainValidator(rules.group_name)]
Title = Annotated[str, PlainValidator(rules.title)]
Seconds = Annotated[float, PlainValidator(rules.start_time)]
Resources = Annotated[
    dict[Annotated[str, PlainValidator(rules.resource_name)], Amount], AfterValidator(_not_empty)
]

_ModelType = TypeVar("_ModelType", bound=Model)
_Path = tuple[int | str, ...]
_MISSING = object()
_SHAPES = {
    "dict_type": "must be an object of keys and values",
    "model_type": "must be an object of keys and values",
    "model_attributes_type": "must be an object of keys and values",
    "too_short": "must hold at least one group of nodes",
}


def checked(
    model: type[_ModelType], document: dict[str, object], keys: Mapping[tuple[str, ...], Collection[str]]
) -> _ModelType:
    """Check and convert a document.

    Parameters
    ----------
    model
        The expected model.
    document
        The parsed document.
    keys
        The known keys of each mapping, by the path to it (for suggestions).

    Raises
    ------
    SystemDescriptionError
        With the first error, and the number of further errors.
    """
    try:
        return model.model_validate(document)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False)
        # A misspelt key is both unknown and missing; report the unknown one.
        first = min(problems, key=lambda problem: problem["type"] == "missing")
        path, kind = first["loc"], first["type"]
        if kind == "extra_forbidden":
            way = tuple(part for part in path[:-1] if isinstance(part, str))
            rule = f"is not a key of a description.{suggest(str(path[-1]), keys.get(way, ()))}".rstrip(".")
        elif kind == "missing":
            rule = f"is missing; {_needed(path)}"
        else:
            rule = _SHAPES.get(kind, first["msg"].removeprefix("Value error, "))
            if kind == "list_type":
                rule = f"must be a list of {path[-1]}; in TOML write [[{path[-1]}]] before each"
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        raise refusal(path, _MISSING if kind == "missing" else first["input"], f"{rule}{more}") from None


def refusal(path: _Path, value: object, rule: str) -> SystemDescriptionError:
    """Return the error for a value of a document."""
    if len(path) > 2 and path[-1] == "[key]":  # noqa: PLR2004  # else something is called "[key]"
        return SystemDescriptionError(f"{written(path[:-2])}: key {shown(value)}; {rule}.")
    if value is _MISSING:
        return SystemDescriptionError(f"{written(path)} {rule}.")
    return SystemDescriptionError(f"{written(path)} = {shown(value)}; {rule}.")


def _needed(path: _Path) -> str:
    """Return advice for a missing key."""
    purposes = {
        "groups": "a description has at least one group of nodes",
        "resources": "say what is there",
        "count": "say how many nodes the group has",
        "name": "give it a name",
        "processor": 'say what one processor is, e.g. {"core": 1}',
    }
    return purposes.get(str(path[-1]), "add it")
