"""Parse the devices of nodes in a ``gres.conf``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from batchlab.slurm.configuration.keys import key_table
from batchlab.slurm.configuration.lines import lines_of
from batchlab.slurm.configuration.settings import Settings, parse
from batchlab.slurm.configuration.values import KINDS, amount, host_names
from batchlab.workload.logs.hostlist import hosts

if TYPE_CHECKING:
    from batchlab.slurm.configuration.place import Place
    from batchlab.slurm.configuration.settings import Setting, UnknownKey

__all__ = ["DeviceLine", "read_devices"]

_MOST_FILES = 1024


@dataclass(frozen=True)
class DeviceLine:
    """The devices of one line.

    Attributes
    ----------
    name
        For example ``gpu``; empty if the line only configures the detection of devices.
    place
        The position of the line.
    nodes
        The nodes that have the devices; None for all nodes with such a resource.
    type
        For example ``tesla``; empty without a type.
    count
        Number of devices per node in this line.
    files
        The device files; empty if not set.
    cores
        The cores close to the devices; None if not set.
    detected
        The method of automatic detection, in lower case: ``nvml``; empty without detection.
    """

    name: str
    place: Place
    nodes: tuple[str, ...] | None = None
    type: str = ""
    count: int = 1
    files: tuple[str, ...] = ()
    cores: tuple[int, ...] | None = None
    detected: str = ""


def read_devices(file: str, unknown: list[UnknownKey] | None) -> tuple[tuple[DeviceLine, ...], list[Setting]]:
    """Parse a ``gres.conf``.

    Raises
    ------
    SystemDescriptionError
        If a line or a value is invalid.
    """
    table = key_table("gres")
    given: list[Setting] = []
    found: list[DeviceLine] = []
    for place, line in lines_of(file):
        settings = Settings(table, parse(line, place, table, line.split(maxsplit=1)[0], unknown))
        given += settings.given
        found.append(_line(settings, place))
    return tuple(found), given


def _line(settings: Settings, place: Place) -> DeviceLine:
    nodes = settings.find("NodeName")
    device = settings.find("File", "Files", "MultipleFiles")
    files = () if device is None else device.take(_files)
    single = settings.find("MultipleFiles") is not None
    number = settings.find("Count")
    cores = settings.find("Cores", "CPUs")
    detected = (settings.text("AutoDetect") or "").lower()
    return DeviceLine(
        name=(settings.text("Name") or "").lower(),
        place=place,
        nodes=None if nodes is None else nodes.take(host_names),
        type=settings.text("Type") or "",
        count=number.take(amount) if number else 1 if single or not files else len(files),
        files=files,
        cores=None if cores is None else cores.take(KINDS["ranges"]),  # type: ignore[arg-type]
        detected="" if detected == "off" else detected,
    )


def _files(text: str) -> tuple[str, ...]:
    found = hosts(text, most=_MOST_FILES)
    if found is None:
        raise ValueError(f"must be device files, as /dev/nvidia[0-3], of at most {_MOST_FILES:,}")
    return tuple(found)
