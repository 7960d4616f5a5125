"""Read files that describe machines, after recognising their format, and write batchlab's own format.

`formats` interprets the documents, `batchlab.platform` platforms. This module handles bytes,
encoding and syntax.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from batchlab.core.arguments import checked
from batchlab.core.documents import DocumentReader, shown_path
from batchlab.core.late import platform as batchlab_platform
from batchlab.core.late import platform_presets
from batchlab.core.late import platform_toml_format as toml_format
from batchlab.core.lazy import import_late
from batchlab.core.outputs import output, remember_source, source_of
from batchlab.core.vocabulary import GENERATOR
from batchlab.errors import SystemDescriptionError, shown
from batchlab.system import formats, machines
from batchlab.system.system import System, check_system

__all__ = ["located", "read_system", "write_system"]

_DOCUMENTS = DocumentReader(SystemDescriptionError, most=16, numbers="amounts go up to 2^53")
_BEGINNING = 4096
_NAME = re.compile(r"[\w-]+")
_PLATFORM = "platform:"
_SLURM = re.compile(
    rb"^\s*(?:ClusterName|ControlMachine|SlurmctldHost|NodeName|PartitionName)\s*=",
    re.IGNORECASE | re.MULTILINE,
)


@checked(SystemDescriptionError)
def read_system(path: str | os.PathLike[str]) -> System:
    """Read the description of a machine.

    Parameters
    ----------
    A file in batchlab's format (TOML or JSON) or in AccaSim's (see
    `batchlab.system.formats`); a platform, in SimGrid's XML or in batchlab's TOML (`read_platform`); or
    Slurm's ``slurm.conf``, or its folder, with included files and the files of ``sacctmgr`` next to it
    (`batchlab.slurm.read_configuration`). The suffixes ``.toml``, ``.json``, ``.xml`` and ``.conf``
    determine the format; otherwise the content does. If no such file exists: the name of a ready machine
    (`batchlab.system.machines`), such as ``"mira"``, or of a ready platform
    (`batchlab.platform.presets`), such as ``"platform:cielo"``.

    Returns
    -------
    System
        The machine; for a platform, `System.of` it; for Slurm's files, the result of
        `batchlab.slurm.translate`, whose report lists unsupported settings.

    Raises
    ------
    SystemDescriptionError
        If the file does not exist or is invalid; the message states the file, the path into the document, the
        value, the rule and the next step.
    PlatformError
        The same for a platform.
    """
    file = located(path)
    if file.startswith(_PLATFORM):
        return _ready_platform(file.removeprefix(_PLATFORM))
    return remember_source(_read(file), file)


def _read(file: str) -> System:
    if _is_slurm(file):
        return _of_slurm(file)
    try:
        if _is_xml(file):
            return _on_platform(file)
        document, syntax = _document(file)
        if syntax == "TOML" and "groups" not in document and _is_platform(document):
            return _on_platform(file)
        is_accasim = syntax == "JSON" and formats.is_accasim(document)
        return formats.accasim_system(document) if is_accasim else formats.system(document)
    except SystemDescriptionError as error:
        raise _DOCUMENTS.named(file, error) from None
    except RecursionError:
        rule = "is nested too deeply; a description has four levels. Is it the right file?"
        raise SystemDescriptionError(f"{shown_path(file)}: {rule}") from None


def located(path: str | os.PathLike[str], folder: str | os.PathLike[str] = "") -> str:
    """Return the file of a machine.

    Parameters
    ----------
    path
        A file, or the name of a ready machine or platform. A file takes precedence over a machine.
    folder
        Folder to which relative paths are relative.

    Returns
    -------
    str
        The file; for a ready platform, its name as given. The existence of the file is checked only if the
        path could be a name.

    Raises
    ------
    SystemDescriptionError
        If neither a file nor a machine has this name.
    """
    name = os.fspath(path)
    if name.startswith(_PLATFORM):
        return name
    file = os.fspath(Path(folder, name)) if os.fspath(folder) else name
    # A folder, e.g. of results, may have the name of a machine.
    if _NAME.fullmatch(name) is None or (Path(file).exists() and not Path(file).is_dir()):
        return file
    if Path(file, "slurm.conf").is_file():
        return file
    try:
        return os.fspath(machines.find(name).path)
    except SystemDescriptionError as error:
        missing = "is a folder without slurm.conf" if Path(file).is_dir() else "there is no such file"
        raise SystemDescriptionError(f"{shown_path(file)}: {missing}; {error}{_hint(name)}") from None


def _hint(name: str) -> str:

    known = name.strip().lower()
    return f" The platform of this name is {_PLATFORM}{known}." if known in platform_presets.MACHINES else ""


def _is_xml(file: str) -> bool:
    """Return whether a file is SimGrid's XML; false for an unreadable file, whose reader raises."""
    suffix = Path(file).suffix.lower()
    if suffix in {".xml", ".toml", ".json"}:
        return suffix == ".xml"
    try:
        with open(file, "rb") as stream:  # noqa: PTH123  # as below
            return stream.read(_BEGINNING).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    except (OSError, ValueError):
        return False


