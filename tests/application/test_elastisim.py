"""What text put into text means, where that is not what values mean."""

import pytest

import batchlab as bl
from batchlab import tasks
from batchlab.application.files import as_elastisim


def application(*texts: str) -> bl.Application:
    """Give one that waits for the values of formulas."""
    return bl.Application([bl.Phase([tasks.Idle(text) for text in texts])])


def waits(made: bl.Application) -> list[str]:
    """Give the texts of its formulas."""
    return [
        task.seconds.text
        for task in made.all_tasks()
        if isinstance(task, tasks.Idle) and isinstance(task.seconds, bl.Formula)
    ]


def test_positive_numbers_stay_values() -> None:
    """Nothing changes but the decimals of floats."""
    before = application("k * num_nodes", "2k")
    after, arguments = as_elastisim(before, {"k": 1.23456789e-6, "n": 3, "unused": 2.5}, rigid=False)
    assert after is before
    assert arguments == {"k": 1e-6, "n": 3.0, "unused": 2.5}


def test_negative_numbers_are_text() -> None:
    """The square of -2 is -4, since the text is -2^2."""
    after, arguments = as_elastisim(application("k^2", "k_2 + kk"), {"k": -2, "kk": 1, "k_2": 0}, rigid=True)
    assert waits(after) == ["-2^2", "k_2 + kk"]
    assert arguments == {"k_2": 0.0, "kk": 1.0}


def test_texts_are_text() -> None:
    """A text may be a formula, or stand between the quotes of one; names need not be names."""
    made = application("size / num_nodes", "'net' == 'resnet' ? 2 : 1", "model-size * 2")
    given = {"size": "1e9 * base", "base": 4, "net": "resnet", "model-size": 7}
    after, arguments = as_elastisim(made, given, rigid=True)
    assert waits(after) == ["1e9 * base / num_nodes", "'resnet' == 'resnet' ? 2 : 1", "7 * 2"]
    assert arguments == {"base": 4.0}


def test_numbers_of_models_have_six_decimals() -> None:
    """Models of jobs that are not rigid lose the seventh decimal of their numbers."""
    before = bl.Application([bl.Phase([tasks.Sequence([tasks.Idle(0.12345678)])], iterations=2)])
    assert as_elastisim(before, {}, rigid=True)[0] is before
    after, _ = as_elastisim(before, {}, rigid=False)
    assert waits(after) == ["0.123457"]


def test_truths_are_refused() -> None:
    """ElastiSim stops at arguments that are neither numbers nor texts."""
    with pytest.raises(bl.ApplicationError, match=r"arguments.k = True; must be a number or a text"):
        as_elastisim(application("k"), {"k": True}, rigid=True)
    with pytest.raises(bl.ApplicationError, match="character 1 of the formula"):
        as_elastisim(application("k"), {"k": "* 3"}, rigid=True)
