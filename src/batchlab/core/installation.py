"""Installed packages of batchlab and its extras, with versions and sizes."""

from __future__ import annotations

import platform
import re
import sys
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement

from batchlab._kernel import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["show_versions"]

_BASE = ""


def show_versions() -> None:
    """Print the versions and sizes of batchlab, Python and the packages that they use.

    The base install is batchlab's dependencies, including indirect ones, sorted by size. The size of an extra
    is the size of all packages that it adds. Sizes are those of installed files, in MB (10^6 bytes).
    """
    base = _closure("batchlab", _BASE)
    lines = [f"batchlab {__version__}, Python {platform.python_version()}, {platform.platform()}", ""]
    lines += [f"{'base install':<54}{'MB':>6}", *_rows(base)]
    extras = _extras()
    if extras:
        lines += ["", f"{'extra':<14}{'its packages':<40}{'MB':>6}", *(_row(extra, base) for extra in extras)]
    sys.stdout.write("\n".join(lines) + "\n")


@dataclass(frozen=True)
class _Package:
    """An installed package, or the name of a missing one."""

    name: str
    version: str | None
    size: float


def _extras() -> list[str]:
    found = _installed("batchlab")
    names = (found.metadata.get_all("Provides-Extra") or []) if found else []
    return sorted({*names} - {"all"})


def _closure(name: str, extra: str) -> dict[str, _Package]:
    """Return the direct and indirect dependencies of a package, by name."""
    found: dict[str, _Package] = {}
    open_ends = [(name, extra)]
    while open_ends:
        at, its_extra = open_ends.pop()
        for requirement in _requirements(at, its_extra):
            needed = _normal(requirement.name)
            if needed not in found:
                found[needed] = _package(requirement.name)
                open_ends += [(needed, more) for more in (_BASE, *requirement.extras)]
    return found


def _requirements(name: str, extra: str) -> list[Requirement]:
    found = _installed(name)
    wanted = [Requirement(text) for text in (found.requires if found else None) or ()]
    return [each for each in wanted if _applies(each, extra)]


def _applies(requirement: Requirement, extra: str) -> bool:
    """Return whether a requirement applies: to the base, or to the extra but not to the base."""
    marker = requirement.marker
    if marker is None:
        return extra == _BASE
    always = marker.evaluate({"extra": _BASE})
    return always if extra == _BASE else not always and marker.evaluate({"extra": extra})


def _package(name: str) -> _Package:
    found = _installed(name)
    if found is None:
        return _Package(name, None, 0.0)
    paths = [Path(str(found.locate_file(file))) for file in found.files or ()]
    size = sum(path.stat().st_size for path in paths if path.is_file())
    return _Package(found.metadata["Name"], found.version, size / 1e6)


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _rows(packages: dict[str, _Package]) -> list[str]:
    ordered = sorted(packages.values(), key=lambda package: (-package.size, package.name.lower()))
    rows = [f"  {each.name:<26}{each.version or 'not installed':<26}{each.size:>6.1f}" for each in ordered]
    return [*rows, f"  {'together':<52}{_size(ordered):>6.1f}"]


def _row(extra: str, base: dict[str, _Package]) -> str:
    own = [_package(requirement.name) for requirement in _requirements("batchlab", extra)]
    names = ", ".join(f"{each.name} {each.version or '(not installed)'}" for each in own)
    added = [package for name, package in _closure("batchlab", extra).items() if name not in base]
    return f"  {extra:<12}{names:<40}{_size(added):>6.1f}"


def _size(packages: Iterable[_Package]) -> float:
    return sum(package.size for package in packages)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
