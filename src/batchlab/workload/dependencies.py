"""Dependencies between jobs and arrays of jobs: their columns, and the graph of the jobs.

``dependency`` has the syntax of Slurm's ``sbatch --dependency``; ``depends_on`` lists the numbers of jobs.
The column ``array`` lists the tasks of a job array; its rows are expanded into jobs.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import polars as pl

from batchlab.errors import WorkloadError, shown
from batchlab.workload.columns import attribute_in, columns_of, is_number, stripped, wrong_kind

ARRAY = "array"
ARRAY_ID, ARRAY_INDEX, ARRAY_LIMIT = "array_id", "array_index", "array_limit"
TASK_COLUMNS = (ARRAY_ID, ARRAY_INDEX, ARRAY_LIMIT)
# The largest MaxArraySize that Slurm accepts.
_LARGEST_INDEX = 4_000_000
_LARGEST_LIMIT = 999_999_999
_LARGEST_NUMBER = 2**63 - 1
_ITEM = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?")
_ARRAY_RULE = "must be like '0-9', '1,3,7', '0-15:4' or '0-99%2', with indices from 0 to 4000000"


def with_arrays(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """Check the column ``array``, or the task columns of a table that is already expanded."""
    given = [name for name in TASK_COLUMNS if name in table.columns]
    if ARRAY in table.columns:
        if given:
            raise WorkloadError(f"{source}: columns {ARRAY!r} and {given[0]!r}; a table has one of them.")
        dtype = table.schema[ARRAY]
        if not (dtype in (pl.String, pl.Null) or dtype.is_integer()):
            raise wrong_kind(source, ARRAY, dtype, "be text")
        table = table.with_columns(stripped(ARRAY))
        for row, text in enumerate(table[ARRAY]):
            if text and indices_of(text) is None:
                raise WorkloadError(f"{source}: row {row}: {ARRAY} = {shown(text)}; {_ARRAY_RULE}.")
    return _with_tasks(table, source) if given else table


def indices_of(text: str) -> tuple[list[int], int | None] | None:
    """Return the sorted indices of an array text and its limit; None if the syntax is invalid."""
    items, _, limit = text.replace(" ", "").partition("%")
    if ("%" in text and not re.fullmatch(r"0*[1-9]\d{0,8}", limit)) or not items:
        return None
    indices: set[int] = set()
    for item in items.split(","):
        match = _ITEM.fullmatch(item)
        if match is None:
            return None
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if not (first <= last <= _LARGEST_INDEX and step):
            return None
        indices.update(range(first, last + 1, step))
    return sorted(indices), int(limit) if limit else None


def _with_tasks(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """Check the task columns of a table that is already expanded."""
    for name in TASK_COLUMNS:
        if name not in table.columns:
            if name != ARRAY_LIMIT:
                raise WorkloadError(f"{source}: no column {name!r}; a task of an array needs it.")
            table = table.with_columns(pl.lit(None, pl.Int64).alias(name))
        dtype = table.schema[name]
        if not (dtype.is_integer() or dtype == pl.Null):
            raise wrong_kind(source, name, dtype, "be whole numbers or missing")
    table = table.with_columns(pl.col(name).cast(pl.Int64) for name in TASK_COLUMNS)
    tasks = table.with_row_index("row").filter(pl.col(ARRAY_ID).is_not_null())
    _refuse(tasks, ARRAY_INDEX, ~pl.col(ARRAY_INDEX).is_between(0, _LARGEST_INDEX), "must be >= 0", source)
    repeated = pl.struct(ARRAY_ID, ARRAY_INDEX).is_duplicated()
    _refuse(tasks, ARRAY_INDEX, repeated, "must be there once in its array", source)
    unlike = pl.col(ARRAY_LIMIT).n_unique().over(ARRAY_ID) > 1
    wrong = unlike | ~pl.col(ARRAY_LIMIT).fill_null(1).is_between(1, _LARGEST_LIMIT)
    _refuse(tasks, ARRAY_LIMIT, wrong, "must be >= 1, and the same for all tasks of an array", source)
    return table


def _refuse(tasks: pl.DataFrame, name: str, wrong: pl.Expr, rule: str, source: str) -> None:
    for row, value in tasks.filter(wrong.fill_null(value=True)).select("row", name).head(1).iter_rows():
        raise WorkloadError(f"{source}: row {row}: {name} = {shown(value)}; {rule}.")


def expanded(jobs: pl.DataFrame, source: str) -> pl.DataFrame:
    """Replace each row with an array by one row per task.

    The first task keeps the number of its array; the others get numbers above all existing ones, row by row.
    """
    if ARRAY not in jobs.columns:
        return jobs
    rows: list[int] = []
    numbers: list[int] = []
    tasks: list[tuple[int | None, int | None, int | None]] = []
    own = jobs["job_id"].to_list()
    shared = pl.col(ARRAY).is_not_null() & pl.col("job_id").is_duplicated()
    for number, text in jobs.filter(shared).select("job_id", ARRAY).head(1).iter_rows():
        raise WorkloadError(
            f"{source}: job {number}: {ARRAY} = {shown(text)}; must be the only job of its number."
        )
    following = max(own, default=0) + 1
    for row, (number, text) in enumerate(zip(own, jobs[ARRAY], strict=True)):
        found = indices_of(text) if text else None
        indices: Sequence[int | None] = found[0] if found else [None]
        limit = found[1] if found else None
        more = len(indices) - 1
        rows += [row] * len(indices)
        numbers += [number, *range(following, following + more)]
        following += more
        array = number if text else None
        tasks += [(array, index, limit) for index in indices]
    if following > _LARGEST_NUMBER:
        raise WorkloadError(f"{source}: {ARRAY}: no numbers are left for tasks above job {max(own)}.")
    made = pl.DataFrame(tasks, schema=dict.fromkeys(TASK_COLUMNS, pl.Int64), orient="row")
    return jobs[rows].drop(ARRAY).with_columns(pl.Series("job_id", numbers, pl.Int64), *made.get_columns())


def places(jobs: pl.DataFrame) -> tuple[list[tuple[int | None, int]], list[int]]:
    """Return the limited array (or None) and the index of each row, and the limits. Empty without limits."""
    if ARRAY_LIMIT not in jobs.columns or not jobs[ARRAY_LIMIT].count():
        return [], []
    arrays: dict[int, int] = {}
    limits: list[int] = []
    found: list[tuple[int | None, int]] = []
    for array, index, limit in jobs.select(TASK_COLUMNS).iter_rows():
        if array is None or limit is None:
            found.append((None, 0))
            continue
        if array not in arrays:
            arrays[array] = len(limits)
            limits.append(limit)
        found.append((arrays[array], index))
    return found, limits


KINDS = ("after", "afterok", "afternotok", "afterany")
SINGLETON = "singleton"
ALL, ANY = ",", "?"
_RULE = "must be like 'afterok:12:13,afterany:7', 'after:12+30?afternotok:12_3' or 'singleton'"
_TARGET = re.compile(r"(-?\d{1,18})(?:_(\d{1,9}))?(?:\+(\d{1,9}))?")


class Target(NamedTuple):
    """A job, an array, or the task of an array; ``minutes`` is the delay after the start."""

    job: int
    task: int | None
    minutes: int

    def __str__(self) -> str:
        """Write the target in Slurm's syntax."""
        task = "" if self.task is None else f"_{self.task}"
        return f"{self.job}{task}" + (f"+{self.minutes}" if self.minutes else "")


