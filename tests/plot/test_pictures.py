"""Every plot looks as it did: small pictures that we looked at, compared point by point with a tolerance.

`UPDATE_PICTURES=1 pytest tests/plot` makes them anew; look at each that changes.
"""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imread

import batchlab as bl
from batchlab.generate import demo_system, demo_workload
from support.kth_sample import kth_results
from support.plotted_results import (
    PLOTS,
    communicating,
    dragonfly,
    for_plot,
    hop_curves,
    resized,
    simulated,
    torus,
    with_power,
)
from support.streams import slurm

PICTURES = Path(__file__).parent / "pictures"
# Of 255, the root of the mean square. Other renderings of fonts stay below 4, other curves are above 8.
TOLERANCE = 6.0

Drawing = Callable[[Axes, list[bl.Result]], object]


def of_a_log() -> dict[str, Drawing]:
    """Give the plots of 400 jobs of a real log, under one policy and under five."""
    plot, log = bl.plot, kth_results
    start, end = 50_000.0, 137_000.0
    return {
        "log_gantt": lambda ax, _: plot.gantt(log()[0], ax=ax, start=start, end=end),
        "log_gantt_users": lambda ax, _: plot.gantt(log()[0], ax=ax, colour_by="user", start=start, end=end),
        "log_gantt_use": lambda ax, _: plot.gantt(log()[0], ax=ax, shows="use"),
        "log_allocations": lambda ax, _: plot.allocations(log()[0], ax=ax),
        "log_allocations_users": lambda ax, _: plot.allocations(log()[0], ax=ax, by="user"),
        "log_allocation_map": lambda ax, _: plot.allocation_map(log()[0], ax=ax),
        "log_job_times": lambda ax, _: plot.job_times(log()[0], ax=ax),
        "log_utilisation": lambda ax, _: plot.utilisation(log(), ax=ax),
        "log_load": lambda ax, _: plot.load(log(), ax=ax),
        "log_queue_size": lambda ax, _: plot.queue_size(log(), ax=ax, kind="violin"),
        "log_free_nodes": lambda ax, _: plot.free_nodes(log(), ax=ax),
        "log_free_slots": lambda ax, _: plot.free_slots(log()[0], ax=ax),
        "log_fragmentation": lambda ax, _: plot.fragmentation(log(), ax=ax),
        "log_wait": lambda ax, _: plot.wait(log(), ax=ax, kind="cdf"),
    }


DRAWINGS: dict[str, Drawing] = {
    "slowdown_box": lambda ax, several: bl.plot.slowdown(several, ax=ax),
    "slowdown_violin": lambda ax, several: bl.plot.slowdown(several, ax=ax, kind="violin", threshold=None),
    "wait_cdf": lambda ax, several: bl.plot.wait(several, ax=ax, kind="cdf"),
    "wait_box_linear": lambda ax, several: bl.plot.wait(several, ax=ax, log=False),
    "queue_size_box": lambda ax, several: bl.plot.queue_size(several, ax=ax),
    "queue_size_time": lambda ax, several: bl.plot.queue_size(several, ax=ax, kind="time"),
    "utilisation": lambda ax, several: bl.plot.utilisation(several[1], ax=ax),
    "load_window": lambda ax, several: bl.plot.load(several, ax=ax, window=7200),
    "why": lambda ax, several: bl.plot.why(several[1], ax=ax),
    "gantt": lambda ax, several: bl.plot.gantt(several[1], ax=ax),
    "gantt_use": lambda ax, several: bl.plot.gantt(several[1], ax=ax, shows="use"),
    "allocation_map": lambda ax, several: bl.plot.allocation_map(several[1], ax=ax, time=40_000),
    "gantt_resized": lambda ax, _: bl.plot.gantt(resized(), ax=ax),
    "allocations": lambda ax, _: bl.plot.allocations(resized(), ax=ax),
    "job_times": lambda ax, _: bl.plot.job_times(resized(), ax=ax),
    "turnaround_outliers": lambda ax, several: bl.plot.turnaround(several, ax=ax, outliers=True),
    "platform_activity": lambda ax, _: bl.plot.platform_activity(resized(), ax=ax, window=30),
    "memory": lambda ax, several: bl.plot.memory(several, ax=ax),
    "coinciding": lambda ax, several: bl.plot.wait(
        {"one": several[0], "the same": several[0], "other": several[1]}, ax=ax, kind="cdf"
    ),
    "cpu_time": lambda ax, several: bl.plot.cpu_time(several, ax=ax),
    "cpu_time_by_queue_size": lambda ax, several: bl.plot.cpu_time_by_queue_size(several, ax=ax, band=True),
    "power": lambda ax, several: bl.plot.power([*map(with_power, several)], ax=ax),
    "energy": lambda ax, several: bl.plot.power(with_power(several[1]), ax=ax, kind="energy"),
    "scalability": lambda ax, several: bl.plot.scalability([*several, simulated("easy", 400)], ax=ax),
    "job_sizes": lambda ax, several: bl.plot.job_sizes(several, ax=ax),
    "run_times": lambda ax, several: bl.plot.run_times(several, ax=ax, title="Run times"),
    "arrivals_hour": lambda ax, several: bl.plot.arrivals(several, ax=ax),
    "arrivals_day": lambda ax, several: bl.plot.arrivals(
        {"one": several[0], "other": simulated("fcfs", 900)}, ax=ax, per="day"
    ),
    "adequacy_by_jobs": lambda ax, _: bl.plot.adequacy_by_jobs(
        {"FIFO": slurm_pair("fifo"), "backfilling": slurm_pair("bf")}, ax=ax, reference=60
    ),
    "adequacy_differences": lambda ax, _: bl.plot.adequacy_differences(slurm_pair("bf"), ax=ax),
    "adequacy_starts": lambda ax, _: bl.plot.adequacy_starts(slurm_pair("bf"), ax=ax),
    "gflops": lambda ax, several: bl.plot.gflops(several, ax=ax, performance={"core": 1.5}),
    "wait_zoom": lambda ax, several: bl.plot.wait(several, ax=ax, kind="cdf", zoom=(0, 7200)),
    "free_nodes": lambda ax, several: bl.plot.free_nodes(several[1], ax=ax),
    "free_nodes_several": lambda ax, several: bl.plot.free_nodes(several[:2], ax=ax, window=7200),
    "hops": lambda ax, _: bl.plot.hops(hop_curves(), ax=ax, along="box"),
    "hop_bytes": lambda ax, _: bl.plot.hop_bytes(
        {"random": communicating(torus(4, 4, 4)), "in order": communicating(torus(4, 4, 4), policy="fcfs")},
        ax=ax,
    ),
    "interference": lambda ax, _: bl.plot.interference(
        {f"{jobs} jobs": communicating(torus(6, 6, 2), jobs) for jobs in (1, 3, 6)}, ax=ax
    ),
    "link_loads_torus": lambda ax, _: bl.plot.link_loads(communicating(torus(6, 4)), ax=ax),
    "link_loads_slices": lambda ax, _: bl.plot.link_loads(communicating(torus(4, 4, 3)), ax=ax, of="bytes"),
    "link_loads_dragonfly": lambda ax, _: bl.plot.link_loads(
        communicating(dragonfly()), ax=ax, of="mean_load"
    ),
    "job_nodes_torus": lambda ax, _: bl.plot.job_nodes(
        communicating(torus(6, 4, 2, nodes_per_router=2)), ax=ax, job=3
    ),
    "job_nodes_dragonfly": lambda ax, _: bl.plot.job_nodes(communicating(dragonfly(), policy="fcfs"), ax=ax),
    **of_a_log(),
    "rates": lambda ax, _: bl.plot.rates(
        bl.simulate(demo_workload(60, seed=5), demo_system(), "fcfs", control="count(1, 3)"), ax=ax
    ),
    "job_nodes_rows": lambda ax, several: bl.plot.job_nodes(several[1], ax=ax),
}


