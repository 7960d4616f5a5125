"""A one-line summary of the settings of a configuration that a system does not support."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from batchlab.slurm import Report, SlurmConfiguration
    from batchlab.slurm.configuration.report import Treatment

__all__ = ["note_of"]

_COUNTED: tuple[tuple[Treatment, str], ...] = (
    ("not_modelled", "not modelled as in Slurm"),
    ("read", "not modelled yet"),
    ("no_effect", "without effect"),
    ("unknown", "unknown"),
)


def note_of(report: Report) -> str:
    """Count the keys that do not affect simulations, and the nodes and partitions out of service.

    Parameters
    ----------
    report
        The report on the configuration.

    Returns
    -------
    str
        For example ``"2 nodes DOWN or DRAIN; keys: 3 not modelled as in Slurm, 9 without effect; see batchlab
        slurm check"``; empty if all counts are 0.
    """
    parts = [*_out_of_service(report.configuration)]
    counts = report.counts
    keys = [f"{counts[treatment]:,} {says}" for treatment, says in _COUNTED if counts[treatment]]
    parts += [f"keys: {', '.join(keys)}"] if keys else []
    return "; ".join([*parts, "see batchlab slurm check"]) if parts else ""


def _out_of_service(configuration: SlurmConfiguration) -> Iterator[str]:
    partitions = [each.state for each in configuration.partitions if each.state != "UP"]
    for noun, states in (("node", [*configuration.out_of_service.values()]), ("partition", partitions)):
        if states:
            yield f"{len(states):,} {noun}{'s' * (len(states) > 1)} {' or '.join(dict.fromkeys(states))}"
