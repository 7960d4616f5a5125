"""Whatever a configuration has become: there is a report that misses no key, or one clear error.

A sample runs every time; `pytest -m campaign tests/slurm/configuration/test_mutants.py` makes 100,000.
"""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.cli.slurm_report import report_lines
from batchlab.slurm import read_configuration
from batchlab.system.slurm import translate
from support.slurm_configurations import FILES, mutant, written

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = 400
CAMPAIGN = int(os.environ.get("BATCHLAB_FUZZ", "100000"))
LONGEST_MESSAGE = 2010
LONGEST_TIME = 10.0


def answer(number: int, folder: Path) -> str:
    """Give what came of a mutant: a report, or an error; anything else is a failure."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in mutant(number).items():
        (folder / name).write_bytes(content)
    began = time.process_time()
    try:
        report = translate(read_configuration(folder, unknown="keep" if number % 2 else "error")).report
        check_report(report)
    except bl.SystemDescriptionError as error:
        message = str(error)
        assert message
        assert len(message) <= LONGEST_MESSAGE
        assert message.isprintable()
        assert str(folder) in message
        return "error"
    assert time.process_time() - began < LONGEST_TIME
    return "report"


def check_report(report: bl.slurm.Report) -> None:
    """No key is silent, and the text fits a terminal."""
    configuration = report.configuration
    listed = {place for entry in report.entries for place in entry.places}
    assert all(setting.place in listed for setting in configuration.settings if not setting.options)
    options = sum(len(setting.options) for setting in configuration.settings)
    given = sum(not setting.options for setting in configuration.settings)
    assert len(report.entries) <= options + given + len(configuration.unknown)
    lines = [line for text in report_lines(report, everything=True) for line in text.splitlines()]
    assert max(map(len, lines)) <= 80
    assert all(line.isprintable() for line in lines)


def run(begin: int, end: int, folder: Path) -> Counter[str]:
    """Read the mutants of these numbers."""
    found: Counter[str] = Counter()
    for number in range(begin, end):
        try:
            found[answer(number, folder / "mutant")] += 1
        except BaseException as error:
            error.add_note(f"mutant {number}")
            raise
    return found


def test_what_is_mutated_is_sound(tmp_path: Path) -> None:
    """The configuration that mutants are made of is read, with every key in its report."""
    report = translate(read_configuration(written(FILES, tmp_path))).report
    check_report(report)
    assert report.counts["unknown"] == 0
    assert (
        min(report.counts[treatment] for treatment in ("modelled", "read", "not_modelled", "no_effect")) > 0
    )


def test_a_sample_of_mutants(tmp_path: Path) -> None:
    """1,000 mutants give a report or one error; there are many of both."""
    found = run(0, SAMPLE, tmp_path)
    assert min(found["report"], found["error"]) > SAMPLE / 10


@pytest.mark.campaign
@pytest.mark.timeout(0)
def test_many_mutants(tmp_path: Path) -> None:
    """So do 100,000."""
    found = run(SAMPLE, SAMPLE + CAMPAIGN, tmp_path)
    print(dict(found))  # noqa: T201  # the campaign's figures
    assert found.total() == CAMPAIGN
