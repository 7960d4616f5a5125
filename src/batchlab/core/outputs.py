"""Writing files: a file exists completely or not at all, and replaces only what batchlab wrote.

`atomic_write` keeps the first rule, even if its process is killed. By the second, an output replaces no input
and no file that batchlab did not write. Every file written for the user is opened by `output`, or checked by
`check_set` if several files are written as a set. A file counts as written by batchlab if

- it has a mark inside: the generator field of HTML, PNG, SVG and PDF, the comment ``Generator: batchlab`` of
  SWF and TOML; or
- ``manifest.json`` in its directory lists its size and hash; or
- ``.batchlab.sha256`` in its directory lists its hash. This file is for formats without room for a mark, such
  as CSV and JSON, and has the format of ``sha256sum``.
"""

import gzip
import hashlib
import io
import json
import os
import re
import secrets
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, TypeVar, overload

from batchlab.errors import Argument, OutputError

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "MANIFEST",
    "RECORD",
    "atomic_write",
    "check_output",
    "check_set",
    "digest_of",
    "is_written_by_batchlab",
    "listed",
    "named_errors",
    "output",
    "protect",
    "protect_set",
    "protecting",
    "record_output",
    "remember_source",
    "remove_abandoned",
    "remove_listed",
    "remove_unfinished",
    "source_of",
    "write_content",
    "write_table_file",
]


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


MANIFEST = "manifest.json"
RECORD = ".batchlab.sha256"
"""File with the hashes of outputs without a mark, in their directory."""

_SOURCE = "_batchlab_source"
_SEARCHED = 1 << 16
_GZIP = b"\x1f\x8b"
# The beginning of a format, and its mark. The mark of PDF is near the end of the file.
_MARKS = (
    (re.compile(rb"\x89PNG\r\n"), re.compile(rb"tEXtSoftware\x00batchlab")),
    (re.compile(rb"%PDF-"), re.compile(rb"/Creator \(batchlab\)")),
    (
        re.compile(rb"<\?xml|<svg"),
        re.compile(rb"<dc:creator>\s*<cc:Agent>\s*<dc:title>batchlab<"),
    ),
    (re.compile(rb"<!DOCTYPE html>"), re.compile(rb'<meta name="generator" content="batchlab">')),
    (re.compile(rb"\s*[;#]"), re.compile(rb"(?m)^[;#] Generator: batchlab\r?$")),
)

_Any = TypeVar("_Any")
_AnyPath = str | os.PathLike[str]


@dataclass(frozen=True)
class _Protection:
    """Protection of files: `inputs` are never replaced, foreign files only with `overwrite`."""

    inputs: tuple[Path, ...] = ()
    overwrite: bool = False


_NOTHING_PROTECTED = _Protection()
_protection: ContextVar[_Protection] = ContextVar("protection", default=_NOTHING_PROTECTED)


@contextmanager
def protecting(inputs: Iterable[_AnyPath], *, overwrite: bool = False) -> Iterator[None]:
    """Apply the rule to all outputs written in the ``with`` block.

    Parameters
    ----------
    inputs
        Files and folders that are read; `protect` adds others.
    overwrite
        True to replace files that batchlab did not write.
    """
    token = _protection.set(_Protection(tuple(map(Path, inputs)), overwrite))
    try:
        yield
    finally:
        _protection.reset(token)


def protect(*inputs: _AnyPath) -> None:
    """Protect further inputs of the current command; no effect outside `protecting`."""
    known = _protection.get()
    if known is not _NOTHING_PROTECTED:
        _protection.set(_Protection((*known.inputs, *map(Path, inputs)), known.overwrite))


def protect_set(directory: Path) -> None:
    """Protect the files that were written to a directory as a set, such as a run; they are read together."""
    protect(*(directory / name for name in (MANIFEST, *listed(directory))))


