"""Whatever a reader gets, it gives a value or raises one `BatchlabError` that a terminal can show.

A sample runs every time; `pytest -m campaign tests/properties/test_parsers.py` runs CAMPAIGN mutants of each.
"""

from __future__ import annotations

import os
import time
import zlib
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from support.mutations import mutated
from support.parsers import PARSERS

if TYPE_CHECKING:
    from pathlib import Path

CAMPAIGN = int(os.environ.get("BATCHLAB_FUZZ", "20000"))
CHUNK = 2000
LONGEST_MESSAGE = 2010
LONGEST_TIME = 20.0


def check(name: str, begin: int, end: int, folder: Path) -> None:
    """Feed a parser the mutants of these numbers."""
    parser = PARSERS[name]
    # Different parsers meet different damage.
    first = zlib.crc32(name.encode()) << 32
    for number in range(begin, end):
        content = mutated(parser.seeds, first + number)
        began = time.process_time()
        try:
            parser.read(content, folder)
        except bl.BatchlabError as error:
            message = str(error)
            assert message, number
            assert len(message) <= LONGEST_MESSAGE, number
            assert message.replace("\n", " ").isprintable(), number
        except BaseException as error:
            error.add_note(f"mutant {number} of {name!r}: {content[:2000]!r}")
            raise
        assert time.process_time() - began < LONGEST_TIME, number


@pytest.mark.parametrize("name", PARSERS)
def test_the_seeds_are_sound(name: str, tmp_path: Path) -> None:
    """What is mutated below is right before."""
    for seed in PARSERS[name].seeds:
        PARSERS[name].read(seed, tmp_path)


def test_mutants_are_reproducible() -> None:
    """The number is all that is needed to see a failure again, and most numbers differ."""
    seeds = PARSERS["CSV"].seeds
    mutants = [mutated(seeds, number) for number in range(50)]
    assert mutants == [mutated(seeds, number) for number in range(50)]
    assert len({*mutants} - {*seeds}) > 40


@pytest.mark.parametrize("name", PARSERS)
def test_any_input_ends_in_a_value_or_one_error(name: str, tmp_path: Path) -> None:
    """A sample of the campaign."""
    check(name, 0, PARSERS[name].sample, tmp_path)


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, CAMPAIGN, CHUNK))
@pytest.mark.parametrize("name", PARSERS)
def test_campaign(name: str, begin: int, tmp_path: Path) -> None:
    """Many inputs, in pieces for several processes."""
    check(name, begin, min(begin + CHUNK, CAMPAIGN), tmp_path)
