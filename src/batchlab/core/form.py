"""Dataclasses as plain values: check their fields, build them from documents, convert them to documents.

The annotation of a field says which values it takes:

=============================  ====================================================================
``Annotated[int, rule]``       what the rule (`batchlab.core.rules`) takes; likewise any other type
``bool``                       true or false
``Literal["a", "b"]``          one of the words
a dataclass                    an object of it; in a document, a table of its fields
``tuple[part, ...]``           objects of a dataclass with unique names; in a document, a list of tables
``tuple[Part | Other, ...]``   objects of dataclasses; in a document, the lists ``parts`` and ``others``
``Mapping[str, part]``         objects of a dataclass by name; in a document, a table of tables
``... | None``                 None too
=============================  ====================================================================

The metadata of a field can have its ``key`` in documents, if that is not the name. A dataclass whose tables
have a short form in documents, such as a text for ``{column = "text"}``, has a static method ``in_full`` that
returns the table, and other values unchanged. If the tables of a format differ from the dataclasses, the
reader of the format has a `Form` of each.

`check_fields` checks an object while it is made, and `Reader.build` makes one from a document. So a file has
the keys and the rules of the class. `described` makes the objects that options of a run hold.
"""

from __future__ import annotations

import builtins
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from functools import cache
from types import MappingProxyType, SimpleNamespace, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from batchlab.core import rules
from batchlab.core.spec import Call, Grammar, flag_of, plain
from batchlab.errors import SimulationError, shown, suggest, written

__all__ = [
    "Form",
    "Reader",
    "as_document",
    "check_fields",
    "described",
    "flag",
    "keys_of",
    "reduced",
    "refusal",
]

_T = TypeVar("_T")
_Path = tuple[int | str, ...]
_NOTHING: Mapping[Any, Any] = MappingProxyType({})
# Deeper documents are errors before Python's stack ends.
_DEEPEST = 200

Table = Mapping[str, object]
Form = Callable[[dict[str, Any]], tuple[type, Table, Table]]
"""Converts a table of a document: returns the dataclass that it describes, its keys, and further fields.

The dataclass may be one that stands for the object in documents; its method ``made`` returns the object.
"""


@dataclass(frozen=True)
class _Known:
    """A field of a dataclass, as its annotation describes it.

    Parameters
    ----------
    rule
        What its values must be; None for any.
    one, several, named
        The dataclass of its object, of a tuple of objects, or of objects by name.
    mixed
        The dataclasses of a tuple of objects, by their keys in a document.
    """

    rule: rules.Rule[object] | None = None
    one: type[Any] | None = None
    several: type[Any] | None = None
    named: type[Any] | None = None
    mixed: Mapping[str, type[Any]] | None = None


def check_fields(instance: object, error: Callable[[str], Exception], where: str | None = None) -> None:
    """Check the fields of a frozen dataclass while it is made, and keep what their rules return.

    Parameters
    ----------
    instance
        The object.
    error
        Makes the error of a message.
    where
        What precedes the name of a field in errors. [default: the class and the object's name]

    Raises
    ------
    Exception
        ``error("Kind 'name': field = value; rule.")`` for the first field that breaks its rule.
    """
    kind: Any = type(instance)
    for name, field in _fields(kind).items():
        value = getattr(instance, name)
        # Defaults are valid; the annotations of fields that nobody sets are not evaluated.
        if value is field.default or (rule := _known(kind, name).rule) is None:
            continue
        label = _label(kind, instance if name != "name" else None) if where is None else where
        rules.set_field(instance, name, rules.check(error, f"{label}{name}", value, rule))


def refusal(instance: object, error: Callable[[str], Exception], text: str) -> Exception:
    """Return the error of an object: its class, its name and the text, ``"field = value; rule."``."""
    return error(f"{_label(type(instance), instance)}{text}")


def as_document(part: object) -> dict[str, object]:
    """Return the fields of a dataclass that are not at their defaults, as values of a document.

    A field's metadata can have a function ``plain`` that converts its value.
    """
    found: dict[str, object] = {}
    for field in fields(part):  # type: ignore[arg-type]  # a dataclass
        value = getattr(part, field.name)
        if field.metadata.get("in_file", True) and value != _default(field):
            found[field.name] = field.metadata.get("plain", _plain)(value)
    return found