class Term(NamedTuple):
    """A condition on other jobs; ``singleton`` has no targets."""

    kind: str
    targets: tuple[Target, ...]

    def __str__(self) -> str:
        """Write the term in Slurm's syntax."""
        return ":".join([self.kind, *map(str, self.targets)])


class Dependency(NamedTuple):
    """The conditions for the start of a job: all terms, or any of them."""

    terms: tuple[Term, ...]
    is_any: bool

    def __str__(self) -> str:
        """Write the dependency in Slurm's syntax."""
        return (ANY if self.is_any else ALL).join(map(str, self.terms))


@lru_cache(maxsize=1 << 16)
def parse_dependency(text: str) -> Dependency | None:
    """Parse a text; None if the syntax is invalid."""
    is_any = ANY in text
    if is_any and ALL in text:
        return None
    terms = [_term(part.strip()) for part in text.split(ANY if is_any else ALL)]
    known = tuple(term for term in terms if term is not None)
    return Dependency(known, is_any) if len(known) == len(terms) else None


def _term(text: str) -> Term | None:
    kind, *others = text.split(":")
    if kind == SINGLETON:
        return None if others else Term(kind, ())
    matches = [_TARGET.fullmatch(other) for other in others]
    if kind not in KINDS or not matches:
        return None
    targets = []
    for match in matches:
        if match is None or (match[3] and kind != "after"):
            return None
        task = None if match[2] is None else int(match[2])
        targets.append(Target(int(match[1]), task, int(match[3] or 0)))
    return Term(kind, tuple(targets))


