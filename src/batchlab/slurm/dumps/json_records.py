"""Records of Slurm's JSON: numbers in all forms of the releases 22.05 to 26.05, texts, lists."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from batchlab.core.rules import number_of
from batchlab.slurm.configuration.values import host_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from batchlab.slurm.dumps.source import Place, Source

__all__ = ["LARGEST_WHOLE", "JsonRecord", "records_of"]

LARGEST_WHOLE = 2**40
"""The largest whole number that a dump may have; no number of a job, priority or amount in MiB is larger."""

_LARGEST = 2.0**53
# Values of C programs that stand for "not set" and "infinite", in 32 and 64 bits.
_LEAST_MARK = 2**32 - 2
_NOT_SET = frozenset({2**32 - 2, 2**64 - 2})
_INFINITE = frozenset({2**32 - 1, 2**64 - 1})
_NO_TEXT = frozenset({"", "(null)", "N/A", "n/a", "none", "None"})
_NUMBER = 'must be a number, null, "Infinity", or an object with set, infinite and number'


@dataclass(frozen=True)
class JsonRecord:
    """An object of a dump, with its place."""

    place: Place
    values: Mapping[str, object]
    path: str = ""

    def number(self, *names: str, least: float = 0) -> float | None:
        """Return the first of these fields that is set: a number, infinite, or None."""
        for name in names:
            value = self.values.get(name)
            found = self._number(name, value)
            if found is not None:
                if found < least:
                    self.place.refuse(self.path + name, value, f"must be a number from {least:g}")
                return found
        return None

    def _number(self, name: str, value: object) -> float | None:
        if isinstance(value, dict):
            if value.get("infinite") is True:
                return math.inf
            if value.get("set") is False:
                return None
            if "number" not in value:
                self.place.refuse(self.path + name, value, _NUMBER)
            value = value["number"]
        # Most fields are plain numbers, or null.
        if value is None or (type(value) is int and abs(value) < _LEAST_MARK):
            return value
        if isinstance(value, str) and value.lower() in {"infinity", "infinite", "unlimited"}:
            return math.inf
        if isinstance(value, int) and value in _NOT_SET | _INFINITE:
            return math.inf if value in _INFINITE else None
        number = number_of(value)
        if number is None or abs(number) > _LARGEST:
            self.place.refuse(self.path + name, value, _NUMBER)
        return number

    def whole(self, *names: str, least: int = 0) -> int | None:
        """Return the first of these fields that is set, as a whole number; None if infinite or not set."""
        number = self.number(*names, least=least)
        if number is None or math.isinf(number):
            return None
        if number != int(number) or number > LARGEST_WHOLE:
            rule = f"must be a whole number of at most {LARGEST_WHOLE:,}"
            self.place.refuse(self.path + names[0], number, rule)
        return int(number)

    def time(self, name: str) -> float | None:
        """Return a time, seconds since 1970 UTC; None if it is 0, infinite, or not set."""
        number = self.number(name)
        return None if number is None or math.isinf(number) or number == 0 else number

    def text(self, *names: str) -> str:
        """Return the first of these texts that is not empty; empty if there is none."""
        for name in names:
            value = self.values.get(name)
            if value is not None and not isinstance(value, str):
                self.place.refuse(self.path + name, value, "must be a text")
            if value is not None and value.strip() not in _NO_TEXT:
                return value.strip()
        return ""

    def words(self, name: str) -> tuple[str, ...]:
        """Return the words of a field: a list of texts, or a text with commas."""
        value = self.values.get(name)
        if value is None:
            return ()
        given = value.split(",") if isinstance(value, str) else value
        if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
            self.place.refuse(self.path + name, value, "must be a list of texts")
        return tuple(each.strip() for each in given if each.strip() not in _NO_TEXT)

    def truth(self, name: str) -> bool | None:
        """Return a truth value; None if it is missing."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, bool):
            self.place.refuse(self.path + name, value, "must be true or false")
        return value

    def hosts(self, name: str) -> tuple[str, ...]:
        """Return the names in a host list."""
        text = self.text(name)
        try:
            return host_names(text) if text else ()
        except ValueError as broken:
            self.place.refuse(self.path + name, text, str(broken))

    def part(self, name: str) -> JsonRecord | None:
        """Return the object in a field; None if it is missing or null."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            self.place.refuse(self.path + name, value, "must be an object")
        return JsonRecord(self.place, value, f"{self.path}{name}.")

    def parts(self, name: str) -> Iterator[JsonRecord]:
        """Yield the objects of a list; none if the field is missing or null."""
        value = self.values.get(name)
        if value is None:
            return
        if not isinstance(value, list):
            self.place.refuse(self.path + name, value, "must be a list of objects")
        for at, each in enumerate(value):
            if not isinstance(each, Mapping):
                self.place.refuse(f"{self.path}{name}[{at}]", each, "must be an object")
            yield JsonRecord(self.place, each, f"{self.path}{name}[{at}].")


def records_of(source: Source, key: str, label: str) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Yield the position and the object of each record.

    Parameters
    ----------
    source
        A JSON dump.
    key
        The list of the records.
    label
        Noun of a record in messages.

    Raises
    ------
    DumpError
        If it is no list of objects.
    """
    values = (source.document or {}).get(key)
    if not isinstance(values, list):
        source.refuse(f"{key} must be a list of {label}s. Write the dump again.")
    for at, each in enumerate(values):
        if not isinstance(each, Mapping):
            source.refuse(f"{key}[{at}] must be an object. Write the dump again.")
        yield at, each
