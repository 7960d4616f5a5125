"""The policy of a run that was read back, where part of it was written in Python."""

from __future__ import annotations

from dataclasses import dataclass

from batchlab.policy.policy import Policy
from batchlab.seam.components import ExternalScheduler

__all__ = ["RecordedPolicy", "recorded_policy"]


@dataclass(frozen=True, repr=False)
class RecordedPolicy(Policy):
    """A policy of which only the name is left; nothing can be run under it.

    Parameters
    ----------
    name
        As the policy was written.
    """

    name: str = ""

    def __post_init__(self) -> None:
        # What runs a policy refuses one whose decisions it does not get.
        object.__setattr__(self, "scheduler", ExternalScheduler())
        super().__post_init__()

    def __str__(self) -> str:
        return self.name


def recorded_policy(text: str, *, is_named: bool) -> Policy:
    """Give the policy that was written so.

    Parameters
    ----------
    text
        Its spec string.
    is_named
        Whether all of it is built in.
    """
    return Policy.parse(text) if is_named else RecordedPolicy(name=text)
