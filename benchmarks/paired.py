"""Two builds of batchlab in one run: CPU time, peak memory and results of NEW against OLD, case by case.

`python benchmarks/paired.py OLD NEW [CASE …]`: OLD and NEW are the folders to put on PYTHONPATH, such as
../old/src. CASE is a name or a pattern, such as 'seth/*' or '*/conservative/*'; `--list` prints all names.

Each case runs as a child process of its own on each side, in turn, OLD NEW OLD NEW; the first run of each
side is not measured but gives the rows that are compared: state, start, end and nodes of each job. Medians
over rounds; ratios are medians of the ratios within a round. Cases above the bound get more rounds. Exits
with 1 where rows differ, a ratio is above the bound or a case fails. `--instructions` counts instructions
instead (valgrind), which no neighbour disturbs; it is slow.
"""

import argparse
import csv
import gzip
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from generated import Recipe, write_log
from measure import SHARED, run_process
from numpy.typing import NDArray
from paired_cases import LOGS, Case, all_cases, is_usual, smaller, whole

HERE = Path(__file__).parent
CHILD = HERE / "paired_child.py"
ONE_THREAD = ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
# A call is made again and again until so many seconds are measured; one beyond CHEAP has no warm-up.
ENOUGH, MOST_CALLS, CHEAP = 0.5, 100, 2.0
ROUNDING = 1e-9
BOUND = 1.05
LARGEST, LOAD_WAVE = 256, 4 / 3

Rows = dict[str, NDArray[Any]]


class Sample(NamedTuple):
    """One measured run: CPU time of the process and of a call of `simulate` (s), peak memory (bytes)."""

    cpu: float
    call: float
    peak: int


class Outcome(NamedTuple):
    """What a case gave: samples of both sides, round by round, and how many rows differ."""

    case: Case
    warm: int
    calls: int
    samples: list[tuple[Sample, Sample]]
    rows: int
    differing: int
    beyond_rounding: int
    columns: dict[str, int]
    checksums: tuple[int, int]

    def median(self, side: int, field: str) -> float:
        """Give the median of one side."""
        return statistics.median(float(getattr(pair[side], field)) for pair in self.samples)

    def ratios(self, field: str) -> list[float]:
        """Give NEW / OLD, round by round."""
        return [ratio(getattr(old, field), getattr(new, field)) for old, new in self.samples]

    def ratio(self, field: str) -> float:
        """Give the median of the ratios."""
        return statistics.median(self.ratios(field))

    def above(self, bound: float) -> list[str]:
        """Give what has a ratio above the bound."""
        return [field for field in Sample._fields if self.ratio(field) > bound]


def ratio(old: float, new: float) -> float:
    """Give new / old, NaN where nothing was measured."""
    return new / old if old > 0 else math.nan


class Side(NamedTuple):
    """A build: the folder on PYTHONPATH."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        """What its children run in: one thread, the same hashes, this batchlab."""
        threads = dict.fromkeys(ONE_THREAD, "1")
        return {**os.environ, **threads, "PYTHONHASHSEED": "0", "PYTHONPATH": str(self.folder)}

    def command(
        self, case: Case, log: Path | None, *, warm: int, calls: int, rows: Path | None = None
    ) -> list[str | Path]:
        """Give the command line of a child."""
        settings = dict(case.settings)
        if case.kind == "stream":
            log_of = LOGS[case.log or ""]
            machine = ["--nodes", str(log_of.nodes), "--cores", str(log_of.cores)]
            words = ["run", str(log), *machine, "--policy", settings["policy"], "--stream"]
            return [sys.executable, "-m", "batchlab", *words, *(["--out", str(rows)] if rows else [])]
        path = "" if log is None else str(log)
        task = (case.kind, case.log, path, case.jobs, settings, str(self.folder), warm, calls)
        names = ("kind", "log", "path", "jobs", "settings", "side", "warm", "calls")
        described = dict(zip(names, task, strict=True)) | {"rows": str(rows) if rows else None}
        return [sys.executable, CHILD, json.dumps(described)]


def prepared(case: Case, folder: Path) -> Path | None:
    """Write the case's log, cut to its jobs, as plain text; None where it has none."""
    if case.log is None:
        return None
    path = folder / f"{case.log}-{case.jobs}.swf"
    log = LOGS[case.log]
    if path.exists():
        return path
    if log.file is None:
        jobs = case.jobs or 0
        write_log(Recipe(jobs, log.nodes * log.cores, LARGEST, wave=int(jobs * LOAD_WAVE / 2)), path)
        return path
    source = SHARED / "data" / log.file
    if not source.exists():
        sys.exit(f"no file {source}: the logs are looked for there.")
    with gzip.open(source, "rt", encoding="ascii") as lines, path.open("w", encoding="ascii") as target:
        target.writelines(islice((line for line in lines if not line.startswith(";")), case.jobs))
    return path


