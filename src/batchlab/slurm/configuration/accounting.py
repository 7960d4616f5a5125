"""Parse accounts, users and QOS from the dumps and tables of ``sacctmgr``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, cast

from batchlab.errors import one_line, suggest
from batchlab.slurm.configuration.keys import key_table
from batchlab.slurm.configuration.settings import Setting, Settings, UnknownKey, checked, nearest
from batchlab.slurm.configuration.values import KINDS, Place, joined, refuse, seconds, text_of, tres

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "Accounting",
    "Association",
    "Quality",
    "kind_of",
    "quality",
    "read_associations",
    "read_dump",
    "read_qualities",
]

_Names: TypeAlias = "Mapping[str, tuple[str, ...]]"

_MINUTES = {"MaxWallDurationPerJob": ("MaxWallDurationPerJob", "MaxWall"), "GrpWall": ("GrpWall",)}
_QUALITY_COUNTS = {
    "GrpJobs": ("GrpJobs",),
    "GrpSubmitJobs": ("GrpSubmitJobs", "GrpSubmit"),
    "GrpJobsAccrue": ("GrpJobsAccrue",),
    "MaxJobsPerUser": ("MaxJobsPerUser", "MaxJobsPU"),
    "MaxJobsPerAccount": ("MaxJobsPerAccount", "MaxJobsPA"),
    "MaxSubmitJobsPerUser": ("MaxSubmitJobsPerUser", "MaxSubmitJobsPU", "MaxSubmitPU"),
    "MaxSubmitJobsPerAccount": ("MaxSubmitJobsPerAccount", "MaxSubmitJobsPA", "MaxSubmitPA"),
    "MaxJobsAccruePerUser": ("MaxJobsAccruePerUser", "MaxJobsAccruePU"),
    "MaxJobsAccruePerAccount": ("MaxJobsAccruePerAccount", "MaxJobsAccruePA"),
    "MinPrioThreshold": ("MinPrioThreshold", "MinPrioThresh"),
}
_QUALITY_AMOUNTS = {
    "GrpTRES": ("GrpTRES",),
    "GrpTRESMins": ("GrpTRESMins",),
    "GrpTRESRunMins": ("GrpTRESRunMins",),
    "MaxTRESPerJob": ("MaxTRESPerJob", "MaxTRES"),
    "MaxTRESPerNode": ("MaxTRESPerNode",),
    "MaxTRESPerUser": ("MaxTRESPerUser", "MaxTRESPU"),
    "MaxTRESPerAccount": ("MaxTRESPerAccount", "MaxTRESPA"),
    "MaxTRESRunMinsPerUser": ("MaxTRESRunMinsPerUser", "MaxTRESRunMinsPU"),
    "MaxTRESRunMinsPerAccount": ("MaxTRESRunMinsPerAccount", "MaxTRESRunMinsPA"),
    "MaxTRESMinsPerJob": ("MaxTRESMinsPerJob", "MaxTRESMins"),
    "MinTRESPerJob": ("MinTRESPerJob", "MinTRES"),
}


@dataclass(frozen=True)
class Quality:
    """A quality of service.

    Attributes
    ----------
    name, place
        Its name in lower case, and its position.
    priority
        Its term in the priority of jobs.
    usage_factor, limit_factor
        The factors for charged usage, and for limits of associations.
    preempts
        The QOS that its jobs may preempt.
    preempt_mode
        In lower case; empty to use the setting of the cluster.
    exempt_time
        Minimum run time of its jobs before preemption, in seconds; None to use the setting of the cluster.
    grace_time
        Seconds that its preempted jobs continue to run.
    flags
        In lower case.
    counts, amounts, minutes
        Limits that are set, by the longer name: GrpJobs, MaxTRESPerUser, MaxWallDurationPerJob.
    """

    name: str
    place: Place
    priority: int = 0
    usage_factor: float = 1.0
    limit_factor: float = 1.0
    preempts: tuple[str, ...] = ()
    preempt_mode: tuple[str, ...] = ()
    exempt_time: float | None = None
    grace_time: float = 0.0
    flags: frozenset[str] = frozenset()
    counts: Mapping[str, int] = field(default_factory=dict, hash=False)
    amounts: Mapping[str, Mapping[str, int | None]] = field(default_factory=dict, hash=False)
    minutes: Mapping[str, int] = field(default_factory=dict, hash=False)


def quality(settings: Settings, place: Place) -> Quality:
    """Create a quality of service from its settings."""
    limits = _limits(settings, _QUALITY_COUNTS, _QUALITY_AMOUNTS)
    grace = settings.find("GraceTime")
    modes = tuple(mode for mode in settings.options("PreemptMode") if mode not in {"cluster", "off"})
    return Quality(
        name=(settings.text("Name") or "").lower(),
        place=place,
        priority=settings.whole("Priority") or 0,
        usage_factor=cast("float", settings.value(KINDS["number"], "UsageFactor")),
        limit_factor=cast("float", settings.value(KINDS["number"], "LimitFactor")),
        preempts=tuple(name.lower() for name in settings.names("Preempt")),
        preempt_mode=modes,
        exempt_time=settings.time("PreemptExemptTime"),
        grace_time=0.0 if grace is None else _grace(grace),
        flags=frozenset(settings.options("Flags")),
        counts=limits.counts,
        amounts=limits.amounts,
        minutes=limits.minutes,
    )


class _Limits(NamedTuple):
    """The limits that are set, by the longer name."""

    counts: dict[str, int]
    amounts: dict[str, Mapping[str, int | None]]
    minutes: dict[str, int]


def _limits(settings: Settings, counts: _Names, amounts: _Names) -> _Limits:
    """Read the limits of a QOS or an association, given the names of their counts and amounts."""
    counted = {key: settings.whole(*names) for key, names in counts.items()}
    held = {key: settings.value(tres, *names) for key, names in amounts.items()}
    lasting = {key: settings.value(KINDS["minutes"], *names) for key, names in _MINUTES.items()}
    return _Limits(
        {key: value for key, value in counted.items() if value is not None},
        {key: value for key, value in held.items() if value},
        {
            key: int(cast("float", value))
            for key, value in lasting.items()
            if value is not None and not math.isinf(cast("float", value))
        },
    )


def _grace(setting: Setting) -> float:
    """Parse a grace time: a plain number is in seconds."""
    if setting.value.isdecimal() and len(setting.value) < len("10000000000"):
        return float(setting.value)
    given = setting.take(seconds)
    return 0.0 if math.isinf(given) else float(given)


_LINE = re.compile(r"(Cluster|Parent|Account|User|QOS|Coordinator)\s+-\s+(.*)", re.IGNORECASE)
_ROOT = "root"
_WORD = re.compile(r"""'([^']*)'|"([^"]*)"|([^:]*)""")
_OPEN_TRES = re.compile(r"(?:^|[,=])gres/[^,=:]+$", re.IGNORECASE)


