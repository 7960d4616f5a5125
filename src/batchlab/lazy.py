"""Packages whose names are imported when they are first asked for: `batchlab --help` needs none of them."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module

__all__ = ["lazily"]


def lazily(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Make the ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package
        Its full name.
    homes
        For each public name the module below the package that has it, or that is it.

    Returns
    -------
    tuple
        The two functions.
    """

    def find(name: str) -> object:
        home = homes.get(name)
        if home is None:
            from batchlab.errors import suggest  # noqa: PLC0415  # only needed here

            raise AttributeError(f"module {package!r} has no attribute {name!r}.{suggest(name, homes)}")
        module = import_module(f"{package}.{home}")
        value: object = module if home.rpartition(".")[2] == name else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return find, names
