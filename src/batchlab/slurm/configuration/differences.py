"""Compare configurations: the keys and values that differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from batchlab.slurm.configuration.report import treatment_of
from batchlab.slurm.configuration.scheduler import SchedulerParameters

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from batchlab.slurm.configuration.configuration import SlurmConfiguration
    from batchlab.slurm.configuration.keys import Key
    from batchlab.slurm.configuration.settings import Setting

__all__ = ["Differences", "differences"]


_SCHEDULER, _SCHEDULER_TABLE = SchedulerParameters(), "SchedulerParameters"


@dataclass(frozen=True)
class Differences:
    """The differences between configurations.

    Attributes
    ----------
    keys
        By key, as ``SchedulerParameters=bf_interval`` or ``PartitionName=batch MaxTime``, the value in each
        configuration: Slurm's default if a file does not set the key; ``"yes"`` for an option without a
        value; empty if there is no value and no default.
    without_effect
        The number of other differing keys, which have no effect on when and where jobs run.
    """

    keys: Mapping[str, tuple[str, ...]]
    without_effect: int = 0


def differences(configurations: Mapping[str, SlurmConfiguration]) -> Differences:
    """Compare configurations key by key.

    Parameters
    ----------
    configurations
        The configurations by name.
    """
    found = [_values(each) for each in configurations.values()]
    keys: dict[str, tuple[str, ...]] = {}
    without_effect = 0
    for name in dict.fromkeys(name for each in found for name in each):
        of_name = [each.get(name) for each in found]
        default = next(_default(each[0]) for each in of_name if each is not None)
        values = tuple(default if each is None else each[1] for each in of_name)
        if len({*map(str.lower, values)}) < 2:  # noqa: PLR2004  # it takes two
            continue
        if all(each is None or not each[2] for each in of_name):
            without_effect += 1
        else:
            keys[name] = values
    return Differences(keys, without_effect)


def _values(configuration: SlurmConfiguration) -> dict[str, tuple[Key, str, bool]]:
    """Return each key and option by name, with its value, and whether it may have an effect."""
    found: dict[str, tuple[Key, str, bool]] = {}
    for setting in configuration.settings:
        for name, key, value in _parts(setting):
            matters = treatment_of(key, value, configuration) != "no_effect" and key.name != "ClusterName"
            if name in found and key.kind == "repeated":
                value = f"{found[name][1]}, {value}"  # noqa: PLW2901  # of all lines
            found[name] = (key, value, matters)
    return found


def _default(key: Key) -> str:
    """Return the default of a key or option; empty if it has none."""
    usual = getattr(_SCHEDULER, key.name, None) if key.table == _SCHEDULER_TABLE else key.default
    return "" if usual is None else "no" if usual is False else str(usual)


def _parts(setting: Setting) -> Iterator[tuple[str, Key, str]]:
    # The line of the cluster contains its name, which differs between configurations.
    subject = "cluster" if setting.subject.startswith("cluster ") else setting.subject
    where = f"{subject} " if subject else ""
    if setting.options:
        for option in setting.options:
            if option.key is not None:
                value = "yes" if option.value is None else option.value
                yield f"{where}{setting.key.name}={option.key.name}", option.key, value
    elif not setting.subject.lower().startswith(f"{setting.written.lower()}="):
        # The first key of a line is its subject.
        yield f"{where}{setting.key.name}", setting.key, setting.value
