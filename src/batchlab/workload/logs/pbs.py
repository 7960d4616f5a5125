"""The readers of accounting logs in the syntax of PBS: those of PBS, OpenPBS and Torque, and of Cobalt."""

import re
from collections.abc import Mapping, Sequence
from typing import Unpack

import polars as pl

from batchlab.errors import WorkloadError
from batchlab.workload.logs.jobs import workload_of
from batchlab.workload.logs.node_events import hosts
from batchlab.workload.logs.pbs_records import ATTRIBUTES, PAUSE, WANTED, Request, records_of, whole_number
from batchlab.workload.logs.reading import AccountingKeywords, OpenLog, Reading, opened, takes
from batchlab.workload.source import LogSource
from batchlab.workload.workload import Workload

_QUOTED = re.compile(r'(?:^|\s)([A-Za-z_][\w.]*)=("[^"]*"|\S*)')
# A quote, or white space other than a blank: such texts are parsed one by one.
_ODD = r"[^ !#-~]"
_FEWEST_ALIKE = 50


def attributes_in(text: str) -> dict[str, str]:
    """Return the attributes of a record; of duplicates, the last."""
    if '"' in text:
        return {key: value.strip('"') for key, value in _QUOTED.findall(text)}
    return {key: value for key, sign, value in (part.partition("=") for part in text.split()) if sign}


def columns_in(texts: pl.Series, keys: Sequence[str]) -> pl.DataFrame:
    """Parse the attributes of many records into columns.

    Records with the same keys in the same order are split together.

    Parameters
    ----------
    texts
        The attributes of each record.
    keys
        The attributes to return.

    Returns
    -------
    polars.DataFrame
        One row per record, in order, with a text column per key, as from `attributes_in`.
    """
    plain = ~texts.str.contains(_ODD)
    order = pl.when(plain).then(pl.col("text").str.replace_all("=[^ ]*", "")).alias("order")
    frame = pl.DataFrame({"text": texts, "row": pl.int_range(len(texts), eager=True)}).with_columns(order)
    parts = [
        _alike(part, keys)
        if part["order"][0] is not None and part.height >= _FEWEST_ALIKE
        else _one_by_one(part, keys)
        for part in frame.partition_by("order", maintain_order=True)
    ]
    return pl.concat([_one_by_one(frame.clear(), keys), *parts]).sort("row").drop("row")