DEPENDENCY, BEGIN_TIME = "dependency", "begin_time"
_LARGEST_TIME = 2**53


def with_dependency(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """Check the syntax of ``dependency``, and that ``begin_time`` holds times."""
    if DEPENDENCY in table.columns:
        dtype = table.schema[DEPENDENCY]
        if dtype not in (pl.String, pl.Null):
            raise wrong_kind(source, DEPENDENCY, dtype, "be text")
        table = table.with_columns(stripped(DEPENDENCY))
        for row, given in enumerate(table[DEPENDENCY]):
            if given is not None and parse_dependency(given) is None:
                raise _error(source, row, given, _RULE)
    return _with_begin_time(table, source) if BEGIN_TIME in table.columns else table


def _with_begin_time(table: pl.DataFrame, source: str) -> pl.DataFrame:
    given = table[BEGIN_TIME]
    if not is_number(given.dtype):
        raise wrong_kind(source, BEGIN_TIME, given.dtype, "be seconds")
    if given.dtype == pl.String:
        given = given.str.strip_chars().replace("", None)
    times = given.cast(pl.Float64, strict=False)
    sound = times.is_between(0, _LARGEST_TIME).fill_null(value=False) | given.is_null()
    for row in (~sound).arg_true().head(1):
        raise WorkloadError(
            f"{source}: row {row}: {BEGIN_TIME} = {shown(given[row])}; must be a number of seconds from 0 to "
            "2^53, or missing."
        )
    # Replace a negative zero, which would be a second representation of zero.
    positive = pl.when(pl.col(BEGIN_TIME) == 0).then(0.0).otherwise(pl.col(BEGIN_TIME))
    return table.with_columns(times.alias(BEGIN_TIME)).with_columns(positive.alias(BEGIN_TIME))


def check_targets(names: pl.Series, jobs: pl.DataFrame, rows: pl.Series, source: str) -> None:
    """Raise if a dependency is on an unknown or ambiguous job; ``names`` holds the known numbers."""
    counts = dict(names.alias("name").value_counts(name="count").iter_rows())
    for row, text in zip(rows, jobs[DEPENDENCY], strict=True):
        for target in targets_of(text):
            count = counts.get(target.job)
            if count != 1:
                rule = f"{count} jobs have this number" if count else "there is no such job"
                raise _error(source, row, text, f"{target.job} must be the job_id of one job, but {rule}")


def check_tasks(jobs: pl.DataFrame, source: str) -> None:
    """Raise if a dependency names a task that its array does not have."""
    tasks = tasks_in(jobs)
    there = names_in(jobs)
    for row, text in enumerate(jobs[DEPENDENCY]):
        for target in targets_of(text):
            if target.task is not None and target.job in there and (target.job, target.task) not in tasks:
                number = jobs["job_id"][row]
                raise WorkloadError(
                    f"{source}: job {number}: {DEPENDENCY} = {shown(text)}; job {target.job} has no task of "
                    f"index {target.task}."
                )


def targets_of(text: str | None) -> list[Target]:
    """Return the targets of a checked text."""
    dependency = parse_dependency(text) if text else None
    return [target for term in dependency.terms for target in term.targets] if dependency else []


def tasks_in(jobs: pl.DataFrame) -> dict[tuple[int, int], int]:
    """Return the row of each task, by its array and index."""
    if ARRAY_ID not in jobs.columns:
        return {}
    rows = enumerate(jobs.select(ARRAY_ID, ARRAY_INDEX).iter_rows())
    return {(array, index): row for row, (array, index) in rows if array is not None}


def names_in(jobs: pl.DataFrame) -> set[int]:
    """Return the numbers of jobs and arrays in the table."""
    return {*jobs["job_id"]} | {array for array, _ in tasks_in(jobs)}


def _without_missing_targets(jobs: pl.DataFrame) -> pl.DataFrame:
    """Remove dependencies on jobs that are not in the table."""
    return jobs.with_columns(kept_among(jobs[DEPENDENCY], jobs)) if DEPENDENCY in jobs.columns else jobs


def kept_among(texts: pl.Series, jobs: pl.DataFrame) -> pl.Series:
    """Remove from dependency texts the targets that are not in a table."""
    names, tasks = names_in(jobs), tasks_in(jobs)

    def is_there(target: Target) -> bool:
        return target.job in names if target.task is None else (target.job, target.task) in tasks

    return pl.Series(
        DEPENDENCY, [_kept_targets(text, is_there) if text else None for text in texts], pl.String
    )


def _kept_targets(text: str, is_there: Callable[[Target], bool]) -> str | None:
    dependency = parse_dependency(text)
    if dependency is None or all(map(is_there, targets_of(text))):
        return text
    terms = [
        term._replace(targets=tuple(filter(is_there, term.targets)))
        for term in dependency.terms
        if not term.targets or any(map(is_there, term.targets))
    ]
    return str(Dependency(tuple(terms), dependency.is_any)) if terms else None


def _error(source: str, row: int, text: str, rule: str) -> WorkloadError:
    return WorkloadError(f"{source}: row {row}: {DEPENDENCY} = {shown(text)}; {rule}.")


DEPENDS_ON = "depends_on"
# The list without its brackets. Neighbouring parts match disjoint characters, so matching is linear.
_LIST = re.compile(r"\s*(?:-?\d+(?:[\s,;]+-?\d+)*\s*)?")


def with_dependencies(table: pl.DataFrame, source: str) -> pl.DataFrame:
    """Return ``depends_on`` as lists of whole numbers; files store these lists as text."""
    dtype = table.schema[DEPENDS_ON]
    if dtype == pl.String:
        lists = _from_text(table[DEPENDS_ON], source)
    elif dtype.is_integer() or dtype == pl.Null:
        # A file in which each job depends on at most one other job.
        lists = pl.concat_list(DEPENDS_ON)
    elif isinstance(dtype, pl.List) and _is_whole(dtype.inner):
        lists = pl.col(DEPENDS_ON)
    else:
        raise wrong_kind(source, DEPENDS_ON, dtype, "hold lists of job_id, or '3 17'")
    whole = _as_whole(table.select(lists.list.drop_nulls().fill_null([])).to_series(), source)
    return table.with_columns(whole.list.unique(maintain_order=True).alias(DEPENDS_ON))


def _as_whole(given: pl.Series, source: str) -> pl.Series:
    """Convert lists of numbers or digits to 64-bit job numbers."""
    whole = given.cast(pl.List(pl.Int64), strict=False).list.drop_nulls()
    if wrong := (whole.list.len() < given.list.len()).arg_true().head(1).to_list():
        (row,) = wrong
        raise WorkloadError(
            f"{source}: row {row}: {DEPENDS_ON} = {shown(given[row].to_list())}; a job's number lies between "
            "-2^63 and 2^63 - 1."
        )
    return whole


def _is_whole(dtype: object) -> bool:
    return dtype == pl.Null or (isinstance(dtype, pl.DataType) and dtype.is_integer())


def _from_text(column: pl.Series, source: str) -> pl.Expr:
    for row, text in enumerate(column):
        if text is not None and not _LIST.fullmatch(text.strip().removeprefix("[").removesuffix("]")):
            raise WorkloadError(
                f"{source}: row {row}: {DEPENDS_ON} = {shown(text)}; must be numbers of jobs, as '3 17'."
            )
    return pl.col(DEPENDS_ON).fill_null("").str.extract_all(r"-?\d+")


def check_depends_on(names: pl.Series, jobs: pl.DataFrame, source: str) -> None:
    """Raise if a dependency is on an unknown or ambiguous job; ``names`` holds the known numbers."""
    pairs = jobs.select("job_id", DEPENDS_ON).explode(DEPENDS_ON).drop_nulls()
    counts = names.alias(DEPENDS_ON).value_counts(name="count")
    wrong = pairs.join(counts, on=DEPENDS_ON, how="left").filter(pl.col("count").fill_null(0) != 1).head(1)
    for job_id, other, count in wrong.iter_rows():
        rule = f"{count} jobs have this number" if count else "there is no such job"
        raise WorkloadError(
            f"{source}: job {job_id}: {DEPENDS_ON} = {other}; must be the job_id of one job, but {rule}."
        )


def nameable_numbers(every_job: pl.Series, jobs: pl.DataFrame) -> pl.Series:
    """Return the numbers of jobs and arrays that dependencies can name, with duplicates."""
    numbers = every_job.drop_nulls()
    if ARRAY_ID not in jobs.columns:
        return numbers
    # The number of an array is also the number of one of its tasks, which may be missing from the table.
    arrays = jobs[ARRAY_ID].drop_nulls().unique()
    return pl.concat([numbers.filter(~numbers.is_in(arrays.implode())), arrays])


def without_missing(jobs: pl.DataFrame) -> pl.DataFrame:
    """Remove dependencies on jobs that are not in the table."""
    if DEPENDS_ON in jobs.columns:
        there = names_in(jobs)
        lists = [[other for other in others if other in there] for others in jobs[DEPENDS_ON]]
        jobs = jobs.with_columns(pl.Series(DEPENDS_ON, lists, pl.List(pl.Int64)))
    return _without_missing_targets(jobs)


def with_text_lists(jobs: pl.DataFrame) -> pl.DataFrame:
    """Convert dependencies to text, ``3 17``, for file formats without lists."""
    if DEPENDS_ON not in jobs.columns:
        return jobs
    return jobs.with_columns(pl.col(DEPENDS_ON).cast(pl.List(pl.String)).list.join(" ").replace("", None))


USERS = columns_of("user")
JOB_NAME = "job_name"
_MOST_SHOWN = 5
_MINUTE = 60.0

Need = tuple[int, str, float]


class Graph(NamedTuple):
    """The dependencies of jobs. A subject is a row, or the number of rows plus the index of a group.

    ``clauses`` holds pairs of a row and its needs (subject, kind, delay in seconds); a row with several
    clauses waits until one of them holds. ``groups`` holds the members of each group, which are subjects too.
    """

    rows: int
    clauses: list[tuple[int, list[Need]]]
    groups: list[list[int]]


def graph(jobs: pl.DataFrame) -> Graph | None:
    """Return the graph of a checked table; None if no job depends on another.

    Raises
    ------
    WorkloadError
        If a job depends on ``singleton``, and the table has no columns for user and job name.
    """
    columns = [name for name in (DEPENDS_ON, DEPENDENCY) if name in jobs.columns]
    if not columns:
        return None
    nothing = [None] * len(jobs)
    depends_on = jobs[DEPENDS_ON].to_list() if DEPENDS_ON in columns else nothing
    texts = jobs[DEPENDENCY].to_list() if DEPENDENCY in columns else nothing
    maker = _Maker(jobs)
    clauses: list[tuple[int, list[Need]]] = []
    for row, (others, text) in enumerate(zip(depends_on, texts, strict=True)):
        if others or text:
            always = [(maker.subject(Target(other, None, 0)), "afterok", 0.0) for other in others or ()]
            dependency = parse_dependency(text) if text else None
            clauses += [(row, needs) for needs in maker.clauses(row, always, dependency)]
    return Graph(len(jobs), clauses, maker.groups) if clauses else None


class _Maker:
    """Resolves the targets of dependencies to subjects, and creates groups."""

    def __init__(self, jobs: pl.DataFrame) -> None:
        self.jobs = jobs
        self.groups: list[list[int]] = []
        self._rows = {job: row for row, job in enumerate(jobs["job_id"].to_list())}
        self._tasks = tasks_in(jobs)
        self._members: dict[int, list[int]] = {}
        for (array, _), row in self._tasks.items():
            self._members.setdefault(array, []).append(row)
        self._arrays: dict[int, int] = {}
        self._earlier: list[int | None] | None = None

    def clauses(self, row: int, always: list[Need], dependency: Dependency | None) -> list[list[Need]]:
        """Return alternative lists of needs, of which one must hold; empty if the job need not wait."""
        needs = [self._needs(row, term) for term in dependency.terms] if dependency else []
        flat = [need for term in needs for need in term]
        if dependency is None or not dependency.is_any:
            made = [[*always, *flat]]
        elif all(needs):
            made = [[*always, need] for need in flat]
        else:
            # A singleton without earlier jobs already holds, which satisfies the whole disjunction.
            made = [always]
        return made if all(made) else []

    def _needs(self, row: int, term: Term) -> list[Need]:
        if term.kind == SINGLETON:
            earlier = self._submitted_earlier(row)
            return [] if earlier is None else [(earlier, "afterany", 0.0)]
        return [(self.subject(target), term.kind, target.minutes * _MINUTE) for target in term.targets]

    def subject(self, target: Target) -> int:
        """Return the row of a job or task, or the group of an array."""
        if target.task is not None:
            return self._tasks[target.job, target.task]
        members = self._members.get(target.job)
        if members is None:
            return self._rows[target.job]
        if target.job not in self._arrays:
            self._arrays[target.job] = members[0] if len(members) == 1 else self._group(members)
        return self._arrays[target.job]

    def _group(self, members: list[int]) -> int:
        self.groups.append(members)
        return len(self.jobs) + len(self.groups) - 1

    def _submitted_earlier(self, row: int) -> int | None:
        """Return all earlier jobs of the same user and name, as one subject."""
        if self._earlier is None:
            self._earlier = self._chains()
        return self._earlier[row]

    def _chains(self) -> list[int | None]:
        """Chain groups: each holds a job and the group before it, so that n jobs need 2 n members."""
        has_user = any(name in self.jobs.columns for name in USERS)
        if not has_user or JOB_NAME not in self.jobs.columns:
            missing = JOB_NAME if has_user else USERS[0]
            raise WorkloadError(f"{DEPENDENCY} = 'singleton' needs a column {missing!r}; add it.")
        submitted = self.jobs["submit_time"].to_list()
        # Jobs of unknown users count as jobs of one user.
        users, names = attribute_in(self.jobs, "user").to_list(), self.jobs[JOB_NAME].to_list()
        earlier: list[int | None] = [None] * len(submitted)
        chains: dict[tuple[object, object], int] = {}
        for row in sorted(range(len(submitted)), key=submitted.__getitem__):
            key = (users[row], names[row])
            before = earlier[row] = chains.get(key)
            chains[key] = row if before is None else self._group([before, row])
        return earlier


def check_circles(jobs: pl.DataFrame, source: str) -> None:
    """Raise if dependencies form a cycle."""
    made = graph(jobs)
    if made is None:
        return
    pairs = [(row, need[0]) for row, needs in made.clauses for need in needs]
    pairs += [(made.rows + place, member) for place, group in enumerate(made.groups) for member in group]
    stuck = sorted(subject for subject in _in_circles(pairs) if subject < made.rows)
    if stuck:
        numbers = [str(number) for number in sorted(jobs["job_id"][row] for row in stuck)]
        listed = ", ".join(numbers[:_MOST_SHOWN]) + (", …" if len(numbers) > _MOST_SHOWN else "")
        names = " and ".join(name for name in (DEPENDS_ON, DEPENDENCY) if name in jobs.columns)
        raise WorkloadError(
            f"{source}: {names} goes round in a circle; jobs {listed} would wait for ever. Break it."
        )


def _in_circles(pairs: Sequence[tuple[int, int]]) -> set[int]:
    """Return the subjects in cycles or dependent on cycles: those that Kahn's algorithm cannot remove."""
    waiting: dict[int, int] = {}
    after: dict[int, list[int]] = {}
    for subject, other in pairs:
        waiting[subject] = waiting.get(subject, 0) + 1
        after.setdefault(other, []).append(subject)
    free = [other for other in after if other not in waiting]
    while free:
        for subject in after.get(free.pop(), ()):
            waiting[subject] -= 1
            if not waiting[subject]:
                del waiting[subject]
                free.append(subject)
    return set(waiting)
