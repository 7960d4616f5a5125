"""Sleep states of nodes: power, and durations and power of transitions (S21)."""

from __future__ import annotations

from dataclasses import dataclass

from batchlab.system import rules
from batchlab.system.checks import check_unique, checked, set_field

__all__ = ["SleepState", "check_sleep_states"]

_ON = "on"
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

    name: str
    power: float = 0.0
    enter_time: float = 0.0
    enter_power: float | None = None
    wake_time: float = 0.0
    wake_power: float | None = None

    def __post_init__(self) -> None:
        set_field(self, "name", checked(rules.sleep_state_name, self.name, "SleepState: name"))
        where = f"SleepState {self.name!r}"
        for name in ("enter_time", "wake_time"):
            set_field(self, name, checked(rules.seconds, getattr(self, name), f"{where}: {name}"))
        for name in ("power", "enter_power", "wake_power"):
            if name == "power" or getattr(self, name) is not None:
                set_field(self, name, checked(rules.watts, getattr(self, name), f"{where}: {name}"))

    @property
    def labels(self) -> tuple[str, str, str]:
        """The power states in results for entering the state, being in it, and waking from it."""
        return (f"entering {self.name}", self.name, f"waking from {self.name}")


def check_sleep_states(given: object, where: str) -> tuple[SleepState, ...]:
    """Check the sleep states of a group, the lightest first.

    Raises
    ------
    SystemDescriptionError
        If a value is not a sleep state, a name is duplicate, or there are too many.
    """
    states = check_unique(given, SleepState, where, noun="state")
    checked(lambda value: rules.at_most(value, _MOST_STATES), len(states), f"{where}: number of states")
    return states
