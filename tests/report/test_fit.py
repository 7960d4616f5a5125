"""The report of a fit: what was fitted, before and after, and nothing from outside."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import batchlab as bl
from batchlab.errors import ResultError
from support.small_centre import configured, submitted


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> bl.twin.Fit:
    """Fit a few trials."""
    twin = bl.twin.read_twin(configured(tmp_path_factory.mktemp("fit") / "now"), name="<now>")
    jobs = submitted(120, load=0.6)
    hidden = bl.twin.changed(twin, {"completion": 25.0})
    start = pl.Series("start_time", hidden.run(jobs).outcome.start_time)
    log = bl.Workload.from_table(jobs.jobs.with_columns(start))
    return bl.twin.fit(log, twin, trials=4, seeds=1, test_seeds=2)


def test_a_whole_page(found: bl.twin.Fit, tmp_path: Path) -> None:
    """Values with bounds, both twins against the log, four pictures; no script and no network."""
    page = bl.report.write_fit(found, tmp_path / "a.html", title="A < B", source="log.csv").read_text("utf-8")
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
    for text in (
        "&lt;now&gt;: slurm(select=cores)",
        "0 to 120 s",
        "bf_max_job_test 500 1 to 1000",
        "log.csv",
    ):
        assert text in words
    assert page.count("<svg") == 4
    names = re.findall(r' id="([^"]+)"', page)
    assert len(names) == len({*names})
    assert "<script" not in page
    assert not re.findall(r"(?:src|href|action)=\"(?!#)[^\"]*\"", page)
    again = bl.report.write_fit(found, tmp_path / "b.html", title="A < B", source="log.csv")
    assert again.read_text("utf-8") == page


def test_the_search(found: bl.twin.Fit) -> None:
    """A point for each trial, and the best so far never rises."""
    points, best = bl.plot.fit_search(found).lines
    assert len(np.asarray(points.get_xydata())) == 4
    assert (np.diff(np.asarray(best.get_xydata())[:, 1]) <= 0).all()


def test_what_is_no_fit(tmp_path: Path) -> None:
    """Something else is refused."""
    with pytest.raises(ResultError, match="found = 3; must be a Fit"):
        bl.report.write_fit(3, tmp_path / "a.html")  # type: ignore[arg-type]
    with pytest.raises(ResultError, match="found = 3; must be a Fit"):
        bl.plot.fit_search(3)  # type: ignore[arg-type]
