"""``batchlab run --stream --external-events``: the same answer as the ordinary run has."""

import gzip
import json
import os
import random
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import batchlab as bl
from batchlab.cli import main
from batchlab.cli.stream import scanned
from batchlab.workload.event_rules import EVENT_VALUES, JOB_EVENTS, NODE_EVENTS

NODES = 6
CASES = 72
CHUNKS = 6
POLICIES = (
    ("--policy", "fcfs"),
    ("--policy", "sjf"),
    ("--policy", "easy(order=sjf, allocator=best_fit)", "--walltime", "kill", "--overrun", "keep"),
    ("--policy", "easy(reservations=3)", "--order-at-instant", "arrivals_first"),
    ("--policy", "conservative", "--walltime", "kill"),
    ("--policy", "conservative(allocator=random)", "--order-at-instant", "arrivals_first"),
    ("--policy", 'expression("requested_time * user_id", backfill=first_fit)'),
    ("--policy", "wfp3", "--job-check", "none"),
)
LINE = "{id} {submit} -1 {run} {tasks} -1 -1 {tasks} {asked} -1 1 {user} 1 1 1 1 -1 -1"


def random_log(rng: random.Random, path: Path) -> list[tuple[int, int, int]]:
    """Write a log, in the order of submission; give number, submission and run time of its jobs."""
    jobs, time, lines = [], rng.choice((0, 50)), []
    for number in rng.sample(range(1, 99), rng.randint(1, 25)):
        time += rng.choice((0, 0, rng.randint(1, 10)))
        run, tasks = rng.randint(0, 25), rng.randint(1, 2 * NODES + 1)
        job = {"id": number, "submit": time, "run": run, "tasks": tasks, "user": number % 3}
        lines.append(LINE.format(**job, asked=rng.choice((run, rng.randint(1, 40)))))
        jobs.append((number, time, run))
    path.write_text("\n".join(lines) + "\n")
    return jobs


def random_events(rng: random.Random, jobs: list[tuple[int, int, int]]) -> list[dict[str, Any]]:
    """Make events of all kinds by time; most of them when something else happens too."""
    instants = sorted({instant for _, time, run in jobs for instant in (time, time + run)})
    kinds = sorted(JOB_EVENTS - {"submit"})
    events = []
    for _ in range(rng.randint(1, 2 * len(jobs) + 4)):
        time = rng.choice(instants) if rng.random() < 0.5 else rng.randint(0, instants[-1] + 60)
        kind = rng.choice(kinds if rng.random() < 0.8 else [*sorted(NODE_EVENTS), "scheduler_stop"])
        event: dict[str, Any] = {"time": time, "event": kind}
        if kind in JOB_EVENTS:
            event["job_id"] = rng.choice(jobs)[0]
        elif kind in NODE_EVENTS:
            event["nodes"] = ",".join(map(str, rng.sample(range(NODES), rng.randint(1, 2))))
        if kind in EVENT_VALUES and (EVENT_VALUES[kind].is_required or rng.random() < 0.8):
            event["value"] = rng.choice((0, 1, 7, 30))
        if kind == "down" and rng.random() < 0.5:
            event["jobs"] = "kill"
        events.append(event)
        if kind == "scheduler_stop" and rng.random() < 0.9:
            events.append({"time": time + rng.randint(0, 30), "event": "scheduler_start"})
    number, time, _ = rng.choice(jobs)
    events.append({"time": time, "event": "submit", "job_id": number})
    return sorted(events, key=lambda event: event["time"])


def write(events: list[dict[str, Any]], path: Path) -> None:
    """As lines of JSON, packed or not, or as CSV."""
    text = "".join(json.dumps(event) + "\n" for event in events)
    if path.suffix == ".csv":
        bl.write_events(bl.EventStream(events), path)
    elif path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)


def numbers_of(directory: Path) -> dict[str, Any]:
    """Name every number of the metrics by its place."""
    metrics = json.loads((directory / "metrics.json").read_text())
    inner = {name: value if isinstance(value, dict) else {"": value} for name, value in metrics.items()}
    return {f"{name} {key}": number for name, values in inner.items() for key, number in values.items()}


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_answer_is_that_of_the_ordinary_run(chunk: int, tmp_path: Path) -> None:
    """Every byte of the table is the same, and every aggregate up to the rounding of sums."""
    log = tmp_path / "log.swf"
    for case in range(chunk, CASES, CHUNKS):
        rng = random.Random(case)  # noqa: S311  # cases are to be the same again
        given = tmp_path / f"events{('.jsonl', '.csv', '.jsonl.gz')[case % 3]}"
        write(random_events(rng, random_log(rng, log)), given)
        options = ["--nodes", str(NODES), "--cores", "2", *POLICIES[case % len(POLICIES)]]
        whole, streamed = tmp_path / "whole", tmp_path / "streamed"
        for out, more in ((whole, []), (streamed, ["--stream"])):
            command = ["run", str(log), *options, "--external-events", str(given), "--out", str(out), *more]
            assert main(command) == 0, case
        assert (whole / "jobs.csv").read_text() == (streamed / "jobs.csv").read_text(), case
        one, other = numbers_of(whole), numbers_of(streamed)
        assert list(one) == list(other), case
        for name, value in one.items():
            expected = None if value is None else pytest.approx(value, rel=1e-12, abs=1e-12)
            assert other[name] == expected, (case, name)


