"""Report how each key of a configuration is treated, and compare configurations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from batchlab.core.arguments import checked
from batchlab.errors import SystemDescriptionError
from batchlab.slurm.configuration.cluster import SchedulerParameters
from batchlab.slurm.configuration.keys import at, changes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from batchlab.slurm.configuration.configuration import SlurmConfiguration
    from batchlab.slurm.configuration.keys import Change, Key
    from batchlab.slurm.configuration.settings import Setting
    from batchlab.slurm.configuration.values import Place

__all__ = ["Differences", "Remark", "Remarks", "Report", "ReportedKey", "Treatment", "differences"]

Treatment = Literal["modelled", "read", "not_modelled", "no_effect", "unknown"]
"""The treatment of a key; ``unknown``: names that Slurm refuses or ignores."""

TREATMENTS: tuple[Treatment, ...] = ("modelled", "read", "not_modelled", "no_effect", "unknown")


@dataclass(frozen=True)
class Remark:
    """A setting that the simulated system can only approximate, with its substitute.

    Attributes
    ----------
    key, table
        The key, and the table that contains it.
    says
        The remark, in one sentence.
    place
        The position; None if there is no single one.
    """

    key: str
    table: str
    says: str
    place: Place | None = None


@dataclass
class Remarks:
    """Remarks that are collected while a system is built, without duplicates."""

    found: dict[Remark, None] = field(default_factory=dict)

    def add(self, key: str, table: str, says: str, place: Place | None = None) -> None:
        """Add a remark on a key."""
        self.found[Remark(key, table, says, place)] = None


@dataclass(frozen=True)
class ReportedKey:
    """A key of a configuration, and its treatment.

    Attributes
    ----------
    name
        For example ``MaxTime``, ``SchedulerParameters=bf_interval``.
    table
        The table of keys that contains it.
    treatment
        Its treatment.
    does
        Its meaning in Slurm.
    values
        Its distinct values.
    places
        Its positions.
    remarks
        Differences in batchlab.
    """

    name: str
    table: str
    treatment: Treatment
    does: str
    values: tuple[str, ...]
    places: tuple[Place, ...]
    remarks: tuple[str, ...] = ()


@dataclass
class _Found:
    """The uses of a key."""

    key: Key
    treatment: Treatment
    values: dict[str, None] = field(default_factory=dict)
    places: list[Place] = field(default_factory=list)


@dataclass(frozen=True)
class Report:
    """The treatment of each key of a configuration.

    Attributes
    ----------
    configuration
        The configuration.
    entries
        One entry per key, in the order of the files of tables.
    remarks
        Remarks that belong to no key of the configuration.
    """

    configuration: SlurmConfiguration
    entries: tuple[ReportedKey, ...]
    remarks: tuple[Remark, ...] = ()

    @classmethod
    def of(cls, configuration: SlurmConfiguration, remarks: Sequence[Remark] = ()) -> Report:
        """Create the report of a configuration.

        Parameters
        ----------
        configuration
            The configuration.
        remarks
            The approximations of the simulated system, from `batchlab.slurm.translate`.
        """
        found = _gathered(configuration)
        entries = [_entry(name, each, configuration, remarks) for name, each in found.items()]
        entries += _unknown(configuration)
        said = {says for each in entries for says in each.remarks}
        rest = tuple(each for each in remarks if each.says not in said)
        return cls(
            configuration, tuple(sorted(entries, key=lambda each: TREATMENTS.index(each.treatment))), rest
        )

    def treated_as(self, treatment: Treatment) -> tuple[ReportedKey, ...]:
        """Return the entries with a treatment."""
        return tuple(each for each in self.entries if each.treatment == treatment)

    @property
    def counts(self) -> dict[Treatment, int]:
        """The number of keys per treatment."""
        return {treatment: len(self.treated_as(treatment)) for treatment in TREATMENTS}

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes between releases that affect this configuration."""
        given = {(each.key.table, each.key.name.lower()) for each in self.configuration.settings}
        for setting in self.configuration.settings:
            given |= {
                (each.key.table, each.key.name.lower()) for each in setting.options if each.key is not None
            }
        return tuple(each for each in changes() if ((each.of, each.key.lower()) in given) != each.absent)

    def to_dict(self) -> dict[str, object]:
        """Return the report as a JSON-compatible dictionary."""
        configuration = self.configuration
        return {
            "path": configuration.path,
            "files": list(configuration.files),
            "release": configuration.release,
            "release_from": configuration.release_from,
            "cluster": configuration.cluster,
            "nodes": len(configuration.in_service),
            "partitions": [each.name for each in configuration.partitions],
            "policy": configuration.policy,
            "order": configuration.priority.order,
            "counts": self.counts,
            "keys": [_as_dict(each) for each in self.entries],
            "remarks": [
                {"key": each.key, "says": each.says, "place": str(each.place or "")} for each in self.remarks
            ],
            "mended": [{"place": str(each.place), "says": each.says} for each in configuration.mended],
            "changes": [vars(each) for each in self.changes],
            "not_read": [{"file": name, "why": why} for name, why in configuration.not_read],
        }


