"""The contents of ``result.zip``: all of a result that can be read back, as members of an archive."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from batchlab.result.outcome_members import members_of
from batchlab.result.table import PASS_COSTS
from batchlab.result.workload_members import workload_members
from batchlab.system import formats

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from batchlab.policy.policy import Policy
    from batchlab.result.service_intervals import RunRecord
    from batchlab.workload.event_stream import EventStream

__all__ = ["FORMAT", "NAME", "record_members"]

NAME = "result.zip"
FORMAT = 1


def record_members(
    served: RunRecord,
    policy: Policy,
    external_events: EventStream | None,
    observations: Mapping[str, pl.DataFrame],
    observers: Sequence[str],
) -> dict[str, Any]:
    """Return a result as members of an archive, for `batchlab.read_result`.

    Parameters
    ----------
    served, policy, external_events, observations, observers
        The fields of a result.

    Returns
    -------
    dict
        ``run``, a document (format, policy, options, system, observers, the time of the last event), the
        members of workload and outcome, the costs of passes as ``passes/…``, ``observations/…`` and
        ``external_events``.
    """
    system, outcome = served.system, served.outcome
    run = {
        "format": FORMAT,
        "policy": str(policy),
        "is_named": policy.is_named,
        "options": served.options.to_dict(),
        "observers": [*observers],
        "now": outcome.now,
        # A platform is described by its own files or code.
        "system": None if system.platform else json.loads(formats.json_text(system)),
        "external_events": None if external_events is None else external_events.to_dicts(),
    }
    passes = outcome.tables.get("dispatch")
    costs = {} if passes is None else {f"passes/{name}": passes[name] for name in PASS_COSTS}
    observed = {f"observations/{name}": table for name, table in observations.items()}
    return {"run": run, **workload_members(served.workload), **members_of(outcome), **costs, **observed}
