"""Serve jobs at two rates: Figures 1, 2 and 3 of Rumyantsev, Morozova and Basmadjian.

A. Rumyantsev, T. Morozova, R. Basmadjian: Discrete-event modeling of a high-performance computing cluster
with service rate control. FRUCT 2018. A cluster of 80 servers has two rates, 2.0 and 2.66 GHz; it goes to the
higher one where the work left is above a threshold, and comes down where it is below another.

The jobs come from the Karelian Research Centre, in the package hpcwld for R. This writes them to a file:

    install.packages("hpcwld"); library(hpcwld)
    write.csv(as.data.frame(HPC_KRC2), "HPC_KRC2.csv", row.names = FALSE)

with the columns interarrival (s, from each job to the next), delays, service (s) and cores_used. Without a
file jobs like them are made. docs/service-rates.md says what comes of it, and what the paper shows.

    python service_rate_control.py                                # jobs that are made, in seconds
    python service_rate_control.py HPC_KRC2.csv --out figures     # those of the paper, and the figures
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

import batchlab as bl

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SERVERS, LOW, HIGH = 80, 2.0, 2.66
RATES = f"rates=[{LOW}, {HIGH}]"
DAY, ROUNDING = 86_400.0, 1e-6  # seconds
THRESHOLDS = np.arange(31) * 1e5
SHOWN = (0.0, 1e5, 3e5, 1e6, 2e6, 3e6)
# Watts of a core: the paper prints less for a busy one at the higher rate; "swapped" is the other way round.
IDLE = {LOW: 0.014, HIGH: 0.018}
PRICES = {
    "as printed": bl.service.RatePrices(busy={LOW: 0.041, HIGH: 0.034}, idle=IDLE),
    "swapped": bl.service.RatePrices(busy={LOW: 0.034, HIGH: 0.041}, idle=IDLE),
}
ENERGY, WORK, BLACK, GREY = "#d55e00", "#0072b2", "#24292f", "#9aa1a9"


def logged(path: Path) -> bl.Workload:
    """Read the jobs, and leave out those that took no cores, or are followed by one that came before."""
    table = pl.read_csv(path).filter(pl.col("cores_used") >= 1, pl.col("interarrival") >= 0)
    return as_jobs(*(table[name].to_numpy() for name in ("interarrival", "service", "cores_used")))


def generated(jobs: int, seed: int) -> bl.Workload:
    """Make jobs that come in bursts: many narrow ones, and a few that take most servers."""
    gaps, times, sizes = np.random.default_rng(seed).spawn(3)
    bursts = bl.queueing.mmpp([1 / 9000, 1 / 250], [[0, 1 / 400_000], [1 / 12_000, 0]])
    arrival = bursts.sample(jobs, gaps)
    service = times.lognormal(6.0, 2.8, jobs).clip(1, 172_800).round()
    servers = sizes.choice([1, 2, 8, 16, 40, 80], jobs, p=[0.42, 0.1, 0.28, 0.15, 0.04, 0.01])
    return as_jobs(np.diff(arrival, append=arrival[-1]).round(), service, servers)


def as_jobs(gap: np.ndarray, service: np.ndarray, servers: np.ndarray) -> bl.Workload:
    """Make a workload; a second of service is a unit of work."""
    arrival = np.cumsum(gap) - gap
    return bl.queueing.to_workload(arrival, service, servers)


def run(workload: bl.Workload, control: str, *, reference_rate: float = 1.0) -> bl.Result:
    """Serve the jobs first come, first served."""
    return bl.simulate(
        workload,
        bl.System.homogeneous(nodes=1, resources={"core": SERVERS}),
        "fcfs",
        control=control,
        reference_rate=reference_rate,
        order_at_instant="event_by_event",
        key_events=True,
    )


def first_figure(result: bl.Result) -> Figure:
    """Draw the work left and how many jobs are served, over a dozen periods at the higher rate."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    ax = figure.add_subplot()
    fast = np.array(fast_times(result)) / DAY
    begin, end = fast[0, 0] - 2, fast[:12].max() + 3
    course = bl.service.workload(result).filter(pl.col("time") < end * DAY)
    time = course["time"].to_numpy() / DAY
    served = ax.twinx()
    served.step(time, course["served"], where="post", color=GREY, linewidth=0.9)
    served.set(ylabel="jobs served (grey)", ylim=(0, None))
    served.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_zorder(served.get_zorder() + 1)
    ax.patch.set_visible(False)
    # The work falls in a line until the next change, and jumps there.
    level, fall = (course[name].to_numpy() / 1e6 for name in ("workload", "fall"))
    ends = level[:-1] - fall[:-1] * np.diff(time) * DAY
    both = np.ravel(np.column_stack([level[:-1], ends]))
    ax.plot(np.repeat(time, 2)[1:-1], both, color=BLACK, linewidth=1.1)
    for low, high in fast:
        served.axvspan(low, high, color="#f3d9c8", linewidth=0, zorder=0)
    for threshold in (0.1, 0.3):
        ax.axhline(threshold, color=BLACK, linewidth=0.7, linestyle=":")
    ax.set(xlim=(begin, end), ylim=(0, None))
    ax.set(xlabel="time (days)", ylabel="work left (black), millions of units")
    title = f"Fig. 1: work left and jobs served; shaded: rate {HIGH}, dotted: thresholds"
    ax.set_title(title, fontsize="medium")
    return figure