def _as_dict(entry: ReportedKey) -> dict[str, object]:
    return {
        "name": entry.name,
        "table": entry.table,
        "treatment": entry.treatment,
        "does": entry.does,
        "values": list(entry.values),
        "places": [str(each) for each in entry.places],
        "remarks": list(entry.remarks),
    }


def _gathered(configuration: SlurmConfiguration) -> dict[tuple[str, str], _Found]:
    """Collect the uses of each key and of each known option."""
    found: dict[tuple[str, str], _Found] = {}
    for setting in configuration.settings:
        for name, key, value in _parts(setting):
            treatment = _treatment_of(key, value, configuration)
            each = found.setdefault((name, key.table), _Found(key, treatment))
            each.values[value] = None
            each.places.append(setting.place)
            if TREATMENTS.index(treatment) in {1, 2} and each.treatment in {"no_effect", "modelled"}:
                # One use that matters is sufficient.
                each.treatment = treatment
    return found


def _parts(setting: Setting) -> Iterator[tuple[str, Key, str]]:
    """Yield a setting, or each of its options, under the name in reports."""
    if not setting.options:
        yield setting.key.name, setting.key, setting.value
    for option in setting.options:
        if option.key is not None:
            yield f"{setting.key.name}={option.key.name}", option.key, option.value or ""


def _treatment_of(key: Key, value: str, configuration: SlurmConfiguration) -> Treatment:
    """Return the treatment of a key with a value: no effect if the key is gone, or the value is neutral."""
    gone = key.until is not None and at(key.until) < at(configuration.release)
    if (
        gone
        or value.lower() in key.neutral
        or (not value and key.status != "modelled" and key.kind != "text")
    ):
        return "no_effect"
    return key.status


def _entry(
    name: tuple[str, str], found: _Found, configuration: SlurmConfiguration, remarks: Iterable[Remark]
) -> ReportedKey:
    key = found.key
    mine = [each for each in remarks if (each.key.lower(), each.table) == (key.name.lower(), key.table)]
    treatment = "not_modelled" if mine and found.treatment == "modelled" else found.treatment
    does = key.does
    if key.until is not None and at(key.until) < at(configuration.release):
        does = f"{does} Removed after {key.until}."
    if key.since is not None and at(key.since) > at(configuration.release):
        does = f"{does} New in {key.since}."
    values = tuple(each for each in found.values if each)
    says = tuple(dict.fromkeys(each.says for each in mine))
    return ReportedKey(name[0], name[1], treatment, does, values, tuple(dict.fromkeys(found.places)), says)


def _unknown(configuration: SlurmConfiguration) -> list[ReportedKey]:
    """Return the entries of unknown names: keys that are kept, and options that Slurm ignores."""
    found = []
    for each in configuration.unknown:
        does = "Slurm does not start with it." + ("" if each.nearest is None else f" Is it {each.nearest}?")
        found.append(ReportedKey(each.written, "", "unknown", does, (each.value,), (each.place,)))
    for setting in configuration.settings:
        for option in setting.options:
            if option.key is None:
                does = "No release from 20.02 on has this option; Slurm does not notice it."
                name = f"{setting.key.name}={option.written}"
                found.append(ReportedKey(name, "", "unknown", does, (option.value or "",), (setting.place,)))
    return found


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


@checked(SystemDescriptionError)
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
        for name, key, value in _named_values(setting):
            matters = _treatment_of(key, value, configuration) != "no_effect" and key.name != "ClusterName"
            if name in found and key.kind == "repeated":
                value = f"{found[name][1]}, {value}"  # noqa: PLW2901  # of all lines
            found[name] = (key, value, matters)
    return found


def _default(key: Key) -> str:
    """Return the default of a key or option; empty if it has none."""
    usual = getattr(_SCHEDULER, key.name, None) if key.table == _SCHEDULER_TABLE else key.default
    return "" if usual is None else "no" if usual is False else str(usual)


def _named_values(setting: Setting) -> Iterator[tuple[str, Key, str]]:
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
