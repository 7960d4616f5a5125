"""What is declared once: parameters of the kernel's rules, and options as fields of dataclasses.

A field is an option if its type is annotated with a `Help`. Commands, files of experiments, the commands in
reports and tests of the documentation take the options from there.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from functools import lru_cache
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union, get_args, get_origin

from batchlab import _kernel
from batchlab.core import rules
from batchlab.core.units import format_number
from batchlab.errors import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "KERNEL_RULES",
    "Declared",
    "Help",
    "NeedsTables",
    "Parameter",
    "ParameterValue",
    "Rule",
    "declared",
    "hold",
    "one_of",
    "option_of",
    "spelled",
]

ParameterValue: TypeAlias = bool | float | str | None
"""The value of a parameter; None if it depends on other parameters or on the run."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a rule.

    Parameters
    ----------
    name
        The key in spec strings.
    kind
        ``"switch"``: true or false; ``"whole"``: an integer; ``"number"``; ``"word"``: one of `words`;
        ``"text"``: text that is parsed further; ``"numbers"``: a number, or several; ``"seed"``.
    usual
        The default; None if it depends on other parameters or on the run.
    usual_text
        The default in words, if it is None.
    least, most
        The range, both included; None without a bound.
    above, below
        Bounds that are excluded.
    below_parameter
        The parameter whose value is that bound.
    unit
        The unit of a number.
    words
        The values of a ``"word"``.
    positional
        True if it is written without its name.
    requires
        Another parameter, and the value that it must have.
    text
        Description.
    source
        Where it is defined, if not with the rule.
    """

    name: str
    kind: Literal["switch", "whole", "number", "word", "text", "numbers", "seed"]
    usual: ParameterValue
    usual_text: str
    least: float | None
    most: float | None
    above: float | None
    below: float | None
    below_parameter: str | None
    unit: str
    words: list[str]
    positional: bool
    requires: tuple[str, str] | None
    text: str
    source: str

    def rule(self, others: Mapping[str, object]) -> rules.Rule[object]:
        """Return the rule of values other than None, text and several numbers.

        Parameters
        ----------
        others
            The values of other parameters.
        """
        if self.kind == "switch":
            return rules.truth
        if self.kind == "whole":
            least, most = (None if bound is None else int(bound) for bound in (self.least, self.most))
            return rules.Whole(least, most)
        if self.kind == "number":
            other = None if self.below_parameter is None else rules.number_of(others[self.below_parameter])
            below = self.below if other is None else other
            return rules.Number(
                self.least, most=self.most, above=self.above, below=below, unit=self.unit, floating=True
            )
        if self.kind == "seed":
            return rules.Optional(rules.SEED) if self.usual is None else rules.SEED
        return rules.OneOf(tuple(self.words))

    def written(self, value: object) -> str:
        """Write a value as in a spec."""
        if isinstance(value, bool):
            return str(value).lower()
        return format_number(value) if isinstance(value, float) else str(value)

    @property
    def default(self) -> str:
        """The default as in a spec, or in words."""
        return self.usual_text if self.usual is None else f"`{self.written(self.usual)}`"

    @property
    def values(self) -> str:
        """The type and the bounds in words."""
        if self.kind in {"switch", "word"}:
            return " or ".join(f"`{word}`" for word in self.words or ("true", "false"))
        if self.kind in {"text", "numbers", "seed"}:
            return {"numbers": "number, or several", "seed": "whole number from 0 to 2^64 - 1"}.get(
                self.kind, "text"
            )
        kind = "whole number" if self.kind == "whole" else "number"
        below = "" if self.below is None else f"{self.below:g}"
        below = f"`{self.below_parameter}`" if self.below_parameter else below
        end = f", below {below}" if below else " on"
        end = end if self.most is None else f" to {rules.written_bound(self.most)}"
        if self.above is not None:
            return f"{kind} above {rules.written_bound(self.above)}{end.removesuffix(' on')}"
        return f"{kind} from {rules.written_bound(self.least or 0)}{end}"


@dataclass(frozen=True)
class Rule:
    """One named rule.

    Parameters
    ----------
    summary
        Effect of the rule, in one line.
    source
        The publication that defines it; empty for folklore.
    parameters
        Its own parameters, by name.
    needs
        What it needs, if anything. An allocator: ``"network"`` or ``"torus"``. An order: ``"nodes"``, the
        least number of nodes of each job; ``"formula"``, the columns in its formula; ``"columns"``, others.
    """

    summary: str
    source: str = ""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    needs: str = ""


KERNEL_RULES: Mapping[str, Mapping[str, Rule]] = {
    kind: {
        row["name"]: Rule(
            row["summary"],
            row["source"],
            {each["name"]: Parameter(**each) for each in row["parameters"]},
            row["needs"],
        )
        for row in rows
    }
    for kind, rows in _kernel.rules().items()
}
"""The rules of the kernel, by kind and name."""


def hold(instance: object, error: Callable[[str], Exception], parameters: Mapping[str, Parameter]) -> None:
    """Check the fields of a frozen dataclass by the parameters of the same names.

    Raises
    ------
    Exception
        ``error(message)`` if a value is invalid, or requires another value of another parameter.
    """
    values = vars(instance)
    for each in parameters.values():
        is_checked = each.kind not in {"text", "numbers"} and each.name in values
        if is_checked and (each.usual is not None or values[each.name] is not None):
            rules.hold(instance, error, **{each.name: each.rule(values)})
    for each in parameters.values():
        if each.requires is not None and values[each.name] != each.usual:
            other, value = each.requires
            if values[other] != value:
                rule = f"goes with {other} = {value!r}, not with {shown(values[other])}"
                raise error(f"{each.name} = {shown(values[each.name])}; {rule}.")


_BARE = re.compile(r"[A-Za-z_][\w.:/+-]*", re.ASCII)
_RESERVED = frozenset({"true", "false", "none", "null", "inf", "nan"})


@dataclass(frozen=True)
class Help:
    """The help of an option.

    Parameters
    ----------
    text
        One sentence or more.
    metavar
        The name of its value in a usage line.
    default
        The default in words, if no value says it.
    word
        Its name on a command line, if that is not the name of the field.
    is_list
        Whether a command line can have it several times.
    tables
        Why the option needs the table of all jobs, which a streamed run does without; None if it does not.
    records
        Whether it only selects what is recorded, which changes no schedule.
    """

    text: str
    metavar: str | None = None
    default: str | None = None
    word: str | None = None
    is_list: bool = False
    tables: str | None = None
    records: bool = False


@dataclass(frozen=True)
class NeedsTables:
    """Mark of a command's option that needs the table of all jobs, in its annotation.

    Parameters
    ----------
    reason
        Why, as in "--report: shows all jobs".
    """

    reason: str


@dataclass(frozen=True)
class Declared:
    """An option: the name of its field, the types that its value can have, help and default."""

    name: str
    kinds: tuple[object, ...]
    help: Help
    default: object

    @property
    def option(self) -> str:
        """How a command line spells it."""
        return f"--{(self.help.word or self.name).replace('_', '-')}"

    @property
    def off(self) -> str:
        """How a command line spells that a switch is off."""
        return f"--no-{self.option.removeprefix('--')}"

    @property
    def is_switch(self) -> bool:
        """Return whether it is true or false."""
        return bool in self.kinds

    @property
    def choices(self) -> tuple[str, ...]:
        """The words of which its value is one; empty for other options."""
        return tuple(each for kind in self.kinds if get_origin(kind) is Literal for each in get_args(kind))

    def of_text(self, text: str | Sequence[str] | bool | None) -> object:
        """Return the value that a command line gives; the rule of the option checks it."""
        if not isinstance(text, str):
            return text
        for kind in (int, float):
            if kind in self.kinds:
                try:
                    return kind(text)
                except ValueError:
                    continue
        return text

    def words(self, value: object) -> list[str]:
        """Return the words of a command line that give it a value."""
        if isinstance(value, bool):
            return [self.option if value else self.off]
        several = value if self.help.is_list and isinstance(value, list | tuple) else [value]
        return [word for each in several for word in (self.option, _bare(each))]


@lru_cache
def declared(options: type) -> Mapping[str, Declared]:
    """Return the options of a dataclass by the names of their fields, in their order."""
    found = {}
    for each in dataclasses.fields(options):
        kind, *_, told = get_args(each.type)
        kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
        found[each.name] = Declared(each.name, kinds, told, each.default)
    return found


def option_of(options: type, name: str) -> str:
    """Return how a command line spells an option of a dataclass."""
    return declared(options)[name].option


def one_of(choices: Sequence[str]) -> str:
    """Return the rule of an option whose value is one of some words."""
    *others, last = map(repr, choices)
    return f"must be {', '.join(others)} or {last}" if others else f"must be {last}"


def spelled(value: Any) -> str:  # noqa: ANN401  # whatever a spec can hold
    """Return a plain value as `batchlab.core.spec` reads it.

    Parameters
    ----------
    value
        A truth value, a number, a text, None, a sequence, or a mapping.

    Raises
    ------
    ValueError
        If a text has both kinds of quotes.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return format_number(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(spelled, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {spelled(each)}' for key, each in value.items())}}}"
    text = str(value)
    if value is None or (_BARE.fullmatch(text) and text.lower() not in _RESERVED):
        return text
    quote = '"' if '"' not in text else "'"
    if quote in text:
        raise ValueError(f"{shown(text)} has both kinds of quotes, which no spec can hold")
    return f"{quote}{text}{quote}"


def _bare(value: object) -> str:
    """Return a value as a word of a command line: a text as it is, a mapping as arguments of a spec."""
    if isinstance(value, dict):
        return ", ".join(f"{key}={spelled(each)}" for key, each in value.items())
    return value if isinstance(value, str) else spelled(value)
