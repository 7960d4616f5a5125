"""The catalogue of ready machines."""

from __future__ import annotations

import textwrap
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from batchlab.errors import SystemDescriptionError, shown, suggest

__all__ = ["NAMES", "Machine", "entries", "find"]

_COMMENT = textwrap.TextWrapper(
    width=100, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False
)


@dataclass(frozen=True)
class Machine:
    """A ready description of a machine.

    Parameters
    ----------
    name
        Its name, also the name of its file without ``.toml``.
    summary
        The machine, its type and its site.
    sources
        Sources of the numbers.
    notes
        Omissions and assumptions of the description.
    """

    name: str
    summary: str
    sources: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The file, for `batchlab.read_system`."""
        return Path(__file__).with_name(f"{self.name}.toml")

    @property
    def text(self) -> str:
        """The description in batchlab's format (TOML), with its sources and notes as comments."""
        said = [self.summary, *(f"Source: {each}" for each in self.sources), *self.notes]
        comments = [_COMMENT.fill(each) for each in said]
        return "\n".join(comments) + f"\n\n{self.path.read_text('utf-8')}"


@cache
def entries() -> tuple[Machine, ...]:
    """Return all machines, sorted by name."""
    text = files("batchlab.system.machines").joinpath("catalogue.toml").read_text("utf-8")
    return tuple(
        Machine(**(entry | {key: tuple(entry.get(key, ())) for key in ("sources", "notes")}))
        for entry in tomllib.loads(text)["machine"]
    )


NAMES: tuple[str, ...] = tuple(machine.name for machine in entries())
"""The names of all machines, in alphabetical order."""


def find(name: str) -> Machine:
    """Return the machine with a name.

    Raises
    ------
    SystemDescriptionError
        If no machine has this name.

    Examples
    --------
    >>> find("theta").path.name
    'theta.toml'
    """
    wanted = name.strip().lower() if isinstance(name, str) else name
    found = next((machine for machine in entries() if machine.name == wanted), None)
    if found is None:
        raise SystemDescriptionError(f"no ready machine is named {shown(name)}.{suggest(str(name), NAMES)}")
    return found
