"""Workloads like a log."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import batchlab as bl
from batchlab.errors import WorkloadError
from batchlab.generate.arrivals import arrivals, usual_period
from batchlab.generate.requests import SizeModel
from batchlab.generate.resample import origin
from batchlab.workload import Header
from batchlab.workload.calendar_time import CalendarTime

if TYPE_CHECKING:
    from pathlib import Path

CORE = 1.667
SYSTEM = bl.System.homogeneous(nodes=40, resources={"core": 4, "mem": 1000})


def small_log(jobs: int = 50) -> bl.Workload:
    """Give a log that takes no time to be like."""
    return bl.generate.lublin(jobs, nodes=32, seed=3)


def seth_system(nodes: int, with_gpus: int = 0) -> bl.System:
    """Describe Seth as the paper does, perhaps larger, or with 2 GPUs on some nodes."""
    node = {"core": 4, "mem": 1_000_000}
    groups = [bl.NodeGroup("plain", nodes - with_gpus, node)]
    if with_gpus:
        groups.append(bl.NodeGroup("gpu", with_gpus, {**node, "gpu": 2}))
    return bl.System(tuple(groups), name="Seth", start_time=1027839845)


@st.composite
def machines(draw: st.DrawFn) -> bl.System:
    """Draw machines of up to three kinds of nodes, of which some have GPUs or no memory."""
    groups = []
    for number in range(draw(st.integers(1, 3))):
        resources = {"core": draw(st.integers(1, 16))}
        resources |= {"mem": draw(st.integers(1, 5000))} if draw(st.booleans()) else {}
        resources |= {"gpu": draw(st.integers(1, 4))} if draw(st.booleans()) else {}
        groups.append(bl.NodeGroup(f"kind{number}", draw(st.integers(1, 5)), resources))
    return bl.System(tuple(groups))


@settings(max_examples=40, deadline=None)
@given(system=machines(), jobs=st.integers(1, 80), seed=st.integers(0, 2**70), most=st.integers(1, 20))
def test_every_job_keeps_the_limits_and_fits(system: bl.System, jobs: int, seed: int, most: int) -> None:
    """As many jobs as wanted, in order, within the limits, none rejected by the machine."""
    performance = {name: 2.0 for name in system.resources if name != "mem"}
    made = bl.generate.like(
        small_log(),
        jobs,
        system=system,
        performance=performance,
        request_limits={"max": {"core": most} | ({"mem": 70} if "mem" in system.resources else {})},
        seed=seed,
    )
    table = made.jobs
    assert len(made) == jobs
    assert table["job_id"].to_list() == list(range(1, jobs + 1))
    assert table["submit_time"].is_sorted()
    assert (table["submit_time"] == table["submit_time"].floor()).all()
    assert (table["run_time"] > 0).all()
    assert (table["requested_time"] >= table["run_time"]).all()
    assert table["core"].is_between(1, most).all()
    for name in made.resources:
        assert (table[name] <= max(group.resources.get(name, 0) for group in system.groups)).all()
    assert "mem" not in made.resources or table["mem"].is_between(0, 70).all()
    assert set(bl.simulate(made, system, "easy").jobs["state"]) == {"completed"}


def test_the_same_seed_gives_the_same_jobs(log: bl.Workload) -> None:
    """And another seed others."""
    one, same, other = (bl.generate.like(log, 300, system=SYSTEM, seed=seed).jobs for seed in (4, 4, 5))
    assert one.equals(same)
    assert not one.equals(other)


def test_streams_are_apart(log: bl.Workload) -> None:
    """Another machine's requests leave the arrivals as they are."""
    larger = bl.System.homogeneous(nodes=40, resources={"core": 9, "gpu": 2})
    one, other = (bl.generate.like(log, 300, system=system).jobs for system in (SYSTEM, larger))
    assert one["submit_time"].equals(other["submit_time"])
    assert not one["core"].equals(other["core"])


def test_the_jobs_of_a_seed_stay_what_they_are(log: bl.Workload) -> None:
    """The first ones are written down: a change would change all users' results."""
    made = bl.generate.like(log, 5, system=SYSTEM, period=86_400, seed=1).jobs
    assert made.select("submit_time", "run_time", "requested_time", "tasks", "core").rows() == PINNED


