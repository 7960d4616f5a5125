"""Snapshots: a simulation as bytes that another process can restore."""

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
# Facts of every snapshot, with their types.
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
    "begun": (float, int, NoneType),
    "kernel": (int,),
    "components": (int,),
}


@dataclass(frozen=True)
class Snapshot:
    """The parts of a snapshot.

    Attributes
    ----------
    facts
        Facts that are read first: policy, options and the origin of the run.
    kernel
        The state of the compiled half.
    components
        The Python components, pickled; empty without any.
    """

    facts: dict[str, Any]
    kernel: bytes
    components: bytes

    def to_bytes(self) -> bytes:
        """Return the snapshot as bytes: a mark, the hash of the rest, a line of facts, the parts."""
        facts = self.facts | {"kernel": len(self.kernel), "components": len(self.components)}
        rest = b"".join((json.dumps(facts).encode(), b"\n", self.kernel, self.components))
        return _MARK + hashlib.sha256(rest).digest() + rest

    @classmethod
    def of_bytes(cls, data: bytes) -> Snapshot:
        """Read a snapshot from bytes.

        Raises
        ------
        SimulationError
            If the bytes are not a snapshot, or not a complete one.
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
        """Convert any exception to a `SimulationError`: tampered bytes may cause any error."""
        try:
            yield
        except BatchlabError:
            raise
        except Exception as error:
            raise SimulationError(f"the snapshot cannot be restored: {error!r}; take another one.") from error

    def check(self, **expected: str) -> None:
        """Compare facts with expected values.

        Raises
        ------
        SimulationError
            If a value differs.
        """
        for name, value in expected.items():
            if self.facts.get(name) != value:
                rule = "give what the snapshot was taken of"
                if name in {"version", "build"}:
                    rule = "only the build of batchlab that took it can read it; take another one"
                raise SimulationError(f"the snapshot's {name} = {self.facts.get(name)}, not {value}; {rule}.")


def _facts(line: bytes) -> dict[str, Any]:
    """Parse the line of facts, and check that each fact exists and has its type."""
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
        # Polars has no threads in a forked process; NumPy needs none.
        if column.dtype.is_numeric() and not column.null_count():
            digest.update(np.ascontiguousarray(column.to_numpy()).data)
        else:
            digest.update(repr(column.to_list()).encode())
    return digest.hexdigest()


class _Pickler(pickle.Pickler):
    """Pickles components. Views and columns are pickled as names: a restored simulation has its own."""

    def __init__(self, file: io.BytesIO, own: Mapping[str, object]) -> None:
        super().__init__(file)
        self._names = {id(it): name for name, it in own.items()}

    def persistent_id(self, obj: object) -> str | None:
        """Return the name of an object of the simulation."""
        return self._names.get(id(obj))


class _Unpickler(pickle.Unpickler):
    """Unpickles components. Names are replaced by the views and columns of the restored simulation."""

    def __init__(self, data: bytes, own: Mapping[str, object]) -> None:
        super().__init__(io.BytesIO(data))
        self._own = own

    def persistent_load(self, pid: str) -> object:
        """Return the object of the simulation with this name."""
        return self._own[pid]


def components_as_bytes(components: object, own: Mapping[str, object]) -> bytes:
    """Pickle the Python components of a run. `own` maps names to objects of the simulation.

    Raises
    ------
    SimulationError
        If one cannot be pickled. Classes and functions must be importable from a module.
    """
    file = io.BytesIO()
    try:
        _Pickler(file, own).dump(components)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        rule = "what is written in Python goes along by pickle; define it in a module, without open files"
        raise SimulationError(f"the simulation has no snapshot: {error}; {rule}.") from error
    return file.getvalue()


def components_of_bytes(data: bytes, own: Mapping[str, object]) -> Any:  # noqa: ANN401  # as it was given
    """Unpickle components. `own` maps names to objects of the restored simulation.

    Raises
    ------
    SimulationError
        If it cannot be unpickled.
    """
    try:
        return _Unpickler(data, own).load()
    except Exception as error:
        # Unpickling may raise anything that the classes raise.
        rule = "its classes must be importable where it is restored"
        raise SimulationError(
            f"the snapshot's Python components cannot be restored: {error}; {rule}."
        ) from error


def options_as_facts(options: RunOptions) -> dict[str, Any]:
    """Return options as plain values; controls of rates written in Python are pickled.

    Raises
    ------
    SimulationError
        If a control cannot be pickled.
    """
    facts = options.to_dict()
    if any(control.is_external for control in options.controls):
        pickled = base64.b64encode(components_as_bytes(options.controls, {}))
        facts["control"] = {"pickled": pickled.decode()}
    return facts


def options_of_facts(facts: Mapping[str, Any]) -> RunOptions:
    """Return the options described by `options_as_facts`.

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
