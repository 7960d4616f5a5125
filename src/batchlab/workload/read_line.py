"""One-line summaries of reading a file."""

from collections.abc import Mapping
from pathlib import Path

__all__ = ["none_kept", "read_line"]

_REASONS = 3


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
    jobs = "job" if read == 1 else "jobs"
    return f"{Path(source).name}: {read:,} {jobs} read, {', '.join(odd) or plain}"


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
    frequent = sorted(dropped.items(), key=lambda item: -item[1])
    said = [f"{count:,} for {reason!r}" for reason, count in frequent[:_REASONS]]
    said += [f"and for {len(frequent) - _REASONS} more reasons"] if len(frequent) > _REASONS else []
    jobs = "the one job was" if read == 1 else f"all {read:,} jobs were"
    return (
        f"{place}: {jobs} dropped: {', '.join(said)}. Mend the file, or give another; "
        'pass invalid="raise" to stop at the first wrong job.'
    )