PINNED = [
    (6534.0, 1250.25, 3600.0, 4, 1),
    (37566.0, 1076.0, 3600.0, 2, 1),
    (83612.0, 341.0, 3600.0, 1, 2),
    (93239.0, 1393.25, 3600.0, 16, 2),
    (93963.0, 3328.666667, 3600.0, 1, 3),
]


@pytest.mark.parametrize("jobs", [15_000, 40_000])
def test_submissions_follow_the_log(log: bl.Workload, jobs: int) -> None:
    """Shares of hours, weekdays and months are within 2 points of the log's."""
    made = bl.generate.like(log, jobs, system=SYSTEM, seed=2)
    found = bl.generate.compare(log, made)
    assert found.largest.keys() == {"hours", "weekdays", "months"}
    assert max(found.largest.values()) < 2


def test_the_correction_is_what_holds_the_shares(log: bl.Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the progress ratios, jobs that come in bursts stray from the shares."""
    bursts = log.jobs.with_columns(submit_time=(log.jobs["submit_time"] / 43200).floor() * 43200)
    times = bursts["submit_time"].to_numpy() + 1_000_000_000

    def strays() -> float:
        made = [
            arrivals(times, 3000, period=365.25 * 86400, clock=CalendarTime(), seed=seed) for seed in range(8)
        ]
        months = [each.astype("datetime64[s]").astype("datetime64[M]").astype(int) % 12 for each in made]
        real = times.astype("datetime64[s]").astype("datetime64[M]").astype(int) % 12
        shares = [np.bincount(each, minlength=12) / len(each) for each in (real, *months)]
        return float(np.mean([np.abs(each - shares[0]).max() for each in shares[1:]]))

    corrected = strays()
    monkeypatch.setattr("batchlab.generate.arrivals._STRONGEST", 1.0)
    assert strays() > 1.5 * corrected


def test_hours_are_those_of_the_clock_on_the_wall() -> None:
    """People come at 8 by their own clocks, in summer and in winter: so do the made jobs."""
    header = Header(("; UnixStartTime: 1609459200", "; TimeZoneString: Europe/Stockholm"))
    days = pl.datetime_range(
        pl.datetime(2021, 1, 1, 8), pl.datetime(2022, 6, 30, 8), "1d", time_zone="Europe/Stockholm"
    )
    mornings = pl.select(days.dt.epoch("s")).to_series().to_numpy() - 1609459200
    times = np.sort(np.concatenate([mornings + late for late in range(0, 1800, 180)]))
    table = {
        "submit_time": times,
        "run_time": np.full(len(times), 60.0),
        "tasks": np.ones(len(times), dtype=int),
    }
    log = bl.Workload.from_table(table, header=header)
    made = bl.generate.like(log, len(log), system=SYSTEM)
    assert made.header.time_zone_string == "Europe/Stockholm"
    found = bl.generate.compare(log, made).hours
    assert found["real"][8] == 100
    assert found["generated"][8] > 98
    hours = np.unique((made.jobs["submit_time"].to_numpy() + 1609459200) // 3600 % 24, return_counts=True)
    assert sorted(hours[0][np.argsort(hours[1])[-2:]]) == [6, 7]


@pytest.mark.parametrize(
    ("lines", "ahead"),
    [
        (["; TimeZoneString: Europe/Berlin", "; TimeZone: 7"], 7200),
        (["; TimeZoneString: US/Nowhere", "; TimeZone: -3600"], -3600),
        ([], 0),
    ],
    ids=["zone", "unknown zone", "nothing"],
)
def test_clocks(lines: list[str], ahead: int) -> None:
    """A known zone, else a shift, else UTC."""
    summer = np.array([1_625_133_600.9])  # 1 July 2021, 10:00 UTC
    assert CalendarTime.of(Header(tuple(lines))).read(summer)[0] - 1_625_133_600 == ahead


def test_intervals_are_the_logs(log: bl.Workload) -> None:
    """As many jobs at one instant as in the log, and no interval far beyond its longest."""
    times = np.repeat(log.jobs["submit_time"].to_numpy(), 2) + 1_000_000_000
    made = np.diff(arrivals(times, 20_000, period=250 * 86400, clock=CalendarTime(), seed=0))
    assert np.mean(made == 0) == pytest.approx(0.5, abs=0.02)
    assert made.max() <= 3 * np.diff(times).max()


def test_periods(log: bl.Workload) -> None:
    """Jobs come as often as in the log; over whole years where these have months to follow."""
    times = log.jobs["submit_time"].to_numpy()
    span = times[-1] - times[0]
    year = 365.25 * 86400
    assert usual_period(times, 100) == pytest.approx(span / 200)
    assert usual_period(times, 10_000) == year
    assert usual_period(times, 60_000) == 3 * year
    half = times[times < 200 * 86400]
    assert usual_period(half, 5 * len(half)) == pytest.approx(5 * (half[-1] - half[0]))


def test_a_log_of_minutes_has_no_cycle() -> None:
    """Its jobs come as often as they did."""
    table = {"submit_time": range(0, 600, 6), "run_time": [5] * 100, "tasks": [1] * 100}
    made = bl.generate.like(bl.Workload.from_table(table), 1000, system=SYSTEM).jobs["submit_time"].to_numpy()
    assert made[-1] == pytest.approx(6000, rel=0.01)
    assert set(np.diff(made)) == {5.0, 6.0}


def test_the_period_can_be_given(log: bl.Workload) -> None:
    """Then the jobs are spread over it."""
    made = bl.generate.like(log, 2000, system=SYSTEM, period=30 * 86400).jobs["submit_time"].to_numpy()
    assert made[-1] - made[0] == pytest.approx(30 * 86400, rel=0.1)


def test_work_does_not_depend_on_the_machine(log: bl.Workload) -> None:
    """The distribution of GFLOP is the log's, however fast the machine; run times are shorter then."""
    fast = {"core": 3 * CORE}
    made = bl.generate.like(
        log, 20_000, system=SYSTEM, performance=fast, performance_of_log={"core": CORE}, seed=1
    )
    found = bl.generate.compare(log, made, performance=fast, performance_of_real={"core": CORE})
    assert found.distance < 0.01
    serial = [
        table.filter(table["tasks"] * cores == 1)
        for table, cores in ((log.jobs, 1), (made.jobs, made.jobs["core"]))
    ]
    ratio = serial[0]["run_time"].median() / serial[1]["run_time"].median()  # type: ignore[operator]
    assert ratio == pytest.approx(3, rel=0.05)


def test_run_times_are_work_over_speed(log: bl.Workload) -> None:
    """With work always the same, the run time is it over what the request computes."""
    performance = {"core": 2.0, "gpu": 50.0}
    system = bl.System.homogeneous(nodes=40, resources={"core": 4, "gpu": 2})
    work = bl.generate.Constant(1e6)
    made = bl.generate.like(log, 2000, system=system, performance=performance, work=work).jobs
    speed = made["tasks"] * (made["core"] * 2.0 + made["gpu"] * 50.0)
    assert np.allclose(made["run_time"], 1e6 / speed, atol=1e-3)


def test_sizes_are_the_logs(log: bl.Workload) -> None:
    """The shares of serial jobs and of powers of two, and the mean number of cores."""
    made = bl.generate.like(log, 50_000, system=SYSTEM, seed=3).jobs
    real, cores = log.jobs["tasks"].to_numpy(), (made["tasks"] * made["core"]).to_numpy()
    assert np.mean(cores == 1) == pytest.approx(np.mean(real == 1), abs=0.01)
    assert cores.mean() == pytest.approx(real.mean(), rel=0.05)
    size = SizeModel.fit(real).sample(np.random.default_rng(1), 50_000).astype(int)
    assert np.mean(size & (size - 1) == 0) == pytest.approx(np.mean(real & (real - 1) == 0), abs=0.02)
    assert size.mean() == pytest.approx(real.mean(), rel=0.05)
    assert size.max() == real.max()


def test_gpus_are_asked_for_as_nodes_have_them(log: bl.Workload) -> None:
    """With GPUs on a quarter of the nodes, a quarter of the parallel jobs is made for these."""
    system = seth_system(120, 30)
    performance = {"core": CORE, "gpu": 933.0}
    limits = {"min": {"core": 1}, "max": {"core": 4, "gpu": 2}}
    made = bl.generate.like(
        log, 40_000, system=system, performance=performance, request_limits=limits, seed=1
    ).jobs
    parallel = made.filter(made["tasks"] * made["core"] > 1)
    # Uniform from 0 to 2: two thirds of a quarter ask for some.
    assert (parallel["gpu"] > 0).mean() == pytest.approx(1 / 6, abs=0.01)
    assert set(made.filter(made["tasks"] * made["core"] == 1)["gpu"]) == {0}


def test_requested_times_are_the_logs(log: bl.Workload) -> None:
    """They are of the kind that the log's users ask for: here, whole hours; or the run times."""
    asked, exact = (
        bl.generate.like(log, 3000, system=SYSTEM, requested_time=kind).jobs for kind in ("log", "run_time")
    )
    hours = asked["requested_time"] % 3600 == 0
    assert hours.mean() > 0.99  # type: ignore[operator]
    assert exact["requested_time"].equals(exact["run_time"], check_names=False)


def test_whole_seconds(log: bl.Workload) -> None:
    """If wanted, run times have no fractions, and none is 0."""
    performance = {"core": 1000.0}
    made = bl.generate.like(
        log,
        2000,
        system=SYSTEM,
        performance=performance,
        performance_of_log={"core": 1.0},
        whole_seconds=True,
    ).jobs["run_time"]
    assert (made == made.round()).all()
    assert made.min() == 1


def test_origins(log: bl.Workload) -> None:
    """The system's start time comes first, then the log's header; the made workload's header keeps it."""
    assert origin(log) == 1_000_000_000
    assert origin(log, seth_system(1)) == 1027839845
    made = bl.generate.like(log, 10, system=SYSTEM)
    assert made.header.unix_start_time == 1_000_000_000
    assert made.header.max_processors == 160
    assert made.jobs["submit_time"][0] == log.jobs["submit_time"][0]


def test_a_log_of_processors_comes_back_with_the_same_demand(log: bl.Workload, tmp_path: Path) -> None:
    """Written as SWF, as many processors as the equivalence says: no more load, and no job too large."""
    system = bl.System.homogeneous(nodes=40, resources={"core": 4, "mem": 100}, equivalence={"core": 2})
    limits = {"min": {"core": 1, "mem": 10}}
    made = bl.generate.like(log, 500, system=system, request_limits=limits, seed=2)
    assert (made.header.max_processors, dict(made.header.processor)) == (80, {"core": 2})
    bl.write_swf(made, tmp_path / "made.swf")
    back = bl.read_swf(tmp_path / "made.swf", use_memory=True)
    asked = (made.jobs["tasks"] * made.jobs["core"]).to_numpy()
    assert back.jobs["tasks"].to_numpy().tolist() == (-(-asked // 2)).tolist()
    memory = (made.jobs["tasks"] * made.jobs["mem"]).to_numpy()
    kept = (back.jobs["tasks"] * back.jobs["mem"]).to_numpy()
    assert ((kept >= memory) & (kept < memory + back.jobs["tasks"].to_numpy())).all()
    ran = [bl.simulate(each, system, "easy") for each in (made, bl.read_swf(tmp_path / "made.swf"))]
    assert [each.metrics()["jobs"]["rejected"] for each in ran] == [0, 0]  # type: ignore[index]
    before, after = (each.metrics()["utilisation"]["core"] for each in ran)  # type: ignore[index]
    assert before <= after < 1.15 * before
    (said,) = ran[1].warnings
    assert "requested_memory of 500 jobs is not used, though nodes have mem" in said


@pytest.mark.parametrize(
    ("text", "processor"),
    [
        ("core=2", {"core": 2}),
        ("core=2, mem=10", {"core": 2, "mem": 10}),
        ("2 cores", {"core": 1}),
        ("core=0", {"core": 1}),
    ],
)
def test_what_a_processor_is_stands_in_the_header(text: str, processor: dict[str, int]) -> None:
    """Or it is a core, where the header says nothing that can be read."""
    assert Header((f"; Processor: {text}",)).processor == processor
    assert Header(()).processor == {"core": 1}


def test_a_log_with_cores_per_task() -> None:
    """Sizes and work count cores, not tasks."""
    table = {"submit_time": [0, 10, 50], "run_time": [9, 9, 9], "tasks": [1, 1, 1], "core": [8, 8, 8]}
    made = bl.generate.like(bl.Workload.from_table(table), 20, system=SYSTEM, performance={"core": 1.0})
    assert ((made.jobs["tasks"] * made.jobs["core"]) >= 8).all()
    assert np.allclose(bl.generate.gflops(made, {"core": 1.0}), 72, rtol=0.01)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param({"jobs": 0}, "jobs = 0; must be a whole number from 1", id="no jobs"),
        pytest.param({"jobs": 1.5}, "jobs = 1.5; must be a whole number", id="part of a job"),
        pytest.param({"seed": -1}, "seed = -1; must be a whole number >= 0", id="seed"),
        pytest.param({"seed": "x"}, "seed = 'x'; must be a whole number >= 0", id="no seed"),
        pytest.param({"period": 0}, "period = 0; must be a number of seconds above 0", id="period"),
        pytest.param({"jobs": 10**9}, "the log's rate; must be .* at most 10\\^10", id="centuries"),
        pytest.param({"work": 7}, "work = 7; must be a distribution", id="no work"),
        pytest.param({"requested_time": "me"}, "requested_time = 'me'", id="requested time"),
        pytest.param(
            {"performance": {"gpu": 1}}, r"performance\['gpu'\]: the system has no", id="no such unit"
        ),
        pytest.param({"performance": {"core": "a"}}, r"performance\['core'\] = 'a'; must be", id="no number"),
        pytest.param({"performance": {"core": 0.0}}, "ask for nothing that computes", id="nothing computes"),
        pytest.param({"request_limits": 3}, "request_limits = 3; must be", id="no limits"),
        pytest.param({"request_limits": {"mim": {}}}, "'mim'] is unknown. Did you mean 'min'", id="misspelt"),
        pytest.param(
            {"request_limits": {"min": {"cor": 1}}}, "no such resource. Did you mean 'core'", id="cor"
        ),
        pytest.param({"request_limits": {"min": {"core": 0}}}, "every job needs a core", id="no core"),
        pytest.param(
            {"request_limits": {"min": {"core": 5}}}, "core from 5 to 4; must be from less", id="swapped"
        ),
        pytest.param({"request_limits": {"max": {"core": -1}}}, "a whole number from 0 to", id="negative"),
        pytest.param(
            {"request_limits": {"min": {"mem": 2000}, "max": {"mem": 3000}}},
            "no node of the system",
            id="too much",
        ),
        pytest.param(
            {"system": bl.System.homogeneous(nodes=1, resources={"cpu": 1}, equivalence={"cpu": 1})},
            "generated jobs need 'core'",
            id="no cores",
        ),
        pytest.param(
            {"workload": bl.Workload.from_table({"submit_time": [0], "run_time": [1], "tasks": [1]})},
            "1 jobs; a log of at least 2",
            id="no log",
        ),
    ],
)
def test_wrong_arguments_are_told(given: dict[str, object], said: str) -> None:
    """Each by its name, with its value and its rule."""
    usual: dict[str, object] = {"workload": small_log(), "jobs": 5, "system": SYSTEM}
    with pytest.raises(WorkloadError, match=said):
        bl.generate.like(**(usual | given))  # type: ignore[arg-type]


CONFIGURATIONS = [
    pytest.param(50_000, seth_system(120), {"core": 1.5 * CORE}, id="faster cores"),
    pytest.param(100_000, seth_system(240), {"core": CORE}, id="twice the nodes"),
    pytest.param(200_000, seth_system(120, 30), {"core": CORE, "gpu": 933.0}, id="GPUs on a quarter"),
    pytest.param(500_000, seth_system(120, 60), {"core": 1.5 * CORE, "gpu": 933.0}, id="GPUs on half"),
]


@pytest.mark.parametrize(("jobs", "system", "performance"), CONFIGURATIONS)
def test_the_papers_configurations(
    seth: bl.Workload, jobs: int, system: bl.System, performance: dict[str, float]
) -> None:
    """Seth's shares within 2 points, its distribution of work, and 500,000 jobs in less than 10 s."""
    begin = time.process_time()
    real = {"core": CORE}
    made = bl.generate.like(seth, jobs, system=system, performance=performance, performance_of_log=real)
    assert time.process_time() - begin < 10
    found = bl.generate.compare(seth, made, performance=performance, performance_of_real=real)
    assert max(found.largest.values()) < 2
    assert found.distance < 0.01
