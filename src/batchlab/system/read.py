"""Files that describe machines: `read_system` finds out which form a file has, `write_system` writes our own.

What the forms mean is in `own` and `accasim`, for platforms in `batchlab.platform`; here are the bytes, the
encoding and the syntax.
"""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from batchlab.atomic import atomic_write
from batchlab.errors import SystemDescriptionError, shown

if TYPE_CHECKING:
    from batchlab.system.system import System

__all__ = ["read_system", "write_system"]

_MOST_BYTES = 16 * 2**20
_BEGINNING = 4096


def read_system(path: str | os.PathLike[str]) -> System:
    """Read the description of a machine.

    Parameters
    ----------
    path
        A file in batchlab's own form (TOML or JSON, `batchlab.system.own`), or in AccaSim's
        (`batchlab.system.accasim`); or a platform, in SimGrid's XML or in batchlab's TOML (`read_platform`).
        Names that end in ``.toml``, ``.json`` or ``.xml`` are believed; otherwise the content decides.

    Returns
    -------
    System
        The machine; of a platform, `System.of` it.

    Raises
    ------
    SystemDescriptionError
        If there is no such file, or it is not what it should be; the message names the file, the path into
        the document, the value, the rule and the next step.
    PlatformError
        Likewise, if it is a platform.
    """
    # `--help` and machines described in Python do without pydantic.
    from batchlab.platform.own import recognises  # noqa: PLC0415
    from batchlab.system import accasim, own  # noqa: PLC0415

    file = os.fspath(path)
    try:
        if _is_xml(file):
            return _on_platform(file)
        document, syntax = _document(file)
        if syntax == "TOML" and recognises(document):
            return _on_platform(file)
        is_accasim = syntax == "JSON" and accasim.recognises(document)
        return accasim.system(document) if is_accasim else own.system(document)
    except SystemDescriptionError as error:
        separator = "" if str(error).startswith(":") else ": "
        raise SystemDescriptionError(f"{_shown_path(file)}{separator}{error}") from None
    except RecursionError:
        rule = "is nested too deeply; a description has four levels. Is it the right file?"
        raise SystemDescriptionError(f"{_shown_path(file)}: {rule}") from None


def _is_xml(file: str) -> bool:
    """Tell whether a file is SimGrid's; what cannot be read is not, and is told of by whoever reads it."""
    suffix = Path(file).suffix.lower()
    if suffix in {".xml", ".toml", ".json"}:
        return suffix == ".xml"
    try:
        with open(file, "rb") as stream:  # noqa: PTH123  # as below
            return stream.read(_BEGINNING).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    except (OSError, ValueError):
        return False


def _on_platform(file: str) -> System:
    from batchlab.platform import read_platform  # noqa: PLC0415  # only platforms need it
    from batchlab.system.system import System  # noqa: PLC0415

    platform = read_platform(file)
    return System.of(platform, name=platform.name)


def write_system(system: System, path: str | os.PathLike[str]) -> None:
    """Write a machine in batchlab's own form; `read_system` gives an equal one back.

    The file is replaced in one step: whatever happens, it is the old one or the new one.

    Parameters
    ----------
    system
        The machine.
    path
        Where to; the name ends in ``.toml`` or ``.json``.

    Raises
    ------
    SystemDescriptionError
        If the name ends otherwise, or the system is on a platform, which this form cannot hold.
    OSError
        If the file cannot be written.
    """
    from batchlab.system import own  # noqa: PLC0415  # as above

    if system.platform is not None:
        rule = "this form holds no platform; keep the file or the code that describes the platform"
        raise SystemDescriptionError(f"system = {shown(system.name or 'of a platform')}: {rule}.")
    target = Path(path)
    writers = {".toml": own.toml, ".json": own.json_text}
    writer = writers.get(target.suffix.lower())
    if writer is None:
        raise SystemDescriptionError(f"path = {shown(str(path))}; must end in .toml or .json.")
    with atomic_write(target) as file:
        file.write(writer(system))


def _document(file: str) -> tuple[dict[str, object], str]:
    """Read and parse a file; say in which syntax it is."""
    text = _text(file)
    suffix = Path(file).suffix.lower()
    is_json = suffix == ".json" or (suffix != ".toml" and text.lstrip().startswith("{"))
    document = _parse_json(text) if is_json else _parse_toml(text)
    if not isinstance(document, dict):
        raise SystemDescriptionError(
            f"document = {shown(document)}; must be an object with the key 'groups'."
        )
    return document, "JSON" if is_json else "TOML"


def _text(file: str) -> str:
    """Read the whole file as text."""
    try:
        with open(file, "rb") as stream:  # noqa: PTH123  # a Path loses "" and trailing slashes from messages
            content = stream.read(_MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SystemDescriptionError(f"cannot be read: {reason}. Check the path.") from None
    if len(content) > _MOST_BYTES:
        raise SystemDescriptionError("has more than 16 MiB; no description needs that. Is it the right file?")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SystemDescriptionError(
            f"is not UTF-8 text (byte {error.start}). Is it the right file?"
        ) from None
    if not text.strip():
        raise SystemDescriptionError("is empty; a description has at least one group of nodes.")
    return text


def _parse_json(text: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_without_duplicates, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise SystemDescriptionError(f":{error.lineno}:{error.colno}: is not JSON: {error.msg}.") from None
    except SystemDescriptionError:
        raise
    except ValueError:
        raise SystemDescriptionError(
            "holds a number of thousands of digits; amounts go up to 2^53."
        ) from None


def _parse_toml(text: str) -> object:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SystemDescriptionError(f"is neither JSON nor TOML: {error}.") from None
    except ValueError:
        raise SystemDescriptionError(
            "holds a number of thousands of digits; amounts go up to 2^53."
        ) from None


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Refuse objects that name a key twice; Python would silently keep the last value."""
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            raise SystemDescriptionError(f"key {shown(key)} appears twice in one object; keep one of them.")
        found[key] = value
    return found


def _no_constant(name: str) -> object:
    """Refuse what JSON does not have, though Python's parser does."""
    raise SystemDescriptionError(f"{name} is not a number of JSON; write a finite one.")


def _shown_path(file: str) -> str:
    """Show a file's name in a message, even if it cannot be printed."""
    return file if file.isprintable() else ascii(file)
