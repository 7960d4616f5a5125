"""Objects defined in Python files, named as ``my_policy.py:Mine`` or ``my_policy.py:Mine(share=0.5)``.

A class is instantiated, a function is called, and any other object is used unchanged. The file becomes a
module with its own name, and its folder is added to the search path, so that other processes find the module
and its imports.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from batchlab.core.spec import Call, Grammar, plain
from batchlab.errors import reason_of, shown, suggest

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from batchlab.errors import BatchlabError

__all__ = ["Defined", "defined_in_file", "file_of", "place_in_files"]

_FORM = re.compile(r"(?P<file>.+\.py)(?::(?P<name>\w+)(?P<call>\(.*\))?)?", re.DOTALL)
_LOADED: dict[str, Path] = {}
"""The loaded files, by their paths in tracebacks."""


@dataclass(frozen=True)
class Defined:
    """An object from a Python file.

    `value` is the object. `label` names it as ``my_policy.py:Mine``, with its arguments but without folders.
    `path` is the file.
    """

    value: object
    label: str
    path: Path


def file_of(text: str) -> Path | None:
    """Return the Python file in a text such as ``FILE.py`` or ``FILE.py:NAME``; None for other texts."""
    found = _FORM.fullmatch(text.strip())
    return None if found is None else Path(found["file"])


def defined_in_file(text: str, kind: str, error: type[BatchlabError], folder: Path | None = None) -> Defined:
    """Load a Python file, and build the object that a text names in it.

    Parameters
    ----------
    text
        ``FILE.py:NAME`` or ``FILE.py:NAME(key=value, …)``; values are numbers, texts, names (converted to
        texts), and lists, tuples and mappings of these.
    kind
        The kind of the object, for errors: ``"policy"``.
    error
        The class of errors.
    folder
        Folder to which the path is relative. [default: the working directory]

    Raises
    ------
    BatchlabError
        Of class `error`: the file or the name does not exist, the file is invalid, or the object raises.
    """
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise error(f"{kind} = {shown(text)}; must be FILE.py:NAME or FILE.py:NAME(key=value).")
    path = Path(found["file"]) if folder is None else folder / found["file"]
    module = _module(path, error)
    if not found["name"]:
        known = ", ".join(_own(module)) or "nothing"
        raise error(f"{path}: name what is the {kind}: {path.name}:NAME. The file defines: {known}.")
    if not hasattr(module, found["name"]):
        raise error(f"{path}: defines no {shown(found['name'])}.{suggest(found['name'], _own(module))}")
    call = found["call"]
    label = f"{path.name}:{found['name']}{call or ''}"
    value = getattr(module, found["name"])
    if callable(value):
        made = _made(value, label, _arguments(call, label, error), error)
        return Defined(made, label, path)
    if call is not None:
        raise error(f"{label}: is an object, not a class or a function; leave out the parentheses.")
    return Defined(value, label, path)


def place_in_files(raised: BaseException) -> str | None:
    """Return file and line of an error raised in a file that was loaded here; None for other errors."""
    frames = traceback.extract_tb(raised.__traceback__)
    last = next((frame for frame in reversed(frames) if frame.filename in _LOADED), None)
    return None if last is None else f"{_LOADED[last.filename]}:{last.lineno}"


def _module(path: Path, error: type[BatchlabError]) -> ModuleType:
    """Load a file, unless it is loaded already."""
    if not path.is_file():
        rule = "is a folder" if path.is_dir() else "does not exist"
        raise error(f"{path}: {rule}; name a Python file.")
    name, file = path.stem, path.resolve()
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) == str(file):
        return known
    if not name.isidentifier():
        raise error(f"{path}: {shown(name)} is no name of a module; rename the file.")
    if known is not None or _is_found(name, file):
        raise error(f"{path}: another module is called {name!r} already; rename the file.")
    specification = importlib.util.spec_from_file_location(name, file)
    if specification is None or specification.loader is None:
        raise error(f"{path}: cannot be loaded; name a Python file.")
    module = importlib.util.module_from_spec(specification)
    _LOADED[str(file)] = path
    sys.modules[name] = module
    folder = str(file.parent)
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        specification.loader.exec_module(module)
    except (Exception, SystemExit) as raised:
        del sys.modules[name]
        raise error(_format_error(raised, str(path))) from raised
    return module


def _is_found(name: str, file: Path) -> bool:
    """Return whether an import of this name would find another file."""
    found = importlib.util.find_spec(name)
    return found is not None and found.origin != str(file)


def _own(module: ModuleType) -> list[str]:
    """Return the public names that a module defines itself, including objects of batchlab's classes."""

    def is_own(value: object) -> bool:
        is_object = type(value).__module__.partition(".")[0] == "batchlab"
        return is_object or getattr(value, "__module__", None) == module.__name__

    return [name for name, value in vars(module).items() if not name.startswith("_") and is_own(value)]


def _made(
    value: Callable[..., object], label: str, arguments: dict[str, object], error: type[BatchlabError]
) -> object:
    try:
        return value(**arguments)
    except (Exception, SystemExit) as raised:
        raise error(_format_error(raised, label)) from raised


def _format_error(raised: Exception | SystemExit, label: str) -> str:
    """Describe an error, with its place in the user's files."""
    if isinstance(raised, SyntaxError) and raised.lineno is not None:
        return f"{raised.filename}:{raised.lineno}: {type(raised).__name__}: {raised.msg}."
    place = place_in_files(raised)
    where = label if place is None else f"{place}: {label}" if ":" in label else place
    if isinstance(raised, SystemExit):
        return f"{where}: ends the process; call sys.exit only under if __name__ == '__main__'."
    return f"{where}: {type(raised).__name__}: {reason_of(raised)}"


def _arguments(call: str | None, label: str, error: type[BatchlabError]) -> dict[str, object]:
    """Parse ``(key=value, …)``."""
    if call is None:
        return {}
    example = "share=0.5, order=sjf"
    _, given = Grammar("call", error, example).arguments(call[1:-1])
    found = {key: plain(each.value) for key, each in given.keys.items()}
    if given.values or any(isinstance(each, Call) for each in found.values()):
        raise error(f"{label}: its arguments must be as ({example}): a key and a value each.")
    return found
