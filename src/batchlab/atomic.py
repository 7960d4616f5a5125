"""Atomic writes: a file exists completely or not at all, even if its process is killed."""

import io
import os
import re
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, overload

if TYPE_CHECKING:
    import polars as pl

__all__ = ["atomic_write", "named_errors", "remove_abandoned", "remove_unfinished", "write_content"]

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{16}\.tmp", re.DOTALL)
_IN_TEXT = re.compile(r"\(os error (\d+)\)")
_ABANDONED = 3600.0
_unfinished: set[Path] = set()


@overload
def atomic_write(
    path: str | os.PathLike[str], mode: Literal["w"] = "w"
) -> AbstractContextManager[IO[str]]: ...
@overload
def atomic_write(path: str | os.PathLike[str], mode: Literal["wb"]) -> AbstractContextManager[IO[bytes]]: ...
def atomic_write(
    path: str | os.PathLike[str], mode: Literal["w", "wb"] = "w"
) -> AbstractContextManager[IO[str] | IO[bytes]]:
    """Open a file for writing. It replaces an existing file when it is complete and on disk.

    Data is written to a temporary file in the same directory. It is renamed at the end of the ``with`` block,
    or removed if the block raises. Readers see the old file or the new one, never a part. Symbolic links are
    kept. A pipe or device such as ``/dev/stdout`` is written directly.

    Parameters
    ----------
    path
        The file; its directory must exist.
    mode
        ``"w"`` for text (UTF-8, newlines as written), ``"wb"`` for bytes.

    Returns
    -------
    context manager
        The open temporary file.

    Raises
    ------
    OSError
        If the file cannot be written; the error names it, not the temporary file.
    """
    return _named(path, mode)


def write_content(frame: "pl.DataFrame", file: IO[bytes], path: str | os.PathLike[str]) -> None:
    """Write a data frame into an open file, as Parquet (``.parquet``) or CSV (any other suffix).

    Parameters
    ----------
    frame
        The data.
    file
        An open file.
    path
        The name of the file.
    """
    if os.fspath(path).lower().endswith(".parquet"):
        # On a full disk, the Parquet writer raises "transport error", which is not an OSError.
        content = io.BytesIO()
        frame.write_parquet(content)
        file.write(content.getbuffer())
    else:
        frame.write_csv(file)


def remove_abandoned(paths: Iterable[Path]) -> None:
    """Remove temporary files of `atomic_write` that are older than an hour, left by killed processes.

    Parameters
    ----------
    paths
        Candidates; files with other names are kept, and so are recent ones, which another process may be
        writing.
    """
    for path in paths:
        with suppress(OSError):
            if _TEMPORARY.fullmatch(path.name) and time.time() - path.lstat().st_mtime > _ABANDONED:
                path.unlink()


def remove_unfinished() -> None:
    """Remove the temporary files of this process, which is about to end."""
    for path in list(_unfinished):
        with suppress(OSError):
            path.unlink()


@contextmanager
def _named(path: str | os.PathLike[str], mode: Literal["w", "wb"]) -> Iterator[IO[str] | IO[bytes]]:
    """Open the file such that errors name it."""
    target = Path(os.path.realpath(path))
    is_written_directly = target.exists() and not target.is_file()
    with named_errors(path), _open(target, mode) if is_written_directly else _replacing(target, mode) as file:
        yield file


@contextmanager
def named_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Make errors of the system name this file if they name no file or a temporary one.

    Parameters
    ----------
    path
        The file written in the ``with`` block.
    """
    try:
        yield
    except OSError as error:
        name = error.filename
        if name is None or (isinstance(name, str) and _TEMPORARY.fullmatch(Path(name).name)):
            number = _number(error)
            reason = str(error) if number is None else os.strerror(number)
            raise OSError(number, reason, os.fspath(path)) from error
        raise


def _number(error: OSError) -> int | None:
    """Return the system's number of an error; compiled packages have it in the text of the error only."""
    found = _IN_TEXT.search(str(error))
    return int(found[1]) if error.errno is None and found is not None else error.errno


@contextmanager
def _replacing(target: Path, mode: Literal["w", "wb"]) -> Iterator[IO[str] | IO[bytes]]:
    temporary = target.with_name(f".{target.name[:200]}.{secrets.token_hex(8)}.tmp")
    _unfinished.add(temporary)
    try:
        with _open(temporary, "x" if mode == "w" else "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        _unfinished.discard(temporary)
    _sync_directory(target.parent)


def _open(path: Path, mode: str) -> IO[str] | IO[bytes]:
    if "b" in mode:
        return path.open(mode)
    # A file name may be invalid Unicode. In JSON, its replacement is the escape sequence of the same
    # character.
    return path.open(mode, encoding="utf-8", errors="backslashreplace", newline="")


def _sync_directory(directory: Path) -> None:
    # Windows cannot sync directories, and orders renames by itself.
    if os.name != "posix":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
