"""The policy of a stored run, if part of it was written in Python."""

from __future__ import annotations

from dataclasses import dataclass

from batchlab.policy.policy import Policy
from batchlab.seam.components import ExternalScheduler

__all__ = ["RecordedPolicy", "recorded_policy"]


@dataclass(frozen=True, repr=False)
class RecordedPolicy(Policy):
    """A policy known by name only. It cannot be run.

    Parameters
    ----------
    name
        The spec of the policy when it was stored.
    """

    name: str = ""

    def __post_init__(self) -> None:
        # A run under ExternalScheduler fails unless the caller makes the decisions.
        object.__setattr__(self, "scheduler", ExternalScheduler())
        super().__post_init__()

    def __str__(self) -> str:
        return self.name


def recorded_policy(text: str, *, is_named: bool) -> Policy:
    """Return the policy of a stored run.

    Parameters
    ----------
    text
        Its spec string.
    is_named
        True if all its parts are built in.
    """
    return Policy.parse(text) if is_named else RecordedPolicy(name=text)
