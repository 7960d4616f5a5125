"""Fingerprints of Python objects: equal for equal content and code, in every process.

The store of runs is keyed by content. Texts and numbers are their own content. The content of an object
with code (a policy written in Python, a function that makes workloads) is its state and its code. Pickles
are no substitute: their bytes depend on which parts of a value are shared and on the order of sets, and they
do not include code.
"""

from __future__ import annotations

import hashlib
import sys
import sysconfig
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from types import CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from batchlab.errors import ExperimentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["fingerprint"]

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
