"""The wording of reports: reasons, which are those of the kernel's reader (a test checks it), and totals."""

from collections.abc import Mapping
from pathlib import Path

from batchlab.core.units import format_count

# Reasons of dropped jobs.
LINE_TOO_LONG = "line longer than 1 MiB"
TOO_FEW_FIELDS = "fewer than 4 fields"
JOB_NUMBER = "job number is not a whole number"
SUBMIT_TIME = "submit_time is not a number of seconds >= 0"
RUN_TIME = "run_time is unknown or not a number of seconds >= 0"
CANCELLED_UNKNOWN_WAIT = "cancelled before it started, and its wait is unknown"
CANCELLED_WITH_RUN = "cancelled before it started (cancelled_after), with a run_time that is not 0"
PROCESSORS = "processors unknown or < 1"
REQUESTED_TIME = "requested_time beyond 2^53 seconds"

# Reasons of changed values.
UNREADABLE = "not a number: taken as unknown (-1)"
FRACTIONAL_PROCESSORS = "fractional processors: rounded up"
TIME_LIMIT = "time_limit is not a number of seconds >= 0"
REQUESTED_TIME_OF_LIMIT = "requested_time unknown: time_limit taken"
EXTRA_FIELDS = "more than 18 fields: the rest ignored"
PARTS = "partial executions (status 2 to 4) that belong to the line of their job"
REQUESTED_TIME_UNKNOWN = "requested_time unknown: run_time taken"
CANCELLED_REQUEST = "cancelled before it started, and requested_time unknown: its wait taken"
REQUESTED_TIME_RAISED = "run_time > requested_time: requested_time raised to run_time"
RUN_TIME_CUT = "run_time > requested_time: run_time cut to requested_time"

# Remarks on unchanged jobs.
CUT_RUN = "cancelled or killed while it ran: ends so after the same run time"
CANCELLED = "cancelled before it started: cancelled after the same wait"
OVERRUN_KEPT = "run_time > requested_time: both kept"
OUT_OF_ORDER = "submitted before the job above it"

# Only in tables, or only in complete workloads.
REPEATED_JOB = "job number repeated"


def runs_application() -> str:
    """Return the remark on a job with a run time that runs an application instead."""
    return "run_time and app_name given: runs the application"


def negative_amount(column: str) -> str:
    """Return the reason why a job with an invalid amount was dropped."""
    return f"{column} is not a number >= 0"


def unknown_amount(column: str) -> str:
    """Return the reason why a missing amount was changed."""
    return f"{column} unknown: 0 taken"


def fractional_amount(column: str) -> str:
    """Return the reason why a fractional amount was changed."""
    return f"fractional {column}: rounded up"


def ignored_memory(jobs: int) -> str:
    """Return a remark that requested memory of so many jobs in a log is ignored."""
    rule = "--use-memory (use_memory=True) makes it a request"
    count = format_count(jobs, "job")
    return f"the column requested_memory of {count} is not used, though nodes have mem: {rule}"


def read_line(source: str, read: int, kept: int, mended: int) -> str:
    """Return a summary of how many jobs were read, dropped and mended.

    Parameters
    ----------
    source
        The path of the file, or a name of another source.
    read, kept, mended
        Numbers of jobs, as defined in `Report`.
    """
    changed = ((read - kept, "dropped"), (mended, "mended"))
    odd = [f"{count:,} {word}" for count, word in changed if count]
    plain = "kept as it is" if read == 1 else "all kept as they are"
    return f"{Path(source).name}: {format_count(read, 'job')} read, {', '.join(odd) or plain}"


def none_kept(place: str, read: int, dropped: Mapping[str, int]) -> str:
    """Return the error message for a log or a table without any valid job.

    Parameters
    ----------
    place
        The file, and the first line if known.
    read
        Number of jobs read.
    dropped
        Number of dropped jobs by reason.
    """
    frequent, shown = sorted(dropped.items(), key=lambda item: -item[1]), 3
    said = [f"{count:,} for {reason!r}" for reason, count in frequent[:shown]]
    said += [f"and for {len(frequent) - shown} more reasons"] if len(frequent) > shown else []
    jobs = "the one job was" if read == 1 else f"all {read:,} jobs were"
    return (
        f"{place}: {jobs} dropped: {', '.join(said)}. Mend the file, or give another; "
        'pass invalid="raise" to stop at the first wrong job.'
    )
