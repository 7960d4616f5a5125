"""Draw every plot of real logs, and of one like Curie's, under one policy and under five.

`python scripts/gallery.py --logs DIR` writes a sheet for each log and number of policies, and each picture by
itself at the size at which it is shown. Seth's, KTH's and CTC's logs are in ../shared/data; they are not part
of this repository, and neither are the sheets.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image, ImageDraw

import batchlab as bl
from batchlab.report.interactive import plotly_script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from matplotlib.axes import Axes

DATA = Path(__file__).parents[2] / "shared/data"
POLICIES = ("easy", "fcfs", "easy(order=saf)", "easy(order=sjf)", "easy(order=wfp3)")
DAY = 86_400.0
MACHINES = {
    "Seth": ("HPC2N-2002-2.2-cln", bl.System.homogeneous(nodes=120, resources={"core": 2}, name="Seth")),
    "KTH": ("KTH-SP2-1996-2.1-cln", bl.System.homogeneous(nodes=100, resources={"core": 1}, name="KTH SP2")),
    "CTC": ("CTC-SP2-1996-3.1-cln", bl.System.homogeneous(nodes=338, resources={"core": 1}, name="CTC SP2")),
}
CURIE = bl.System.homogeneous(nodes=5544, resources={"core": 16}, name="like Curie", start_time=1296514800)
CURIE_JOBS, CURIE_LOAD = 300_000, 0.85
DPI, COLUMNS, CELL = 96, 3, (700, 430)
PROBE = """<script>
addEventListener("load", () => {
  const loaded = performance.now();
  const seen = () => {
    if (!document.querySelector('.area[data-drawn="yes"]')) return setTimeout(seen, 10);
    const text = (what, at) => `${what} after ${(at / 1000).toFixed(2)} s`;
    console.log(`PROBE ${text("loaded", loaded)}, ${text("first chart drawn", performance.now())}`);
  };
  seen();
});
</script></body>"""
# The least that a page with one chart does.
EMPTY = """<!DOCTYPE html><html><body><div class="area" style="height: 20rem"></div>
<script type="text/plain" id="library">{library}</script><script>
(async () => {{
  const letters = atob(document.getElementById("library").textContent);
  const bytes = Uint8Array.from({{ length: letters.length }}, (_, at) => letters.charCodeAt(at));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const script = document.createElement("script");
  script.textContent = await new Response(stream).text();
  document.head.append(script);
  const area = document.querySelector(".area");
  await Plotly.react(area, [{{ y: [1, 2, 3] }}]);
  area.dataset.drawn = "yes";
}})();
</script></body></html>"""


def log(name: str) -> tuple[bl.Workload, bl.System]:
    """Give a log and its machine."""
    if name == "Curie":
        return curie(), CURIE
    file, system = MACHINES[name]
    return bl.read_swf(DATA / f"{file}.swf.gz"), system


def curie() -> bl.Workload:
    """Make a log like Curie's, by the model of Lublin and Feitelson, for jobs of up to a tenth of it."""
    cores = CURIE.total["core"]
    jobs = bl.generate.lublin(CURIE_JOBS, nodes=cores // 10, seed=1).jobs
    work = float((jobs["run_time"] * jobs["tasks"]).sum())
    stretch = work / (CURIE_LOAD * cores * float(jobs["submit_time"].max()))  # type: ignore[arg-type]
    random = np.random.default_rng(1)
    users = np.minimum(random.zipf(1.5, len(jobs)), 400)
    table = jobs.with_columns(
        submit_time=(pl.col("submit_time") * stretch).round(),
        requested_time=(pl.col("run_time") * random.uniform(1, 4, len(jobs)) / 600).ceil() * 600,
        user_id=users,
        queue_id=users % 5,
    )
    return bl.Workload.from_table(table).starting_at(CURIE.start_time)


def plots(results: list[bl.Result]) -> dict[str, Callable[[], Axes]]:
    """Give every plot that these results can fill, by its name."""
    plot, one = bl.plot, results[0]
    middle = float(one.jobs["submit_time"].median())  # type: ignore[arg-type]
    compared: dict[str, Callable[[], Axes]] = {
        "slowdown": lambda: plot.slowdown(results),
        "slowdown_violin": lambda: plot.slowdown(results, kind="violin"),
        "wait": lambda: plot.wait(results),
        "wait_cdf": lambda: plot.wait(results, kind="cdf"),
        "turnaround": lambda: plot.turnaround(results),
        "queue_size": lambda: plot.queue_size(results),
        "queue_size_violin": lambda: plot.queue_size(results, kind="violin"),
        "queue_size_time": lambda: plot.queue_size(results, kind="time"),
        "utilisation": lambda: plot.utilisation(results),
        "load": lambda: plot.load(results),
        "free_nodes": lambda: plot.free_nodes(results),
        "fragmentation": lambda: plot.fragmentation(results),
        "cpu_time": lambda: plot.cpu_time(results),
        "cpu_time_by_queue_size": lambda: plot.cpu_time_by_queue_size(results),
        "memory": lambda: plot.memory(results),
        "scalability": lambda: plot.scalability(results),
    }
    alone: dict[str, Callable[[], Axes]] = {
        "gantt": lambda: plot.gantt(one),
        "gantt_two_days": lambda: plot.gantt(one, start=middle, end=middle + 2 * DAY),
        "gantt_size": lambda: plot.gantt(one, start=middle, end=middle + 2 * DAY, colour_by="size"),
        "gantt_user": lambda: plot.gantt(one, start=middle, end=middle + 2 * DAY, colour_by="user"),
        "allocation_map": lambda: plot.allocation_map(one),
        "free_slots": lambda: plot.free_slots(one),
        "allocations_user": lambda: plot.allocations(one, by="user"),
        "allocations": lambda: plot.allocations(one),
        "job_times": lambda: plot.job_times(one),
        "job_nodes": lambda: plot.job_nodes(one),
        "waiting_reasons": lambda: plot.waiting_reasons(one),
        "waiting_time": lambda: plot.waiting_time(one),
        "job_sizes": lambda: plot.job_sizes(one),
        "run_times": lambda: plot.run_times(one),
        "requested_times": lambda: plot.run_times(one, of="requested_time"),
        "arrivals_hour": lambda: plot.arrivals(one),
        "arrivals_day": lambda: plot.arrivals(one, per="day"),
        "arrivals_month": lambda: plot.arrivals(one, per="month"),
        "gflops": lambda: plot.gflops(one, performance={"core": 1.667}),
    }
    return {**compared, **alone} if len(results) == 1 else compared


def results_of(name: str) -> Iterator[bl.Result]:
    """Run the log under each policy."""
    workload, system = log(name)
    for policy in POLICIES:
        began = time.perf_counter()
        first = policy == POLICIES[0]
        yield bl.simulate(workload, system, policy, dispatch=True, explain=first)
        print(f"{name} {policy}: {time.perf_counter() - began:.1f} s", flush=True)


def report(path: Path) -> None:
    """Write a report of Seth under five policies, and measure how it and an empty page open in Chromium."""
    bl.report.write([*results_of("Seth")], path, title="Seth under five policies")
    print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        print("there is no Chromium on the path: how the page opens is not measured")
        return
    empty = EMPTY.format(library=plotly_script())
    for name, page in (("report", path.read_text("utf-8")), ("plotly alone", empty)) * 3:
        with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            probed = Path(folder) / "page.html"
            probed.write_text(page.replace("</body>", PROBE), "utf-8")
            print(f"{name}: {_opened(browser, probed, folder)}", flush=True)


def _opened(browser: str, page: Path, profile: str) -> str:
    """Open a page, and give the first line that its probe writes to the console."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
    more = [f"--user-data-dir={profile}", "--remote-debugging-port=0", page.as_uri()]
    command = [browser, *options, *more]
    with subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8") as opened:  # our own file
        found = next((line for line in opened.stderr or () if "PROBE" in line), "PROBE nothing was seen")
        opened.terminate()
    return found.partition("PROBE ")[2].partition('", source')[0].strip()


def draw(ax: Axes, path: Path) -> None:
    """Write a picture at the size at which it is shown."""
    figure = ax.get_figure(root=True)
    assert figure is not None  # noqa: S101  # axes of a plot have one
    figure.set_dpi(DPI)
    FigureCanvasAgg(figure).print_png(path)  # type: ignore[no-untyped-call]


def sheet(paths: list[Path], to: Path) -> None:
    """Put pictures next to each other, each under its name."""
    width, height = CELL
    whole = Image.new("RGB", (COLUMNS * width, ceil(len(paths) / COLUMNS) * (height + 20)), "white")
    pen = ImageDraw.Draw(whole)
    for place, path in enumerate(paths):
        row, column = divmod(place, COLUMNS)
        picture = Image.open(path).convert("RGB")
        picture.thumbnail((width - 20, height))
        whole.paste(picture, (column * width, row * (height + 20) + 20))
        pen.text((column * width + 8, row * (height + 20) + 4), path.stem, fill="black")
    whole.save(to, optimize=True)


def write(folder: Path, logs: list[str], only: list[str]) -> None:
    """Write every picture, then the sheets."""
    for name in logs:
        everything = [*results_of(name)]
        for results in (everything[:1], everything):
            target = folder / f"{name}-{len(results)}"
            target.mkdir(parents=True, exist_ok=True)
            for plot, drawn in plots(results).items():
                if only and plot not in only:
                    continue
                began = time.perf_counter()
                draw(drawn(), target / f"{plot}.png")
                took = time.perf_counter() - began
                print(f"  {target.name}/{plot}: {took:.1f} s", flush=True)
            sheet(sorted(target.glob("*.png")), folder / f"{target.name}.png")
