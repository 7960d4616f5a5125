"""The external events of an experiment's runs, by workload."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from batchlab.errors import ExperimentError, suggest
from batchlab.workload.event_files import read_events
from batchlab.workload.event_stream import EventStream

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["digest_of", "given_events"]


def given_events(given: object, workloads: Collection[str]) -> dict[str, EventStream]:
    """Take the events of each workload.

    Parameters
    ----------
    given
        One stream, path of a file, or what a stream is made of, for all workloads; or a mapping of their
        labels to these. None where there are none.
    workloads
        The labels.

    Returns
    -------
    dict
        By label, of the workloads that have some.

    Raises
    ------
    ExperimentError
        If a label is not that of a workload.
    WorkloadError
        If the events break a rule.
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
    """Hash events."""
    return hashlib.sha256(json.dumps(stream.to_dicts()).encode()).hexdigest()


def _stream(given: object) -> EventStream:
    if isinstance(given, str | os.PathLike):
        return read_events(given)
    # What is none is refused there.
    return EventStream(cast("EventStream", given))
