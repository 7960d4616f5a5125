"""What-if studies: waits by hand, pairs of configurations, groups, and what cannot be compared."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import batchlab as bl
from batchlab.errors import SystemDescriptionError, TwinError
from batchlab.slurm.twin.fit_answer import Unit, amount, unit_of
from batchlab.slurm.twin.log import GroupedWaits, groupings
from support.small_centre import CONFIGURATION, configured, submitted


def twin(folder: Path, options: str = "", **others: object) -> bl.twin.Twin:
    """Read a twin of the small centre."""
    path = configured(folder / (options or "usual"), options)
    return bl.twin.read_twin(path, name=options or "usual", **others)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> bl.twin.WhatIf:
    """Compare backfill every half minute with one every half hour."""
    folder = tmp_path_factory.mktemp("what_if")
    twins = [twin(folder), twin(folder, "bf_interval=1800")]
    return bl.twin.what_if(submitted(300), twins, seeds=(0, 1), resamples=200)


def test_statistics_are_those_of_the_runs(found: bl.twin.WhatIf) -> None:
    """Means are over all jobs and seeds; quantiles are waits that so many jobs do not exceed."""
    for name, each in found.twins.items():
        runs = [each.run(submitted(300), seed=seed).jobs for seed in (0, 1)]
        waits = pl.concat([run["start_time"] - run["submit_time"] for run in runs]).to_numpy()
        rows = found.table.filter(by="all", configuration=name)
        values = dict(rows.select("statistic", "wait").iter_rows())
        assert values["mean"] == pytest.approx(waits.mean())
        assert values["median"] == np.sort(waits)[299]
        assert values["p95"] == np.sort(waits)[569]
        assert np.mean(found.mean_waits[name]) == pytest.approx(waits.mean())


def test_rare_backfill_makes_jobs_wait(found: bl.twin.WhatIf) -> None:
    """The difference is certain, and that of the pair is shorter than the intervals of both."""
    mean = found.table.filter(by="all", statistic="mean")
    first, second = mean.iter_rows(named=True)
    assert first["difference"] is None
    assert second["difference"] == pytest.approx(second["wait"] - first["wait"])
    assert 0 < second["difference_low"] < second["difference"] < second["difference_high"]
    assert second["difference_high"] - second["difference_low"] < second["high"] - second["low"]


def test_groups_are_those_of_the_log(found: bl.twin.WhatIf) -> None:
    """Partition, QOS, account and size; the jobs of each way of grouping are all."""
    first = found.table.filter(configuration="usual", statistic="mean")
    assert first["by"].unique(maintain_order=True).to_list() == ["all", "partition", "qos", "account", "size"]
    assert set(first.group_by("by").agg(pl.col("jobs").sum())["jobs"]) == {300}
    assert first.filter(by="size")["group"].to_list() == ["1", "2–4", "5–16"]


def test_many_groups_are_put_together() -> None:
    """Of forty accounts the smallest are one group; jobs without one are another."""
    names = [f"a{number}" for number in range(40) for _ in range(number + 1)]
    jobs = {"submit_time": range(len(names)), "run_time": 1, "tasks": 1, "account": names}
    workload = bl.Workload.from_table(jobs)
    accounts = next(each for each in groupings(workload) if each.by == "account")
    assert (len(accounts.names), accounts.names[0], accounts.names[-1]) == (30, "a39", "(others)")
    assert np.bincount(accounts.number).sum() == len(names)
    partly = bl.Workload.from_table({**jobs, "account": [None] * 50 + names[50:]})
    assert "(none)" in groupings(partly)[1].names


def test_weighted_quantiles() -> None:
    """Counts weigh jobs as if they were there so often."""
    chance = np.random.default_rng(1)
    waits = chance.exponential(60, (2, 50))
    jobs = bl.Workload.from_table(
        {"submit_time": range(50), "run_time": 1, "tasks": 1, "account": list("ab" * 25)}
    )
    grouping = groupings(jobs)[1]
    counts = chance.integers(0, 4, 50)
    found = GroupedWaits(waits, grouping).statistics(counts)
    for group in (0, 1):
        mine = np.sort(np.concatenate([np.repeat(row, counts * (grouping.number == group)) for row in waits]))
        expected = [
            mine.mean(),
            *(mine[int(np.ceil(part * len(mine) - 1e-9)) - 1] for part in (0.5, 0.95)),
        ]
        assert found[group] == pytest.approx(expected)
    none = GroupedWaits(waits, grouping).statistics(np.where(grouping.number == 0, 0, 1))
    assert np.isnan(none[0]).all()
    assert not np.isnan(none[1]).any()


def test_submission_is_part_of_the_wait(tmp_path: Path) -> None:
    """A job that the controller learns of later waits since its submission."""
    alone = bl.Workload.from_table({"submit_time": [0, 9000], "run_time": 10, "tasks": 1})
    soon, late = (twin(tmp_path, submission=seconds) for seconds in (0.0, 100.0))
    means = [bl.twin.what_if(alone, [each], resamples=2).mean_waits["usual"][0] for each in (soon, late)]
    assert means[1] - means[0] == pytest.approx(100, abs=4)


def test_jobs_that_do_not_start_are_left_out_for_all(tmp_path: Path) -> None:
    """A limit of one partition rejects jobs under one configuration; no other is compared on them."""
    text = CONFIGURATION.replace("MaxTime=60", "MaxTime=20")
    strict = bl.twin.read_twin(configured(tmp_path / "strict", text=text), name="strict")
    found = bl.twin.what_if(submitted(100), [twin(tmp_path), strict], resamples=2)
    assert found.not_started["usual"] == 0
    assert found.not_started["strict"] == 100 - found.jobs > 0
    assert f"{found.not_started['strict']} jobs did not start, and are left out" in str(found)


def test_text_fits_a_terminal(found: bl.twin.WhatIf) -> None:
    """Eighty columns, and each group with each configuration."""
    lines = str(found).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "300 jobs under 2 configurations, 2 seeds each"
    assert any(line.startswith("by account ") for line in lines)


def test_durations_in_one_unit() -> None:
    """Three digits, one unit for a value and its interval."""
    assert [amount(each) for each in (0.0, 0.123, 59.0, 5400.0, 1e6, None)] == [
        "0 s", "0.12 s", "59 s", "1.5 h", "11.6 d", "–",
    ]  # fmt: skip
    minutes, seconds = unit_of([1.5, 90.0, None, 0.0, 36_000.0]), unit_of([])
    assert (minutes, seconds) == (Unit("min", 60.0), Unit("s", 1.0))
    assert minutes.difference(90.0, -3.0, 130.0) == "+1.5 (−0.05 to 2.17)"
    assert seconds.difference(-0.001, -0.001, 0.0) == "0 (0 to 0)"
    assert [minutes.plain(each) for each in (None, 61_234.0, 7_300_000.0)] == ["–", "1,021", "121,667"]


def test_keys_in_which_configurations_differ(found: bl.twin.WhatIf, tmp_path: Path) -> None:
    """Key by key, with Slurm's default where a file does not give it; what has no effect is counted."""
    assert dict(found.differences.keys) == {"SchedulerParameters=bf_interval": ("30", "1800")}
    lines = str(found).splitlines()
    at = next(place for place, line in enumerate(lines) if line.startswith("key "))
    assert lines[at + 1].split() == ["SchedulerParameters=bf_interval", "30", "1800"]
    text = CONFIGURATION.replace("MaxTime=60", "MaxTime=20") + "MailProg=/bin/mail\nKillOnBadExit=1\n"
    strict = bl.twin.read_twin(configured(tmp_path / "strict", text=text), name="strict")
    apart = bl.twin.what_if(submitted(60), [twin(tmp_path), strict], resamples=2).differences
    assert all("MaxTime" in key and set(values) == {"60", "20"} for key, values in apart.keys.items())
    assert apart.keys
    assert apart.without_effect == 2
    alone = bl.twin.Twin(name="python", system=strict.system, policy=strict.policy)
    assert "\nkey " not in str(bl.twin.what_if(submitted(60), [alone, strict], resamples=2))


