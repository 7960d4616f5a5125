"""The syntax of policy specs: ``name(value, key=value, …)``; values are names, numbers or quoted text.

Only the syntax: what the names mean is `policy`'s business. Every part knows its position, for the errors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from batchlab.errors import PolicyError, shown

__all__ = ["Argument", "Call", "Spec", "parse"]

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_INTEGER = re.compile(r"[+-]?[0-9]+(?![\w.])")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.])")
_SPACE = re.compile(r"\s*")
# A policy's order may be a call itself, "easy(order=random(7))", and so may that of its allocator,
# "easy(allocator=blocks(4, order=random(7)))"; nothing in a spec goes deeper.
_DEEPEST = 2


@dataclass(frozen=True)
class Spec:
    """A spec string, to be quoted in errors."""

    text: str

    def where(self, position: int) -> str:
        """Say where in the spec something is; nothing where the spec is a bare name."""
        if _NAME.fullmatch(self.text):
            return ""
        return f" At character {position + 1} of {shown(self.text)}."


@dataclass(frozen=True)
class Argument:
    """A value in a call's parentheses, where it begins, and where its key does."""

    value: Call | float | str
    position: int
    key_position: int


@dataclass(frozen=True)
class Call:
    """A name with its arguments; `position` is where it begins in the spec."""

    name: str
    position: int
    values: list[Argument] = field(default_factory=list)
    keys: dict[str, Argument] = field(default_factory=dict)


def parse(text: str) -> tuple[Spec, Call]:
    """Parse a spec.

    Raises
    ------
    PolicyError
        If it does not follow the syntax; the message names the position.
    """
    reader = _Reader(text)
    call = reader.call(depth=1)
    if reader.position < len(text):
        raise reader.error(
            f"{reader.ahead()} follows the policy; a spec is one name and one pair of parentheses."
        )
    return reader.spec, call


class _Reader:
    """Reads a spec from left to right."""

    def __init__(self, text: str) -> None:
        self.spec = Spec(text)
        self.position = 0
        self.skip_space()

    def call(self, depth: int) -> Call:
        """Read ``name`` or ``name(…)``."""
        start = self.position
        name = self.take(_NAME)
        if not name:
            raise self.error(f"{self.ahead()} is no name; write one, e.g. easy or easy(order=sjf).")
        call = Call(name, start)
        opening = self.position
        if not self.take_sign("("):
            return call
        if depth > _DEEPEST:
            raise self.error(f"{name} takes no parentheses here.", opening)
        while not self.take_sign(")"):
            self.argument(call, depth)
            if not self.take_sign(",") and self.text_ahead() != ")":
                if not self.text_ahead():
                    raise self.error("this '(' is not closed; add ')'.", opening)
                raise self.error(f"{self.ahead()} is neither ',' nor ')'.")
        return call

    def argument(self, call: Call, depth: int) -> None:
        """Read ``value`` or ``key=value`` into a call."""
        start = self.position
        value = self.value(depth)
        if not isinstance(value, Call) or not self.take_sign("="):
            if call.keys:
                raise self.error("a value without a key must stand before the keys.", start)
            call.values.append(Argument(value, start, start))
            return
        if value.values or value.keys:
            raise self.error("a key is a bare name.", start)
        if value.name in call.keys:
            raise self.error(f"key {value.name!r} is given twice; keep one.", start)
        position = self.position
        inside = depth - 1 if value.name == "allocator" else depth
        call.keys[value.name] = Argument(self.value(inside), position, start)

    def value(self, depth: int) -> Call | float | str:
        """Read a number, a quoted text or a call."""
        start = self.position
        if quote := (self.take_sign('"') or self.take_sign("'")):
            # Spaces belong to the text: take_sign has skipped them, which does not matter to a formula.
            end = self.spec.text.find(quote, self.position)
            if end < 0:
                raise self.error(f"this {quote} is not closed; add another at the end of the formula.", start)
            text = self.spec.text[self.position : end]
            self.position = end + 1
            self.skip_space()
            return text.strip()
        if digits := self.take(_INTEGER):
            if len(digits) > 20:  # noqa: PLR2004  # the digits of 2^64
                raise self.error("this integer has too many digits.", start)
            return int(digits)
        if digits := self.take(_DECIMAL):
            return float(digits)
        return self.call(depth + 1)

    def take(self, pattern: re.Pattern[str]) -> str:
        """Take what matches here, and the space behind it."""
        match = pattern.match(self.spec.text, self.position)
        if match is None:
            return ""
        self.position = match.end()
        self.skip_space()
        return match[0]

    def take_sign(self, sign: str) -> str:
        """Take one character, if it is here."""
        return self.take(re.compile(re.escape(sign)))

    def skip_space(self) -> None:
        """Go on to what is no space."""
        match = _SPACE.match(self.spec.text, self.position)
        self.position = match.end() if match else self.position

    def text_ahead(self) -> str:
        """Look at the next character."""
        return self.spec.text[self.position : self.position + 1]

    def ahead(self) -> str:
        """Show what stands here, for an error."""
        rest = self.spec.text[self.position :]
        return shown(rest.split()[0]) if rest else "the end"

    def error(self, message: str, position: int | None = None) -> PolicyError:
        """Make an error that tells where."""
        return PolicyError(message + self.spec.where(self.position if position is None else position))
