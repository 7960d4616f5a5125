"""Names and modules that are imported when they are first used, so that `batchlab --help` does without them.

`attach` is for the names of a package, `late` for the modules that other modules use.

The names of a package are listed in its stub, ``__init__.pyi``, one per line: ``from HOME import NAME as
NAME``; ``from HOME import *`` in the stub of a module stands for all names in the stub of the package HOME.
Therefore type checkers, which read the stub only, and the package use the same list.
"""

import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

__all__ = ["attach", "gather", "import_late", "late", "make_dir", "missing_package"]


class _LateModule:
    """Stands for a module, and imports it whenever a name of it is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever the module has
        # Programs such as doctest ask every object for names such as __wrapped__.
        if name.startswith("__"):
            raise AttributeError(f"{self._name!r} is not imported for its attribute {name!r}")
        return getattr(_import(self._name), name)


def late(listing: str) -> Callable[[str], object]:
    """Build ``__getattr__`` of a module whose stub lists other modules; each is imported when a name is used.

    Until then nothing is searched for, and `sys.modules` stays as it is.

    Parameters
    ----------
    listing
        Full name of the module. Its stub has lines ``from PACKAGE import MODULE as NAME``.
    """
    modules = {}
    for line in _stub(listing):
        if line.startswith("from "):
            _from, package, _import, module, _as, name = line.split()
            modules[name] = f"{package}.{module}"

    def find(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {listing!r} has no attribute {name!r}")
        found = _LateModule(modules[name])
        setattr(sys.modules[listing], name, found)
        return found

    return find


def attach(package: str) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """Build ``__all__``, ``__getattr__`` and ``__dir__`` of a package from its stub.

    Parameters
    ----------
    package
        Full name of the package.

    Returns
    -------
    tuple
        The three objects.
    """
    homes = _homes(package)

    def find(name: str) -> object:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}.{_suggestion(name, homes)}")
        value = _imported(home, name)
        setattr(sys.modules[package], name, value)
        return value

    return sorted(homes), find, make_dir(package)


def make_dir(module: str) -> Callable[[], list[str]]:
    """Build ``__dir__`` of a module: its public names without those that it imports.

    Parameters
    ----------
    module
        Full name of the module; ``__all__`` must exist when the function is called.
    """

    def names() -> list[str]:
        found = vars(sys.modules[module])
        own = {name for name in found if name.startswith("__")}
        return sorted({*own, *found.get("__all__", ())})

    return names


def gather(package: str) -> tuple[list[str], dict[str, object], Callable[[], list[str]]]:
    """Import the modules that the stub of a package lists as ``from HOME import *``.

    Parameters
    ----------
    package
        Its full name.

    Returns
    -------
    tuple
        ``__all__`` of the package, what it names, and ``__dir__``: the public names of all these modules.
    """
    with _naming_packages(package):
        modules = [import_module(line.split()[1]) for line in _stub(package) if line.endswith(" import *")]
    found = {name: getattr(module, name) for module in modules for name in module.__all__}
    return sorted(found), found, make_dir(package)


def import_late(module: str, name: str) -> Any:  # noqa: ANN401  # whatever the module has
    """Import a name of a module at the time of the call.

    A module is thus imported only when its functions are used.
    """
    return getattr(_import(module), name)


def _suggestion(name: str, homes: dict[str, str]) -> str:
    """Suggest names, except for those that programs ask every object for, such as ``__wrapped__``."""
    if name.startswith("_"):
        return ""
    from batchlab.errors import suggest  # noqa: PLC0415  # only needed here

    return suggest(name, homes)


def _homes(package: str) -> dict[str, str]:
    """Read the stub, and return for each name the module that defines it, or the package of a module."""
    homes: dict[str, str] = {}
    for line in _stub(package):
        if line.startswith("from "):
            _from, home, _import, name, *_as = line.split()
            homes |= {name: home} if name != "*" else _homes(import_module(home).__name__)
    return homes


def _stub(package: str) -> list[str]:
    """Read the lines of a package's stub."""
    module = sys.modules[package]
    # The loader also finds stubs in archives.
    stub: bytes = module.__loader__.get_data(f"{module.__file__}i")  # type: ignore[union-attr]  # of files
    return stub.decode().splitlines()


@contextmanager
def _interrupted_afterwards() -> Iterator[None]:
    """Delay Ctrl-C during imports: compiled packages may lose it, or panic.

    A program's own handler of Ctrl-C is kept.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    is_interrupted = False

    def take_note(*_: object) -> None:
        nonlocal is_interrupted
        is_interrupted = True

    signal.signal(signal.SIGINT, take_note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if is_interrupted:
        raise KeyboardInterrupt


def missing_package(error: BaseException, what: str) -> ImportError | None:
    """Return the error that says how to install a missing package.

    Parameters
    ----------
    error
        The error of an import.
    what
        What needs the package, such as the module that imports it.

    Returns
    -------
    MissingExtraError or None
        None unless batchlab requires the package.
    """
    package = (getattr(error, "name", None) or "").partition(".")[0]
    required = _requirement(package) if isinstance(error, ModuleNotFoundError) else None
    if required is None:
        return None
    from batchlab.errors import missing_extra  # noqa: PLC0415  # only needed here

    return missing_extra("this function" if what.partition(".")[0] == package else what, required)


@contextmanager
def _naming_packages(module: str) -> Iterator[None]:
    """Raise `MissingExtraError` if the import of a module lacks a package that batchlab requires."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing_package(error, module) or error from None


def _requirement(package: str) -> str | None:
    """Return the requirement of batchlab for a package that is imported by its own name, with versions."""
    from importlib.metadata import PackageNotFoundError, requires  # noqa: PLC0415  # only needed here

    try:
        found = requires("batchlab") or ()
    except PackageNotFoundError:
        return None
    own = [each for each in found if ";" not in each]
    return next((each for each in own if re.split(r"[^\w.-]", each)[0] == package), None)


def _import(name: str) -> ModuleType:
    """Import a module, with NumPy ready for the kernel if the module imports it."""
    if name in sys.modules:
        return import_module(name)
    with _interrupted_afterwards(), _naming_packages(name):
        module = import_module(name)
        if "numpy" in sys.modules:
            # By name: the stub of the kernel imports types of the package.
            import_module("batchlab._kernel").prepare_arrays()
    return module


def _imported(home: str, name: str) -> object:
    """Import a name from a module, or a module from a package."""
    module = _import(home)
    # Importing a module sets its name in the package; a name that exists already is not a module's.
    if name not in vars(module) and hasattr(module, "__path__"):
        try:
            return _import(f"{home}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{home}.{name}":
                raise
    return getattr(module, name)