def test_jobs_that_are_not_there_are_left_alone(log: Path, tmp_path: Path) -> None:
    """An event of a job that is not submitted yet, is over, or stands nowhere in the log does not apply."""
    rows = [(5, 2), (5, 99), (15, 2), (400, 2)]
    given = tmp_path / "given.jsonl"
    write([{"time": time, "event": "cancel", "job_id": job} for time, job in rows], given)
    command = ["run", str(log), "--stream", "--external-events", str(given), "--out", str(tmp_path / "out")]
    assert main(command) == 0
    states = [line.split(",")[1] for line in (tmp_path / "out" / "jobs.csv").read_text().splitlines()]
    assert states == ["state", "completed", "cancelled", "completed"]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["workload"]["external_events"] == 4
    assert "external_events" in manifest["inputs"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['{"time": 1, "event": "kill"}'], "1: event 1 (kill): job_id = None; must be a whole"),
        (["", '{"time": 1, "event": "cancle"}'], "2: event 1: event = 'cancle'; must be one of"),
        (["[]"], "1: '[]'; must be an object of JSON"),
        (
            ['{"time": 2, "event": "scheduler_stop"}', '{"time": 1, "event": "scheduler_start"}'],
            "2: time = 1; must be >= 2, the time of the event before, with --stream",
        ),
        (['{"time": 9, "event": "start", "job_id": 1}'], "1: event = 'start' is a decision of a scheduler"),
        (
            ['{"time": 999999, "event": "down", "nodes": "3-4"}'],
            "1: down of node 4; the system has nodes 0 to 3",
        ),
        (
            ['{"time": 1, "event": "kill", "job_id": 9223372036854775808}'],
            "1: event 1 (kill): job_id = 9223372036854775808; must fit in 64 bits",
        ),
        (["time,event,job_id", "1,kill,x"], "2: job_id = 'x'; must be a number."),
        (["time,event,job_id", "1_0,kill,1"], "2: time = '1_0'; must be a number."),
        (["time,event", "1,kill,1"], "2: 3 fields; the header names 2 columns."),
        (["time,event", '1,"kill'], "2: is no line of CSV"),
    ],
)
def test_wrong_events_are_refused_before_the_run(
    lines: list[str], message: str, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line names file, line, value and rule; nothing is written."""
    given = tmp_path / ("e.csv" if lines[0].startswith("time,") else "e.jsonl")
    out = tmp_path / "out"
    given.write_text("\n".join(lines) + "\n")
    assert main(["run", str(log), "--stream", "--external-events", str(given), "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert f"{given}:{message}" in said
    assert said.count("\n") == 1
    assert not out.exists() or not list(out.iterdir())


def test_events_out_of_a_pipe(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file is read twice: of a pipe a copy."""
    text = '{"time": 0, "event": "drain", "nodes": "0"}\n'
    file, pipe = tmp_path / "events.jsonl", tmp_path / "pipe.jsonl"
    file.write_text(text, "utf-8")
    os.mkfifo(pipe)
    answers = []
    for events in (file, pipe):
        writer = Thread(target=pipe.write_text, args=(text, "utf-8"), daemon=True)
        if events == pipe:
            writer.start()
        command = ["run", str(log), "--stream", "--format", "json", "--external-events", str(events)]
        assert main(command) == 0
        answers.append(json.loads(capsys.readouterr().out)["wait"])
    assert answers[0] == answers[1]


def test_events_are_read_as_they_come(tmp_path: Path) -> None:
    """Of 100,000 events a list of some is in memory at a time."""
    given = tmp_path / "given.jsonl"
    with given.open("w") as file:
        for time in range(100_000):
            file.write(f'{{"time": {time}, "event": "hold", "job_id": {time}}}\n')
    events = scanned(given, bl.System.homogeneous(nodes=4, resources={"core": 2}))
    assert events.count == 100_000
    lists = list(islice(events.lists(), 3))
    assert [len(some) for some in lists] == [256, 256, 256]
    assert lists[0][0] == (0.0, "hold", 0, [], None, False)
