"""The store of finished runs, keyed by fingerprints of their inputs.

::

    store.json              marks the directory as a store
    runs/ab/KEY.json        one finished run: its description, metrics and costs; the last file of a run
    failures/ab/KEY.json    the latest error of a run that has not finished
    schedules/ab/HASH.zip   the outcome of every job; runs with the same schedule share it
    costs/ab/KEY.zip        the CPU time of every scheduling pass of one run, where recorded
    workloads/ab/HASH.zip   workloads for simulations in other processes
    claims/KEY              a current run, locked by its process
    journal.jsonl           a line per start and end of a run, in the order of events

Every file is written under a temporary name, synced and renamed, and a run's record comes last. Therefore a
run exists completely or not at all, even if a process is killed. Names are hashes of the content, so two
processes that write the same file write the same content.

Fingerprints are equal for equal content and code, in every process. Texts and numbers are their own content.
The content of an object with code (a policy written in Python, a function that makes workloads) is its state
and its code. Pickles are no substitute: their bytes depend on which parts of a value are shared and on the
order of sets, and they do not include code.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import sys
import sysconfig
import time
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from types import CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from batchlab.core.outputs import atomic_write, remove_abandoned
from batchlab.errors import ExperimentError, StoreError, shown
from batchlab.result.archive import is_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["COSTS", "COUNTS", "Store", "fingerprint", "is_record"]

_ATOMS = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))
_INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
# Names that the interpreter adds to the namespace of a class. The code of the methods determines them.
_NOT_CONTENT = frozenset(
    {"__dict__", "__weakref__", "__doc__", "__module__", "__firstlineno__", "__static_attributes__"}
    | {"__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__"}
    | {"__abstractmethods__", "_abc_impl", "__parameters__", "__orig_bases__"}
)


def fingerprint(value: object, what: str = "value") -> str:
    """Hash a Python object by its content and its code.

    Hashed are the object's state as it would be pickled; the compiled code of its class, of the base
    classes and of every function in it; defaults and closures; and the functions, classes, constants and
    user modules that this code refers to by name. Installed packages count by name and version. Not hashed:
    files that the code reads at run time, and objects that it does not refer to by name.

    Parameters
    ----------
    value
        The object.
    what
        Name of the object in error messages.

    Returns
    -------
    str
        64 hexadecimal digits, independent of comments and layout of the source. Fingerprints of objects with
        code depend on the version of Python.

    Raises
    ------
    ExperimentError
        If the object contains something that cannot be pickled, such as an open file or a lock.
    """
    try:
        return _Walk().digest(value).hex()
    except (TypeError, AttributeError, RecursionError, ValueError) as error:
        raise ExperimentError(
            f"{what}: its state cannot be read: {error}. Keep in it what can be pickled; open files "
            "and locks in the method that uses them."
        ) from error


class _Walk:
    """One traversal of a value; parts that occur again are hashed once."""

    def __init__(self) -> None:
        self._path: list[int] = []
        # Keep the values alive so that no `id` is reused.
        self._done: dict[int, tuple[object, bytes]] = {}

    def digest(self, value: object) -> bytes:
        """Hash a value."""
        if type(value) in _ATOMS:
            return _hash(type(value).__name__, repr(value).encode("utf-8", "surrogatepass"))
        number = id(value)
        if number in self._done:
            return self._done[number][1]
        if number in self._path:
            return _hash("above", str(len(self._path) - self._path.index(number)).encode())
        with self._within(number):
            found = self._of(value)
        self._done[number] = (value, found)
        return found

    @contextmanager
    def _within(self, number: int) -> Iterator[None]:
        self._path.append(number)
        try:
            yield
        finally:
            self._path.pop()

    def _of(self, value: object) -> bytes:
        kind = type(value)
        if kind in (tuple, list):
            return self._parts(kind.__name__, *value)  # type: ignore[misc]  # one of the two
        if kind in (set, frozenset):
            return _hash(kind.__name__, *sorted(map(self.digest, value)))  # type: ignore[call-overload]
        if kind in (dict, MappingProxyType):
            # Fields of data classes use MappingProxyType.
            pairs = [(self.digest(key), self.digest(item)) for key, item in value.items()]  # type: ignore[attr-defined]
            # In order, because code may iterate over the dictionary.
            return _hash("dict", *(part for pair in pairs for part in pair))
        if isinstance(value, np.ndarray) and value.dtype != object:
            return _hash(
                "array", f"{value.dtype.str}{value.shape}".encode(), np.ascontiguousarray(value).data
            )
        return self._of_code(value) or self._of_object(value)

    def _of_code(self, value: object) -> bytes | None:
        """Hash code and objects that contain code; None for other objects."""
        kinds: dict[type, Callable[[Any], bytes]] = {
            CodeType: self._compiled,
            FunctionType: self._function,
            type: self._class,
            ModuleType: self._module,
            MethodType: lambda method: self._parts("method", method.__func__, method.__self__),
            property: lambda found: self._parts("property", found.fget, found.fset),
            cached_property: lambda found: self._parts("property", found.func),
            staticmethod: lambda method: self._parts("static", method.__func__),
            classmethod: lambda method: self._parts("class method", method.__func__),
        }
        return next((hashed(value) for kind, hashed in kinds.items() if isinstance(value, kind)), None)

    def _compiled(self, code: CodeType) -> bytes:
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_argcount, code.co_flags)
        return self._parts("code", code.co_code, code.co_consts, *names)

    def _function(self, function: FunctionType) -> bytes:
        if not _is_own(function.__module__):
            return self._parts("function", *_installed(function.__module__, function.__qualname__))
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        named = {
            name: function.__globals__[name]
            for name in sorted(_names(function.__code__, function.__globals__))
        }
        parts = (function.__qualname__, function.__code__, function.__defaults__, function.__kwdefaults__)
        return self._parts("function", *parts, cells, named)

    def _class(self, kind: type) -> bytes:
        if not _is_own(kind.__module__):
            return self._parts("class", *_installed(kind.__module__, kind.__qualname__))
        members = {
            name: member
            for name, member in vars(kind).items()
            if name not in _NOT_CONTENT and type(member) not in _DESCRIPTORS
        }
        return self._parts("class", kind.__qualname__, kind.__bases__, members)

    def _module(self, module: ModuleType) -> bytes:
        if not _is_own(module.__name__):
            return self._parts("module", *_installed(module.__name__, ""))
        file = getattr(module, "__file__", None)
        return self._parts("module", module.__name__, Path(file).read_bytes() if file else b"")

    def _of_object(self, value: object) -> bytes:
        reduced = value.__reduce_ex__(4)
        if isinstance(reduced, str):
            return self._parts("global", type(value), reduced)
        parts = list(reduced) + [None] * (5 - len(reduced))
        make, arguments, state, items, pairs = parts[:5]
        return self._parts("object", make, arguments, state, [*items] if items else [], dict(pairs or ()))

    def _parts(self, tag: str, *values: object) -> bytes:
        return _hash(tag, *map(self.digest, values))


_DESCRIPTORS = frozenset({type(vars(type("_", (), {"__slots__": ("a",)}))["a"])})


def _hash(tag: str, *parts: bytes | memoryview) -> bytes:
    found = hashlib.sha256(tag.encode())
    for part in parts:
        found.update(f"\0{len(part) if isinstance(part, bytes) else part.nbytes}\0".encode())
        found.update(part)
    return found.digest()


def _is_own(name: str | None) -> bool:
    """Return whether a module is the user's: neither installed nor batchlab (whose version is in keys)."""
    if not name or name.partition(".")[0] in {"builtins", "batchlab"}:
        return False
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if file is None:
        # Modules of the interpreter have no file, and code typed into it has none either.
        return name not in sys.builtin_module_names and name not in sys.stdlib_module_names
    return not file.startswith(_INSTALLED)