def _is_slurm(file: str) -> bool:
    """Return whether a file or folder is a Slurm configuration."""
    path = Path(file)
    suffix = path.suffix.lower()
    if suffix in {".toml", ".json", ".xml", ".conf"} and not path.is_dir():
        return suffix == ".conf"
    if path.is_dir():
        return Path(file, "slurm.conf").is_file()
    try:
        with open(file, "rb") as stream:  # noqa: PTH123  # as below
            return _SLURM.search(stream.read(16 * _BEGINNING)) is not None
    except (OSError, ValueError):
        return False


def _is_platform(document: dict[str, object]) -> bool:

    return toml_format.recognises(document)


def _of_slurm(file: str) -> System:
    # Found by name: the room slurm runs simulations, so it stands to the right of this one. A room for files
    # at its right cannot have `read_system`, since results, to its left, read systems too.
    system: System = import_late("batchlab.slurm.translation.translation", "read_slurm")(file)
    return system


def _ready_platform(name: str) -> System:

    return System.of(batchlab_platform.Platform.machine(name), name=name)


def _on_platform(file: str) -> System:

    platform = batchlab_platform.read_platform(file)
    return System.of(platform, name=platform.name)


def write_system(system: System, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a machine in batchlab's format; `read_system` reads an equal machine from it.

    The file is replaced atomically: it is always either the old or the new one.

    Parameters
    ----------
    system
        The machine.
    path
        The file; the name must end in ``.toml`` or ``.json``.
    overwrite
        True to replace a file that batchlab did not write. Inputs are never replaced.

    Raises
    ------
    OutputError
        If the system was read from the file, or batchlab did not write it.
    SystemDescriptionError
        If the name has another suffix, or the system has a platform, which the format does not support.
    OSError
        If the file cannot be written.
    """
    check_system(system)
    if system.platform is not None:
        rule = "this form holds no platform; keep the file or the code that describes the platform"
        raise SystemDescriptionError(f"system = {shown(system.name or 'of a platform')}: {rule}.")
    target = Path(path)
    writers = {".toml": _marked_toml, ".json": formats.json_text}
    writer = writers.get(target.suffix.lower())
    if writer is None:
        raise SystemDescriptionError(f"path = {shown(str(path))}; must end in .toml or .json.")
    with output(target, inputs=source_of(system), overwrite=overwrite) as file:
        file.write(writer(system))


def _marked_toml(system: System) -> str:
    return f"# {GENERATOR}\n{formats.toml(system)}"


def _document(file: str) -> tuple[dict[str, object], str]:
    """Read and parse a file; return the document and its syntax."""
    text = _DOCUMENTS.text(_DOCUMENTS.content(file))
    if not text.strip():
        raise SystemDescriptionError("is empty; a description has at least one group of nodes.")
    suffix = Path(file).suffix.lower()
    is_json = suffix == ".json" or (suffix != ".toml" and text.lstrip().startswith("{"))
    document = _DOCUMENTS.json(text) if is_json else _DOCUMENTS.toml(text, neither="JSON")
    if not isinstance(document, dict):
        raise SystemDescriptionError(
            f"document = {shown(document)}; must be an object with the key 'groups'."
        )
    return document, "JSON" if is_json else "TOML"
