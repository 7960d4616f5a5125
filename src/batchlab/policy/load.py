"""Policies and allocators from specs, Python files, and stored runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from batchlab.core.python_file import defined_in_file, file_of
from batchlab.errors import PolicyError, shown
from batchlab.policy.policy import Policy
from batchlab.seam.components import Allocator, ExternalScheduler, Scheduler

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "RecordedPolicy",
    "allocator_of",
    "policy_of",
    "recorded_policy",
]


def policy_of(text: str, folder: Path | None = None) -> Policy:
    """Parse a policy's spec, or load a policy from a Python file.

    Parameters
    ----------
    text
        A spec, or ``FILE.py:NAME`` or ``FILE.py:NAME(key=value, …)``: a subclass of `Scheduler`, a function
        that returns a policy, a policy, or a policy's spec.
    folder
        Folder to which the file's path is relative. [default: the working directory]

    Returns
    -------
    Policy
        From a file, with `Policy.defined_as` such as ``my_policy.py:Mine``, unless all its parts are built
        in.

    Raises
    ------
    PolicyError
        If the spec or the file is invalid, or the object is not a policy.
    """
    if file_of(text) is None:
        return Policy.parse(text)
    defined = defined_in_file(text, "policy", PolicyError, folder)
    policy = _as_policy(defined.value, defined.label)
    return policy if policy.is_named else replace(policy, defined_as=defined.label)


def allocator_of(text: str, folder: Path | None = None) -> str | Allocator:
    """Load an allocator from a Python file; a text that names no file is returned unchanged.

    Parameters
    ----------
    text
        The name of an allocator, or ``FILE.py:NAME`` or ``FILE.py:NAME(key=value, …)``: a subclass of
        `Allocator`, or a function that returns one.
    folder
        Folder to which the file's path is relative. [default: the working directory]

    Raises
    ------
    PolicyError
        If the file is invalid, or the object is not an allocator.
    """
    if file_of(text) is None:
        return text
    defined = defined_in_file(text, "allocator", PolicyError, folder)
    if not isinstance(defined.value, Allocator):
        rule = "must be a subclass of batchlab.Allocator, or a function that returns one"
        raise PolicyError(f"{defined.label} is no allocator: {shown(defined.value)}; {rule}.")
    return defined.value


def _as_policy(value: object, label: str) -> Policy:
    if isinstance(value, Policy):
        return value
    if isinstance(value, Scheduler):
        return Policy(scheduler=value)
    if isinstance(value, str):
        return Policy.parse(value)
    rule = "must be a subclass of batchlab.Scheduler, a batchlab.Policy, or a function that gives one"
    raise PolicyError(f"{label} is no policy: {shown(value)}; {rule}.")


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
