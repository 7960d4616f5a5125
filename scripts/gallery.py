"""Draw the pictures of docs anew: `python scripts/gallery.py`, and look at each.

`scripts/documentation.py` draws them for the site, all but those of Seth's log. These need the log in
../shared/data, and stay as they are without. `--logs DIR` writes sheets of all plots of real logs instead, of
which `--log NAME` and `--plot NAME` choose some, and `--report FILE` a report.
"""

import doctest
import re
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable
from contextlib import chdir
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

import batchlab as bl
import gallery_logs
from batchlab.generate import demo_system, demo_workload

PICTURES = Path(__file__).parents[1] / "docs/pictures"
POLICIES = ("fcfs", "easy", "easy(order=sjf)")
SLURM = Path(__file__).parents[1] / "tests/adequacy/slurm_runs.csv"
SETH = Path(__file__).parents[2] / "shared/data/HPC2N-2002-2.2-cln.swf.gz"
MIXED = [("alltoall", 24), ("ring", 40), ("stencil_3d", 64), ("allreduce", 16)]
COLOURS, WIDTH = 128, 1024
DPI = 160


def plots() -> dict[str, Callable[[], Axes]]:
    """Return how each picture is drawn, by name, except those of Seth's log."""
    workload, system = demo_workload(2000), demo_system()
    results = [bl.simulate(workload, system, policy, dispatch=True) for policy in POLICIES]
    easy, elastic = results[1], resized()
    return {
        "slowdown": lambda: bl.plot.slowdown(results),
        "wait": lambda: bl.plot.wait(results, kind="cdf"),
        "queue_size": lambda: bl.plot.queue_size(results, kind="violin"),
        "queue_size_time": lambda: bl.plot.queue_size(results, kind="time"),
        "utilisation": lambda: bl.plot.utilisation(easy),
        "load": lambda: bl.plot.load(easy),
        "gantt": lambda: bl.plot.gantt(easy),
        "allocation_map": lambda: bl.plot.allocation_map(easy),
        "job_times": lambda: bl.plot.job_times(bl.simulate(demo_workload(150), system, "easy(order=sjf)")),
        "gantt_resized": lambda: bl.plot.gantt(elastic),
        "allocations": lambda: bl.plot.allocations(elastic),
        "platform_activity": lambda: bl.plot.platform_activity(elastic, window=60),
        "cpu_time_by_queue_size": lambda: bl.plot.cpu_time_by_queue_size(costly(system)),
        "rates": lambda: bl.plot.rates(at_two_rates(workload, system)),
        "free_nodes": lambda: bl.plot.free_nodes(bl.simulate(demo_workload(300), system, "easy")),
        **of_messages(),
        "scalability": lambda: bl.plot.scalability(growing(system)),
        "power": lambda: bl.plot.power(with_power(easy)),
        "arrivals": lambda: bl.plot.arrivals(workload, start_time=8 * 3600),
        "job_sizes": lambda: bl.plot.job_sizes(workload),
        "run_times": lambda: bl.plot.run_times(workload),
        **of_adequacy(),
        "tutorial_researcher": lambda: of_tutorial("researcher"),
        "tutorial_operator": lambda: of_tutorial("operator"),
    }


def of_seth() -> dict[str, Callable[[], Axes]]:
    """Return the pictures of Seth's log: three and a half years under five policies."""
    results = [*gallery_logs.results_of("Seth")]
    one, day = results[0], gallery_logs.DAY
    middle = 672 * day
    return {
        "generated": generated,
        "seth_utilisation": lambda: bl.plot.utilisation(results),
        "seth_load": lambda: bl.plot.load(results),
        "seth_gantt": lambda: bl.plot.gantt(one),
        "seth_gantt_users": lambda: bl.plot.gantt(one, start=middle, end=middle + 2 * day, colour_by="user"),
        "seth_allocations": lambda: bl.plot.allocations(one, by="user"),
        "seth_free_slots": lambda: bl.plot.free_slots(one),
    }


