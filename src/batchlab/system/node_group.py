"""A group of identical nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from batchlab.errors import SystemDescriptionError
from batchlab.system import rules
from batchlab.system.checks import amounts, checked, set_field
from batchlab.system.sleep_states import SleepState, check_sleep_states

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NodeGroup"]


@dataclass(frozen=True)
class NodeGroup:
    """A group of identical nodes.

    Parameters
    ----------
    name
        The group's name, unique in its system: 1 to 200 printable characters without ``|``, and without
        blanks at its ends. Jobs name groups in the column ``node_group``.
    count
        The number of nodes, at least 1.
    resources
        Resources of one node: resource name to amount (integers from 0 to 2^53, in the same unit as in jobs).
    sleep_states
        Sleep states of the nodes, the lightest first. [default: none]
    weight
        An integer from 0 to 4,294,967,280. The policy ``slurm`` allocates nodes with the lowest weight first.
        [default: 1]
    features
        Features of the nodes that jobs may request in the column ``constraint``. [default: none]

    Raises
    ------
    SystemDescriptionError
        If a name, the count, an amount, the weight, a feature or a sleep state is invalid.
    """

    name: str
    count: int
    resources: Mapping[str, int] = field(hash=False)
    sleep_states: tuple[SleepState, ...] = ()
    weight: int = 1
    features: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        set_field(self, "name", checked(rules.group_name, self.name, "NodeGroup: name"))
        where = f"NodeGroup {self.name!r}"
        set_field(self, "count", checked(rules.count, self.count, f"{where}: count"))
        resources = amounts(self.resources, f"{where}: resources", rules.amount)
        if not resources:
            raise SystemDescriptionError(
                f"{where}: resources = {{}}; must name at least one resource, e.g. 'core'"
            )
        set_field(self, "resources", MappingProxyType(resources))
        states = check_sleep_states(self.sleep_states, f"{where}: sleep_states")
        set_field(self, "sleep_states", states)
        set_field(self, "weight", checked(rules.weight, self.weight, f"{where}: weight"))
        set_field(self, "features", checked(rules.features, self.features, f"{where}: features"))

    @property
    def power_states(self) -> tuple[str, ...]:
        """The power states of a node in results: on, then three for each sleep state."""
        return ("on", *(label for state in self.sleep_states for label in state.labels))

    def __reduce__(self) -> tuple[object, ...]:
        # Read-only views of dictionaries cannot be pickled.
        more = self.sleep_states, self.weight, self.features
        return NodeGroup, (self.name, self.count, dict(self.resources), *more)
