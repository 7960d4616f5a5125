"""Bytes made from sound ones by a seeded generator, as damaged disks, editors and attackers make them."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["mutated"]

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_WORD = re.compile(rb"[A-Za-z_]{2,}")
_NUMBERS = (
    *(
        b"-1",
        b"0",
        b"-0",
        b"0.5",
        b"1e308",
        b"1e999",
        b"-1e999",
        b"1e-320",
        b"nan",
        b"inf",
        b"NaN",
        b"Infinity",
    ),
    *(b"2147483648", b"4294967296", b"9007199254740993", b"9223372036854775808", b"-9223372036854775809"),
    *(
        b"18446744073709551616",
        b"1" * 25,
        b"9" * 400,
        b"8" * 5000,
        b"",
        b"null",
        b"true",
        b'"7"',
        b"[]",
        b"{}",
        b"x",
    ),
)
_PIECES = (
    *(
        b"\0",
        b"\xff",
        b"\xed\xa0\x80",
        b"\\ud800",
        b"\\u0000",
        "é\N{RIGHT-TO-LEFT OVERRIDE}".encode(),
        b"\r",
        b"\n\n",
    ),
    *(
        b'"',
        b"'",
        b"(",
        b")",
        b"[[",
        b"]]",
        b"{",
        b"}",
        b"<",
        b"/>",
        b"&",
        b"&x;",
        b"]]>",
        b"<!--",
        b",",
        b";",
        b"=",
        b"#",
    ),
    *(
        b"../" * 3,
        b"/dev/null",
        b"%s%n",
        b"~",
        b"$HOME",
        b"*",
        b" " * 300,
        b"(" * 300,
        b"[" * 3000,
        b"a" * 3000,
    ),
)


def mutated(seeds: Sequence[bytes], number: int) -> bytes:
    """Give the mutant of a number: the same seeds and number give the same bytes.

    Parameters
    ----------
    seeds
        Sound inputs; one is taken, and pieces of the others may come in.
    number
        The seed of the generator.
    """
    chance = random.Random(number)  # noqa: S311  # no secrets here
    content = chance.choice(seeds)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 6))):
        content = chance.choice(_CHANGES)(content, seeds, chance)
    return content


def _other_number(content: bytes, _seeds: Sequence[bytes], chance: random.Random) -> bytes:
    return _replaced(content, _NUMBER, chance.choice(_NUMBERS), chance)


def _other_word(content: bytes, seeds: Sequence[bytes], chance: random.Random) -> bytes:
    words = _WORD.findall(chance.choice(seeds)) or [b"word"]
    return _replaced(content, _WORD, chance.choice((*words, *_PIECES, *_NUMBERS)), chance)


def _replaced(content: bytes, pattern: re.Pattern[bytes], piece: bytes, chance: random.Random) -> bytes:
    places = [found.span() for found in pattern.finditer(content)]
    if not places:
        return content + piece
    begin, end = chance.choice(places)
    return content[:begin] + piece + content[end:]


def _other_bits(content: bytes, _seeds: Sequence[bytes], chance: random.Random) -> bytes:
    changed = bytearray(content or b"\0")
    for _ in range(chance.choice((1, 1, 4))):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def _piece_inside(content: bytes, _seeds: Sequence[bytes], chance: random.Random) -> bytes:
    begin = chance.randrange(len(content) + 1)
    end = min(len(content), begin + chance.choice((0, 0, 1, 5, 30)))
    return content[:begin] + chance.choice(_PIECES) + content[end:]


def _left_out(content: bytes, _seeds: Sequence[bytes], chance: random.Random) -> bytes:
    begin = chance.randrange(len(content) + 1)
    return content[:begin] + content[begin + chance.choice((1, 2, 10, 100, 10**6)) :]


def _repeated(content: bytes, _seeds: Sequence[bytes], chance: random.Random) -> bytes:
    begin = chance.randrange(len(content) + 1)
    piece = content[begin : begin + chance.choice((1, 8, 60, 400))]
    return content[:begin] + piece * chance.choice((2, 2, 50)) + content[begin:]


def _crossed(content: bytes, seeds: Sequence[bytes], chance: random.Random) -> bytes:
    other = chance.choice(seeds)
    return content[: chance.randrange(len(content) + 1)] + other[chance.randrange(len(other) + 1) :]


def _other_line(content: bytes, _seeds: Sequence[bytes], chance: random.Random) -> bytes:
    lines = content.split(b"\n")
    lines.insert(chance.randrange(len(lines) + 1), lines.pop(chance.randrange(len(lines))))
    return b"\n".join(lines)


_CHANGES = (
    _other_number,
    _other_number,
    _other_number,
    _other_word,
    _other_word,
    _other_bits,
    _piece_inside,
    _left_out,
    _repeated,
    _crossed,
    _other_line,
)
