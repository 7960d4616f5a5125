"""The cases of `paired.py`: their names, what they run, their sizes. Imports nothing of batchlab."""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple


class Log(NamedTuple):
    """A log and the system on which it is replayed; a log without a file is generated."""

    file: str | None
    nodes: int
    cores: int


class Case(NamedTuple):
    """One comparison: a piece of work that a child process of each side does.

    `kind` names the function of `paired_child.py`, or ``stream`` for the command line. `jobs` is the number
    of jobs, hosts or activities, by kind; of a log None means all jobs. `settings` are the kind's own.
    """

    name: str
    kind: str
    log: str | None = None
    jobs: int | None = None
    settings: tuple[tuple[str, str], ...] = ()


LOGS = {
    "seth": Log("HPC2N-2002-2.2-cln.swf.gz", 120, 2),
    "kth": Log("KTH-SP2-1996-2.1-cln.swf.gz", 100, 1),
    "ctc": Log("CTC-SP2-1996-3.1-cln.swf.gz", 338, 1),
    "queue": Log(None, 64, 16),
}
RULES = {
    "none": "backfill=none",
    "first_fit": "backfill=first_fit",
    "easy": "backfill=easy",
    "easy4": "backfill=easy, reservations=4",
    "conservative": "backfill=conservative",
}
ORDERS = ("fcfs", "sjf", "wfp3")
ALLOCATORS = ("first_fit", "best_fit", "next_fit", "random", "contiguous")
# Jobs of the generated log: at its worst three quarters of them wait.
GENERATED = 12_000
# At most so many jobs where a rule takes long; `--whole` lifts the limits.
LIMITS = {
    ("seth", "easy4"): 50_000,
    ("kth", "easy4"): 10_000,
    ("ctc", "easy4"): 5_000,
    ("ctc", "conservative"): 8_000,
    ("ctc", "contiguous"): 20_000,
    ("queue", "easy4"): 3_000,
    ("queue", "conservative"): 1_500,
    ("queue", "contiguous"): 3_000,
}
# What is replayed unless cases are named: every rule, order and allocator, not all combinations.
USUAL = frozenset(
    {
        *product(RULES, ("fcfs",), ("first_fit",)),
        *product(("easy",), ORDERS, ("first_fit",)),
        *product(("easy",), ("fcfs",), ALLOCATORS),
        ("none", "sjf", "first_fit"),
        ("first_fit", "wfp3", "best_fit"),
        ("conservative", "wfp3", "first_fit"),
        ("conservative", "fcfs", "best_fit"),
    }
)
OPTIONS = {
    "arrivals_first": "order_at_instant=arrivals_first",
    "kill": "walltime=kill",
    "dispatch": "dispatch=True",
}
PYTHON_JOBS, LOOK_AHEAD_JOBS, CAPPED_JOBS = 4_000, 600, 1_500
PYTHON = ("fifo", "easy", "easy_fork", "allocator", "order", "order_now", "predictor", "last_two")
OBSERVERS = ("power", "failures", "power_and_failures", "capped")
LEARNING_JOBS = 30
LEARNING = ("rigid FCFS", "malleable FCFS", "malleable SRTF", "malleable DRF")
PROJECTS = ("microA_crossbar", "torus192_mall100")
SHARES = {
    "all_to_all": 512,
    "fat_tree": 256,
    "one_more": 50_000,
    "max_min": 600,
    "fair_bottleneck": 600,
    "bottleneck_max_min": 600,
    "CM02": 5_000,
    "LV08": 5_000,
}


def all_cases() -> Iterator[Case]:
    """Give every case."""
    for log, rule, order, allocator in product(LOGS, RULES, ORDERS, ALLOCATORS):
        policy = f"{order}({RULES[rule]}, allocator={allocator})"
        name = f"{log}/{rule}/{order}/{allocator}"
        yield Case(name, "replay", log, limit(log, rule, allocator), (("policy", policy),))
    for name, option in OPTIONS.items():
        settings = (("policy", "easy"), ("option", option))
        yield Case(f"option/{name}", "replay", "kth", None, settings)
    for log, rule in product(("seth", "queue"), ("none", "easy")):
        policy = f"fcfs({RULES[rule]})"
        yield Case(f"stream/{log}/{rule}", "stream", log, limit(log, rule, ""), (("policy", policy),))
    for name in PYTHON:
        jobs = LOOK_AHEAD_JOBS if name == "easy_fork" else PYTHON_JOBS
        yield Case(f"python/{name}", "python", "kth", jobs, (("part", name),))
    for name in OBSERVERS:
        jobs = CAPPED_JOBS if name == "capped" else PYTHON_JOBS
        yield Case(f"observer/{name}", "observed", "kth", jobs, (("observers", name),))
    for name in LEARNING:
        short = name.lower().replace(" ", "_")
        yield Case(f"application/learning/{short}", "learning", None, LEARNING_JOBS, (("policy", name),))
    for name in PROJECTS:
        yield Case(f"application/elastisim/{name}", "elastisim", None, None, (("project", name),))
    for name, count in SHARES.items():
        yield Case(f"share/{name}", "share", None, count, (("what", name),))


def limit(log: str, rule: str, allocator: str) -> int | None:
    """Give how many jobs of a log are replayed; None for all."""
    limits = [LIMITS[key] for key in ((log, rule), (log, allocator)) if key in LIMITS]
    if log == "queue":
        limits.append(GENERATED)
    return min(limits, default=None)


def is_usual(case: Case) -> bool:
    """Whether a case runs unless others are named."""
    log, *choice = case.name.split("/")
    return log not in LOGS or tuple(choice) in USUAL


def whole(case: Case) -> Case:
    """Give the case without the limit on its jobs."""
    if case.log is None or case.kind not in ("replay", "stream"):
        return case
    return case._replace(jobs=GENERATED if case.log == "queue" else None)


def smaller(case: Case, jobs: int) -> Case:
    """Give the case with at most so many jobs, where it has jobs."""
    if case.log is None and case.kind != "learning":
        return case
    return case._replace(jobs=jobs if case.jobs is None else min(jobs, case.jobs))
