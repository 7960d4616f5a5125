"""The report of a comparison: its numbers, its pictures, and nothing from outside."""

import re
from pathlib import Path

import pytest

import batchlab as bl
from batchlab.errors import ResultError
from support.streams import first_case, shifted, slurm, stream

RUNS = {name: slurm(name) for name in ("bf_a", "bf_b", "fifo_a", "fifo_b")}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Report two real runs, with two others as the reference."""
    comparison = bl.adequacy.compare(RUNS["bf_a"], RUNS["bf_b"])
    reference = bl.adequacy.reference({name: RUNS[name] for name in ("fifo_a", "fifo_b")})
    path = tmp_path_factory.mktemp("adequacy") / "report.html"
    sources = {"real": "bf_a.csv", "model": "<bf_b>"}
    return bl.report.write_adequacy(
        comparison, path, title="A < B", reference=reference, sources=sources
    ).read_text("utf-8")


def test_says_what_was_found(page: str) -> None:
    """Measure, verdict, table, reference and source."""
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
    for text in (
        "measure P 67.8721 s over 220 jobs; distance E = 1006.71 s",
        "not adequate: P &gt; 7.05111 s, the reference value",
        "100 31.4765 s 49",
        "195 00:18:18 00:00:59 00:05:52 00:04:53 00:04:53",
        "20 of 171 that do",
        "fifo_a – fifo_b 7.05111 s 7.05111 s 220 194",
        "the greatest P of 1 pair of repetitions",
        "model &lt;bf_b&gt;",
        "Baranov",
    ):
        assert text in words


def test_pictures(page: str) -> None:
    """Four plots, as SVG in the page, whose names are not there twice."""
    assert page.count("<svg") == 4
    names = re.findall(r' id="([^"]+)"', page)
    assert len(names) == len({*names})


def test_asks_nothing_of_any_network(page: str) -> None:
    """The page is whole, and runs no scripts."""
    assert not re.findall(r"(?:src|href|action)=\"(?!#)[^\"]*\"", page)
    assert "<script" not in page
    assert "<noscript" not in page
    assert "<title>A &lt; B</title>" in page


def test_same_bytes(tmp_path: Path) -> None:
    """No date and no random name is in the file."""
    comparison = bl.adequacy.compare(*first_case())
    one, other = (
        bl.report.write_adequacy(comparison, tmp_path / name).read_bytes() for name in ("one", "two")
    )
    assert one == other
    assert b"Reference value" not in one


def test_many_jobs_make_a_light_page(tmp_path: Path) -> None:
    """Points of many jobs are a picture."""
    jobs = stream(tasks=[1] * 20_000)
    comparison = bl.adequacy.compare(jobs, shifted(jobs, range(0, 20_000, 3)))
    path = bl.report.write_adequacy(comparison, tmp_path / "report.html")
    assert path.stat().st_size < 1_000_000


def test_equal_streams(tmp_path: Path) -> None:
    """There is no job to list."""
    jobs = stream(tasks=[1, 2])
    text = bl.report.write_adequacy(bl.adequacy.compare(jobs, jobs), tmp_path / "a.html").read_text("utf-8")
    assert "No turnaround differs." in text


def test_what_cannot_be_reported(tmp_path: Path) -> None:
    """Something else, and files that cannot be written."""
    with pytest.raises(ResultError, match="comparison = 3; must be a Comparison"):
        bl.report.write_adequacy(3, tmp_path / "a.html")  # type: ignore[arg-type]
    with pytest.raises(ResultError, match="The report was not written; choose another path"):
        bl.report.write_adequacy(bl.adequacy.compare(*first_case()), tmp_path / "no/a.html")