def reduced(instance: object) -> tuple[object, ...]:
    """Return what ``__reduce__`` returns for a dataclass with read-only mappings, which cannot be pickled."""
    values = [getattr(instance, field.name) for field in fields(instance)]  # type: ignore[arg-type]  # a dataclass
    return type(instance), tuple(dict(each) if isinstance(each, Mapping) else each for each in values)


class Reader:
    """Builds objects of dataclasses from a document.

    Parameters
    ----------
    error
        The class of errors.
    document
        What the document is called in errors, with its article.
    advice
        The next step for a missing key, by its name.
    forms
        The forms of dataclasses in this format, where their tables are others than their fields.
    ignored
        Collects the paths of unknown keys, which are then ignored. By default, they are errors.
    is_toml
        Whether documents may be TOML.
    """

    def __init__(
        self,
        error: type[Exception],
        document: str,
        *,
        advice: Mapping[str, str] = _NOTHING,
        forms: Mapping[type, Form] = _NOTHING,
        ignored: list[str] | None = None,
        is_toml: bool = True,
    ) -> None:
        self._error = error
        self._document = document
        self._advice = advice
        self._forms = forms
        self._ignored = ignored
        self._is_toml = is_toml
        self._places: dict[int, _Path] = {}
        self._found: list[tuple[bool, str]] = []

    def build(self, kind: type[_T], document: object, path: _Path = ()) -> _T:
        """Return an object of a dataclass.

        Parameters
        ----------
        kind
            The dataclass.
        document
            A mapping of the names of its fields to values.
        path
            The place of the mapping in a larger document.

        Raises
        ------
        Exception
            With the path into the document, the value, the rule and the next step of the first error, and the
            number of further ones.
        """
        built: _T | None = self._part(kind, document, path)
        if built is not None:
            return built
        # A misspelt key is both unknown and missing; the unknown one is the better error.
        _, first = min(self._found, key=lambda problem: problem[0])
        more = f" (and {len(self._found) - 1} more)." if len(self._found) > 1 else ""
        raise self._error(f"{first.removesuffix('.')}{more}" if more else first)

    def _part(self, kind: type, given: object, path: _Path) -> Any:  # noqa: ANN401  # of the class, or None
        given = getattr(kind, "in_full", _same)(given)
        if not isinstance(given, Mapping):
            self._refuse(path, given, "must be an object of keys and values")
            return None
        if len(path) > _DEEPEST:
            self._refuse(path, given, "is nested too deeply")
            return None
        form, known, before = kind, given, len(self._found)
        values: Table = {}
        try:
            if kind in self._forms:
                form, given, values = self._forms[kind](dict(given))
            known = keys_of(form)
            values = {**values, **self._values(form, given, path, values)}
            if len(self._found) > before:
                return None
            built: Any = form(**values)
            built = built.made() if hasattr(built, "made") else built
        except self._error as error:
            # An error of a part that was built before has that part's path.
            place = self._places.get(id(getattr(error, "part", None)), path)
            labels = [_label(each, SimpleNamespace(**values)) for each in (kind, form)]
            self._found.append((False, _within(place, labels, known, str(error))))
            return None
        self._places[id(built)] = path
        return built

    def _values(self, kind: type, table: Table, path: _Path, fixed: Table) -> dict[str, object]:
        """Return the values of the fields of a dataclass."""
        known = {key: field for key, field in keys_of(kind).items() if field.name not in fixed}
        for key in table:
            if key not in known and self._ignored is not None:
                self._ignored.append(written((*path, key)))
            elif key not in known:
                rule = f"is not a key of {self._document}.{suggest(str(key), known)}"
                self._refuse((*path, str(key)), table[key], rule)
        values: dict[str, Any] = {}
        for key, field in known.items():
            facts = _known(kind, field.name)
            if key in table and facts.mixed is not None:
                part = _Known(facts.rule, several=facts.mixed[key])
                value: Any = self._value(part, table[key], (*path, key))
                values[field.name] = (*values.get(field.name, ()), *(value or ()))
            elif key in table:
                values[field.name] = self._value(facts, table[key], (*path, key))
            elif _default(field) is MISSING:
                advice = self._advice.get(key, "add it")
                self._found.append((True, f"{written((*path, key))} is missing; {advice}."))
        return values

    def _value(self, field: _Known, given: object, path: _Path) -> object:
        if field.one is not None and given is not None:
            return self._part(field.one, given, path)
        if field.several is not None and given != []:
            if isinstance(given, list):
                return tuple(self._part(field.several, each, (*path, at)) for at, each in enumerate(given))
            name = path[-1]
            advice = f"; in TOML write [[{name}]] before each" if self._is_toml else ""
            self._refuse(path, given, f"must be a list of {name}{advice}")
            return None
        if field.named is not None and isinstance(given, Mapping):
            return {name: self._part(field.named, each, (*path, str(name))) for name, each in given.items()}
        if field.rule is not None:
            try:
                return rules.check(self._error, written(path), given, field.rule)
            except self._error as error:
                self._found.append((False, str(error)))
        return given

    def _refuse(self, path: _Path, value: object, rule: str) -> None:
        end = "" if rule.endswith(".") else "."
        self._found.append((False, f"{written(path) or 'document'} = {shown(value)}; {rule}{end}"))


