"""The grammar of specs, the texts in which options describe policies, controls, distributions and others.

::

    spec      = name ["(" arguments ")"]
    arguments = [argument {"," argument} [","]]
    argument  = [name "="] value
    value     = number | "true" | "false" | "None" | text | list | mapping | column | spec
    list      = "[" [value {"," value}] "]", or the same in parentheses
    mapping   = "{" [value ":" value {"," value ":" value}] "}"
    column    = "{" name "}"

A column stands for the value that a job has in it. Numbers are written as in Python (``1_000``, ``1e5``,
``inf``), true and false in any case. A text stands in quotes, unless it has none of the characters
``,()[]{}="'`` and no blanks: ``easy``, ``outages.csv``.

This is the syntax only; each kind of spec gives names and keys their meaning. Every part keeps its
position, for the errors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from batchlab.errors import shown

if TYPE_CHECKING:
    from batchlab.errors import BatchlabError

__all__ = ["Argument", "Call", "Grammar", "Spec", "Value", "as_json", "flag_of", "plain", "word", "written"]

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_BARE = re.compile(r"""[^\s,()\[\]{}="']+""")
_BARE_KEY = re.compile(r"""[^\s,()\[\]{}="':]+""")
_INTEGER = re.compile(r"[+-]?[0-9]+(?:_[0-9]+)*")
_DECIMAL = re.compile(
    r"[+-]?(?:inf|(?:[0-9]+(?:_[0-9]+)*\.?(?:[0-9]+(?:_[0-9]+)*)?|\.[0-9]+(?:_[0-9]+)*)(?:[eE][+-]?[0-9]+)?)"
)
_SPACE = re.compile(r"\s*")
_CONSTANTS: dict[str, float | None] = {"None": None, "null": None, "inf": inf}
_FLAGS = {"true": True, "false": False}
_INSTEAD = {"yes": "true", "no": "false", "on": "true", "off": "false"}
_DEEPEST = 8
_MOST_DIGITS = 20  # those of 2^64

Value: TypeAlias = "bool | int | float | str | tuple[Value, ...] | dict[str, Value] | Call | None"
"""What an argument may be; a name is a `Call` without arguments."""


@dataclass(frozen=True)
class Spec:
    """The text of a spec, to be quoted in errors."""

    text: str

    def where(self, position: int) -> str:
        """Return the sentence that names a position; it is empty if the spec is a bare name."""
        if _NAME.fullmatch(self.text):
            return ""
        return f" At character {position + 1} of {shown(self.text)}."


@dataclass(frozen=True)
class Argument:
    """A value in parentheses, with the positions of the value and of its key."""

    value: Value
    position: int
    key_position: int


@dataclass(frozen=True)
class Call:
    """A name with its arguments; `position` is where it begins in the spec."""

    name: str
    position: int
    values: list[Argument] = field(default_factory=list)
    keys: dict[str, Argument] = field(default_factory=dict)
    has_parentheses: bool = False


@dataclass(frozen=True)
class Grammar:
    """The grammar with the words for errors in one kind of spec.

    Parameters
    ----------
    kind
        What a spec describes, such as ``"policy"``.
    error
        The class of the errors.
    example
        A spec, or two.
    """

    kind: str
    error: type[BatchlabError]
    example: str

    def parse(self, text: str, before: str = "") -> tuple[Spec, Call]:
        """Parse one spec; `before` is what errors begin with, such as the name of an option.

        Raises
        ------
        BatchlabError
            Of class `error`, if the text does not follow the grammar; the message names the position.
        """
        reader = _Reader(text, self, before)
        call = reader.call()
        reader.end(f"follows the {self.kind}; a spec is one name and one pair of parentheses")
        return reader.spec, call

    def arguments(self, text: str, before: str = "") -> tuple[Spec, Call]:
        """Parse arguments without a name and parentheses around them, as those of a call with an empty name.

        Raises
        ------
        BatchlabError
            As for `parse`.
        """
        reader = _Reader(text, self, before)
        call = Call("", 0)
        while reader.text_ahead():
            reader.argument(call)
            if not reader.take_sign(","):
                reader.end("is no ','")
        return reader.spec, call


