"""The package's public names: they resolve, are sorted, and say what they are."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import FunctionType, ModuleType

import pytest

import batchlab

MODULES = [
    module.name
    for module in pkgutil.walk_packages(batchlab.__path__, "batchlab.")
    if module.name not in {"batchlab.__main__", "batchlab._kernel"}
]


def _is_front(name: str) -> bool:
    """Tell whether users see a module: a package, or one that the package itself gives."""
    module = importlib.import_module(name)
    is_package = hasattr(module, "__path__") and ".cli" not in name and "algorithm_side" not in name
    return is_package or module in (getattr(batchlab, each) for each in batchlab.__all__)


def documented(owner: object, module: ModuleType) -> Iterator[tuple[str, object]]:
    """Give the functions, classes and public members that a module defines."""
    for name, value in vars(owner).items():
        if name.startswith("_"):
            continue
        function = (
            getattr(value, "fget", None) or getattr(value, "func", None) or getattr(value, "__func__", value)
        )
        if not isinstance(function, FunctionType | type) or function.__module__ != module.__name__:
            continue
        yield f"{getattr(owner, '__qualname__', module.__name__)}.{name}", function
        if isinstance(value, type):
            yield from documented(value, module)


def test_every_name_resolves() -> None:
    """Whatever `__all__` promises is there, and asking for it twice gives the same."""
    for name in batchlab.__all__:
        assert getattr(batchlab, name) is getattr(batchlab, name)
        assert name in dir(batchlab)


SHOWN = [name for name in MODULES if "__all__" in vars(importlib.import_module(name)) and _is_front(name)]


@pytest.mark.parametrize("name", SHOWN)
def test_modules_show_their_public_names_alone(name: str) -> None:
    """In `dir`, and so where an editor completes: not what they import for themselves."""
    module = importlib.import_module(name)
    shown = {each for each in dir(module) if not each.startswith("__")}
    assert shown == {each for each in module.__all__ if not each.startswith("__")}


def test_names_are_sorted() -> None:
    """`__all__` is in order, without repetition."""
    names = [name for name in batchlab.__all__ if not name.startswith("__")]
    assert names == sorted(set(names))


def test_unknown_names_suggest_the_nearest() -> None:
    """A misspelt name of the package is answered with the right one."""
    with pytest.raises(AttributeError, match="Did you mean 'simulate'"):
        batchlab.simulat  # type: ignore[attr-defined]  # noqa: B018  # that is the test


@pytest.mark.parametrize("name", MODULES)
def test_names_of_a_module(name: str) -> None:
    """Each module says what it is for, and its `__all__` names what it has."""
    module = importlib.import_module(name)
    assert module.__doc__
    assert all(hasattr(module, each) for each in getattr(module, "__all__", []))


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name: str) -> None:
    """Every public function, class, method and property has a docstring."""
    module = importlib.import_module(name)
    without = [label for label, value in documented(module, module) if not inspect.getdoc(value)]
    assert not without