def _installed(module: str | None, name: str) -> tuple[str, str, str]:
    package = sys.modules.get((module or "").partition(".")[0])
    version = getattr(package, "__version__", "")
    return module or "", name, version if isinstance(version, str) else ""


def _names(code: CodeType, known: dict[str, object]) -> set[str]:
    """Return the global names used by code, nested code included, that exist and can be hashed."""
    kinds = (*_ATOMS, tuple, list, dict, set, frozenset, type, FunctionType, ModuleType)
    names = {name for name in code.co_names if isinstance(known.get(name, known), kinds) and name in known}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names(constant, known)
    return names


_FORMAT = 2


class Store:
    """A directory of finished runs.

    Parameters
    ----------
    root
        The directory; created if missing.

    Raises
    ------
    ExperimentError
        If the directory is not a store, or has another version.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root).absolute()
        self._whole: set[Path] = set()
        mark = self.root / "store.json"
        try:
            if not mark.exists():
                self._make(mark)
            found = json.loads(mark.read_text("utf-8")).get("format")
        except ExperimentError:
            # ExperimentError is a ValueError too.
            raise
        except (OSError, ValueError, AttributeError, RecursionError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ExperimentError(f"store = {self.root}: {reason}. Choose another directory.") from error
        if found != _FORMAT:
            raise ExperimentError(
                f"store = {self.root}: of format {shown(found)}; this version reads {_FORMAT}. Name another."
            )

    def _make(self, mark: Path) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        # Another process may have created the store meanwhile.
        if (
            any(entry.suffix != ".tmp" and entry != mark for entry in self.root.iterdir())
            and not mark.exists()
        ):
            raise ExperimentError(
                f"store = {self.root}: is a directory with other things in it. Name a new or empty one."
            )
        with atomic_write(mark) as file:
            file.write(json.dumps({"format": _FORMAT, "what": "runs of batchlab"}) + "\n")

    def path(self, kind: str, name: str) -> Path:
        """Return the path of a file; `kind` is a folder in the list above."""
        suffix = "json" if kind in {"runs", "failures"} else "zip"
        return self.root / kind / name[:2] / f"{name}.{suffix}"

    def record(self, key: str) -> dict[str, Any] | None:
        """Read the record of a finished run; None if missing or damaged."""
        found = _read(self.path("runs", key))
        return found if is_record(found, key) else None

    def is_done(self, key: str) -> bool:
        """Return whether a run has finished and all its files are unchanged."""
        record = self.record(key)
        if record is None:
            return False
        files = [self.path("schedules", record["schedule"])]
        if record["costs"]["dispatch_passes"] is not None:
            files.append(self.path("costs", key))
        # Several runs may share a schedule, which is as large as the workload, so each is checked once.
        self._whole.update(path for path in files if path not in self._whole and is_whole(path))
        return self._whole.issuperset(files)

    def failure(self, key: str) -> dict[str, Any] | None:
        """Read the latest error of a run; None if missing."""
        found = _read(self.path("failures", key))
        return found if is_failure(found) else None

    def write_record(self, key: str, record: Mapping[str, object]) -> None:
        """Write the record of a finished run after its other files, and delete its earlier failure."""
        _write(self.path("runs", key), record)
        self.path("failures", key).unlink(missing_ok=True)

    def write_failure(self, key: str, failure: Mapping[str, object]) -> None:
        """Write the error that ended a run."""
        _write(self.path("failures", key), failure)

    def is_claimed(self, key: str) -> bool:
        """Return whether a run started without end: it is running, or its process died."""
        return self._claim(key).exists()

    @contextmanager
    def claim(self, key: str) -> Iterator[None]:
        """Lock a run, waiting for other holders. The system releases the locks of dead processes."""
        path = self._claim(key)
        path.parent.mkdir(exist_ok=True)
        descriptor = _locked(path)
        try:
            yield
        finally:
            with suppress(OSError):
                path.unlink()
            os.close(descriptor)

    def _claim(self, key: str) -> Path:
        return self.root / "claims" / key

    def note(self, event: str, key: str) -> None:
        """Append a line to the journal."""
        line = {
            "event": event,
            "run": key,
            "time": time.time(),
            "host": socket.gethostname(),
            "pid": os.getpid(),
        }
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        descriptor = os.open(self.root / "journal.jsonl", flags, 0o666)
        try:
            os.write(descriptor, (json.dumps(line) + "\n").encode())
        finally:
            os.close(descriptor)

    @contextmanager
    def accessed(self) -> Iterator[None]:
        """Convert errors of the file system to `StoreError` with the path."""
        try:
            yield
        except OSError as error:
            where = error.filename or self.root
            raise StoreError(
                f"{where}: {error.strerror or error}. Make room, or choose another store."
            ) from error

    def tidy(self) -> None:
        """Remove partial files of processes that were killed at least an hour ago."""
        remove_abandoned(self.root.rglob(".*.tmp"))


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, ValueError, RecursionError):
        # A damaged record counts as missing, and the run is repeated.
        return None
    return found if isinstance(found, dict) else None


def _write(path: Path, document: Mapping[str, object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def _locked(path: Path) -> int:
    """Open and lock a file; return its descriptor."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        _lock(descriptor)
        # The previous holder of the lock may have removed the file; then this lock is on an unnamed file.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)


