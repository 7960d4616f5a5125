"""Parse tables printed by ``sacctmgr show --parsable2``: a header and rows, separated by ``|``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from batchlab.errors import one_line
from batchlab.slurm.configuration.associations import Accounting, Association, association, setting_of
from batchlab.slurm.configuration.keys import key_table
from batchlab.slurm.configuration.lines import text_of
from batchlab.slurm.configuration.place import Place, refuse
from batchlab.slurm.configuration.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from batchlab.slurm.configuration.settings import Setting, UnknownKey

__all__ = ["kind_of", "read_associations", "read_qualities"]

_ROOT = "root"


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
        found.append(association(settings, account or _ROOT, user, parent or _ROOT, place))
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
                setting = setting_of(settings, name, value, place, subject=subject, unknown=unknown)
                if setting is not None:
                    settings.add(setting)
        yield place, settings, lower
