"""A streamed run gives the answer of a run with tables, whatever options it has; the others it refuses."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from random import Random

import pytest

from batchlab.cli import main
from batchlab.cli.run import run
from batchlab.core.declared import NeedsTables, declared
from batchlab.options import RunOptions
from support.option_values import RUNS

CASES = 24
MANY = 2000
# Values to try in place of, or in addition to, those of `support.option_values`.
OTHERS = {
    "overheads": [
        "--overhead=launch=3",
        "--overhead=completion=uniform(low=0, high=9)",
        "--overhead=execution=expon(mean=5)",
    ],
    "sleep": [
        "--sleep=timeout(60)",
        "--sleep=timeout(suspend=30, off=400, keep=2)",
        "--sleep=timeout(40, wake=queue)",
        "--sleep=timeout(20, counted=true)",
    ],
    "order_at_instant": ["--order-at-instant=arrivals_first", "--order-at-instant=event_by_event"],
    "job_check": ["--job-check=total", "--job-check=none"],
}
STREAMED = {
    name: OTHERS.get(name)
    or [
        each.words[0] if option.is_switch else f"{option.option}={each.words[0]}"
        for each in RUNS
        if each.name == name
    ]
    for name, option in declared(RunOptions).items()
    if option.help.tables is None
}
"""The options of a run that a streamed run has, with values to try."""
READING = ["--overrun=keep", "--overrun=cut", "--processors=allocated", "--no-log-events", "--use-memory"]
POLICIES = ["fcfs", "easy", "conservative", "easy(order=sjf, allocator=best_fit)", "fcfs(backfill=first_fit)"]


@dataclass(frozen=True)
class Case:
    """A log, a machine and the options of a run."""

    log: Path
    system: Path
    words: list[str]


def written_log(path: Path, chance: Random) -> Path:
    """Write a log of 60 jobs, some of which were cancelled in the queue."""
    lines, time = ["; MaxNodes: 8", "; MaxProcs: 32"], 0
    for number in range(1, 61):
        time += chance.choice((0, 5, 40, 200))
        wait, run_time = chance.choice((-1, 0, 30)), chance.randrange(300)
        size, limit, status = chance.randrange(1, 36), run_time + chance.choice((-20, 0, 200)), 1
        if chance.random() < 0.1:
            wait, run_time, status = chance.randrange(300), 0, 5
        memory = chance.choice((-1, 500))
        lines.append(
            f"{number} {time} {wait} {run_time} {size} -1 -1 {size} {max(limit, 1)} {memory} {status} "
            "1 1 1 1 -1 -1 -1"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


def written_system(path: Path, chance: Random) -> Path:
    """Write a machine, with nodes out of service or jobs that cannot be requeued."""
    states = [{"name": "suspend", "enter": 4, "wake": 9}, {"name": "off", "enter": 10, "wake": 60}]
    levels = ", ".join(
        f'{{ name = "{each["name"]}", power = 5, enter_time = {each["enter"]}, wake_time = {each["wake"]} }}'
        for each in states
    )
    top = chance.choice(["", 'down = "1,6-7"\n', "requeue = false\n"])
    path.write_text(
        f'{top}[[groups]]\nname = "n"\ncount = 8\nresources = {{ core = 4, mem = 64000 }}\n'
        f"sleep_states = [{levels}]\n"
    )
    return path


def written_events(path: Path, chance: Random) -> Path:
    """Write external events of jobs and nodes, in the order of time."""
    kinds = [
        "kill,{job},",
        "hold,{job},",
        "release,{job},",
        "requeue,{job},",
        "drain,,{node}",
        "resume,,{node}",
    ]
    times = sorted(chance.randrange(4000) for _ in range(30))
    rows = [
        f"{time},{chance.choice(kinds).format(job=chance.randrange(1, 61), node=chance.randrange(8))}"
        for time in times
    ]
    path.write_text("\n".join(["time,event,job_id,nodes", *rows]) + "\n")
    return path


def random_case(directory: Path, seed: int) -> Case:
    """Draw a case: each option with probability 1/3."""
    chance = Random(seed)  # noqa: S311  # no secret
    words = ["--policy", chance.choice(POLICIES)]
    for texts in STREAMED.values():
        words += [chance.choice(texts)] if chance.random() < 1 / 3 else []
    words += [word for word in READING if chance.random() < 0.2]
    if chance.random() < 0.4:
        words += ["--external-events", str(written_events(directory / "events.csv", chance))]
    log = written_log(directory / "log.swf", chance)
    return Case(log, written_system(directory / "system.toml", chance), words)


def rows_of(path: Path) -> list[list[str]]:
    """Return the table of jobs, without the one column that needs the whole log: it may not exist."""
    head, *rows = csv.reader(path.read_text().splitlines())
    kept = [place for place, name in enumerate(head) if name != "cancelled_after"]
    return [[row[place] for place in kept] for row in (head, *rows)]


def answers(
    case: Case, directory: Path
) -> tuple[tuple[list[list[str]], object], tuple[list[list[str]], object]]:
    """Return the table of jobs and the measures, without and with --stream."""
    found = []
    for name, more in (("whole", []), ("streamed", ["--stream"])):
        out = directory / name
        words = ["run", str(case.log), "--system", str(case.system), *case.words, *more, "--out", str(out)]
        assert main(words) == 0, case
        measures = json.loads((out / "metrics.json").read_text())
        # A streamed run has the mean of the log's bounded slowdowns, without quantiles.
        log = measures.get("log", {})
        for each in (log, log.get("simulated", {})):
            each["bounded_slowdown"] = each.get("bounded_slowdown", {}).get("mean")
        found.append((rows_of(out / "jobs.csv"), measures))
    return found[0], found[1]


@pytest.mark.parametrize("seed", range(CASES))
def test_random_options_give_the_same_answer(seed: int, tmp_path: Path) -> None:
    """Every number of the table, and every digit of the measures."""
    whole, streamed = answers(random_case(tmp_path, seed), tmp_path)
    assert streamed[0] == whole[0]
    assert streamed[1] == whole[1]


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(CASES, MANY))
def test_many_random_options_give_the_same_answer(seed: int, tmp_path: Path) -> None:
    """As above."""
    test_random_options_give_the_same_answer(seed, tmp_path)


@pytest.mark.parametrize("option", STREAMED)
def test_each_option_gives_the_same_answer(option: str, tmp_path: Path) -> None:
    """By itself, with each of its values."""
    for number, word in enumerate(STREAMED[option]):
        directory = tmp_path / str(number)
        directory.mkdir()
        case = random_case(directory, number)
        alone = Case(case.log, case.system, ["--policy", "easy", word])
        whole, streamed = answers(alone, directory)
        assert streamed == whole, word


def test_every_other_option_says_why_it_needs_tables() -> None:
    """Once, where it is declared; the page of the command line names each."""
    own = {
        name
        for name, parameter in signature(run).parameters.items()
        if any(isinstance(mark, NeedsTables) for mark in getattr(parameter.annotation, "__metadata__", ()))
    }
    assert own == {
        *("dispatch", "events", "fitted", "node_events", "initial_state", "parquet", "report"),
        *("observer", "power", "failures", "live", "serve", "pace"),
    }
    needing = {option.option for option in declared(RunOptions).values() if option.help.tables is not None}
    page = (Path(__file__).parents[2] / "docs/cli.md").read_text("utf-8")
    refused = page.partition("`--stream` refuses")[2].partition("There is no `result.zip`")[0]
    named = {*re.findall(r"`(--[a-z-]+)`", refused)}
    assert needing | {f"--{name.replace('_', '-')}" for name in own} <= named


def test_the_time_of_day_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """How many nodes stay on by the hour needs the span of the log beforehand."""
    case = random_case(tmp_path, 0)
    sleep = "--sleep=timeout(60, keep='08:00=4 18:00=1')"
    assert main(["run", str(case.log), "--system", str(case.system), sleep, "--stream"]) == 2
    assert "--sleep: by the time of day" in capsys.readouterr().err
