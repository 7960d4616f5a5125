"""The catalogue of mappings for public data sets, with look-up by name."""

from __future__ import annotations

import os
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path

from batchlab.errors import WorkloadError, shown, suggest
from batchlab.workload.mappings.mapping import LogMapping, mapping_of_document, mapping_of_file

__all__ = ["entries", "mapping_named", "text_of"]

_FOLDER = "batchlab.workload.mappings.sets"
_SUFFIX = ".toml"


@cache
def entries() -> tuple[LogMapping, ...]:
    """Return the mappings of all data sets, by name."""
    folder = files(_FOLDER)
    names = sorted(
        each.name.removesuffix(_SUFFIX) for each in folder.iterdir() if each.name.endswith(_SUFFIX)
    )
    texts = {name: folder.joinpath(f"{name}{_SUFFIX}").read_text("utf-8") for name in names}
    return tuple(mapping_of_document({**tomllib.loads(text), "name": name}) for name, text in texts.items())


def text_of(mapping: LogMapping) -> str:
    """Return the TOML text of the mapping of a data set."""
    return files(_FOLDER).joinpath(f"{mapping.name}{_SUFFIX}").read_text("utf-8")


def mapping_named(name: str | os.PathLike[str]) -> LogMapping:
    """Return a mapping by its name, or read it from a file.

    Raises
    ------
    WorkloadError
        If there is neither such a mapping nor such a file, or the file is invalid.
    """
    text = os.fspath(name)
    known = {mapping.name: mapping for mapping in entries()}
    if text.lower() in known and not Path(text).is_file():
        return known[text.lower()]
    if not text.endswith(_SUFFIX) and not Path(text).is_file():
        raise WorkloadError(
            f"mapping = {shown(text)}; must be the name of a mapping or a TOML file.{suggest(text, known)}"
        )
    return mapping_of_file(text)
