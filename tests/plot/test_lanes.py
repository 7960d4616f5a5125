"""Several courses one below the other: each on the same scale, none hidden."""

import numpy as np
import pytest

import batchlab as bl
from batchlab.plot.scales import Values, percent
from support.kth_sample import POLICIES, kth_results


def test_each_policy_has_a_row() -> None:
    """Rows are named by policy, from the top; the first is in grey in the others."""
    ax = bl.plot.utilisation(kth_results())
    names = [text.get_text() for text in ax.texts]
    assert names == ["easy (grey in the other rows)", *POLICIES[1:]]
    own = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
    for place, line in enumerate(own):
        heights = np.asarray(line.get_ydata(), np.float64)
        assert 4 - place <= heights.min() <= heights.max() <= 5 - place
    grey = [line for line in ax.lines if line.get_label() == "_first"]
    assert len(grey) == 4
    np.testing.assert_allclose(
        np.asarray(grey[0].get_ydata(), np.float64) % 1, np.asarray(own[0].get_ydata(), np.float64) % 1
    )


def test_rows_show_the_values() -> None:
    """The height in a row is the value on the common scale, whose ends the ticks name."""
    one, three = kth_results()[0], kth_results()[:3]
    alone = np.asarray(bl.plot.utilisation(one).lines[0].get_ydata(), np.float64)
    row = np.asarray(bl.plot.utilisation(three).lines[0].get_ydata(), np.float64)
    ax = bl.plot.utilisation(three)
    ticks = dict(zip((text.get_text() for text in ax.get_yticklabels()), ax.get_yticks(), strict=True))
    bottom, top = ticks["0 %"], ticks["100 %"]
    np.testing.assert_allclose((row - bottom) / (top - bottom), alone, atol=1e-12)


def test_parts_are_not_compared() -> None:
    """Two policies are drawn together, and share the scale of values."""
    ax = bl.plot.utilisation(kth_results()[:2])
    assert len(ax.lines) == 2
    assert ax.get_legend() is not None


@pytest.mark.parametrize(
    ("values", "greatest", "end", "ticks"),
    [
        (Values("shares", write=percent, top=1.0), 0.4, 1.0, [0.0, 0.5, 1.0]),
        (Values("jobs", "log1p"), 700.0, 1000.0, [0.0, 10.0, 100.0, 1000.0]),
        (Values("load", "log", percent, mark=1.0), 60.0, 100.0, [0.1, 1.0, 10.0, 100.0]),
        (Values("load", "log", percent, mark=1.0), 0.5, 1.0, [0.1, 1.0]),
    ],
)
def test_scales_of_rows(values: Values, greatest: float, end: float, ticks: list[float]) -> None:
    """Scales end at a round value, and ticks are apart."""
    found, shown = values.reach(greatest)
    assert found == end
    assert shown == pytest.approx(ticks)
    np.testing.assert_allclose(values.place(np.array([ticks[0], end]), end), [0, 1])


def test_a_great_load_is_logarithmic() -> None:
    """Where one policy lets much more wait, the others are still seen: the axis is logarithmic then."""
    assert bl.plot.load(kth_results()[0]).get_yscale() == "log"
    low = bl.simulate(kth_results()[0].workload.head(20), kth_results()[0].system, "easy")
    assert bl.plot.load(low).get_yscale() == "linear"


def test_shares_are_written_in_per_cent() -> None:
    """Small shares keep their digits, and large ones have no exponent."""
    assert [percent(share) for share in (0, 0.005, 0.25, 1, 12.5)] == [
        "0 %",
        "0.5 %",
        "25 %",
        "100 %",
        "1,250 %",
    ]


@pytest.mark.parametrize(
    ("greatest", "end", "ticks"), [(92.0, 100.0, [0.0, 50.0, 100.0]), (5544.0, 5544.0, [0.0, 5000.0])]
)
def test_scales_do_not_go_far_beyond_their_data(greatest: float, end: float, ticks: list[float]) -> None:
    """They end at the next tick, or at the greatest value where that tick is far."""
    assert Values("free nodes").reach(greatest) == (end, ticks)
