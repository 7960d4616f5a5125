"""The report of a what-if study: its numbers, its pictures, and nothing from outside."""

import re
from pathlib import Path

import pytest

import batchlab as bl
from batchlab.errors import ResultError
from support.small_centre import configured, submitted


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> bl.twin.WhatIf:
    """Compare two configurations."""
    folder = tmp_path_factory.mktemp("what_if")
    twins = [
        bl.twin.read_twin(configured(folder / name, options), name=name)
        for name, options in (("<now>", ""), ("rare", "bf_interval=1800"))
    ]
    return bl.twin.what_if(submitted(80), twins, resamples=20)


def test_a_whole_page(found: bl.twin.WhatIf, tmp_path: Path) -> None:
    """Sections for each way of grouping, pictures with names of their own, no script and no network."""
    page = bl.report.write_what_if(found, tmp_path / "a.html", title="A < B", source="log.csv").read_text(
        "utf-8"
    )
    for name in ("summary", "differences", "all", "partition", "qos", "account", "size", "course", "method"):
        assert f'id="{name}"' in page
    assert "SchedulerParameters=bf_interval" in page
    assert page.count("<svg") == 2 * 5 + 3
    names = re.findall(r' id="([^"]+)"', page)
    assert len(names) == len({*names})
    assert "<script" not in page
    assert not re.findall(r"(?:src|href|action)=\"(?!#)[^\"]*\"", page)
    assert "&lt;now&gt;" in page
    again = bl.report.write_what_if(found, tmp_path / "b.html", title="A < B", source="log.csv")
    assert again.read_text("utf-8") == page


def test_one_configuration(tmp_path: Path) -> None:
    """There is nothing to compare with, so waits alone are shown."""
    one = bl.twin.read_twin(configured(tmp_path / "now"), name="now")
    found = bl.twin.what_if(submitted(40), [one], resamples=20)
    page = bl.report.write_what_if(found, tmp_path / "a.html").read_text("utf-8")
    assert "By how much" not in page


def test_what_is_no_study(tmp_path: Path) -> None:
    """Something else is refused."""
    with pytest.raises(ResultError, match="found = 3; must be a WhatIf"):
        bl.report.write_what_if(3, tmp_path / "a.html")  # type: ignore[arg-type]


def test_plots(found: bl.twin.WhatIf) -> None:
    """A row for each group, a point for each other configuration; empty where the log has no such groups."""
    ax = bl.plot.what_if(found, by="account")
    assert [label.get_text() for label in ax.get_yticklabels()] == found.table.filter(
        by="account", configuration="rare", statistic="mean"
    )["group"].to_list()
    assert ax.get_xlabel() == "mean wait − that of <now>"
    for wrong in ({"by": "sise"}, {"statistic": "mode"}):
        with pytest.raises(ResultError, match="must be a known one"):
            bl.plot.what_if(found, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ResultError, match="must be a WhatIf"):
        bl.plot.what_if(3)  # type: ignore[arg-type]