def of_messages() -> dict[str, Callable[[], Axes]]:
    """Run jobs that send messages on a torus and on a dragonfly."""
    boxes = {"1×1×1": "index", "2×1×2": "boxes(2,1,2)", "2×2×2": "boxes(2,2,2)", "4×2×4": "boxes(4,2,4)"}
    cube = bl.Platform.torus((8, 8, 8), bandwidth="1GBps", latency="1us")
    dragonfly = bl.Platform.dragonfly(
        groups=9, chassis=3, blades=8, nodes_per_blade=2, bandwidth="1GBps", latency="1us"
    )
    return {
        "hops": lambda: bl.plot.hops(
            {
                f"{ranks} ranks": {
                    label: sending(cube, [("allreduce", ranks)], f"fcfs(allocator=first_fit(order={order}))")
                    for label, order in boxes.items()
                }
                for ranks in (32, 64, 128)
            },
            along="box",
        ),
        "interference": lambda: bl.plot.interference(
            {
                f"{jobs} job{'s' if jobs > 1 else ''}": [
                    sending(cube, [("even_odd", 40)] * jobs, seed=seed) for seed in range(5)
                ]
                for jobs in (1, 3, 5, 7, 9)
            }
        ),
        "link_loads": lambda: bl.plot.link_loads(
            sending(bl.Platform.torus((8, 6, 4), bandwidth="1GBps", latency="1us"), MIXED * 4)
        ),
        "link_loads_dragonfly": lambda: bl.plot.link_loads(sending(dragonfly, MIXED * 6)),
        "job_nodes": lambda: bl.plot.job_nodes(sending(cube, MIXED * 4, "fcfs(allocator=blocks(8))"), job=4),
    }


def sending(
    platform: bl.Platform,
    skeletons: list[tuple[str, int]],
    policy: str = "fcfs(allocator=random)",
    seed: int = 0,
) -> bl.Result:
    """Run built-in skeletons, each by its name and ranks."""
    jobs = [
        bl.JobDescription(
            submit_time=0,
            tasks=ranks,
            requested_time=60,
            application=bl.Application([bl.Phase([bl.skeleton.named(name, ranks, {"size": 1e5})], 2)]),
        )
        for name, ranks in skeletons
    ]
    workload = bl.Workload.from_jobs(jobs)
    return bl.simulate(workload, bl.System.of(platform), policy, seed=seed, messages=True)


def at_two_rates(workload: bl.Workload, system: bl.System) -> bl.Result:
    """Run jobs at rates that follow the work left."""
    return bl.simulate(workload.head(300), system, "easy", control="workload(1e5, 3e5)")


def of_adequacy() -> dict[str, Callable[[], Axes]]:
    """Compare runs of a real Slurm on the same stream, without backfilling and with it."""
    runs = pl.read_csv(SLURM)
    columns = {"job": "job_id", "submit": "submit_time", "nodes": "tasks"}
    jobs = runs.rename(columns).with_columns(requested_time=60 * pl.col("limit_min"))
    pairs = {}
    for label, name in (("without backfilling", "fifo"), ("with backfilling", "bf")):
        one, other = (
            jobs.with_columns(start_time=f"{name}_{run}_start", end_time=f"{name}_{run}_end") for run in "ab"
        )
        pairs[label] = bl.adequacy.compare(one, other)
    return {
        "adequacy_by_jobs": lambda: bl.plot.adequacy_by_jobs(pairs),
        "adequacy_differences": lambda: bl.plot.adequacy_differences(pairs["with backfilling"]),
        "adequacy_starts": lambda: bl.plot.adequacy_starts(pairs["with backfilling"]),
    }


def resized() -> bl.Result:
    """Run jobs that grow and shrink, those of the page."""
    step = bl.tasks.Compute(flops="work", computation_pattern="all_ranks")
    solver = bl.Application([bl.Phase([step, bl.tasks.Write(2e10, "all_ranks")], iterations=8)])
    jobs = [
        bl.JobDescription(
            application=solver,
            submit_time=40 * number,
            job_type="malleable",
            tasks_min=1 + number % 2,
            tasks_max=8,
            arguments={"work": (1 + number % 5) * 5e13},
        )
        for number in range(20)
    ]
    storage = bl.platform.SharedStorage("files", read="20GBps", write="10GBps")
    platform = bl.Platform.crossbar(16, speed="1Tf", bandwidth="10GBps", storage=[storage])
    workload = bl.Workload.from_jobs(jobs)
    return bl.simulate(workload, bl.System.of(platform), "equipartition", sensing=bl.Sensing(10))