def check_output(path: _AnyPath, inputs: Iterable[_AnyPath] = (), *, overwrite: bool = False) -> None:
    """Raise if an output would replace an input, or a file that batchlab did not write.

    Parameters
    ----------
    path
        The file to write. Pipes, devices and empty files are not protected.
    inputs
        Files and folders that were read, in addition to the inputs of the command.
    overwrite
        True to replace a file that batchlab did not write.

    Raises
    ------
    OutputError
        If the file must not be replaced.
    """
    file, known = Path(path), _protection.get()
    if not file.is_file():
        return
    for each in (*known.inputs, *map(Path, inputs)):
        if _is_input(file, each):
            raise OutputError(
                f"{file}: is an input ({each}), and no output replaces an input. Choose another file."
            )
    if not (overwrite or known.overwrite or not file.stat().st_size or is_written_by_batchlab(file)):
        raise OutputError(
            f"{file}: exists, and batchlab did not write it, or it was changed since. Choose another place, "
            "or replace it with ",
            Argument("overwrite", "True"),
            ".",
        )


def check_set(
    directory: _AnyPath, names: Iterable[str], inputs: Iterable[_AnyPath] = (), *, overwrite: bool = False
) -> None:
    """Raise if files with these names in a directory must not be replaced; see `check_output`."""
    given = tuple(inputs)
    for name in dict.fromkeys((MANIFEST, *names)):
        check_output(Path(directory, name), given, overwrite=overwrite)


@overload
def output(
    path: _AnyPath, mode: Literal["w"] = "w", *, inputs: Iterable[_AnyPath] = (), overwrite: bool = False
) -> "AbstractContextManager[IO[str]]": ...
@overload
def output(
    path: _AnyPath, mode: Literal["wb"], *, inputs: Iterable[_AnyPath] = (), overwrite: bool = False
) -> "AbstractContextManager[IO[bytes]]": ...
def output(
    path: _AnyPath,
    mode: Literal["w", "wb"] = "w",
    *,
    inputs: Iterable[_AnyPath] = (),
    overwrite: bool = False,
) -> "AbstractContextManager[IO[str] | IO[bytes]]":
    """Open a file for the user's output, like `atomic_write`, after applying the rule of this module.

    Parameters
    ----------
    path, mode
        As for `atomic_write`.
    inputs, overwrite
        As for `check_output`.

    Returns
    -------
    context manager
        The open temporary file. If the complete file has no mark, its hash is added to ``.batchlab.sha256``.

    Raises
    ------
    OutputError
        If the file must not be replaced.
    OSError
        If the file cannot be written; the error names it.
    """
    check_output(path, inputs, overwrite=overwrite)
    return _recorded(path, mode)


@contextmanager
def _recorded(path: _AnyPath, mode: Literal["w", "wb"]) -> Iterator[IO[str] | IO[bytes]]:
    with atomic_write(path, mode) as file:
        yield file
        file.flush()
        written = Path(file.name)
        if written.is_file() and not _has_mark(written):
            with named_errors(path):
                _record(Path(os.path.realpath(path)), written)


def record_output(path: _AnyPath) -> None:
    """Record the hash of a file that was written in place, such as a transcript."""
    file = Path(path)
    if file.is_file() and not _has_mark(file):
        with named_errors(path):
            _record(file.resolve(), file)


def write_table_file(
    frame: "pl.DataFrame", path: _AnyPath, *, inputs: Iterable[_AnyPath] = (), overwrite: bool = False
) -> None:
    """Write a data frame as Parquet (``.parquet``) or CSV (any other suffix); see `output`."""
    with output(path, "wb", inputs=inputs, overwrite=overwrite) as file:
        write_content(frame, file, path)


def is_written_by_batchlab(path: Path) -> bool:
    """Return whether batchlab wrote a file, and it is unchanged: see the docstring of this module."""
    return _has_mark(path) or _is_manifest(path) or _is_listed(path)


def listed(directory: Path) -> dict[str, object]:
    """Return the files in a directory's manifest, with sizes and hashes; empty without a manifest."""
    try:
        document = json.loads((directory / MANIFEST).read_bytes())
        outputs = document["outputs"] if "batchlab" in document["versions"] else {}
        return {name: found for name, found in outputs.items() if Path(name).name == name}
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}


