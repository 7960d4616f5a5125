"""Remarks on missing fields of dumps, and on fields that a simulation does not honour."""

from __future__ import annotations

from dataclasses import dataclass, field

from batchlab.errors import one_line

__all__ = ["Remarked"]

_MOST_NAMED = 5


@dataclass
class Remarked:
    """Remarks, and the jobs, nodes or reservations that each is about."""

    found: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, sentence: str, name: object = "", count: int = 1) -> None:
        """Add something that a remark is about; `count` jobs, if it stands for several."""
        names = self.found.setdefault(sentence, {})
        key = one_line(str(name))
        names[key] = names.get(key, 0) + count

    def as_text(self) -> tuple[str, ...]:
        """Return the remarks: ``"… (3: 12, 13, 17)"``."""
        return tuple(f"{sentence}{_listed(names)}" for sentence, names in self.found.items())


def _listed(names: dict[str, int]) -> str:
    if [*names] == [""]:
        return ""
    named = ", ".join([*names][:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")
    return f" ({sum(names.values()):,}: {named})"