def by_default(name: str) -> Drawing:
    """Give a plot with its usual arguments."""
    return lambda ax, several: PLOTS[name](for_plot(name, several), ax=ax)


def has_own(name: str) -> bool:
    """Tell whether `DRAWINGS` draws a plot, under its name or with more words."""
    return any(f"{key}_".removeprefix("log_").startswith(f"{name}_") for key in DRAWINGS)


# A new plot of results has its picture without an entry above.
DRAWINGS |= {name: by_default(name) for name in PLOTS if not has_own(name)}


def slurm_pair(name: str) -> bl.adequacy.Comparison:
    """Compare two runs of a real Slurm on the same stream."""
    return bl.adequacy.compare(slurm(f"{name}_a"), slurm(f"{name}_b"))


def pixels(drawing: Drawing, several: list[bl.Result]) -> npt.NDArray[np.float64]:
    """Draw at a fixed size; matplotlib brings its own fonts. Float64, shape (height, width, 3), 0 to 255."""
    figure = Figure(figsize=(4.2, 2.6), dpi=70, layout="constrained")
    drawing(figure.add_subplot(), several)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    drawn = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
    return drawn[..., :3].astype(np.float64)


def difference(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> float:
    """Give the root of the mean square difference; infinite for pictures of unequal sizes."""
    return float(np.sqrt(np.mean((one - other) ** 2))) if one.shape == other.shape else np.inf


def baseline(name: str) -> npt.NDArray[np.float64]:
    """Read a picture."""
    return 255.0 * np.asarray(imread(PICTURES / f"{name}.png"))[..., :3].astype(np.float64)


@pytest.mark.parametrize("name", DRAWINGS)
def test_picture(name: str, several: list[bl.Result], tmp_path: Path) -> None:
    """The plot is the one that we looked at."""
    drawn = pixels(DRAWINGS[name], several)
    if os.environ.get("UPDATE_PICTURES"):
        save(drawn, PICTURES / f"{name}.png")
    save(drawn, tmp_path / f"{name}.png")
    found = difference(drawn, baseline(name))
    assert found < TOLERANCE, f"{name} differs by {found:.1f} of 255; it is now {tmp_path / name}.png"


def save(drawn: npt.NDArray[np.float64], path: Path) -> None:
    """Write a picture in 64 colours, which is a third of the bytes."""
    from PIL import Image  # noqa: PLC0415  # comes with matplotlib

    Image.fromarray(drawn.astype(np.uint8)).quantize(64).save(path, optimize=True)


def test_another_plot_is_seen(several: list[bl.Result]) -> None:
    """The tolerance is small enough: the same plot of other policies differs by more."""
    others = [several[1], several[0], several[2]]
    assert difference(pixels(DRAWINGS["wait_cdf"], others), baseline("wait_cdf")) > TOLERANCE


def test_no_picture_is_left_over() -> None:
    """Every picture is of a plot, and all are light."""
    paths = [*PICTURES.iterdir()]
    assert {path.stem for path in paths} == set(DRAWINGS)
    assert sum(path.stat().st_size for path in paths) < 240_000