def test_columns_have_one_unit_and_single_groups_are_not_repeated(found: bl.twin.WhatIf) -> None:
    """Titles have the units, cells numbers; one partition says what all jobs say."""
    lines = str(found).splitlines()
    title = next(line for line in lines if line.startswith("waits "))
    assert [word for word in title.split() if word in {"s", "min", "h", "d"}]
    cells = lines[lines.index(title) + 1].split()[1:4]
    assert all(cell.replace(",", "").replace(".", "").isdigit() for cell in cells)
    assert "partition" in found.grouped_by
    jobs = submitted(40).jobs.with_columns(partition=pl.lit("batch"))
    one = bl.twin.what_if(bl.Workload.from_table(jobs), [*found.twins.values()], resamples=2)
    assert "partition" not in one.grouped_by
    assert "by partition" not in str(one)
    assert one.table.filter(by="partition").height == 6


def test_waits_of_the_log_stand_beside(tmp_path: Path) -> None:
    """A log with starts has a line in each group; the means are those of the compared jobs."""
    one = twin(tmp_path)
    jobs = submitted(80)
    run = one.run(jobs, seed=7).jobs
    later = run.with_columns(pl.col("start_time") + 100, pl.col("end_time") + 100)
    columns = [*jobs.jobs.columns, "start_time", "end_time"]
    logged = bl.Workload.from_table(later.select(columns), resources=jobs.resources)
    found = bl.twin.what_if(logged, [one], seeds=(7,), resamples=2)
    assert found.log is not None
    waits = dict(found.log.filter(by="all").select("statistic", "wait").iter_rows())
    assert waits["mean"] == pytest.approx(found.mean_waits["usual"][0] + 100)
    assert found.log.filter(by="size", statistic="mean")["jobs"].sum() == 80
    assert sum(line.startswith("  (the log)") for line in str(found).splitlines()) > 3
    assert found.to_dict()["log"] == found.log.to_dicts()
    assert bl.twin.what_if(jobs, [one], seeds=(7,), resamples=2).log is None