def generated() -> Axes:
    """Compare Seth's log with as many jobs made like it, with GPUs on half of the nodes."""
    log = bl.read_swf(SETH)
    groups = (bl.NodeGroup("plain", 60, {"core": 2}), bl.NodeGroup("gpu", 60, {"core": 2, "gpu": 2}))
    performance = {"core": 1.5 * 1.667, "gpu": 933.0}
    made = bl.generate.like(
        log,
        500_000,
        system=bl.System(groups),
        performance=performance,
        performance_of_log={"core": 1.667},
    )
    both = {"Seth": log, "generated": made}
    axes = Figure(figsize=(13, 6.5), layout="constrained").subplots(2, 2).ravel()
    bl.plot.arrivals(both, ax=axes[0], per="hour")
    bl.plot.arrivals(both, ax=axes[1], per="day")
    bl.plot.arrivals(both, ax=axes[2], per="month")
    work = {
        "Seth": bl.generate.gflops(log, {"core": 1.667}),
        "generated": bl.generate.gflops(made, performance),
    }
    return bl.plot.gflops(work, ax=axes[3])


def growing(system: bl.System) -> list[bl.Result]:
    """Run ever more jobs."""
    policies = ("easy", "conservative")
    return [
        bl.simulate(demo_workload(jobs), system, policy)
        for jobs in (200, 600, 2000, 6000)
        for policy in policies
    ]


def costly(system: bl.System) -> list[bl.Result]:
    """Run so many jobs that the costs of decisions even out."""
    workload = demo_workload(20_000)
    return [bl.simulate(workload, system, policy, dispatch=True) for policy in ("sjf", "easy")]


def with_power(result: bl.Result) -> bl.Result:
    """Let every node draw 150 W, and every busy core 12 W more."""
    power = 150.0 * result.system.nodes + 12.0 * pl.col("used_core")
    return bl.Result(
        result.workload,
        result.system,
        result.policy,
        result.outcome,
        observations={"power": result.timeline.select("time", power=power)},
    )


def of_tutorial(name: str) -> Axes:
    """Do what a tutorial shows, and give what it has drawn."""
    page = (PICTURES.parent / f"tutorials/{name}.md").read_text("utf-8")
    names: dict[str, Axes] = {}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for block in re.findall(r"^```pycon\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
            for example in doctest.DocTestParser().get_examples(block):
                exec(example.source, names)  # noqa: S102  # our own page
    return names["ax"]


def main() -> None:
    """Write the pictures of docs, or sheets of real logs."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--logs", metavar="DIR", type=Path, help="write sheets of real logs there")
    parser.add_argument("--log", action="append", choices=(*gallery_logs.MACHINES, "Curie"), default=None)
    parser.add_argument("--plot", action="append", default=[])
    parser.add_argument(
        "--report", metavar="FILE", type=Path, help="write a report of Seth there, and open it"
    )
    asked = parser.parse_args()
    if asked.logs is not None:
        gallery_logs.write(asked.logs, asked.log or [*gallery_logs.MACHINES, "Curie"], asked.plot)
    elif asked.report is not None:
        gallery_logs.report(asked.report)
    else:
        write_pictures()


def rendered(ax: Axes) -> Image.Image:
    """Draw a plot as the pictures of docs are: at least `WIDTH` wide, in few colours."""
    figure = ax.get_figure(root=True)
    if figure is None:
        raise RuntimeError("the axes have no figure")
    figure.set_dpi(max(DPI, WIDTH / figure.get_figwidth()))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    pixels = np.asarray(canvas.buffer_rgba())[..., :3]  # type: ignore[no-untyped-call]
    return Image.fromarray(pixels).quantize(COLOURS)


def png(ax: Axes) -> bytes:
    """Draw a plot as a file, which is light."""
    file = BytesIO()
    rendered(ax).save(file, "png", optimize=True)
    return file.getvalue()


def write_pictures() -> None:
    """Write the pictures of docs."""
    for name, plot in {**plots(), **(of_seth() if SETH.exists() else {})}.items():
        (PICTURES / f"{name}.png").write_bytes(png(plot()))
    sizes = [path.stat().st_size for path in PICTURES.glob("*.png")]
    print(f"{len(sizes)} pictures, {sum(sizes):,} bytes")


if __name__ == "__main__":
    main()