def _alike(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Split records that have the same keys in the same order."""
    places = {key: place for place, key in enumerate(frame["order"][0].split(" "))}
    parts = pl.col("text").str.split(" ").alias("parts")
    return frame.select("row", parts).select("row", *(_value(key, places.get(key)) for key in keys))


def _value(key: str, place: int | None) -> pl.Expr:
    if place is None:
        return pl.lit(None, pl.String).alias(key)
    part = pl.col("parts").list.get(place)
    # Without the equals sign, the part is a word between attributes.
    return pl.when(part.str.starts_with(f"{key}=")).then(part.str.slice(len(key) + 1)).alias(key)


def _one_by_one(frame: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    found = [attributes_in(text) for text in frame["text"]]
    columns = (pl.Series(key, [each.get(key) for each in found], pl.String) for key in keys)
    return frame.select("row").with_columns(columns)


_DATE = r"^\d\d/\d\d/\d{4} \d\d:\d\d:\d\d(?:\.\d+)?$"
_KIND = r"^[A-Za-z]{1,2}$"
_NUMBER = r"^\d{1,18}(?:\[\d*\]|-\d{1,7})?(?:\..*)?$"
_WHOLE_ARRAY = r"^\d+\[\]"
_OF_JOBS = tuple("QSEADRHTCzr")
_OF_RUN = ("start", "end", "exec_host", "exec_vnode", "Exit_status", "resources_used.walltime")
_USUAL_LIVES = ("E", "QE", "SE", "QSE")
_FEWEST_RECORDS = 200
_NO_RECORD = "is no record of PBS: date;type;number;attributes"
_NO_JOB = "is no number of a job"
_ARRAY = "records of whole arrays"
_OTHERS = "records that are not of jobs, or change nothing"


@takes(AccountingKeywords)
def read_pbs(
    source: LogSource,
    **keywords: Unpack[AccountingKeywords],
) -> Workload:
    """Read an accounting log of PBS, OpenPBS or Torque: records ``date;type;number;attributes``.

    The records Q (queued), S (started), E (ended), R (rerun), A (aborted) and D (deleted) of a job are
    merged.

    Parameters
    ----------
    source
        A path, an open file (text or binary; compressed files are detected by content), or an iterable of
        lines; logs of several days can be concatenated.
    timezone
        Time zone of the dates of records, as for `read_sacct`; attributes are seconds since 1970.
    overrun, invalid, processors, use_memory, requeues, unfinished, log_events
        As for `read_sacct`.
    unlimited
        Time limit of jobs without ``Resource_List.walltime``, in seconds, for all jobs or by queue.
    node_names
        Whether to list the distinct nodes of ``node_list`` (``n1/0*4+n2/0*4``) in ``node_names``.

    Returns
    -------
    Workload
        As from `read_sacct`, with ``queue`` instead of ``partition``, and ``used_memory`` (kB per processor)
        and ``average_cpu_time`` (seconds per processor) from ``resources_used``, which schedulers do not see.

    Raises
    ------
    WorkloadError
        If the source cannot be read, or no line is a record; with ``invalid="raise"``, at the first job that
        breaks a rule.

    Examples
    --------
    >>> line = (
    ...     "03/01/2024 10:02:00;E;7.server;user=ann queue=batch ctime=1709287200 qtime=1709287200 "
    ...     "start=1709287260 end=1709287320 Resource_List.ncpus=4 Resource_List.walltime=00:05:00 "
    ...     "Exit_status=0 resources_used.walltime=00:01:00"
    ... )
    >>> read_pbs([line]).jobs.select("job_id", "run_time", "requested_time", "tasks").row(0)
    (7, 60.0, 300.0, 4)
    """
    reading = Reading.of(read_pbs, keywords)
    log, text = opened(source, reading)
    table = table_of(text, log)
    return workload_of(records_of(table, log), log, {})


def table_of(text: str, log: OpenLog) -> pl.DataFrame:
    """Return one row per run, or per wait of a job that never ran, with attributes as text.

    Parameters
    ----------
    text
        Records in PBS syntax.
    log
        Rejects lines that are no records.

    Returns
    -------
    polars.DataFrame
        The columns `batchlab.workload.logs.pbs_records.WANTED`.
    """
    records = _records(text, log)
    usual, others = _usual(records) if records.height >= _FEWEST_RECORDS else (_no_rows(), records)
    together = pl.concat([usual, _merged_records(others)]).sort("first", maintain_order=True)
    return together.drop("first")


def _records(text: str, log: OpenLog) -> pl.DataFrame:
    """Return the records of jobs: ``line``, ``date``, ``kind``, ``number`` and ``attributes``."""
    lines = pl.Series("text", text.split("\n"), pl.String).str.strip_chars()
    parts = pl.col("text").str.splitn(";", 4).struct.rename_fields(["date", "kind", "number", "attributes"])
    frame = lines.to_frame().select(pl.int_range(pl.len()).alias("line") + 1, "text", parts.alias("parts"))
    frame = (
        frame.filter(pl.col("text") != "").unnest("parts").with_columns(pl.col("number").str.strip_chars())
    )
    is_record = pl.col("date").str.contains(_DATE) & pl.col("kind").str.contains(_KIND)
    is_record = (is_record & pl.col("attributes").is_not_null()).fill_null(value=False)
    of_jobs = is_record & pl.col("kind").is_in(_OF_JOBS)
    is_number = pl.col("number").str.contains(_NUMBER)
    is_array = pl.col("number").str.contains(_WHOLE_ARRAY)
    for line, record, number, sound in (
        frame.filter(~is_record | (of_jobs & ~is_number))
        .select("line", "text", "number", is_record)
        .iter_rows()
    ):
        log.refuse_line(line, *((number, _NO_JOB) if sound else (record, _NO_RECORD)))
    found = frame.filter(of_jobs)
    log.notes.skip(_OTHERS, frame.filter(is_record).height - found.height)
    if found.is_empty():
        line = log.notes.first_line("dropped")
        raise WorkloadError(
            f"{log.name}:{line}: no line is a record of a job: MM/DD/YYYY HH:MM:SS;E;12.server;user=… …. "
            "Give files of server_priv/accounting."
        )
    found = found.filter(is_number).drop("text")
    jobs = found.filter(~is_array)
    log.notes.skip(_ARRAY, found.height - jobs.height)
    return jobs


def _no_rows() -> pl.DataFrame:
    return pl.DataFrame(schema={"first": pl.Int64, **dict.fromkeys(WANTED, pl.String)})


def _usual(records: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Join the records of jobs with one run and a complete record E; also return the other records."""
    lives = records.group_by("number", maintain_order=True).agg(
        pl.col("kind").str.join(), first=pl.col("line").first()
    )
    numbers = lives.filter(pl.col("kind").is_in(_USUAL_LIVES)).drop("kind")
    ends = records.filter(kind="E").join(numbers, on="number", maintain_order="left")
    said = columns_in(ends["attributes"], ATTRIBUTES)
    ends = pl.concat([ends, said], how="horizontal").filter(pl.col("start").is_not_null())
    queued = records.filter(kind="Q").join(ends.select("number"), on="number", how="semi")
    before = pl.concat(
        [queued.select("number", queued="date"), columns_in(queued["attributes"], ATTRIBUTES)],
        how="horizontal",
    )
    joined = ends.join(before, on="number", how="left", suffix=" before", maintain_order="left")
    rows = joined.select(
        "first",
        "number",
        pl.col("line").cast(pl.String),
        "kind",
        "queued",
        pl.col("date").alias("ended"),
        *(pl.coalesce(key, f"{key} before").alias(key) for key in ATTRIBUTES),
    )
    usual = pl.concat([_no_rows(), rows], how="diagonal")
    return usual, records.join(ends.select("number"), on="number", how="anti", maintain_order="left")


def _merged_records(records: pl.DataFrame) -> pl.DataFrame:
    """Merge the records of each job into runs, in the order of lines."""
    jobs: dict[str, _History] = {}
    first: dict[str, int] = {}
    for number, line, *record in records.select("number", "line", "date", "kind", "attributes").iter_rows():
        if number not in jobs:
            jobs[number], first[number] = _History(), line
        jobs[number].add(line, *record)
    rows = [
        (first[number], {**run, "number": number})
        for number, history in jobs.items()
        for run in history.runs()
    ]
    columns = {key: pl.Series([row.get(key) for _, row in rows], dtype=pl.String) for key in WANTED}
    return pl.DataFrame({"first": pl.Series([line for line, _ in rows], dtype=pl.Int64), **columns})


def _attributes(text: str) -> dict[str, str]:
    found = attributes_in(text)
    return {key: found[key] for key in ATTRIBUTES if key in found}


class _History:
    """The records of one job number, in the order of the log."""

    def __init__(self) -> None:
        self._runs: list[dict[str, str]] = []
        self._known: dict[str, str] = {}
        self._open: tuple[int, str, str] | None = None
        self._deleted = ""
        self._aborted: dict[str, str] | None = None
        self._pauses: list[str] = []

    def add(self, line: int, date: str, kind: str, text: str) -> None:
        """Process the next record."""
        if kind in "ST":
            self._open = (line, date, text)
        elif kind in "ERC":
            self._end(line, date, kind, _attributes(text))
        elif kind in "DA":
            self._deleted = kind
            gone = {"line": str(line), "ended": date, "kind": kind}
            if self._open is None:
                self._known |= _attributes(text) | gone
            elif kind == "A":
                self._aborted = gone
        elif kind in "zr":
            # A log may begin while a job is suspended.
            if kind == "zr"[len(self._pauses) % 2]:
                self._pauses.append(f"{kind}{date.replace(' ', 'T')}")
        elif kind == "Q" and self._open is None:
            self._known = {"queued": date, **_attributes(text)}
        self._known.setdefault("line", str(line))

    def _end(self, line: int, date: str, kind: str, attributes: dict[str, str]) -> None:
        # The record of an end usually repeats the attributes of the start.
        begun = self._known if "start" in attributes else self._started()
        last = {"line": str(line), "ended": date, "kind": kind}
        self._runs.append({**begun, **attributes, **self._marks(date), **last})
        # A job that is run again is queued at the end of the previous run.
        again = {key: value for key, value in attributes.items() if key not in _OF_RUN}
        self._known = {**self._known, **again, "queued": date} if kind in "RC" else {}
        self._open, self._deleted, self._aborted, self._pauses = None, "", None, []

    def _marks(self, end: str) -> dict[str, str]:
        """Return who deleted the run, and when it was suspended: suspend and resume records alternate."""
        pauses = self._pauses
        if len(pauses) % 2:
            pauses = [*pauses, f"r{end.replace(' ', 'T')}"]
        deleted = {"deleted": self._deleted} if self._deleted else {}
        return deleted | ({"pauses": PAUSE.join(pauses)} if pauses else {})

    def _started(self) -> dict[str, str]:
        """Return the attributes known since the start; without a start, those of the queued job."""
        if self._open is None:
            return self._known
        line, date, text = self._open
        return {**self._known, **_attributes(text), "started": date, "line": str(line), "kind": "S"}

    def runs(self) -> list[dict[str, str]]:
        """Return the completed runs, followed by the current wait or run, if any."""
        if self._aborted is not None:
            return [*self._runs, {**self._started(), **self._aborted, **self._marks(self._aborted["ended"])}]
        if self._open is not None:
            return [*self._runs, self._started()]
        waits = len(self._known) > 1 and (self._known.get("kind") in ("D", "A") or "queued" in self._known)
        return [*self._runs, {"kind": "Q", **self._known}] if waits else self._runs


_STAMP = r"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d"
_STAMP_TWICE = re.compile(rf"(?m)^{_STAMP}(?:\.\d+)?[;:,]?[ \t]*(?={_STAMP};)")
_INDICES = r"^\d{1,9}(?:-\d{1,9})?(?:,\d{1,9}(?:-\d{1,9})?)*$"
_NOT_SAID = "memory and GPUs are not in Cobalt's accounting"


@takes(AccountingKeywords)
def read_cobalt(
    source: LogSource,
    **keywords: Unpack[AccountingKeywords],
) -> Workload:
    """Read an accounting log of Cobalt, the scheduler of Argonne's Blue Gene and Cray machines.

    Parameters
    ----------
    source
        A path, an open file (text or binary; compressed files are detected by content), or an iterable of
        lines.
    timezone, overrun, invalid, processors, use_memory, requeues, unfinished, log_events, unlimited
        As for `read_pbs`.
    node_names
        As for `read_pbs`.

    Returns
    -------
    Workload
        As from `read_pbs`. Jobs are ``exclusive``; ``requested_nodes`` is ``Resource_List.nodect``, and
        ``tasks`` the number of processors (``ncpus``), or else one per node.

    Raises
    ------
    WorkloadError
        If the source cannot be read, or no line is a record; with ``invalid="raise"``, at the first job that
        breaks a rule.

    Examples
    --------
    >>> line = (
    ...     "11/14/2023 22:50:00;E;901;Exit_status=0 Resource_List.ncpus=256 Resource_List.nodect=4 "
    ...     "Resource_List.walltime=1:00:00 ctime=1700000000.25 end=1700002200.75 queue=default "
    ...     'exec_host="0-1,4-5" start=1700000600.25 user=ann'
    ... )
    >>> read_cobalt([line]).jobs.select("run_time", "requested_nodes", "tasks", "exclusive").row(0)
    (1600.5, 4, 256, True)
    """
    reading = Reading.of(read_cobalt, keywords)
    log, text = opened(source, reading)
    # Some dumps repeat the time stamp in each line.
    table = table_of(_STAMP_TWICE.sub("", text), log)
    records = records_of(table, log, parse=_request_of, aborted="TIMEOUT")
    log.notes.add("noted", _NOT_SAID, records["line"].head(1))
    return workload_of(_with_nodes(records), log, {})


def _request_of(attributes: Mapping[str, str]) -> Request:
    nodes, processors = (
        whole_number(attributes.get(f"Resource_List.{name}")) for name in ("nodect", "ncpus")
    )
    if not nodes:
        return Request(float(processors) if processors else None, exclusive=True)
    of_all = max(processors or nodes, nodes)
    return Request(float(of_all), nodes, -(-of_all // nodes), exclusive=True)


def _with_nodes(records: pl.DataFrame) -> pl.DataFrame:
    """Parse the index list of the allocated nodes."""
    indices = pl.col("node_list").str.contains(_INDICES).fill_null(value=False)
    bracketed = records.select(pl.when(indices).then(pl.format("[{}]", "node_list"))).to_series()
    known = {text: hosts(text) for text in bracketed.unique().drop_nulls()}
    counts = [None if text is None else len(known[text] or ()) or None for text in bracketed]
    nodes = pl.Series("allocated_nodes", counts, pl.Int64)
    of_nodes = nodes * pl.col("requested") / pl.col("requested_nodes")
    started = pl.when(pl.col("start").is_not_null()).then("requested")
    return records.with_columns(
        pl.coalesce(bracketed.alias("brackets"), "node_list").alias("node_list"),
        nodes,
        pl.coalesce(of_nodes, started).alias("allocated"),
    )