def test_a_configuration_that_starts_no_job(tmp_path: Path) -> None:
    """The others are compared without it, and the answer says which requests do not fit, and where."""
    one = twin(tmp_path)
    system = bl.System.homogeneous(nodes=2, resources={"core": 1})
    small = bl.twin.Twin(name="small", system=system, policy=bl.Policy.parse("slurm"))
    table = {"submit_time": [0, 1], "run_time": 1, "tasks": 1, "core": 2, "requested_time": 60}
    jobs = bl.Workload.from_table(table, resources=["core"])
    for twins in ([one, small], [small, one]):
        found = bl.twin.what_if(jobs, twins, seeds=(0, 1), resamples=2)
        assert found.first == "usual"
        assert found.jobs == 2
        assert found.not_started == {"usual": 0, "small": 2}
        assert set(found.table["configuration"]) == {"usual"}
        assert found.mean_waits["small"] == ()
        reason = "2 jobs rejected, never_fits: a task asks for 2 of core, a node has at most 1"
        assert found.reasons == {"usual": (), "small": (reason,)}
        assert reason in str(found)
        assert found.to_dict()["configurations"]["small"]["reasons"] == [reason]  # type: ignore[index]
        bl.report.write_what_if(found, tmp_path / "page.html")
        assert reason in (tmp_path / "page.html").read_text("utf-8")


def test_refusals(tmp_path: Path) -> None:
    """Each error names what is wrong, where, and the next step."""
    one = twin(tmp_path)
    with pytest.raises(TwinError, match=r"twins = \['usual', 'usual'\]; must be at least one"):
        bl.twin.what_if(submitted(10), [one, one])
    with pytest.raises(TwinError, match="seeds is empty"):
        bl.twin.what_if(submitted(10), [one], seeds=())
    named = submitted(10).jobs.with_columns(partition=pl.lit("gpu"))
    with pytest.raises(TwinError, match=r"usual cannot run the log: job 1: partition = 'gpu'"):
        bl.twin.what_if(bl.Workload.from_table(named), [one])
    large = bl.Workload.from_table({"submit_time": [0, 1], "run_time": 1, "tasks": 99})
    with pytest.raises(TwinError, match="none of 2 jobs starts under all configurations: 2 do not"):
        bl.twin.what_if(large, [one])
    with pytest.raises(TwinError, match="submission = -1; must be a finite number of seconds >= 0"):
        twin(tmp_path, submission=-1)
    with pytest.raises(SystemDescriptionError, match="none: cannot be read: No such file"):
        bl.twin.read_twin(tmp_path / "none")
