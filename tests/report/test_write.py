"""The report as a file: what it says, and that it is whole."""

import re
import sys
from pathlib import Path

import pytest

import batchlab as bl
from batchlab.errors import MissingExtraError, ResultError
from support.plotted_results import resized

TITLE = "A < B & C"


@pytest.fixture(scope="module")
def written(results: list[bl.Result], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a report."""
    return bl.report.write(results, tmp_path_factory.mktemp("report") / "report.html", title=TITLE)


@pytest.fixture(scope="module")
def page(written: Path) -> str:
    """Give the text of a report without plotly's script."""
    text = written.read_text("utf-8")
    assert len(text) < 6_000_000
    return re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)


@pytest.fixture(scope="module")
def against_easy(results: list[bl.Result], tmp_path_factory: pytest.TempPathFactory) -> str:
    """Give the text of a report with a baseline and a further table."""
    path = tmp_path_factory.mktemp("against_easy") / "report.html"
    tables = {"Prices": [["policy", "price"], ["fcfs", "<3"]]}
    return bl.report.write(results, path, baseline="easy", tables=tables).read_text("utf-8")


def test_says_what_was_run(page: str, results: list[bl.Result]) -> None:
    """Policies, jobs, the machine, versions and the hash of the workload stand in the page."""
    for text in ("easy(order=sjf)", "120 jobs", "demo: 32 × (8 core)", f"batchlab {bl.__version__}"):
        assert text in page
    assert re.search(r"<code>[0-9a-f]{64}</code>", page)
    assert f"{results[0].metrics()['queue_length']['max']}" in page  # type: ignore[index]


def test_text_is_escaped(page: str) -> None:
    """Nothing that users write becomes markup."""
    assert "<title>A &lt; B &amp; C</title>" in page
    assert "A < B" not in page


def test_asks_nothing_of_any_network(page: str) -> None:
    """No element of the page refers to anything outside."""
    assert not re.findall(r"(?:src|href|action)=\"(?!#)[^\"]*\"", page)
    assert not re.findall(r"url\((?!#)", page)
    assert "default-src 'none'" in page


def test_names_the_tests_and_the_baseline(against_easy: str) -> None:
    """The page tells how significance was found, and against what."""
    assert "Against easy" in against_easy
    assert "Wilcoxon signed-rank" in against_easy
    assert "Holm" in against_easy


def test_same_results_same_bytes(written: Path, results: list[bl.Result], tmp_path: Path) -> None:
    """No date and no random name is in the file."""
    again = bl.report.write(results, tmp_path / "again.html", title=TITLE)
    assert again.read_bytes() == written.read_bytes()


def test_further_tables_stand_below_the_measures(against_easy: str) -> None:
    """Under what they show, as text."""
    assert against_easy.index("Prices") > against_easy.index(">Measures<")
    assert '<td data-label="price">&lt;3</td>' in against_easy


def test_jobs_that_were_resized(tmp_path: Path) -> None:
    """A run with resizes and looks at the platform has their plots; its chart tells parts of jobs."""
    page = bl.report.write(resized(), tmp_path / "report.html").read_text("utf-8")
    page = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    for text in (
        "Time from submission to end",
        "CPUs at work over time",
        "When each job waited, and when it ran",
        "What each job holds over time, one above the other",
        "What of the platform is at work over time",
        "or as long as a job kept its nodes",
    ):
        assert text in page
    assert re.search(r"here from \S+( s)? to \S+", page)


def test_what_was_not_recorded_is_not_drawn(page: str) -> None:
    """Without resizes and looks there are no plots of them."""
    assert "When each job waited, and when it ran" in page
    assert "at work over time" not in page
    assert "What each job holds over time" not in page


def test_unknown_baseline(results: list[bl.Result], tmp_path: Path) -> None:
    """A baseline that is no label is answered with the labels, and nothing is written."""
    with pytest.raises(ResultError, match=r"baseline = 'esay'; must be .* Did you mean 'easy'"):
        bl.report.write(results, tmp_path / "report.html", baseline="esay")
    assert not [*tmp_path.iterdir()]


def test_a_folder_that_is_not_there(results: list[bl.Result], tmp_path: Path) -> None:
    """A path that cannot be written is named."""
    with pytest.raises(ResultError, match=r"report\.html: No such file.*choose another path"):
        bl.report.write(results[0], tmp_path / "absent" / "report.html")


def test_without_plotly(results: list[bl.Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the extra is missing, the message is what installs it."""
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    with pytest.raises(
        MissingExtraError, match=f"needs plotly. Install with: {sys.executable} -m pip install '?plotly"
    ):
        bl.report.write(results, tmp_path / "report.html")
