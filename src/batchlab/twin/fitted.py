"""The file of what was fitted, to be applied to the same configuration, and to others."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from batchlab.documents import DocumentReader
from batchlab.errors import TwinError, shown, suggest
from batchlab.outputs import output, remember_source, source_of
from batchlab.twin.parameters import PARAMETERS, changed, configured
from batchlab.units import format_number, is_finite
from batchlab.vocabulary import GENERATOR

if TYPE_CHECKING:
    from collections.abc import Mapping

    from batchlab.twin.twin import Twin

__all__ = ["Fitted", "read_fitted", "write_fitted"]

_DOCUMENTS = DocumentReader(TwinError, noun="file of fitted values")
_KEYS = ("configured", "fitted")
_HEAD = f"""# {GENERATOR}
# What `batchlab slurm fit` found: seconds, and parameters of the policy.
# `batchlab slurm what-if` and `batchlab run` take it by --fitted.
"""


@dataclass(frozen=True)
class Fitted:
    """Fitted values of parameters.

    Parameters
    ----------
    values
        By the names of `batchlab.twin.PARAMETERS`.
    configured
        What was configured where they were fitted; None for a phase that was drawn.
    """

    values: Mapping[str, float]
    configured: Mapping[str, float | None]

    def applied(self, twin: Twin) -> Twin:
        """Give a twin with the fitted values.

        A parameter that the twin's configuration sets otherwise than the one that was fitted stays as it is:
        such is the question of a what-if study.

        Raises
        ------
        TwinError
            If the twin's policy does not have a parameter.
        """
        same = {
            name: value
            for name, value in self.values.items()
            if configured(twin, name) == self.configured[name]
        }
        return changed(twin, same)


def write_fitted(fitted: Fitted, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write the file, whole or not at all.

    Parameters
    ----------
    fitted
        What was found.
    path
        The file.
    overwrite
        Whether a file that batchlab did not write may be replaced. No output replaces an input.

    Raises
    ------
    OutputError
        If the file is the one that the values were read from, or one that batchlab did not write.
    TwinError
        If it cannot be written.
    """
    lines = [_HEAD]
    for name, value in fitted.values.items():
        before = fitted.configured[name]
        lines.append(f"[{name}]")
        lines += [] if before is None else [f"configured = {format_number(before)}"]
        lines.append(f"fitted = {format_number(value)}\n")
    try:
        with output(path, inputs=source_of(fitted), overwrite=overwrite) as file:
            file.write("\n".join(lines))
    except OSError as error:
        raise TwinError(f"{os.fspath(path)}: {error.strerror}. The file was not written.") from error


def read_fitted(path: str | os.PathLike[str]) -> Fitted:
    """Read the file.

    Raises
    ------
    TwinError
        If it cannot be read, names no such parameter, or a value is none; it names the file and the
        parameter.
    """
    file = os.fspath(path)
    try:
        content = _DOCUMENTS.toml(_DOCUMENTS.text(_DOCUMENTS.content(file)))
        tables = _tables(content)
    except TwinError as error:
        raise _DOCUMENTS.named(file, error) from None
    found = Fitted(
        {name: table["fitted"] for name, table in tables.items()},
        {name: table.get("configured") for name, table in tables.items()},
    )
    return remember_source(found, file)


def _tables(content: Mapping[str, object]) -> dict[str, dict[str, float]]:
    if not content:
        raise TwinError("has no parameter. Give what batchlab slurm fit wrote by --out.")
    return {name: _table(name, table) for name, table in content.items()}


def _table(name: str, table: object) -> dict[str, float]:
    if name not in PARAMETERS:
        raise TwinError(f"[{name}]: no such parameter.{suggest(name, PARAMETERS)}")
    if not isinstance(table, dict) or "fitted" not in table:
        raise TwinError(f"[{name}]: must be a table with a value fitted.")
    for key, value in table.items():
        if key not in _KEYS:
            raise TwinError(f"[{name}]: {key}: no such key.{suggest(key, _KEYS)}")
        if not is_finite(value) or value < 0:
            raise TwinError(f"[{name}]: {key} = {shown(value)}; must be a number >= 0.")
    return {key: float(value) for key, value in table.items()}
