"""The recorded recursion of Rumyantsev, Morozova and Basmadjian (2018): disciplines under rate control.

Twelve customers event by event, with six controls and with coins that are given; two logs of the Karelian
Research Centre customer by customer and by their means; and the sweep of thresholds of the paper's Fig. 3.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

import batchlab as bl
from support.hpcwld import PRINTED, SWAPPED, content, machine, table, workload_of

# As recorded, and as a policy; the recorded `easy` is the paper's to the letter.
POLICIES = {
    **{name: name for name in ("fcfs", "lcfs", "lpf", "spf", "lpf_np", "spf_np", "easy_skip")},
    "easy": "easy_literal",
}
RATES = "rates=[2, 2.66]"
CONTROLS = {
    "fixed r=1": "constant(1)",
    "count kL=1 kH=3": f"count(1, 3, {RATES})",
    "work kL=4 kH=9": f"workload(4, 9, {RATES})",
    "work kL=6 kH=6": f"workload(6, 6, {RATES})",
    "work kL=4 kH=9 printed": f"workload(4, 9, printed=True, {RATES})",
    "work kL=8 kH=18 weighted": f"workload(8, 18, weighted=True, {RATES})",
    "fixed1": "constant(1)",
    "fixed_rL": "constant(2)",
    "fixed_rH": "constant(2.66)",
    "count kL=2 kH=5": f"count(2, 5, {RATES})",
    "count kL=5 kH=20": f"count(5, 20, {RATES})",
    "work kL=1e5 kH=3e5": f"workload(1e5, 3e5, {RATES})",
    "work kL=1e5 kH=3e5 printed": f"workload(1e5, 3e5, printed=True, {RATES})",
    "work kL=1e5 kH=3e5 weighted": f"workload(1e5, 3e5, weighted=True, {RATES})",
}
KINDS = {"arrival": "A", "departure": "D", "switch": "S"}
LETTERS = pl.col("event").replace_strict(KINDS, return_dtype=pl.String)
# What key events record of the machine: time, event, job, rate, work, and counts.
AT_EVENT = ("rate", "workload", "weighted_workload", "present", "queued", "served", "busy")


class Recorded(NamedTuple):
    """One case of the twelve customers: its discipline and control as recorded, and the control as such."""

    discipline: str
    control: str
    rule: str | bl.RateControl
    case: dict[str, Any]

    @property
    def tolerance(self) -> float:
        """Rounding chooses between jobs that have almost equal work left."""
        return tolerance(self.discipline, self.control)


def tolerance(discipline: str, control: str) -> float:
    """Give the tolerance of a discipline under a control."""
    return 1e-6 if discipline == "lpf" and control.startswith("work") else 1e-9


@cache
def customers() -> tuple[bl.Workload, bl.System]:
    """Give the twelve customers, and their four servers."""
    tiny = json.loads(content("tiny_cases.json"))
    columns = {"submit_time": tiny["t"], "run_time": tiny["S"], "tasks": tiny["N"]}
    return bl.Workload.from_table(columns), machine(tiny["c"])


def recorded() -> list[Recorded]:
    """Give the 48 cases with six controls, and the 8 with coins."""
    tiny = json.loads(content("tiny_cases.json"))
    found = [Recorded(c["disc"], c["control"], CONTROLS[c["control"]], c) for c in tiny["cases"]]
    random = json.loads(content("random_control.json", "rate-control"))
    for case in random["cases"]:
        up, down, coins = case["pH"], case["pL"], tuple(random["coins"])
        rule = bl.RandomisedRate(up, down, coins=coins, rates=(2.0, 2.66))
        found.append(Recorded(case["disc"], "random", rule, case))
    return found


RECORDED = recorded()
EVERY_CASE = pytest.mark.parametrize("each", RECORDED, ids=lambda each: f"{each.discipline}-{each.control}")


def policy_of(discipline: str) -> bl.Policy:
    """Give the policy that a discipline was recorded of; skip the test where there is none yet."""
    try:
        return bl.Policy.parse(POLICIES[discipline])
    except bl.PolicyNotFound:
        pytest.skip(f"no policy {POLICIES[discipline]}")


def run(each: Recorded) -> bl.Result:
    """Run the twelve customers."""
    workload, system = customers()
    options = bl.RunOptions(control=each.rule, order_at_instant="event_by_event", key_events=True)
    return bl.simulate(workload, system, policy_of(each.discipline), options=options)


def test_there_are_all_cases() -> None:
    """Eight disciplines under six controls, and with coins."""
    assert len(RECORDED) == 56
    assert {each.discipline for each in RECORDED} == set(POLICIES)


@EVERY_CASE
def test_customers(each: Recorded) -> None:
    """When each is served first, when it departs, and what energy it takes."""
    result = run(each)
    start = result.workload.jobs["submit_time"] + bl.service.delay(result)
    budget = bl.service.energy_budget(result, PRINTED)
    expected = {"tS": start, "tD": result.jobs["end_time"], "budget": budget}
    for name, found in expected.items():
        assert found.to_list() == pytest.approx(each.case[name], rel=0, abs=each.tolerance), name


@EVERY_CASE
def test_events(each: Recorded) -> None:
    """Each event: its time, kind and customer, and the rate, the work, the counts and the power after it."""
    found, expected = run(each).key_events, each.case["events"]
    assert found["time"].to_list() == pytest.approx([row[0] for row in expected], abs=each.tolerance)
    assert found.select(LETTERS)["event"].to_list() == [row[1] for row in expected]
    customers = [row[2] if row[1] != "S" else None for row in expected]
    assert found["row"].to_list() == customers
    check_machine(each, found, [place for place in range(found.height) if not departs_next(found, place)])


@EVERY_CASE
def test_events_before_a_departure_of_the_same_instant(each: Recorded) -> None:
    """The machine after an event, where a job departs at the same instant but after it."""
    found = run(each).key_events
    places = [place for place in range(found.height) if departs_next(found, place)]
    assert places
    check_machine(each, found, places)


def departs_next(events: pl.DataFrame, place: int) -> bool:
    """Whether the next event is a departure at the same instant."""
    after = events.slice(place + 1, 1)
    return after.select(LETTERS)["event"].to_list() == ["D"] and after["time"][0] == events["time"][place]


def check_machine(each: Recorded, found: pl.DataFrame, places: list[int]) -> None:
    """Compare what the machine is like after events."""
    for place in places:
        event, row = found.row(place, named=True), each.case["events"][place]
        values = [event[name] for name in AT_EVENT]
        assert [*values, *loads(event)] == pytest.approx(row[3:], rel=0, abs=each.tolerance), row


def loads(event: dict[str, Any]) -> tuple[float, float, float]:
    """Give the power of an event, and the potential and effective load."""
    servers, rate, busy = 4, event["rate"], event["busy"]
    power = busy * PRINTED.busy[rate] + (servers - busy) * PRINTED.idle[rate]
    return power, rate * (servers if event["queued"] else busy), rate * busy


@EVERY_CASE
def test_means(each: Recorded) -> None:
    """The averages over time and over customers."""
    result, mean = run(each), each.case["mean"]
    measured, service = measures(result), bl.service
    longer = {"E_mean": "E", "nu_mean": "nu", "Q_mean": "Q", "phi_mean": "phi", "nserv_mean": "ns"}
    longer |= {"W_mean": "W", "Ww_mean": "Ww", "potential_mean": "pot", "effective_mean": "eff"}
    longer |= {"T_total": "T", "waste_total": "waste", "frac_time_H": "H"}
    measured |= {long: measured[short] for long, short in longer.items()}
    measured["energy_total"] = service.energy(result, PRINTED)
    measured["budget_total"] = float(service.energy_budget(result, PRINTED).sum())
    measured["preemptions"] = float(service.preemptions(result).sum())
    compared = mean.keys() & measured.keys()
    assert len(compared) >= 13
    for name in compared:
        assert measured[name] == pytest.approx(mean[name], rel=0, abs=each.tolerance), name


def measures(result: bl.Result) -> dict[str, float]:
    """Give the measures by the names that are recorded."""
    service, course = bl.service, result.course
    prices = {"E": PRINTED, "Es": SWAPPED}
    found = {name: service.mean_power(result, each) for name, each in prices.items()}
    sojourn, delay = service.sojourn(result), service.delay(result)
    found |= {
        "nu": service.mean_present(result),
        "Q": service.mean_queued(result),
        "phi": service.mean_busy(result),
        "ns": course.mean(course.served.astype(np.float64)),
        "W": service.mean_workload(result),
        "Ww": service.mean_workload(result, weighted=True),
        "pot": service.potential_load(result),
        "eff": service.effective_load(result),
        "H": course.mean((course.rates[:, 0] == 2.66).astype(np.float64)),
        "waste": service.waste(result),
        "T": course.span,
        "delay_mean": float(delay.to_numpy().mean()),
        "delay_max": float(delay.to_numpy().max()),
        "sojourn_mean": float(sojourn.to_numpy().mean()),
    }
    return {name: value for name, value in found.items() if value is not None}


@cache
def log(trace: str, scale: float = 1.0) -> bl.Workload:
    """Read a log once."""
    return workload_of(trace, scale)


def run_log(trace: str, discipline: str, control: str, scale: float = 1.0) -> bl.Result:
    """Run a log of the centre."""
    options = bl.RunOptions(control=control, order_at_instant="event_by_event")
    return bl.simulate(log(trace, scale), machine(), policy_of(discipline), options=options)


def worst(found: npt.ArrayLike, expected: pl.Series) -> float:
    """Give the largest difference."""
    return float(np.abs(np.asarray(found) - expected.to_numpy()).max())


@pytest.mark.parametrize("discipline", POLICIES)
def test_every_customer_at_one_rate(discipline: str) -> None:
    """8,281 customers of the first log at rate 1: whole seconds, but for remainders at preemption."""
    name = "HPC_KRC_model_cores_used"
    expected = table(f"percustomer_disciplines_fixed1_{name}.csv.gz")
    result = run_log(name, discipline, "constant(1)")
    start = result.workload.jobs["submit_time"] + bl.service.delay(result)
    assert worst(start, expected[f"{discipline}_tS"]) <= 1e-9 * 5.3e7
    assert worst(result.jobs["end_time"], expected[f"{discipline}_tD"]) <= 1e-9 * 5.3e7


def test_every_customer_under_hysteresis() -> None:
    """8,281 customers with thresholds 1e5 and 3e5: delays, services, slowdowns and budgets."""
    name = "HPC_KRC_model_cores_used"
    expected = table(f"percustomer_fcfs_hyst_{name}.csv.gz")
    result, service = run_log(name, "fcfs", CONTROLS["work kL=1e5 kH=3e5"]), bl.service
    found = {
        "delay": service.delay(result),
        "sojourn": service.sojourn(result),
        "service": service.service_time(result),
        "budget": service.energy_budget(result, PRINTED),
    }
    for column, values in found.items():
        assert values.to_numpy() == pytest.approx(expected[column].to_numpy(), rel=1e-9, abs=1e-7), column
    slowdown = expected["slowdown"].cast(pl.Float64).to_numpy()
    assert service.slowdown(result).to_numpy() == pytest.approx(slowdown, rel=1e-7)


@pytest.mark.parametrize(
    ("trace", "recorded", "rate"),
    [
        ("HPC_KRC2_cleanA_subset", "wld_krc2A_subset_m80_rate2", 2.0),
        ("HPC_KRC_model_cores_used", "wld_krc_used_m80_rate2.66", 2.66),
    ],
)
def test_delays_of_the_package(trace: str, recorded: str, rate: float) -> None:
    """Whole runs give the delays of R's `Wld` at other rates."""
    expected = table(f"{recorded}.csv.gz")["delay"]
    result = run_log(trace, "fcfs", f"constant({rate})")
    assert worst(bl.service.delay(result), expected) <= 1e-6
    assert float(expected.to_numpy().max()) > 10_000