def _lock(descriptor: int) -> None:
    # Windows and some network file systems have no such locks. There, two processes that use one store at
    # the same time may do a run twice, with the same result.
    with suppress(ImportError, OSError):
        import fcntl  # noqa: PLC0415

        fcntl.flock(descriptor, fcntl.LOCK_EX)


COSTS = (
    "elapsed",
    "cpu_time",
    "dispatch_cpu_time",
    "dispatch_passes",
    "memory_average",
    "memory_maximum",
)
"""Recorded costs of a run: seconds, a count, and bytes."""

COUNTS = ("dispatch_passes", "memory_maximum")
"""Costs that are integers."""

_DIGEST = re.compile(r"[0-9a-f]{32}")
_ALWAYS_MEASURED = ("elapsed", "cpu_time")
_LARGEST = 2**63 - 1


def is_record(found: object, key: str) -> bool:
    """Return whether a document is the record of a run: with this key, a schedule, costs and metrics."""
    if not isinstance(found, Mapping) or found.get("key") != key:
        return False
    costs, schedule = found.get("costs"), found.get("schedule")
    return (
        isinstance(schedule, str)
        # The digest becomes part of a path.
        and _DIGEST.fullmatch(schedule) is not None
        and isinstance(costs, Mapping)
        and all(name in costs and _is_cost(name, costs[name]) for name in COSTS)
        and isinstance(found.get("metrics"), Mapping)
        and _are_measures(found["metrics"])
    )


def is_failure(found: object) -> bool:
    """Return whether a document describes the error that ended a run."""
    return isinstance(found, Mapping) and all(
        isinstance(found.get(name), str) for name in ("error", "message", "traceback")
    )


def _is_cost(name: str, value: object) -> bool:
    if value is None:
        return name not in _ALWAYS_MEASURED
    return _is_number(value) and (name not in COUNTS or isinstance(value, int))


def _are_measures(found: object) -> bool:
    """Return whether a document contains only named numbers and nulls."""
    if isinstance(found, Mapping):
        return all(map(_are_measures, found.values()))
    return found is None or _is_number(found)


def _is_number(value: object) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, float) or (isinstance(value, int) and abs(value) <= _LARGEST)