@dataclass(frozen=True)
class Association:
    """An account, or a user in an account, with shares and limits.

    Attributes
    ----------
    account, user
        Names; the user is empty for the association of the account itself.
    place
        The position in the file.
    parent
        The parent account of an account.
    partition
        The only partition for which it is valid; empty for all.
    shares
        Share relative to its siblings; ``"parent"`` uses the shares of the parent account.
    priority
        None if not set.
    counts
        GrpJobs, GrpSubmitJobs, MaxJobs, MaxSubmitJobs and others, if set, by name.
    amounts
        GrpTRES, GrpTRESMins, GrpTRESRunMins, MaxTRESPerJob and others, if set, by name.
    minutes
        MaxWallDurationPerJob and GrpWall, if set.
    qos
        The QOS that its jobs may use; None to use those of the account.
    default_qos
        Empty if not set.
    """

    account: str
    user: str
    place: Place
    parent: str = _ROOT
    partition: str = ""
    shares: float | Literal["parent"] = 1
    priority: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict, hash=False)
    amounts: Mapping[str, Mapping[str, int | None]] = field(default_factory=dict, hash=False)
    minutes: Mapping[str, int] = field(default_factory=dict, hash=False)
    qos: tuple[str, ...] | None = None
    default_qos: str = ""

    @property
    def name(self) -> str:
        """The name in reports."""
        return f"{self.user} in {self.account}" if self.user else self.account


