"""The grammar of specs: texts that describe policies, controls, distributions and other options.

::

    spec      = name ["(" arguments ")"]
    arguments = [argument {"," argument} [","]]
    argument  = [name "="] value
    value     = number | "true" | "false" | "None" | text | list | mapping | column | spec
    list      = "[" [value {"," value}] "]", or the same in parentheses
    mapping   = "{" [value ":" value {"," value ":" value}] "}"
    column    = "{" name "}"

A column stands for the job's value in it. Numbers are written as in Python (``1_000``, ``1e5``, ``inf``),
true and false in any case. A text needs quotes if it contains one of the characters ``,()[]{}="'`` or a
blank; texts such as ``easy`` and ``outages.csv`` do not.

This module defines the syntax only; each kind of spec defines its names and keys. Every part stores its
position for error messages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from batchlab.core import rules
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
_DEEPEST = 8
_MOST_DIGITS = 20  # those of 2^64

Value: TypeAlias = "bool | int | float | str | tuple[Value, ...] | dict[str, Value] | Call | None"
"""Type of an argument; a name is a `Call` without arguments."""


@dataclass(frozen=True)
class Spec:
    """The text of a spec, to be quoted in errors."""

    text: str

    def where(self, position: int) -> str:
        """Return the sentence that states a position; empty if the spec is a bare name."""
        if _NAME.fullmatch(self.text):
            return ""
        return f" At character {position + 1} of {shown(self.text)}."


@dataclass(frozen=True)
class Argument:
    """A value in parentheses, with the positions of the value, of its end, and of its key."""

    value: Value
    position: int
    key_position: int
    end: int


@dataclass(frozen=True)
class Call:
    """A name with its arguments; `position` is the index of its first character in the spec."""

    name: str
    position: int
    values: list[Argument] = field(default_factory=list)
    keys: dict[str, Argument] = field(default_factory=dict)
    has_parentheses: bool = False


@dataclass(frozen=True)
class Grammar:
    """The grammar, with the terms for error messages of one kind of spec.

    Parameters
    ----------
    kind
        The kind of a spec, such as ``"policy"``.
    error
        The class of the errors.
    example
        One or two example specs.
    """

    kind: str
    error: type[BatchlabError]
    example: str

    def parse(self, text: str, before: str = "") -> tuple[Spec, Call]:
        """Parse a spec; `before` is the beginning of error messages, such as the name of an option.

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
        """Parse arguments without a name and parentheses; the result is a call with an empty name.

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
        """Read the arguments after a name, if any."""
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
            call.values.append(Argument(value, start, start, self.position))
            return
        key = value.name if isinstance(value, Call) and not value.has_parentheses else None
        if key is None:
            self.fail("a key is a bare name.", start)
        if key in call.keys:
            self.fail(f"key {key!r} is given twice; keep one.", start)
        position = self.position
        value = self.value()
        call.keys[key] = Argument(value, position, start, self.position)

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
        """Convert a word that is not a name: a number, a constant or a text."""
        if _INTEGER.fullmatch(word):
            if len(word) > _MOST_DIGITS:
                self.fail("this integer has too many digits.", start)
            return int(word)
        if _DECIMAL.fullmatch(word):
            return float(word)
        return _CONSTANTS.get(word, _FLAGS.get(word.lower(), word))

    def quoted(self) -> str:
        """Read a text in quotes, and strip blanks at its ends."""
        start, quote = self.position, self.text_ahead()
        end = self.spec.text.find(quote, start + 1)
        if end < 0:
            self.fail(f"this {quote} is not closed; add another at the end of the text.", start)
        self.position = end + 1
        self.skip_space()
        return self.spec.text[start + 1 : end].strip()

    def sequence(self) -> Value:
        """Read a list; a single value in parentheses is not a list."""
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
        """Read the comma after an argument; without a comma, the closing sign must follow."""
        if comma := self.take_sign(","):
            return comma
        if not self.text_ahead():
            sign = self.spec.text[opening]
            self.fail(f"this {sign!r} is not closed; add {closing!r}.", opening)
        if self.text_ahead() != closing:
            self.fail(f"{self.ahead()} is neither ',' nor {closing!r}.")
        return ""

    def enter(self, message: str, position: int) -> None:
        """Enter a nested level, and fail beyond the maximum depth."""
        self.depth += 1
        if self.depth > _DEEPEST:
            self.fail(message, position)

    def end(self, message: str) -> None:
        """Fail unless the whole text has been read."""
        if self.position < len(self.spec.text):
            self.fail(f"{self.ahead()} {message}.")

    def take(self, pattern: re.Pattern[str]) -> str:
        """Read the text that matches at the present position, and skip blanks after it."""
        match = pattern.match(self.spec.text, self.position)
        if match is None:
            return ""
        self.position = match.end()
        self.skip_space()
        return match[0]

    def take_sign(self, sign: str) -> str:
        """Read a character if it is the next one."""
        if self.text_ahead() != sign:
            return ""
        self.position += 1
        self.skip_space()
        return sign

    def skip_space(self) -> None:
        """Skip blanks."""
        match = _SPACE.match(self.spec.text, self.position)
        self.position = match.end() if match else self.position

    def text_ahead(self) -> str:
        """Return the next character; empty at the end."""
        return self.spec.text[self.position : self.position + 1]

    def ahead(self) -> str:
        """Return the text at the present position, for an error message."""
        rest = self.spec.text[self.position :]
        return shown(rest.split()[0]) if rest else "the end"

    def fail(self, message: str, position: int | None = None) -> NoReturn:
        """Raise the error of this kind of spec, with the position."""
        where = self.spec.where(self.position if position is None else position)
        raise self.grammar.error(f"{self.before}{message}{where}")


def plain(value: Value) -> object:
    """Convert names in a value to texts; calls with parentheses do not change."""
    if isinstance(value, Call):
        return value if value.has_parentheses else value.name
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return value


def word(value: Value) -> str:
    """Convert a name to a text; a call with arguments becomes a text that is no valid name."""
    return written(value) if isinstance(value, Call) else str(value)


def written(value: object) -> str:
    """Format a value for error messages: names unchanged, texts in quotes."""
    if isinstance(value, Call):
        return f"{value.name}(…)" if value.has_parentheses else value.name
    return shown(value)


def as_json(value: Value) -> object:
    """Convert a value like `plain`, with lists as in JSON."""
    found = plain(value)
    return list(found) if isinstance(found, tuple) else found


def flag_of(value: object) -> bool:
    """Convert true or false, as a text in any case, to a Boolean.

    Raises
    ------
    ValueError
        If it is neither; the message is the rule, with the right word for yes, no, on and off.
    """
    word = value.lower() if isinstance(value, str) else ""
    return _FLAGS[word] if word in _FLAGS else rules.truth(value)
