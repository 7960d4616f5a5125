"""What a reader did, in one line."""

from pathlib import Path

__all__ = ["read_line"]


def read_line(source: str, read: int, kept: int, mended: int) -> str:
    """Say how many jobs were read, dropped and mended.

    Parameters
    ----------
    source
        The file's path, or a word for what is no file.
    read, kept, mended
        Numbers of jobs: `Report` says which.
    """
    changed = ((read - kept, "dropped"), (mended, "mended"))
    odd = [f"{count:,} {word}" for count, word in changed if count]
    plain = "kept as it is" if read == 1 else "all kept as they are"
    jobs = "job" if read == 1 else "jobs"
    return f"{Path(source).name}: {read:,} {jobs} read, {', '.join(odd) or plain}"