@cache
def keys_of(kind: type) -> Mapping[str, Field[Any]]:
    """Return the fields of a dataclass by their keys in documents."""
    return {key: each for each in _fields(kind).values() for key in _keys(kind, each)}


def _keys(kind: type, field: Field[Any]) -> Iterable[str]:
    return _known(kind, field.name).mixed or (field.metadata.get("key", field.name),)


@cache
def _fields(kind: type) -> Mapping[str, Field[Any]]:
    """Return the fields of a dataclass that a document has, by name."""
    return {each.name: each for each in fields(kind) if each.init and each.metadata.get("in_file", True)}


@cache
def _known(kind: type, name: str) -> _Known:
    """Return what the annotation of a field says."""
    annotated = SimpleNamespace(__annotations__={name: _fields(kind)[name].type})
    owner = next(each for each in kind.__mro__ if name in vars(each).get("__annotations__", {}))
    scope = _Scope(owner.__module__)
    return _known_of(get_type_hints(annotated, scope.module, scope, include_extras=True)[name])


class _Scope(dict[str, object]):
    """The names of a module; names that it imports for type checkers only are looked up in its package."""

    def __init__(self, module: str) -> None:
        super().__init__()
        self.module = vars(sys.modules[module])
        self._package = sys.modules[module.rpartition(".")[0]]

    def __missing__(self, name: str) -> object:
        if name in self.module or hasattr(builtins, name):
            raise KeyError(name)
        return getattr(self._package, name)


def _known_of(kind: object) -> _Known:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType) and type(None) in inner:
        others = [each for each in inner if each is not type(None)]
        known = _known_of(others[0]) if len(others) == 1 else _Known()
        return known if known.rule is None else replace(known, rule=_or_none(known.rule))
    if origin is Annotated:
        known = _known_of(inner[0])
        # What else stands there, such as the help of an option, is no rule.
        return replace(known, rule=next((each for each in inner[1:] if callable(each)), known.rule))
    if origin is Literal or kind is bool:
        return _Known(rules.truth if kind is bool else rules.OneOf(inner))
    if isinstance(kind, type) and is_dataclass(kind):
        return _Known(rules.Instance(kind), one=kind)
    return _known_of_several(origin, inner)


def _known_of_several(origin: object, inner: tuple[Any, ...]) -> _Known:
    kinds = get_args(inner[0]) if inner else ()
    if origin is tuple and inner[1:] == (...,) and is_dataclass(inner[0]):
        return _Known(rules.Parts(inner[0]), several=inner[0])  # type: ignore[arg-type]  # a class
    if origin is tuple and kinds and all(map(is_dataclass, kinds)):
        return _Known(mixed={f"{each.__name__.lower()}s": each for each in kinds})
    if origin is Sequence and is_dataclass(inner[0]):
        return _Known(several=inner[0])  # type: ignore[arg-type]  # a class
    if origin is Mapping and is_dataclass(inner[1]):
        part: Any = inner[1]
        return _Known(rules.Table(rules.text, rules.Instance(part), "names to tables"), named=part)
    return _Known()


