"""What becomes of a configuration here: every key that it has, none left out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from batchlab.slurm.keys import changes
from batchlab.slurm.releases import at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from batchlab.slurm.configuration import SlurmConfiguration
    from batchlab.slurm.keys import Change, Key
    from batchlab.slurm.place import Place
    from batchlab.slurm.settings import Setting

__all__ = ["Remark", "Report", "ReportedKey", "Treatment", "treatment_of"]

Treatment = Literal["modelled", "read", "not_modelled", "no_effect", "unknown"]
"""What becomes of a key; ``unknown`` are names that Slurm refuses or does not notice."""

TREATMENTS: tuple[Treatment, ...] = ("modelled", "read", "not_modelled", "no_effect", "unknown")


@dataclass(frozen=True)
class Remark:
    """A use of keys that the simulated system cannot have as it is, and what it has instead.

    Attributes
    ----------
    key, table
        The key, and the table that it is in.
    says
        In one sentence.
    place
        Where; None where it is not of one place.
    """

    key: str
    table: str
    says: str
    place: Place | None = None


@dataclass(frozen=True)
class ReportedKey:
    """A key of a configuration, and what becomes of it.

    Attributes
    ----------
    name
        As ``MaxTime``, ``SchedulerParameters=bf_interval``.
    table
        The table of keys that it is in.
    treatment
        What becomes of it.
    does
        What it does in Slurm.
    values
        Its values, each once.
    places
        Where it stands.
    remarks
        What is different here.
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
    """What is gathered of a key."""

    key: Key
    treatment: Treatment
    values: dict[str, None] = field(default_factory=dict)
    places: list[Place] = field(default_factory=list)


@dataclass(frozen=True)
class Report:
    """What becomes of each key of a configuration.

    Attributes
    ----------
    configuration
        What was read.
    entries
        In the order of the tables' files; each key once.
    remarks
        Remarks that are of no key of the configuration.
    """

    configuration: SlurmConfiguration
    entries: tuple[ReportedKey, ...]
    remarks: tuple[Remark, ...] = ()

    @classmethod
    def of(cls, configuration: SlurmConfiguration, remarks: Sequence[Remark] = ()) -> Report:
        """Make the report of a configuration.

        Parameters
        ----------
        configuration
            What was read.
        remarks
            What the simulated system cannot have as it is: `batchlab.system.slurm.translate` gives them.
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
        """Give the entries of one treatment."""
        return tuple(each for each in self.entries if each.treatment == treatment)

    @property
    def counts(self) -> dict[Treatment, int]:
        """How many keys there are of each treatment."""
        return {treatment: len(self.treated_as(treatment)) for treatment in TREATMENTS}

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes between releases that bear on this configuration."""
        given = {(each.key.table, each.key.name.lower()) for each in self.configuration.settings}
        for setting in self.configuration.settings:
            given |= {
                (each.key.table, each.key.name.lower()) for each in setting.options if each.key is not None
            }
        return tuple(each for each in changes() if ((each.of, each.key.lower()) in given) != each.absent)

    def to_dict(self) -> dict[str, object]:
        """Give it as values that JSON has."""
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
    """Gather the uses of each key and of each known option."""
    found: dict[tuple[str, str], _Found] = {}
    for setting in configuration.settings:
        for name, key, value in _parts(setting):
            treatment = treatment_of(key, value, configuration)
            each = found.setdefault((name, key.table), _Found(key, treatment))
            each.values[value] = None
            each.places.append(setting.place)
            if TREATMENTS.index(treatment) in {1, 2} and each.treatment in {"no_effect", "modelled"}:
                # One use is enough for it to matter.
                each.treatment = treatment
    return found


def _parts(setting: Setting) -> Iterator[tuple[str, Key, str]]:
    """Give a setting, or each of its options, by the name in reports."""
    if not setting.options:
        yield setting.key.name, setting.key, setting.value
    for option in setting.options:
        if option.key is not None:
            yield f"{setting.key.name}={option.key.name}", option.key, option.value or ""


def treatment_of(key: Key, value: str, configuration: SlurmConfiguration) -> Treatment:
    """Tell what becomes of a key with a value: nothing where it is no longer there, or asks for nothing."""
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
        does = f"{does} No longer there after {key.until}."
    if key.since is not None and at(key.since) > at(configuration.release):
        does = f"{does} Not there before {key.since}."
    values = tuple(each for each in found.values if each)
    says = tuple(dict.fromkeys(each.says for each in mine))
    return ReportedKey(name[0], name[1], treatment, does, values, tuple(dict.fromkeys(found.places)), says)


def _unknown(configuration: SlurmConfiguration) -> list[ReportedKey]:
    """Give what no release has: keys that are kept, and options that Slurm does not notice."""
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