def remove_listed(directory: Path, found: Mapping[str, object], *, overwrite: bool = False) -> None:
    """Remove the files of an earlier manifest, unless they were changed.

    Parameters
    ----------
    directory
        The directory of the files.
    found
        Files of the earlier manifest, by `listed`, without replaced ones.
    overwrite
        True to remove changed files too.

    Raises
    ------
    OSError
        If a file cannot be removed.
    """
    for name, written in found.items():
        file = directory / name
        if file.is_file() and (overwrite or _protection.get().overwrite or digest_of(file) == written):
            file.unlink()


def digest_of(path: Path) -> dict[str, object]:
    """Return the size (``bytes``) and hash (``sha256``) of a file."""
    with path.open("rb") as file:
        return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def remember_source(value: _Any, source: object) -> _Any:
    """Record the file that an object was read from, so that `write` functions do not replace it.

    Parameters
    ----------
    value
        The object; its equality, hash and copies do not include the record.
    source
        A path; other values are not recorded.
    """
    if isinstance(source, str | os.PathLike):
        object.__setattr__(value, _SOURCE, Path(os.path.realpath(source)))
    return value


def source_of(*values: object) -> tuple[Path, ...]:
    """Return the files from which objects were read; objects not read from files are skipped."""
    return tuple(getattr(value, _SOURCE) for value in values if hasattr(value, _SOURCE))


def _is_input(file: Path, given: Path) -> bool:
    with suppress(OSError):
        if not given.is_dir():
            return file.samefile(given)
        # An input folder may contain earlier outputs.
        return file.resolve().parent == given.resolve() and not is_written_by_batchlab(file)
    return False


def _has_mark(path: Path) -> bool:
    head, tail = _ends(path)
    searched = head + tail
    return any(begin.match(head) and mark.search(searched) for begin, mark in _MARKS)


def _ends(path: Path) -> tuple[bytes, bytes]:
    """Read the beginning of a file (decompressed) and its end."""
    with path.open("rb") as file:
        head = file.read(_SEARCHED)
        if head.startswith(_GZIP):
            file.seek(0)
            with suppress(OSError, EOFError, zlib.error), gzip.GzipFile(fileobj=file) as packed:
                return packed.read(_SEARCHED), b""
        size = file.seek(0, os.SEEK_END)
        file.seek(max(len(head), size - _SEARCHED))
        return head, file.read()


def _is_manifest(path: Path) -> bool:
    if path.name != MANIFEST:
        return False
    try:
        document = json.loads(path.read_bytes())
        return "batchlab" in document["versions"] and isinstance(document["outputs"], dict)
    except (ValueError, TypeError, KeyError, RecursionError):
        return False


def _is_listed(path: Path) -> bool:
    target = path.resolve()
    of_set = listed(target.parent).get(target.name)
    if of_set is not None and digest_of(target) == of_set:
        return True
    try:
        lines = (target.parent / RECORD).read_bytes().split(b"\n")
    except OSError:
        return False
    name = _escaped(target)
    return any(line.endswith(name) for line in lines) and _line(name, target) in lines


def _record(target: Path, written: Path) -> None:
    """Record the hash of a file before it is renamed."""
    name = _escaped(target)
    line = _line(name, written)
    record = target.parent / RECORD
    known = record.read_bytes().splitlines(keepends=True) if record.exists() else []
    others = [each for each in known if each.rstrip(b"\n")[-len(name) - 2 :] != b"  " + name]
    if len(others) < len(known):
        if line + b"\n" not in known:
            with atomic_write(record, "wb") as file:
                file.writelines([*others, line + b"\n"])
        return
    # Several processes may add files to one directory at the same time.
    descriptor = os.open(record, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(descriptor, line + b"\n")
    finally:
        os.close(descriptor)


def _line(name: bytes, file: Path) -> bytes:
    mark = b"\\" if b"\\" in name else b""
    return mark + f"{digest_of(file)['sha256']}  ".encode() + name


def _escaped(target: Path) -> bytes:
    return os.fsencode(target.name).replace(b"\\", b"\\\\").replace(b"\n", b"\\n")
