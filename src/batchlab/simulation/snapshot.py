"""Snapshots: a simulation as bytes, to be restored in another process."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import pickle
from contextlib import contextmanager
from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from batchlab.errors import BatchlabError, SimulationError, shown
from batchlab.options import RunOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from batchlab.system import System
    from batchlab.workload import Workload

__all__ = [
    "Snapshot",
    "components_as_bytes",
    "components_of_bytes",
    "digest_of_run",
    "options_as_facts",
    "options_of_facts",
]

_MARK = b"batchlab simulation\n"
_SHORT = "a snapshot is what Simulation.snapshot() gives, whole"
# What stands in every snapshot, and of which types it is.
_FACTS: Mapping[str, tuple[type, ...]] = {
    "version": (str,),
    "build": (str,),
    "policy": (str,),
    "run": (str,),
    "options": (dict,),
    "under": (str, NoneType),
    "assumes_estimates": (bool,),
    "elapsed": (float, int),
    "depth": (int,),
    "driven": (bool,),
    "events": (list, NoneType),
    "kernel": (int,),
    "components": (int,),
}


@dataclass(frozen=True)
class Snapshot:
    """The parts of a snapshot.

    Attributes
    ----------
    facts
        What must be known before the rest is read: policy, options and how the run came about.
    kernel
        The state of the compiled half.
    components
        What is written in Python, pickled; empty where nothing is.
    """

    facts: dict[str, Any]
    kernel: bytes
    components: bytes

    def to_bytes(self) -> bytes:
        """Give the snapshot as bytes: a mark, the hash of the rest, a line of facts, the parts."""
        facts = self.facts | {"kernel": len(self.kernel), "components": len(self.components)}
        rest = b"".join((json.dumps(facts).encode(), b"\n", self.kernel, self.components))
        return _MARK + hashlib.sha256(rest).digest() + rest

    @classmethod
    def of_bytes(cls, data: bytes) -> Snapshot:
        """Read a snapshot from bytes.

        Raises
        ------
        SimulationError
            If the bytes are no snapshot, or not a whole one.
        """
        if not isinstance(data, bytes | bytearray | memoryview):
            raise SimulationError(f"data is {type(data).__name__}; must be bytes: {_SHORT}.")
        data = bytes(data)
        if not data.startswith(_MARK):
            raise SimulationError(f"the bytes are no snapshot of a simulation; {_SHORT}.")
        begin = len(_MARK) + hashlib.sha256().digest_size
        if hashlib.sha256(data[begin:]).digest() != data[len(_MARK) : begin]:
            raise SimulationError(f"the snapshot is damaged: its bytes do not fit its hash; {_SHORT}.")
        line, _, rest = data[begin:].partition(b"\n")
        facts = _facts(line)
        kernel, components = facts.pop("kernel"), facts.pop("components")
        if not 0 <= kernel <= len(rest) == kernel + components:
            raise SimulationError(f"the snapshot's parts are not as long as it says; {_SHORT}.")
        return cls(facts, rest[:kernel], rest[kernel:])

    @staticmethod
    @contextmanager
    def restoring() -> Iterator[None]:
        """Raise a `SimulationError` for whatever goes wrong: bytes that were changed may hold anything."""
        try:
            yield
        except BatchlabError:
            raise
        except Exception as error:
            raise SimulationError(f"the snapshot cannot be restored: {error!r}; take another one.") from error

    def check(self, **expected: str) -> None:
        """Check facts by their names.

        Raises
        ------
        SimulationError
            If one is another.
        """
        for name, value in expected.items():
            if self.facts.get(name) != value:
                rule = "give what the snapshot was taken of"
                if name in {"version", "build"}:
                    rule = "only the build of batchlab that took it can read it; take another one"
                raise SimulationError(f"the snapshot's {name} = {self.facts.get(name)}, not {value}; {rule}.")


def _facts(line: bytes) -> dict[str, Any]:
    """Read the line of facts; each must be there, and be of its type."""
    try:
        facts = json.loads(line)
    except (ValueError, RecursionError):
        facts = None
    if not isinstance(facts, dict):
        raise SimulationError(f"the snapshot has no line of facts; {_SHORT}.")
    for name, types in _FACTS.items():
        if not isinstance(facts.get(name), types):
            raise SimulationError(f"the snapshot's {name} = {shown(facts.get(name))}; {_SHORT}.")
    if unknown := facts.keys() - _FACTS.keys():
        raise SimulationError(f"the snapshot has an unknown fact {shown(min(unknown))}; {_SHORT}.")
    return facts


def digest_of_run(workload: Workload, system: System) -> str:
    """Compute a digest of all jobs and of the machine, in hexadecimal digits: O(jobs + nodes)."""
    digest = hashlib.sha256(f"{system.resources}\0".encode())
    digest.update(np.ascontiguousarray(system.capacity).data)
    for column in workload.jobs.get_columns():
        digest.update(f"{column.name}\0{column.dtype}\0".encode())
        # Polars has no threads in a forked process; these need none.
        if column.dtype.is_numeric() and not column.null_count():
            digest.update(np.ascontiguousarray(column.to_numpy()).data)
        else:
            digest.update(repr(column.to_list()).encode())
    return digest.hexdigest()


class _Pickler(pickle.Pickler):
    """Pickles components; views and columns are named, since a restored simulation has its own."""

    def __init__(self, file: io.BytesIO, own: Mapping[str, object]) -> None:
        super().__init__(file)
        self._names = {id(it): name for name, it in own.items()}

    def persistent_id(self, obj: object) -> str | None:
        """Give the name of what belongs to the simulation."""
        return self._names.get(id(obj))


class _Unpickler(pickle.Unpickler):
    """Gives components the views and columns of the restored simulation."""

    def __init__(self, data: bytes, own: Mapping[str, object]) -> None:
        super().__init__(io.BytesIO(data))
        self._own = own

    def persistent_load(self, pid: str) -> object:
        """Find what belongs to the simulation by its name."""
        return self._own[pid]


def components_as_bytes(components: object, own: Mapping[str, object]) -> bytes:
    """Pickle what of a run is written in Python; `own` is what belongs to the simulation, by name.

    Raises
    ------
    SimulationError
        If something of it cannot be pickled: a class or function must stand in a module, by its name.
    """
    file = io.BytesIO()
    try:
        _Pickler(file, own).dump(components)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        rule = "what is written in Python goes along by pickle; define it in a module, without open files"
        raise SimulationError(f"the simulation has no snapshot: {error}; {rule}.") from error
    return file.getvalue()


def components_of_bytes(data: bytes, own: Mapping[str, object]) -> Any:  # noqa: ANN401  # as it was given
    """Give what was pickled; `own` is what belongs to the simulation into which it is restored, by name.

    Raises
    ------
    SimulationError
        If it cannot be unpickled.
    """
    try:
        return _Unpickler(data, own).load()
    except Exception as error:
        # A pickle may raise whatever the classes in it do.
        rule = "its classes must be importable where it is restored"
        raise SimulationError(
            f"the snapshot's Python components cannot be restored: {error}; {rule}."
        ) from error


def options_as_facts(options: RunOptions) -> dict[str, Any]:
    """Give options as plain values; controls of rates that are written in Python are pickled.

    Raises
    ------
    SimulationError
        If one of them cannot be pickled.
    """
    facts = options.to_dict()
    if any(control.is_external for control in options.controls):
        pickled = base64.b64encode(components_as_bytes(options.controls, {}))
        facts["control"] = {"pickled": pickled.decode()}
    return facts


def options_of_facts(facts: Mapping[str, Any]) -> RunOptions:
    """Give the options that `options_as_facts` has described.

    Raises
    ------
    SimulationError
        If a control cannot be unpickled.
    """
    control = facts.get("control")
    if isinstance(control, dict):
        pickled = control.get("pickled")
        if not isinstance(pickled, str):
            raise SimulationError(f"the snapshot's control = {shown(control)}; {_SHORT}.")
        control = components_of_bytes(base64.b64decode(pickled), {})
    return RunOptions.from_dict({**facts, "control": control})