def rows() -> list[dict[str, Any]]:
    """Give the means of 44 runs; the coins of the two others are not recorded."""
    every = table("disciplines_controls.csv")
    return list(every.filter(~pl.col("control").str.starts_with("rand")).iter_rows(named=True))


def test_there_are_all_rows() -> None:
    """22 runs of each log."""
    assert len(rows()) == 44
    assert {row["disc"] for row in rows()} == set(POLICIES)


@pytest.mark.parametrize("discipline", POLICIES)
def test_means_of_logs(discipline: str) -> None:
    """The means of all runs of a discipline."""
    for row in rows():
        if row["disc"] != discipline:
            continue
        result = run_log(row["trace"], discipline, CONTROLS[row["control"]])
        found = measures(result)
        found |= {"E_printed": found["E"], "E_swapped": found["Es"], "W_mean": found["W"]}
        found |= {"delay": found["delay_mean"], "sojourn": found["sojourn_mean"], "frac_H": found["H"]}
        found["preempt"] = float(bl.service.preemptions(result).sum())
        compared = [name for name in found if name in row]
        assert len(compared) == 13, compared
        for name in compared:
            rel = tolerance(row["disc"], row["control"])
            # Of jobs that change places for almost equal work each change counts.
            close = pytest.approx(
                row[name], rel=max(rel, 2e-3) if name == "preempt" and rel > 1e-9 else rel, abs=1e-9
            )
            assert found[name] == close, (row["disc"], row["control"], name)


