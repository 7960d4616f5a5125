"""The pages of the API reference: one for each package, with every public name once."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import dataclass
from functools import cache, cached_property
from types import ModuleType

from sphinx.pycode import ModuleAnalyzer

import batchlab

__all__ = ["FOLDER", "Page", "pages", "public_names"]

FOLDER = "reference"
# What a scheduler sees is made in the kernel.
_HOMES = {"batchlab.twin": "batchlab.slurm.twin"}
"""Names of packages that stand elsewhere."""
_HOME_OF_KERNEL = "batchlab.seam"


@dataclass(frozen=True)
class Page:
    """The page of a package or a module.

    Parameters
    ----------
    module
        Its name, as it is imported.
    title
        Its name, as it is written after `import batchlab`.
    names
        Public names of the page, each under its shortest form.
    """

    module: str
    title: str
    names: tuple[str, ...]

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{self.title.removeprefix('batchlab.')}.md"

    @cached_property
    def about(self) -> str:
        """What the module says of itself, in its first paragraph."""
        return (importlib.import_module(self.module).__doc__ or "").strip().partition("\n\n")[0]

    @property
    def text(self) -> str:
        """Its source."""
        documented = "\n".join(_directive(name, self.module) for name in self.names)
        listed = " · ".join(f"{{py:obj}}`~{name}`" for name in self.names)
        return (
            f"# {self.title}\n\n```{{eval-rst}}\n{self.about}\n```\n\n"
            f"{listed}\n\n```{{eval-rst}}\n{documented}\n```\n"
        )


def public_names() -> dict[str, str]:
    """Return every public name in its shortest form, and the module of its page."""
    found = {}
    for name in sorted(batchlab.__all__):
        value = getattr(batchlab, name)
        if not isinstance(value, ModuleType) and not name.startswith("__"):
            found[f"batchlab.{name}"] = _home(value)
    known = {id(_value(name)) for name in found}
    for module, title in _modules().items():
        for name in _exported(module):
            value = getattr(importlib.import_module(module), name)
            if isinstance(value, ModuleType) or id(value) in known:
                continue
            found[f"{title}.{name}"] = module
            known.add(id(value))
    return found


def pages() -> tuple[Page, ...]:
    """Return the pages, by title."""
    names = public_names()
    titles = _modules()
    made = [
        Page(module, titles.get(module, module), tuple(name for name, at in names.items() if at == module))
        for module in dict.fromkeys(names.values())
    ]
    return tuple(sorted(made, key=lambda page: page.title))


def _modules() -> dict[str, str]:
    """Return the public modules with their titles: packages, and modules that the package exports."""
    offered = {
        getattr(batchlab, name).__name__: f"batchlab.{name}"
        for name in batchlab.__all__
        if isinstance(getattr(batchlab, name), ModuleType)
    }
    packages = [f"batchlab.{each.name}" for each in pkgutil.iter_modules(batchlab.__path__) if each.ispkg]
    deeper = [f"batchlab.bridge.{name}" for name in _exported("batchlab.bridge")]
    every = {name: name for name in [*packages, *deeper] if name != "batchlab.cli"}
    return every | offered


def _exported(module: str) -> list[str]:
    names: list[str] = getattr(importlib.import_module(module), "__all__", [])
    return sorted(names)


def _home(value: object) -> str:
    module = getattr(value, "__module__", None) or "batchlab"
    if module in {"batchlab", "batchlab._kernel"}:
        return _HOME_OF_KERNEL
    return ".".join(module.split(".")[:2])


def _value(name: str) -> object:
    value: object = batchlab
    for part in name.split(".")[1:]:
        value = getattr(value, part)
    return value


def _directive(name: str, module: str) -> str:
    value = _value(name)
    if inspect.isclass(value):
        shown = ":members:\n   :show-inheritance:" if issubclass(value, Exception) else ":members:"
        # Members of a base class that is not public stand in no other place.
        if any(
            base.__module__.startswith("batchlab") and id(base) not in _public() for base in value.__mro__[1:]
        ):
            shown += "\n   :inherited-members:"
        return f".. autoclass:: {name}\n   {shown}\n"
    if callable(value) and inspect.isroutine(inspect.unwrap(value)):
        return f".. autofunction:: {name}\n"
    text = "\n".join(f"   {line}".rstrip() for line in _comment(name.rpartition(".")[2], module))
    return f".. py:data:: {name}\n\n{text}\n"


@cache
def _public() -> frozenset[int]:
    return frozenset(id(_value(name)) for name in public_names())


def _comment(name: str, module: str) -> list[str]:
    """Find the docstring below the assignment of a constant."""
    room = importlib.import_module(".".join(module.split(".")[:2]))
    if not hasattr(room, "__path__"):
        room = importlib.import_module(_HOMES[room.__name__])
    below = pkgutil.walk_packages(room.__path__, f"{room.__name__}.")
    for each in [module, *(entry.name for entry in below)]:
        found = ModuleAnalyzer.for_module(each).find_attr_docs().get(("", name))
        if found:
            return found
    raise LookupError(f"{module}.{name} has no docstring below its assignment.")
