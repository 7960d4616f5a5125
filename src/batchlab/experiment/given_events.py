"""External events of an experiment's runs, by workload."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from batchlab.errors import ExperimentError, suggest
from batchlab.workload.event_stream import EventStream, read_events

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["digest_of", "given_events"]


def given_events(given: object, workloads: Collection[str]) -> dict[str, EventStream]:
    """Read the events of each workload.

    Parameters
    ----------
    given
        One stream, path of a file, or rows of a stream for all workloads; or a mapping of workload labels
        to these. None without events.
    workloads
        The labels of the workloads.

    Returns
    -------
    dict
        By label, for workloads with events.

    Raises
    ------
    ExperimentError
        If a label is unknown.
    WorkloadError
        If an event is invalid.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        stream = _stream(given)
        return dict.fromkeys(workloads, stream)
    for label in given:
        if label not in workloads:
            raise ExperimentError(f"events.{label}: there is no such workload.{suggest(label, workloads)}")
    return {label: _stream(each) for label, each in given.items()}


def digest_of(stream: EventStream) -> str:
    """Hash a stream of events."""
    return hashlib.sha256(json.dumps(stream.to_dicts()).encode()).hexdigest()


def _stream(given: object) -> EventStream:
    if isinstance(given, str | os.PathLike):
        return read_events(given)
    # EventStream raises for other types.
    return EventStream(cast("EventStream", given))