def fast_times(result: bl.Result) -> list[tuple[float, float]]:
    """Return the periods of the higher rate."""
    rates = result.rates
    until = np.append(rates["time"].to_numpy()[1:], result.key_events["time"][-1])
    fast = rates["rate"].to_numpy() == HIGH
    return list(zip(rates["time"].to_numpy()[fast], until[fast], strict=True))


def second_figure(result: bl.Result, first: int, count: int) -> Figure:
    """Draw which jobs hold the servers, and when each job waits and is served."""
    figure = Figure(figsize=(9, 6), layout="constrained")
    upper, lower = figure.subplots(2, sharex=True, height_ratios=(1, 1))
    jobs = result.jobs.with_row_index().slice(first, count)
    submit, start, end = (jobs[name].to_numpy() / DAY for name in ("submit_time", "start_time", "end_time"))
    labels = np.arange(first, first + len(jobs))
    stack(upper, result, float(submit[0]), float(end.max()))
    upper.set(ylim=(0, SERVERS), ylabel="busy servers")
    lower.hlines(labels, submit, start, color=GREY, linewidth=1.2)
    lower.hlines(labels, start, end, color=BLACK, linewidth=1.2)
    # Jobs that take no time have no line.
    lower.plot(start, labels, linestyle="", marker=".", markersize=1.5, color=BLACK)
    lower.set(ylabel="job", xlabel="time (days)", xlim=(submit[0], end.max()))
    kinds = [Patch(color=GREY, label="waiting"), Patch(color=BLACK, label="computing")]
    lower.legend(handles=kinds, loc="upper left", frameon=False, fontsize="small")
    upper.set_title(f"Fig. 2: jobs {first} to {first + len(jobs) - 1}, one shade for each", fontsize="medium")
    return figure


def stack(ax: Axes, result: bl.Result, begin: float, until: float) -> None:
    """Draw the servers that jobs hold, one job on the other."""
    jobs = result.jobs.filter(pl.col("end_time") > begin * DAY, pl.col("start_time") < until * DAY)
    start, end = (jobs[name].to_numpy() / DAY for name in ("start_time", "end_time"))
    times = np.unique(np.concatenate([start, end]))
    top = np.zeros(len(times))
    for place, (low, high, servers) in enumerate(zip(start, end, jobs["tasks"], strict=True)):
        held = np.arange(len(times))
        held = held[(times >= low) & (times <= high)]
        bottom = top[held].copy()
        top[held[:-1]] += servers
        shade = str(0.15 + 0.65 * ((place * 0.381966) % 1))
        ax.fill_between(times[held], bottom, bottom + servers, step="post", color=shade, linewidth=0)


def third_figure(sweep: pl.DataFrame) -> Figure:
    """Draw power and work against the threshold."""
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    for ax, prices in zip(figure.subplots(1, 2), PRICES, strict=True):
        k = sweep["k"].to_numpy() / 1e6
        ax.plot(k, sweep[prices], color=ENERGY, marker="o", markersize=3, linewidth=1.1)
        ax.set_xlabel("threshold k (millions of units of work)")
        ax.set_title(f"prices {prices}", fontsize="medium")
        ax.set_ylabel("mean power (W)", color=ENERGY)
        work = ax.twinx()
        work.plot(k, sweep["work"] / 1e3, color=WORK, marker="s", markersize=3, linewidth=1.1)
        work.set_ylabel("mean work left (thousands)", color=WORK)
    figure.suptitle("Fig. 3: one threshold k for both directions", fontsize="large")
    return figure