@dataclass(frozen=True)
class Accounting:
    """The accounts of a cluster.

    Attributes
    ----------
    cluster
        The cluster's name.
    file
        The file that they were read from.
    associations
        The association of the cluster first (account ``root``, no user), then the others in the order of the
        file.
    """

    cluster: str
    file: str
    associations: tuple[Association, ...]

    @property
    def accounts(self) -> tuple[Association, ...]:
        """The associations of accounts."""
        return tuple(each for each in self.associations if not each.user)

    @property
    def users(self) -> tuple[Association, ...]:
        """The associations of users."""
        return tuple(each for each in self.associations if each.user)

    def below(self, account: str) -> tuple[str, ...]:
        """Return an account and all its descendants, parents first."""
        found = {account: None}
        waiting = [account]
        while waiting:
            for name in self._children.get(waiting.pop(0), ()):
                if name not in found:
                    found[name] = None
                    waiting.append(name)
        return tuple(found)

    def above(self, each: Association) -> tuple[Association, ...]:
        """Return the associations of the ancestor accounts of an association, nearest first."""
        name = each.account if each.user else each.parent
        found: dict[str, Association] = {}
        while name in self._by_name and name not in found and self._by_name[name] is not each:
            found[name] = self._by_name[name]
            name = found[name].parent
        return tuple(found.values())

    @cached_property
    def _by_name(self) -> Mapping[str, Association]:
        return {account.account: account for account in self.accounts}

    @cached_property
    def _children(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for each in self.accounts:
            if each.account != _ROOT:
                found.setdefault(each.parent, []).append(each.account)
        return found


_COUNTS = {
    "GrpJobs": ("GrpJobs",),
    "GrpSubmitJobs": ("GrpSubmitJobs", "GrpSubmit"),
    "GrpJobsAccrue": ("GrpJobsAccrue",),
    "MaxJobs": ("MaxJobs",),
    "MaxSubmitJobs": ("MaxSubmitJobs", "MaxSubmit"),
    "MaxJobsAccrue": ("MaxJobsAccrue",),
}
_AMOUNTS = {
    "GrpTRES": ("GrpTRES",),
    "GrpTRESMins": ("GrpTRESMins",),
    "GrpTRESRunMins": ("GrpTRESRunMins",),
    "MaxTRESPerJob": ("MaxTRESPerJob", "MaxTRES"),
    "MaxTRESPerNode": ("MaxTRESPerNode",),
    "MaxTRESMinsPerJob": ("MaxTRESMinsPerJob", "MaxTRESMins"),
}


def read_dump(
    file: str, unknown: list[UnknownKey] | None
) -> tuple[Accounting | None, list[Settings], list[Setting]]:
    """Parse the output of ``sacctmgr dump``.

    Returns
    -------
    tuple
        The accounts; the settings of each QOS, which dumps of 25.05 and later contain; and all settings.

    Raises
    ------
    SystemDescriptionError
        If a line is invalid, or an account precedes its parent.
    """
    reader = _Dump(file, unknown)
    for place, line in joined(text_of(file), file):
        reader.take(place, line)
    accounting = Accounting(reader.cluster, file, tuple(reader.found)) if reader.found else None
    return accounting, reader.qualities, reader.given


class _Dump:
    """The state of parsing a dump: the current parent account, and the results."""

    def __init__(self, file: str, unknown: list[UnknownKey] | None) -> None:
        self.file, self.unknown = file, unknown
        self.cluster = ""
        self.parent = _ROOT
        self.found: list[Association] = []
        self.accounts = {_ROOT}
        self.qualities: list[Settings] = []
        self.given: list[Setting] = []

    def take(self, place: Place, line: str) -> None:
        match = _LINE.fullmatch(line)
        if match is None:
            rule = "must begin with Cluster, Parent, Account, User or QOS, and ' - '"
            refuse(place, f"{one_line(line)!r}; {rule}. Is it a file of sacctmgr dump?")
        title = match[1].lower()
        name, rest = _named(match[2])
        if not name:
            refuse(place, f"{match[1]} has no name; write {match[1]} - 'name'.")
        if title == "qos":
            settings = self._settings(place, rest, "qos", f"QOS {name}")
            settings.add(Setting(settings.table.keys["name"], "Name", name, place, f"QOS {name}"))
            self.qualities.append(settings)
        elif title == "parent":
            if name not in self.accounts:
                refuse(
                    place,
                    f"Parent - {one_line(name)} comes before its account.{suggest(name, self.accounts)}",
                )
            self.parent = name
        elif title != "coordinator":
            self._association(title, name, place, rest)

    def _association(self, title: str, name: str, place: Place, rest: str) -> None:
        subject = f"{title} {name}"
        settings = self._settings(place, rest, "associations", subject)
        if title == "cluster":
            if self.cluster:
                refuse(
                    place,
                    f"a second cluster, {one_line(name)}; must be one. Dump each into a file of its own.",
                )
            self.cluster = name
            self.found.append(_association(settings, _ROOT, "", _ROOT, place))
        elif title == "account":
            if name in self.accounts:
                refuse(place, f"Account - {one_line(name)} is there already; names are unique. Take one out.")
            self.accounts.add(name)
            self.found.append(_association(settings, name, "", self.parent, place))
        else:
            self.found.append(_association(settings, self.parent, name, self.parent, place))

    def _settings(self, place: Place, rest: str, table: str, subject: str) -> Settings:
        settings = Settings(key_table(table))
        for name, value in _pairs(rest, place):
            setting = _setting_of(settings, name, value, place, subject=subject, unknown=self.unknown)
            if setting is not None:
                settings.add(setting)
                self.given.append(setting)
        return settings


def _setting_of(
    settings: Settings,
    name: str,
    value: str,
    place: Place,
    *,
    subject: str,
    unknown: list[UnknownKey] | None,
) -> Setting | None:
    """Create a setting from a name and a value; None for an unknown name, if unknown names are kept."""
    table = settings.table
    key = table.find(name)
    if key is not None:
        # An empty value and -1 remove a limit.
        if key.kind in {"count", "minutes", "time", "number"} and value in {"", "-1"}:
            return None
        return checked(Setting(key, name, value, place, subject))
    near = nearest(name, table)
    if unknown is None:
        question = "" if near is None else f" Did you mean {near}?"
        what = "a QOS" if table.name == "qos" else "an association"
        refuse(
            place,
            f"{one_line(name)} is not a key of {what}.{question} "
            "Take it out. batchlab slurm check lists all such keys.",
        )
    unknown.append(UnknownKey(name, value, place, subject, near))
    return None


def _association(settings: Settings, account: str, user: str, parent: str, place: Place) -> Association:
    """Create an association from its settings."""
    limits = _limits(settings, _COUNTS, _AMOUNTS)
    listed = settings.names("QOS", "QosLevel")
    return Association(
        account=account,
        user=user,
        place=place,
        parent=parent,
        partition=settings.text("Partition") or "",
        shares=_shares(settings.find("Fairshare", "Share")),
        priority=settings.whole("Priority"),
        counts=limits.counts,
        amounts=limits.amounts,
        minutes=limits.minutes,
        qos=None if not listed else tuple(name.lower() for name in listed),
        default_qos=(settings.text("DefaultQOS", "Def QOS") or "").lower(),
    )


def _shares(setting: Setting | None) -> float | Literal["parent"]:
    if setting is None or not setting.value:
        return 1
    if setting.value.lower() == "parent":
        return "parent"
    given = setting.take(KINDS["count"])
    # The number by which Slurm encodes "parent".
    return "parent" if given == 2**31 - 1 else min(cast("float", given), 2.0**31)


def _named(text: str) -> tuple[str, str]:
    """Return the name of a line and the rest of the line."""
    match = _WORD.match(text.strip())
    name = next((part for part in match.groups() if part is not None), "") if match else ""
    rest = text.strip()[match.end() :] if match else ""
    return name.strip(), rest.lstrip(":")


def _pairs(rest: str, place: Place) -> list[tuple[str, str]]:
    """Return the names and values of a line: ``Key=value:Key='a value'``."""
    found: list[tuple[str, str]] = []
    for part in _apart(rest):
        name, sign, value = part.partition("=")
        if found and _OPEN_TRES.search(found[-1][1]):
            # This colon is part of a resource with a type.
            found[-1] = (found[-1][0], f"{found[-1][1]}:{part}")
        elif not sign:
            if part.strip():
                refuse(place, f"{one_line(part)!r} is no Key=value. Put values with colons in quotes.")
        else:
            found.append((name.rstrip("+-").strip(), value.strip().strip("'\"")))
    return found


def _apart(text: str) -> list[str]:
    """Split at colons outside of quotes."""
    parts, quote, begin = [], "", 0
    for at, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == ":":
            parts.append(text[begin:at])
            begin = at + 1
    return [*parts, text[begin:]]


def kind_of(text: str) -> str:
    """Return the type of a text: ``dump``, ``qos``, ``associations``; empty if unknown."""
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        title = line.partition("-")[0].strip().lower()
        if " - " in line and title in {"cluster", "qos", "parent"}:
            return "dump"
        columns = {name.strip().lower() for name in line.split("|")}
        if {"name", "usagefactor"} <= columns or {"name", "gracetime"} <= columns:
            return "qos"
        if {"account", "user"} <= columns and columns & {"share", "fairshare"}:
            return "associations"
        return ""
    return ""


def read_qualities(file: str, unknown: list[UnknownKey] | None) -> tuple[list[Settings], list[Setting]]:
    """Parse a table of QOS: ``sacctmgr show qos --parsable2``.

    Raises
    ------
    SystemDescriptionError
        If a row has no name, or too many columns.
    """
    rows = list(_rows(file, "qos", "QOS", unknown))
    for place, settings, _ in rows:
        if not settings.text("Name"):
            refuse(place, "a QOS has no name; the column Name must have one. Take the row out.")
    return [settings for _, settings, _ in rows], [each for _, settings, _ in rows for each in settings]


def read_associations(file: str, unknown: list[UnknownKey] | None) -> tuple[Accounting, list[Setting]]:
    """Parse a table of associations: ``sacctmgr show associations --parsable2`` with the column ParentName.

    Raises
    ------
    SystemDescriptionError
        If a row belongs to another cluster than the first, or parent accounts are missing.
    """
    found: list[Association] = []
    given: list[Setting] = []
    cluster = ""
    for place, settings, cells in _rows(file, "associations", "association", unknown):
        account, user = cells.get("account", ""), cells.get("user", "")
        parent = cells.get("parentname", "") or cells.get("parent name", "")
        cluster = cluster or cells.get("cluster", "")
        if cells.get("cluster", cluster) != cluster:
            refuse(
                place, f"a second cluster, {one_line(cells['cluster'])}; must be one. Ask sacctmgr for one."
            )
        if not user and account != _ROOT and not parent:
            rule = "the column ParentName must say what it is part of"
            refuse(
                place, f"account {one_line(account)}; {rule}. Use sacctmgr dump, or add format=…,ParentName."
            )
        given += settings.given
        found.append(_association(settings, account or _ROOT, user, parent or _ROOT, place))
    found.sort(key=lambda each: each.account != _ROOT or bool(each.user))
    return Accounting(cluster, file, tuple(found)), given


def _rows(
    file: str, table: str, noun: str, unknown: list[UnknownKey] | None
) -> Iterator[tuple[Place, Settings, dict[str, str]]]:
    """Yield the rows of a table, with their cells by lower-case column name."""
    header: list[str] = []
    for number, raw in enumerate(text_of(file).splitlines(), 1):
        if not raw.strip() or raw.lstrip().startswith("#"):
            continue
        cells = [cell.strip() for cell in raw.rstrip("\r\n").split("|")]
        place = Place(file, number)
        if not header:
            header = cells
            continue
        if len(cells) > len(header) and any(cells[len(header) :]):
            refuse(place, f"{len(cells)} cells; must be {len(header)}, as in the header. Use --parsable2.")
        named = dict(zip(header, cells, strict=False))
        lower = {name.lower(): value for name, value in named.items()}
        subject = f"{noun} {lower.get('name') or lower.get('user') or lower.get('account', '')}"
        settings = Settings(key_table(table))
        for name, value in named.items():
            if value and name:
                setting = _setting_of(settings, name, value, place, subject=subject, unknown=unknown)
                if setting is not None:
                    settings.add(setting)
        yield place, settings, lower