def _same(given: object) -> object:
    return given


def _or_none(rule: rules.Rule[object]) -> rules.Rule[object]:
    if isinstance(rule, rules.Instance):
        return rules.Optional(rule)
    # Documents have no None: the rule does not name it.
    return lambda value: None if value is None else rule(value)


def _default(field: Field[Any]) -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()


def _label(kind: type[object], named: object) -> str:
    name = getattr(named, "name", None)
    return f"{kind.__name__} {shown(name)}: " if name and isinstance(name, str) else f"{kind.__name__}: "


def _within(path: _Path, labels: Iterable[str], known: Mapping[str, Any], text: str) -> str:
    """Return the error of an object with its path in place of its label, and the key of its field."""
    place = written(path)
    if not place or text.startswith(f"{place}."):
        return text
    rule = text
    for label in labels:
        rule = rule.removeprefix(label)
    word, names_key = re.match(r"(\w*)( = | is missing|)", rule).groups()  # type: ignore[union-attr]  # any text
    otherwise = word if names_key else None
    key = next((key for key in known if word in (key, getattr(known[key], "name", key))), otherwise)
    return f"{place}: {rule}" if key is None else f"{place}.{key}{rule.removeprefix(word)}"


def _plain(value: object) -> object:
    if is_dataclass(value):
        return as_document(value)
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if value == math.inf:
        return "inf"  # JSON has no such number
    return int(value) if isinstance(value, float) and value.is_integer() else value


_Kind = TypeVar("_Kind")


def described(kind: type[_Kind], name: str, value: object, example: str) -> _Kind:
    """Return an object of a dataclass.

    Parameters
    ----------
    kind
        The dataclass.
    name
        The option, for errors.
    value
        An object of the dataclass; a mapping of its fields; arguments as text, ``"launch=2, billed=false"``;
        or a sequence of such texts.
    example
        Such a text.

    Raises
    ------
    SimulationError
        If it is none of these, or a field breaks its rule; the message begins with the option, and the field.
    """
    if isinstance(value, kind):
        return value
    if isinstance(value, list | tuple) and value and all(isinstance(each, str) for each in value):
        value = ", ".join(value)
    if isinstance(value, str):
        value = _arguments(name, value, example)
    if not isinstance(value, Mapping):
        rule = f'must be a batchlab.{kind.__name__}, a table of its fields, a text as "{example}", or None'
        raise SimulationError(f"{name} = {shown(value)}; {rule}.")
    dataclass: Any = kind
    known = [field.name for field in fields(dataclass)]
    for key in value:
        if key not in known:
            raise SimulationError(f"{name}.{key}: no such key.{suggest(str(key), known)}")
    for field in fields(dataclass):
        if field.default is MISSING and field.name not in value:
            raise SimulationError(f"{name}.{field.name} is missing; add it.")
    try:
        return kind(**value)
    except SimulationError as error:
        raise SimulationError(f"{name}.{error}") from None


def flag(name: str, value: object) -> bool:
    """Return a field that is true or false; as text in any case.

    Raises
    ------
    SimulationError
        If it is neither.
    """
    return rules.check(SimulationError, name, value, flag_of)


def _arguments(name: str, text: str, example: str) -> dict[str, object]:
    """Read ``key=value, key=value``; a value with parentheses, such as a distribution, is its text."""
    spec, call = Grammar(name, SimulationError, example).arguments(text, f"{name}: ")
    if call.values or not call.keys:
        raise SimulationError(f"{name} = {shown(text)}; must name each value, as {example}.")
    return {
        key: spec.text[each.position : each.end].strip()
        if isinstance(each.value, Call) and each.value.has_parentheses
        else plain(each.value)
        for key, each in call.keys.items()
    }