def sweep_of(workload: bl.Workload) -> pl.DataFrame:
    """Run each threshold, and measure power, work, delays and the share of time at the higher rate."""
    rows = []
    for k in THRESHOLDS:
        result = run(workload, f"workload({k}, {k}, {RATES})")
        power = {name: bl.service.mean_power(result, prices) for name, prices in PRICES.items()}
        measured = {"work": bl.service.mean_workload(result), "delay": bl.service.delay(result).mean()}
        rows.append({"k": k, **power, **measured, "fast": fast_share(result)})
    return pl.DataFrame(rows)


def fast_share(result: bl.Result) -> float:
    """Return the share of the time at the higher rate."""
    times = result.key_events["time"].to_numpy()
    return sum(high - low for low, high in fast_times(result)) / float(np.ptp(times))


def tell_events(result: bl.Result) -> None:
    """Print what Figure 1 shows."""
    events, rates = result.key_events, result.rates["rate"].to_numpy()
    work, served = (events[name].to_numpy().max() for name in ("workload", "served"))
    ups, downs = int((np.diff(rates) > 0).sum()), int((np.diff(rates) < 0).sum())
    at_switches = len(events.filter(pl.col("event") == "switch"))
    print(
        f"Fig. 1: {len(events):,} events, {ups} times up, {downs} down ({at_switches} of them between events)"
    )
    print(f"        work left {work:,.0f} at most, jobs served {served}")


def tell_window(title: str, result: bl.Result, first: int, count: int) -> None:
    """Print what Figure 2 shows."""
    waited = bl.service.delay(result).slice(first, count).to_numpy()
    tasks = result.jobs["tasks"].slice(first, count)
    narrow, wide = int((tasks == 1).sum()), int((tasks >= SERVERS // 2).sum())
    delayed = int((waited > ROUNDING).sum())
    print(f"Fig. 2: {title}: {delayed} of {len(tasks)} jobs wait, {waited.mean():,.0f} s on average")
    print(f"        {narrow} jobs take one server, {wide} take {SERVERS // 2} or more")


def tell_sweep(sweep: pl.DataFrame) -> None:
    """Print some rows of Figure 3."""
    print("Fig. 3:         k     power (W)               work left    delay (s)   at 2.66")
    print("                     printed    swapped")
    for row in sweep.filter(pl.col("k").is_in(SHOWN)).iter_rows(named=True):
        power = f"{row['as printed']:10.6f} {row['swapped']:10.6f}"
        print(
            f"        {row['k']:9,.0f} {power} {row['work']:15,.2f} {row['delay']:12,.2f} {row['fast']:9.1%}"
        )


def main() -> None:
    """Run the figures, print what they show, and draw them if asked to."""
    parser = argparse.ArgumentParser(description="Serve jobs at two rates, as in the paper's figures.")
    parser.add_argument("data", type=Path, nargs="?", help="HPC_KRC2.csv; jobs are made without it")
    parser.add_argument("--jobs", type=int, default=3000, help="how many to make")
    parser.add_argument("--seed", type=int, default=4, help="of the jobs made")
    parser.add_argument("--first", type=int, help="job of Figure 2; 7000, or the last 500 of fewer")
    parser.add_argument("--out", type=Path, metavar="DIR", help="draw the figures there")
    options = parser.parse_args()
    workload = generated(options.jobs, options.seed) if options.data is None else logged(options.data)
    first = min(7000, len(workload) - 500) if options.first is None else options.first
    hysteresis = run(workload, f"workload(1e5, 3e5, {RATES})")
    # With work in cycles, as the data were recorded at the higher rate, the lower one is too slow.
    slow = run(workload, f"constant({LOW})", reference_rate=HIGH)
    sweep = sweep_of(workload)
    print(f"{len(workload):,} jobs in {np.ptp(workload.jobs['submit_time'].to_numpy()) / DAY:.0f} days")
    tell_events(hysteresis)
    tell_window("work = service, 1e5/3e5", hysteresis, first, 500)
    tell_window(f"work = {HIGH} x service, rate {LOW}", slow, first, 500)
    tell_sweep(sweep)
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        figures = {
            "rates_1": first_figure(hysteresis),
            "rates_2": second_figure(hysteresis, first, 500),
            "rates_2_slow": second_figure(slow, first, 500),
            "rates_3": third_figure(sweep),
        }
        for name, figure in figures.items():
            figure.savefig(options.out / f"{name}.png", dpi=120)


if __name__ == "__main__":
    main()