class _Reader:
    """Reads a spec from left to right."""

    def __init__(self, text: str, grammar: Grammar, before: str) -> None:
        self.spec = Spec(text)
        self.grammar = grammar
        self.before = before
        self.position = 0
        self.depth = 0
        self.skip_space()

    def call(self) -> Call:
        """Read ``name`` or ``name(…)``."""
        start = self.position
        name = self.take(_NAME)
        if not name:
            self.fail(f"{self.ahead()} is no name; write one, e.g. {self.grammar.example}.")
        return self.parentheses(name, start)

    def parentheses(self, name: str, start: int) -> Call:
        """Read the arguments behind a name, if there are any."""
        opening = self.position
        if not self.take_sign("("):
            return Call(name, start)
        call = Call(name, start, has_parentheses=True)
        self.enter(f"{name} takes no parentheses here.", opening)
        while not self.take_sign(")"):
            self.argument(call)
            self.separator(")", opening)
        self.depth -= 1
        return call

    def argument(self, call: Call) -> None:
        """Read ``value`` or ``key=value`` into a call."""
        start = self.position
        value = self.value()
        if not self.take_sign("="):
            if call.keys:
                self.fail("a value without a key must stand before the keys.", start)
            call.values.append(Argument(value, start, start))
            return
        key = value.name if isinstance(value, Call) and not value.has_parentheses else None
        if key is None:
            self.fail("a key is a bare name.", start)
        if key in call.keys:
            self.fail(f"key {key!r} is given twice; keep one.", start)
        position = self.position
        call.keys[key] = Argument(self.value(), position, start)

    def value(self, bare: re.Pattern[str] = _BARE) -> Value:
        """Read a number, a text, a list, a mapping or a spec."""
        match self.text_ahead():
            case '"' | "'":
                return self.quoted()
            case "[" | "(":
                return self.sequence()
            case "{":
                return self.mapping()
        start = self.position
        word = self.take(bare)
        if not word:
            self.fail(f"{self.ahead()} is no value; write a number, a name, or a text in quotes.")
        if _NAME.fullmatch(word) and word not in _CONSTANTS and word.lower() not in _FLAGS:
            return self.parentheses(word, start)
        return self.constant(word, start)

    def constant(self, word: str, start: int) -> bool | float | str | None:
        """Return what a word is that is no name: a number, a constant or a text."""
        if _INTEGER.fullmatch(word):
            if len(word) > _MOST_DIGITS:
                self.fail("this integer has too many digits.", start)
            return int(word)
        if _DECIMAL.fullmatch(word):
            return float(word)
        return _CONSTANTS.get(word, _FLAGS.get(word.lower(), word))

    def quoted(self) -> str:
        """Read a text in quotes, without the blanks at its ends."""
        start, quote = self.position, self.text_ahead()
        end = self.spec.text.find(quote, start + 1)
        if end < 0:
            self.fail(f"this {quote} is not closed; add another at the end of the text.", start)
        self.position = end + 1
        self.skip_space()
        return self.spec.text[start + 1 : end].strip()

    def sequence(self) -> Value:
        """Read a list; one value in parentheses is that value."""
        opening, closing = self.position, "]" if self.text_ahead() == "[" else ")"
        self.position += 1
        self.skip_space()
        self.enter("this list is nested too deep.", opening)
        found: list[Value] = []
        comma = ""
        while not self.take_sign(closing):
            found.append(self.value())
            comma = self.separator(closing, opening)
        self.depth -= 1
        return found[0] if closing == ")" and len(found) == 1 and not comma else tuple(found)

    def mapping(self) -> dict[str, Value] | str:
        """Read ``{key: value, …}``, or ``{column}`` as a text."""
        opening = self.position
        self.position += 1
        self.skip_space()
        self.enter("this mapping is nested too deep.", opening)
        found: dict[str, Value] = {}
        while not self.take_sign("}"):
            start = self.position
            key = str(plain(self.value(_BARE_KEY)))
            if not found and self.take_sign("}"):
                self.depth -= 1
                return f"{{{key}}}"
            if not self.take_sign(":"):
                self.fail(f"{self.ahead()} is no ':'.")
            if key in found:
                self.fail(f"key {key!r} is given twice; keep one.", start)
            found[key] = self.value()
            self.separator("}", opening)
        self.depth -= 1
        return found

    def separator(self, closing: str, opening: int) -> str:
        """Take the comma behind an argument; without one, what closes must follow."""
        if comma := self.take_sign(","):
            return comma
        if not self.text_ahead():
            sign = self.spec.text[opening]
            self.fail(f"this {sign!r} is not closed; add {closing!r}.", opening)
        if self.text_ahead() != closing:
            self.fail(f"{self.ahead()} is neither ',' nor {closing!r}.")
        return ""

    def enter(self, message: str, position: int) -> None:
        """Go one level deeper, which is not possible for ever."""
        self.depth += 1
        if self.depth > _DEEPEST:
            self.fail(message, position)

    def end(self, message: str) -> None:
        """Fail unless everything is read."""
        if self.position < len(self.spec.text):
            self.fail(f"{self.ahead()} {message}.")

    def take(self, pattern: re.Pattern[str]) -> str:
        """Take what matches here, and the blanks behind it."""
        match = pattern.match(self.spec.text, self.position)
        if match is None:
            return ""
        self.position = match.end()
        self.skip_space()
        return match[0]

    def take_sign(self, sign: str) -> str:
        """Take one character, if it is here."""
        if self.text_ahead() != sign:
            return ""
        self.position += 1
        self.skip_space()
        return sign

    def skip_space(self) -> None:
        """Go on to what is no blank."""
        match = _SPACE.match(self.spec.text, self.position)
        self.position = match.end() if match else self.position

    def text_ahead(self) -> str:
        """Return the next character; it is empty at the end."""
        return self.spec.text[self.position : self.position + 1]

    def ahead(self) -> str:
        """Return what stands here, for an error."""
        rest = self.spec.text[self.position :]
        return shown(rest.split()[0]) if rest else "the end"

    def fail(self, message: str, position: int | None = None) -> NoReturn:
        """Raise the error of this kind of spec, with the position."""
        where = self.spec.where(self.position if position is None else position)
        raise self.grammar.error(f"{self.before}{message}{where}")


def plain(value: Value) -> object:
    """Return a value in which names are texts; a call with parentheses stays as it is."""
    if isinstance(value, Call):
        return value if value.has_parentheses else value.name
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return value


def word(value: Value) -> str:
    """Return a value that must be a name as a text; one with arguments is no name that anything has."""
    return written(value) if isinstance(value, Call) else str(value)


def written(value: object) -> str:
    """Return how a value is shown in errors: names as they are, texts in quotes."""
    if isinstance(value, Call):
        return f"{value.name}(…)" if value.has_parentheses else value.name
    return shown(value)


def as_json(value: Value) -> object:
    """Return a value as `plain` does, with a list as JSON has it."""
    found = plain(value)
    return list(found) if isinstance(found, tuple) else found


def flag_of(value: object) -> bool:
    """Return the truth value that a value is: true or false, as texts in any case.

    Raises
    ------
    ValueError
        If it is neither; the message is the rule, and names the right word for yes, no, on and off.
    """
    if isinstance(value, bool):
        return value
    word = value.lower() if isinstance(value, str) else ""
    if word in _FLAGS:
        return _FLAGS[word]
    raise ValueError("must be true or false" + (f": write {_INSTEAD[word]}" if word in _INSTEAD else ""))
