"""The report in a real browser: its script runs, its charts are drawn, and it asks nothing of any network."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

import batchlab as bl
from batchlab.generate import demo_system, demo_workload
from support.streams import slurm

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium on the path")


@dataclass(frozen=True)
class Seen:
    """What the browser made of a page, and what it had to say."""

    page: str
    console: list[str]


def look(path: Path, profile: Path) -> Seen:
    """Open a file, let its scripts run, and give the page as it is then."""
    assert BROWSER is not None
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        f"--user-data-dir={profile}",
    ]
    view = ["--window-size=1300,9000", "--virtual-time-budget=20000", "--dump-dom", path.as_uri()]
    done = subprocess.run(  # noqa: S603  # a file of our own
        [BROWSER, *options, *view], capture_output=True, encoding="utf-8", check=True, timeout=100
    )
    return Seen(done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line])


@pytest.fixture(scope="module")
def seen(results: list[bl.Result], tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """Look at a report of small runs and a large one."""
    folder = tmp_path_factory.mktemp("browser")
    large = bl.simulate(demo_workload(4000), demo_system(), "easy")
    page = bl.report.write({"small": results[0], "easy": results[1], "large": large}, folder / "report.html")
    return look(page, folder / "profile")


def test_charts_are_drawn(seen: Seen) -> None:
    """Each policy has its chart: of jobs where they are few, of means where they are many, which it says."""
    charts = re.findall(r'<div class="gantt[^>]*data-drawn="yes"', seen.page)
    assert len(charts) == 3
    assert seen.page.count('class="trace bars"') == 2
    assert len(re.findall(r'<g class="hm">\s*<image', seen.page)) == 1
    assert seen.page.count("4,000 jobs are too many to be drawn one by one") == 1


def test_nothing_goes_wrong(seen: Seen) -> None:
    """The console is empty: no error, and no request, which the page's own policy would forbid and report."""
    assert seen.console == []


def test_a_page_without_scripts(tmp_path: Path) -> None:
    """The report of a comparison is drawn with nothing on the console."""
    comparison = bl.adequacy.compare(slurm("fifo_a"), slurm("fifo_b"))
    seen = look(bl.report.write_adequacy(comparison, tmp_path / "report.html"), tmp_path / "profile")
    assert seen.console == []
    assert seen.page.count("<svg") == 4


def test_forbidden_requests_are_seen(tmp_path: Path) -> None:
    """The test above would notice: a page with the same policy that asks for a picture is reported."""
    policy = "default-src 'none'; img-src data:"
    page = tmp_path / "page.html"
    page.write_text(
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><img src="http://localhost:9/a.png">',
        "utf-8",
    )
    assert "violates the following Content Security Policy" in "".join(
        look(page, tmp_path / "profile").console
    )