def check_round(sides: Sequence[Side], case: Case, folder: Path) -> Outcome:
    """Run both sides once without measuring; find the number of calls to measure, and compare the rows."""
    log = prepared(case, folder)
    found: list[Rows] = []
    times, sums = [], []
    for number, side in enumerate(sides):
        target = folder / f"rows-{number}"
        target.with_suffix(".npz").unlink(missing_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        rows = target if case.kind == "stream" else target.with_suffix(".npz")
        _, printed = run_process(side.command(case, log, warm=0, calls=1, rows=rows), side.environment)
        if case.kind == "stream":
            found.append(streamed(target / "jobs.csv"))
            times.append(math.inf)
            sums.append(zlib.crc32((target / "jobs.csv").read_bytes()))
        else:
            answer = json.loads(printed.splitlines()[-1])
            with np.load(rows) as columns:
                found.append(dict(columns))
            times.append(answer["calls"][0])
            sums.append(answer["checksum"])
    calls = min(MOST_CALLS, max(1, math.ceil(ENOUGH / times[0])))
    warm = 1 if times[0] < CHEAP else 0
    return Outcome(case, warm, calls, [], *compared(*found), (sums[0], sums[1]))


def streamed(path: Path) -> Rows:
    """Read the jobs of a streamed run."""
    with path.open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    times = {name: [float(row[name] or "nan") for row in table] for name in ("start_time", "end_time")}
    texts = {name: [row[name].encode() for row in table] for name in ("state", "nodes")}
    return {name: np.array(values) for name, values in (times | texts).items()}


def compared(old: Rows, new: Rows) -> tuple[int, int, int, dict[str, int]]:
    """Give the number of rows, of those that differ, of those beyond rounding, and how many by column."""
    count = max(len(column) for column in (*old.values(), *new.values()))
    differing, beyond = np.zeros(count, np.bool_), np.zeros(count, np.bool_)
    columns = {}
    for name in sorted(old.keys() | new.keys()):
        one, other = old.get(name), new.get(name)
        if one is None or other is None or len(one) != len(other):
            unequal = far = np.ones(count, np.bool_)
        elif one.dtype.kind == "f":
            unequal = ~((one == other) | (np.isnan(one) & np.isnan(other)))
            far = ~np.isclose(one, other, rtol=ROUNDING, atol=ROUNDING, equal_nan=True)
        else:
            unequal = far = one != other
        differing, beyond = differing | unequal, beyond | far
        columns[name] = int(unequal.sum())
    return count, int(differing.sum()), int(beyond.sum()), columns


def measure(sides: Sequence[Side], outcome: Outcome, folder: Path, rounds: int) -> None:
    """Measure a case round by round, the sides in turn."""
    case = outcome.case
    log = prepared(case, folder)
    for _ in range(rounds):
        samples = []
        for side in sides:
            command = side.command(case, log, warm=outcome.warm, calls=outcome.calls)
            cost, printed = run_process(command, side.environment)
            calls = [0.0] if case.kind == "stream" else json.loads(printed.splitlines()[-1])["calls"]
            samples.append(Sample(cost.cpu, statistics.median(calls), cost.peak))
        outcome.samples.append((samples[0], samples[1]))


HEAD = (
    f"{'case':<33}{'':>9}{'ratio':>6}{'call':>8}{'ratio':>6}{'':>6}{'ratio':>6}{'rows':>6}\n"
    f"{'':<33}{'CPU s':>9}{'':>6}{'ms':>8}{'':>6}{'MiB':>6}{'':>6}{'differ':>6}"
)


def line(outcome: Outcome) -> str:
    """Give a case's line of the table: the medians of OLD, and NEW / OLD."""
    call = outcome.median(0, "call")
    timed = f"{call * 1e3:8.1f}{outcome.ratio('call'):6.2f}" if call else f"{'-':>8}{'-':>6}"
    name = outcome.case.name
    short = name if len(name) < 33 else f"{name[:31]}…"  # noqa: PLR2004  # the column's width
    return (
        f"{short:<33}{outcome.median(0, 'cpu'):9.3f}{outcome.ratio('cpu'):6.2f}{timed}"
        f"{outcome.median(0, 'peak') / 2**20:6.0f}{outcome.ratio('peak'):6.2f}{outcome.differing:6}"
    )


def totals(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Give the sums of the medians, their ratios, the geometric means of the ratios, and the spread."""
    found: dict[str, Any] = {}
    for field in ("cpu", "call", "peak"):
        both = [
            (max if field == "peak" else sum)(outcome.median(side, field) for outcome in outcomes)
            for side in (0, 1)
        ]
        ratios = [each for each in (outcome.ratio(field) for outcome in outcomes) if each > 0]
        within = [max(each) - min(each) for each in (outcome.ratios(field) for outcome in outcomes)]
        found[field] = {
            "old": both[0],
            "new": both[1],
            "ratio": ratio(*both),
            "geometric_mean": statistics.geometric_mean(ratios) if ratios else math.nan,
            "spread": statistics.median(each for each in within if not math.isnan(each)),
        }
    return found


def columned(name: str, found: dict[str, Any], field: str, cpu: str = "", peak: str = "") -> str:
    """Give a line under the table: one figure for each kind of ratio, in its column."""
    call = f"{found['call']['old'] * 1e3:8.0f}" if cpu else ""
    return (
        f"{name:<33}{cpu:>9}{found['cpu'][field]:6.2f}{call:>8}{found['call'][field]:6.2f}"
        f"{peak:>6}{found['peak'][field]:6.2f}"
    )


def summary(outcomes: Sequence[Outcome], bound: float) -> tuple[list[str], bool]:
    """Give the last lines of the table, and whether nothing differs and no ratio is above the bound."""
    found = totals(outcomes)
    cpu, peak = found["cpu"], found["peak"]
    all_rows = sum(outcome.differing for outcome in outcomes)
    largest = f"{peak['old'] / 2**20:6.0f}"
    lines = [
        columned("in all (memory: the largest)", found, "ratio", f"{cpu['old']:9.3f}", largest)
        + f"{all_rows:6}",
        columned("geometric mean of the ratios", found, "geometric_mean"),
        columned("range of a ratio over rounds", found, "spread"),
    ]
    names = {"cpu": "CPU time", "call": "call", "peak": "peak memory"}
    above = [
        f"above {bound:g}: {names[field]} of {outcome.case.name}, {outcome.ratio(field):.3f}"
        for outcome in outcomes
        for field in outcome.above(bound)
    ]
    differing = [
        f"differ: {outcome.differing} of {outcome.rows} rows of {outcome.case.name}, "
        f"{outcome.beyond_rounding} beyond rounding; by column {outcome.columns}"
        for outcome in outcomes
        if outcome.differing
    ]
    return [*lines, *above, *differing], not above and not differing


def described(outcome: Outcome) -> dict[str, Any]:
    """Give all that is known of a case, for JSON."""
    sides = {
        name: [pair[side]._asdict() for pair in outcome.samples] for side, name in enumerate(("old", "new"))
    }
    ratios = {field: outcome.ratio(field) for field in Sample._fields}
    plain = outcome._asdict() | {"case": outcome.case._asdict(), "ratios": ratios}
    return {**plain, "samples": sides}


def instructions(side: Side, case: Case, log: Path | None, folder: Path) -> int:
    """Count the instructions of one call after a first one: those of a child with it less those without."""
    counts = []
    for calls in (0, 1):
        file = folder / "valgrind.log"
        tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
        words = [*tool, f"--log-file={file}", *map(str, side.command(case, log, warm=1, calls=calls))]
        subprocess.run(words, env=side.environment, check=True, capture_output=True)
        match = re.search(r"I +refs: +([\d,]+)", file.read_text())
        if match is None:
            sys.exit(f"valgrind counted nothing: {file.read_text()}")
        counts.append(int(match[1].replace(",", "")))
    return counts[1] - counts[0]


def count_instructions(sides: Sequence[Side], cases: Iterable[Case], folder: Path, bound: float) -> bool:
    """Print the instructions of a call on both sides; tell whether no ratio is above the bound."""
    print(f"{'case':<44}{'millions, old':>14}{'new':>11}{'ratio':>8}")
    fine = True
    for case in cases:
        if case.kind == "stream":
            continue
        log = prepared(case, folder)
        old, new = (instructions(side, case, log, folder) for side in sides)
        print(f"{case.name:<44}{old / 1e6:14.1f}{new / 1e6:11.1f}{ratio(old, new):8.3f}", flush=True)
        fine = fine and ratio(old, new) <= bound
    return fine


def chosen(options: argparse.Namespace) -> Iterator[Case]:
    """Give the cases that were asked for, in their sizes."""
    cases = list(all_cases())
    for pattern in options.cases:
        if not any(fnmatch(case.name, pattern) for case in cases):
            sys.exit(f"no case {pattern!r}; `--list` prints all names.")
    for case in cases:
        named = any(fnmatch(case.name, pattern) for pattern in options.cases)
        if named or (not options.cases and (options.all or is_usual(case))):
            sized = whole(case) if options.whole else case
            yield sized if options.jobs is None else smaller(sized, options.jobs)


def parsed() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--all", action="store_true", help="every combination of rule, order and allocator")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--again", type=int, default=10, help="more rounds for cases above the bound")
    parser.add_argument("--jobs", type=int, help="at most so many jobs of each log")
    parser.add_argument("--whole", action="store_true", help="whole logs under slow rules too")
    parser.add_argument("--bound", type=float, default=BOUND)
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--out", type=Path, help="a JSON file")
    return parser.parse_args()


def run(
    sides: Sequence[Side], cases: Iterable[Case], folder: Path, options: argparse.Namespace
) -> tuple[list[Outcome], list[str]]:
    """Measure all cases and print the table; give the outcomes, and the names of the cases that failed."""
    print(HEAD, flush=True)
    outcomes, failed = [], []
    for case in cases:
        try:
            outcome = check_round(sides, case, folder)
            measure(sides, outcome, folder, options.rounds)
        except SystemExit as error:
            failed.append(case.name)
            print(f"{case.name} failed:\n{error}", flush=True)
            continue
        outcomes.append(outcome)
        print(line(outcome), flush=True)
    for outcome in outcomes:
        if options.again and outcome.above(options.bound):
            measure(sides, outcome, folder, options.again)
            print(line(outcome), flush=True)
    return outcomes, failed


def main() -> None:
    options = parsed()
    cases = list(chosen(options))
    if options.list:
        print("\n".join(f"{case.name:<44}{case.jobs or '':>8}" for case in cases))
        return
    sides = [Side(options.old.resolve()), Side(options.new.resolve())]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if options.instructions:
            sys.exit(0 if count_instructions(sides, cases, folder, options.bound) else 1)
        outcomes, failed = run(sides, cases, folder, options)
    lines, fine = summary(outcomes, options.bound) if outcomes else ([], False)
    print("\n".join([*lines, *(f"failed: {name}" for name in failed)]))
    if options.out is not None and outcomes:
        head = {"old": str(sides[0].folder), "new": str(sides[1].folder), "rounds": options.rounds}
        found = {**head, "totals": totals(outcomes), "failed": failed}
        found["cases"] = [described(each) for each in outcomes]
        options.out.write_text(json.dumps(found, indent=1))
    sys.exit(0 if fine and not failed else 1)


if __name__ == "__main__":
    main()
