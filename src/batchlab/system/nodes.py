"""Groups of identical nodes, and the sleep states of nodes (S21)."""

from dataclasses import dataclass, field

from batchlab.core.form import check_fields, reduced, refusal
from batchlab.errors import SystemDescriptionError, shown
from batchlab.system.fields import (
    Count,
    Features,
    GroupName,
    Resources,
    Seconds,
    SleepStateName,
    Watts,
    Weight,
)

__all__ = ["NodeGroup", "SleepState"]

_MOST_STATES = 64


@dataclass(frozen=True)
class SleepState:
    """A sleep state of the nodes of a group: off, suspended, hibernated, and so on.

    Parameters
    ----------
    name
        Its name, unique in its group: 1 to 200 printable characters without ``|``; not ``on``.
    power
        Power of a node in the state, in watts.
    enter_time, wake_time
        Duration of the transition into the state (shutdown), and from it to on (boot), seconds.
    enter_power, wake_power
        Power during these transitions, in watts. [default: the power of an idle node]

    Raises
    ------
    SystemDescriptionError
        If the name or a number is invalid.

    Examples
    --------
    >>> SleepState("off", power=5, enter_time=30, wake_time=180, wake_power=160).enter_power is None
    True
    """

    name: SleepStateName
    power: Watts = 0.0
    enter_time: Seconds = 0.0
    enter_power: Watts | None = None
    wake_time: Seconds = 0.0
    wake_power: Watts | None = None

    def __post_init__(self) -> None:
        check_fields(self, SystemDescriptionError)

    @property
    def labels(self) -> tuple[str, str, str]:
        """The power states in results for entering the state, being in it, and waking from it."""
        return (f"entering {self.name}", self.name, f"waking from {self.name}")


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

    name: GroupName
    count: Count
    resources: Resources = field(hash=False)
    sleep_states: tuple[SleepState, ...] = ()
    weight: Weight = 1
    features: Features = ()

    def __post_init__(self) -> None:
        check_fields(self, SystemDescriptionError)
        if len(self.sleep_states) > _MOST_STATES:
            rule = f"must be at most {_MOST_STATES}"
            number = shown(len(self.sleep_states))
            raise refusal(self, SystemDescriptionError, f"sleep_states: number of states = {number}; {rule}.")

    @property
    def power_states(self) -> tuple[str, ...]:
        """The power states of a node in results: on, then three for each sleep state."""
        return ("on", *(label for state in self.sleep_states for label in state.labels))

    def __reduce__(self) -> tuple[object, ...]:
        return reduced(self)
