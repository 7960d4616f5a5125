"""The report in a real browser: its script runs, its charts are drawn, and it asks nothing of any network."""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import pytest

import batchlab as bl
from batchlab.generate import demo_system, demo_workload
from support.kth_sample import kth_results
from support.streams import slurm

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
WIDTHS = (1400, 800, 400)
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


ZOOM = """<script>
// Of the first policy a number is entered, of the second a rectangle is clicked, of the third a button.
const ask = () => {
  const [first, second, third] = document.querySelectorAll(".why");
  const bars = second.closest("section").querySelector(".area");
  if (bars.dataset.drawn !== "yes") return setTimeout(ask, 50);
  first.querySelector("input").value = 123456789;
  first.querySelector("input").dispatchEvent(new Event("change"));
  const job = second.closest("section").querySelector("button[data-job]").dataset.job;
  bars.emit("plotly_click", { points: [{ customdata: Number(job) }] });
  third.closest("section").querySelector("button[data-job]").click();
};
addEventListener("load", ask);
const shown = () => {
  const chart = [...document.querySelectorAll(".area")].find((area) => area.data?.[0].type === "heatmap");
  if (chart?.dataset.drawn !== "yes") return setTimeout(shown, 50);
  const line = document.querySelector(".area");
  const seen = () => [chart.data[0].dx, line.data[0].x.length, line.data[0].x[1] - line.data[0].x[0]];
  const before = seen();
  const [low, high] = chart.layout.xaxis.range;
  const part = { "xaxis.range": [low + 0.4 * (high - low), low + 0.45 * (high - low)] };
  Promise.all([Plotly.relayout(chart, part), Plotly.relayout(line, part)]).then(() =>
    setTimeout(() => (document.title = JSON.stringify([before, seen()])), 300),
  );
};
addEventListener("load", shown);
</script></body>"""


@pytest.fixture(scope="module")
def seen(results: list[bl.Result], tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """Look at a report of small runs and a large one, and zoom in on its charts."""
    folder = tmp_path_factory.mktemp("browser")
    large = bl.simulate(demo_workload(4000), demo_system(), "easy")
    page = bl.report.write({"small": results[0], "easy": results[1], "large": large}, folder / "report.html")
    page.write_text(page.read_text("utf-8").replace("</body>", ZOOM), "utf-8")
    return look(page, folder / "profile")


def test_charts_are_drawn(seen: Seen) -> None:
    """Each policy has its chart: of jobs where they are few, of means where they are many, which it says."""
    charts = re.findall(r'<div class="area[^>]*data-drawn="yes"', seen.page)
    # The queue, use and load over time of all, and jobs over nodes of each.
    assert len(charts) == 3 + 3
    assert seen.page.count('class="trace bars"') == 2
    assert len(re.findall(r'<g class="hm">\s*<image', seen.page)) == 1
    assert seen.page.count("4,000 jobs are too many to be drawn one by one") == 1


def test_nothing_goes_wrong(seen: Seen) -> None:
    """The console is empty: no error, and no request, which the page's own policy would forbid and report."""
    assert seen.console == []


def test_zooming_in_shows_more(seen: Seen) -> None:
    """Cells and steps of a twentieth of the time are a twentieth as long, or as short as they are kept."""
    match = re.search(r"<title>(.*?)</title>", seen.page)
    assert match is not None
    (cell, points, step), (zoomed_cell, _, zoomed_step) = json.loads(match[1])
    assert 150 < points <= 240
    assert zoomed_cell < cell / 15
    assert zoomed_step < step / 15


def test_a_click_explains_a_job(seen: Seen) -> None:
    """A number, a rectangle and a job of the list are explained; of many jobs only some, which it says."""
    answers = re.findall(r'<div class="answer" aria-live="polite">(.*?)</div><script', seen.page, re.DOTALL)
    sections = re.findall(r'<section id="policy-\d">.*?</section>', seen.page, re.DOTALL)
    jobs = [re.findall(r'data-job="(\d+)"', each)[0] for each in sections]
    assert answers[0] == "Job 123456789 did not wait."
    assert answers[1].startswith(f"<p>Job {jobs[1]} waited ")
    assert answers[2].startswith(f"<p>Job {jobs[2]} waited ")
    assert "Jobs whose ends determined its start" in answers[1]
    assert seen.page.count("This page explains every job that waited") == 2
    assert len(re.findall(r"This page explains the 200 of [\d,]+ jobs that waited longest", seen.page)) == 1


PROBE = """<script>
addEventListener("load", () => {
  document.querySelector("button[data-job]").click();
  const areas = [...document.querySelectorAll(".area")];
  const tell = () => {
    if (areas.some((area) => area.dataset.drawn !== "yes")) return setTimeout(tell, 50);
    const inside = (each) => each.closest(".area, svg") !== null;
    const clipped = [...document.querySelectorAll("*")]
      .filter((each) => each.clientWidth && each.scrollWidth > each.clientWidth + 1 && !inside(each))
      .map((each) => `${each.tagName}.${each.className} ${each.scrollWidth} > ${each.clientWidth}`);
    parent.postMessage({ width: innerWidth, clipped }, "*");
  };
  tell();
});
</script></body>"""
FRAME = """<title></title><script>
const found = [];
addEventListener("message", ({ data }) => { found.push(data); document.title = JSON.stringify(found); });
</script>"""


def test_nothing_is_clipped(tmp_path: Path) -> None:
    """On wide, medium and narrow screens no element is wider inside than it is shown."""
    page = bl.report.write(kth_results(), tmp_path / "report.html")
    text = page.read_text("utf-8").replace("</body>", PROBE)
    # One chart of each kind is enough.
    kept = re.findall(r'<figure class="chart">.*?</figure>', text, flags=re.DOTALL)
    for chart in (*kept[1:3], *kept[4:]):
        text = text.replace(chart, "")
    page.write_text(text, "utf-8")
    frames = "".join(f'<iframe src="report.html" width="{width}" height="9000"></iframe>' for width in WIDTHS)
    wrapper = tmp_path / "wrapper.html"
    wrapper.write_text(FRAME + frames, "utf-8")
    found = look(wrapper, tmp_path / "profile")
    match = re.search(r"<title>(.*?)</title>", found.page)
    assert match is not None
    seen = {each["width"]: each["clipped"] for each in json.loads(unescape(match[1]))}
    assert seen == {width: [] for width in WIDTHS}


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
