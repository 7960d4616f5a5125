"""The file of fitted values, to apply to the same and to other configurations."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from batchlab.core import rules
from batchlab.core.documents import DocumentReader
from batchlab.core.outputs import output, remember_source, source_of
from batchlab.core.units import format_number
from batchlab.core.vocabulary import GENERATOR
from batchlab.errors import TwinError, suggest
from batchlab.slurm.twin.parameters import PARAMETERS, changed, configured

if TYPE_CHECKING:
    from collections.abc import Mapping

    from batchlab.slurm.twin.twin import Twin

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
        The values by name in `batchlab.twin.PARAMETERS`.
    configured
        The values configured before the fit; None for a phase drawn from the seed.
    """

    values: Mapping[str, float]
    configured: Mapping[str, float | None]

    def applied(self, twin: Twin) -> Twin:
        """Return a twin with the fitted values.

        A parameter is kept if the twin configures it differently from the fitted configuration, since such
        differences are the subject of a what-if study.

        Raises
        ------
        TwinError
            If the policy of the twin lacks a parameter.
        """
        same = {
            name: value
            for name, value in self.values.items()
            if configured(twin, name) == self.configured[name]
        }
        return changed(twin, same)


def write_fitted(fitted: Fitted, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write the file atomically.

    Parameters
    ----------
    fitted
        The fitted values.
    path
        The file.
    overwrite
        Whether to replace a file that batchlab did not write. The input is never replaced.

    Raises
    ------
    OutputError
        If the file is the source of the values, or batchlab did not write it.
    TwinError
        If the file cannot be written.
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
    """Read a file of fitted values.

    Raises
    ------
    TwinError
        If the file cannot be read, or a parameter or a value is invalid; the message names the file and the
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
        rules.check(TwinError, f"[{name}]: {key}", value, rules.NOT_NEGATIVE)
    return {key: float(value) for key, value in table.items()}
