"""Workloads that an experiment's file describes by a generator."""

from __future__ import annotations

import hashlib
import inspect
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from batchlab import generate
from batchlab.errors import ExperimentError, shown, suggest
from batchlab.experiment.source import LogFile, Source, loaded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from batchlab.experiment.store import Store
    from batchlab.workload import Workload

__all__ = ["Generator", "generators"]


def generators() -> dict[str, Callable[..., Workload]]:
    """Return the functions of `batchlab.generate` with a parameter ``seed``, by name."""
    named = {name.removesuffix("_workload"): getattr(generate, name) for name in dir(generate)}
    return {
        name: value
        for name, value in named.items()
        if inspect.isfunction(value) and "seed" in inspect.signature(value).parameters
    }


@dataclass(frozen=True)
class Generator:
    """A source of workloads: a generator with its parameters except the seed.

    Parameters
    ----------
    name
        One of `generators`.
    parameters
        Its parameters by name, ready for JSON.
    log
        The workload to resemble, for generators that need one.

    Raises
    ------
    ExperimentError
        If the generator or a parameter is unknown.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    log: LogFile | None = None

    def __post_init__(self) -> None:
        known = generators()
        if self.name not in known:
            raise ExperimentError(f"generator = {self.name!r}; there is none.{suggest(self.name, known)}")
        takes = inspect.signature(known[self.name]).parameters
        for name in [*self.parameters, *(["workload"] if self.log else [])]:
            if name not in takes or name == "seed":
                rest = [each for each in takes if each != "seed"]
                raise ExperimentError(
                    f"{name}: generator {self.name} has no such parameter.{suggest(name, rest)}"
                )

    @property
    def label(self) -> str:
        """The generator's name."""
        return self.name

    def digest(self, seed: int) -> str:
        """Hash name, parameters, log and seed; the version of batchlab determines the generator's code."""
        log = self.log.digest(0) if self.log else None
        described = json.dumps([self.name, dict(self.parameters), log, seed], sort_keys=True, default=str)
        return hashlib.sha256(described.encode()).hexdigest()

    def load(self, seed: int) -> Workload:
        """Generate the workload."""
        first = {"workload": loaded(self.log, 0, self.log.digest(0))} if self.log else {}
        try:
            return generators()[self.name](**first, **self.parameters, seed=seed)
        except TypeError as error:
            raise ExperimentError(
                f"generator {self.name}: {shown(dict(self.parameters))}: {error}. See batchlab.generate."
            ) from error

    def portable(self, store: Store) -> Source:  # noqa: ARG002  # the parameters are what to send
        """Return a copy with the absolute path of the log."""
        log = self.log and LogFile(self.log.path.absolute(), dict(self.log.options))
        return Generator(self.name, dict(self.parameters), log)
