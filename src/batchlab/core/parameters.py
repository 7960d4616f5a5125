"""The kernel's tables of rules: meanings, sources, and parameters with types, bounds and defaults."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from batchlab import _kernel
from batchlab.core import rules
from batchlab.core.units import format_number
from batchlab.errors import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["KERNEL_RULES", "Parameter", "ParameterValue", "Rule", "hold"]

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
        The network that it needs: ``"network"``, ``"torus"``, or empty.
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
