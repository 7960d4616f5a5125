"""Read JSON and TOML files: bytes, encoding and syntax, with positions in errors.

Callers interpret the documents.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from batchlab.errors import shown

if TYPE_CHECKING:
    from batchlab.errors import BatchlabError

__all__ = ["DocumentReader", "DuplicateKey", "shown_path", "without_duplicates"]

_USUAL_BYTES = 2**16
_MEBIBYTE = 2**20
# Python's parser needs quadratic time and memory in the number of parts of a key.
_MOST_PARTS = 100
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+"""
_LONG_KEY = re.compile(rf"""(?m)^[ \t]*+\[{{0,2}}[ \t]*+(?:{_PART}\.[ \t]*+){{{_MOST_PARTS}}}""")


@dataclass(frozen=True)
class DocumentReader:
    """Reads documents of one kind.

    Error messages omit the file, which `named` puts in front. Messages that begin with a colon continue with
    line and column.

    Parameters
    ----------
    error
        The class of errors.
    noun
        Name of the document in messages, such as ``"description"``.
    most
        Maximum size of a file, MiB.
    numbers
        Advice for numbers with thousands of digits.
    """

    error: type[BatchlabError]
    noun: str = "description"
    most: int = 16
    numbers: str = "write a smaller one"

    def content(self, file: str) -> bytes:
        """Read a whole file."""
        try:
            with open(file, "rb") as stream:  # noqa: PTH123  # a Path loses "" and trailing slashes from messages
                content = stream.read(_USUAL_BYTES)
                if len(content) == _USUAL_BYTES:
                    # Allocating the maximum size at once would take longer than reading and parsing a typical
                    # file.
                    content += stream.read(self.most * _MEBIBYTE + 1 - _USUAL_BYTES)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise self.error(f"cannot be read: {reason}. Check the path.") from None
        return self.checked(content)

    def checked(self, content: bytes) -> bytes:
        """Raise if the content is too large."""
        if len(content) > self.most * _MEBIBYTE:
            rule = f"no {self.noun} needs that. Is it the right file?"
            raise self.error(f"has more than {self.most} MiB; {rule}")
        return content

    def text(self, content: bytes) -> str:
        """Decode UTF-8, with or without a byte order mark."""
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise self.error(f"is not UTF-8 text (byte {error.start}). Is it the right file?") from None

    def json(self, text: str) -> object:
        """Parse JSON; duplicate keys in an object are an error."""
        try:
            return json.loads(text, object_pairs_hook=without_duplicates, parse_constant=self._no_constant)
        except json.JSONDecodeError as error:
            raise self.error(f":{error.lineno}:{error.colno}: is not JSON: {error.msg}.") from None
        except DuplicateKey as error:
            raise self.error(str(error)) from None
        except self.error:
            # It may be a ValueError too.
            raise
        except RecursionError:
            raise self.error(f"is nested too deeply; no {self.noun} needs that.") from None
        except ValueError:
            raise self.error(f"holds a number of thousands of digits; {self.numbers}.") from None

    def toml(self, text: str, *, neither: str = "") -> dict[str, object]:
        """Parse TOML; `neither` names another accepted format for error messages."""
        if long := _LONG_KEY.search(text):
            line = text.count("\n", 0, long.start()) + 1
            parts = len(re.findall(_PART, text[long.start() :].partition("\n")[0].partition("=")[0]))
            rule = f"no {self.noun} needs more than {_MOST_PARTS}"
            raise self.error(f"line {line} has a key of {parts:,} parts; {rule}. Is it the right file?")
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            wrong = f"neither {neither} nor" if neither else "not"
            raise self.error(f"is {wrong} TOML: {error}.") from None
        except RecursionError:
            raise self.error(f"is nested too deeply; no {self.noun} needs that.") from None
        except ValueError:
            raise self.error(f"holds a number of thousands of digits; {self.numbers}.") from None

    def named(self, file: str, error: Exception) -> BatchlabError:
        """Return an error with the file's name before its message."""
        message = str(error)
        return self.error(f"{shown_path(file)}{'' if message.startswith(':') else ': '}{message}")

    def _no_constant(self, name: str) -> NoReturn:
        # Python's parser accepts constants that JSON does not have.
        raise self.error(f"{name} is not a number of JSON; write a finite one.")


class DuplicateKey(ValueError):  # noqa: N818  # it says what is wrong
    """An object of JSON has a duplicate key."""


def without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Build an object of JSON from its keys and values; Python would silently keep the last value of a key.

    Raises
    ------
    DuplicateKey
        If a key is duplicate.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for place, key in enumerate(keys) if key in keys[:place])
        raise DuplicateKey(f"key {shown(twice)} appears twice in one object; keep one of them.")
    return found


def shown_path(file: str) -> str:
    """Return a file's name for messages, escaped if it is not printable."""
    return file if file.isprintable() else ascii(file)