SWEPT = {
    "E_printed": "E",
    "E_swapped": "Es",
    "W_mean": "W",
    "Ww_mean": "Ww",
    "frac_H": "H",
    "delay_mean": "delay_mean",
    "sojourn_mean": "sojourn_mean",
    "phi_mean": "phi",
    "nu_mean": "nu",
    "Q_mean": "Q",
    "waste": "waste",
    "T": "T",
}


def check_sweep(chosen: pl.DataFrame) -> None:
    """Compare thresholds one by one."""
    for row in chosen.iter_rows(named=True):
        flags = f"weighted={row['weighted']}, printed={row['formula'] == 'printed'}"
        control = f"workload({row['k']}, {row['k']}, {flags}, {RATES})"
        scale = 2.66 if row["unit"] == "S=service*rH" else 1.0
        found = measures(run_log(row["trace"], "fcfs", control, scale))
        for name, short in SWEPT.items():
            assert found[short] == pytest.approx(row[name], rel=1e-9, abs=1e-9), (row, name)


def test_thresholds_of_the_third_figure() -> None:
    """The 31 thresholds of Fig. 3, and every tenth of the other 29 curves."""
    every = table("fig3_sweep.csv.gz")
    assert every.height == 930
    plain = (pl.col("unit") == "S=service") & ~pl.col("weighted") & (pl.col("formula") == "exact")
    of_figure = (pl.col("trace") == "HPC_KRC2_cleanA_subset") & plain
    assert every.filter(of_figure).height == 31
    check_sweep(every.filter(of_figure))
    check_sweep(every.filter(~of_figure)[::10])


@pytest.mark.campaign
@pytest.mark.parametrize("trace", ["cores_used", "cores_requested", "subset", "clock", "startgaps"])
def test_all_thresholds(trace: str) -> None:
    """All 930 runs: five traces, two units of work, three variants, 31 thresholds."""
    chosen = table("fig3_sweep.csv.gz").filter(pl.col("trace").str.ends_with(trace))
    assert chosen.height == 186
    check_sweep(chosen)
