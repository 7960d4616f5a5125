"""Workloads in archives: jobs, header, report and applications as members, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from batchlab.application.read import application_of
from batchlab.application.write import document_of, has_skeletons
from batchlab.workload.header import Header
from batchlab.workload.report import Report
from batchlab.workload.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["workload_members", "workload_of"]

_TABLES = ("dropped", "mended", "noted")
_FACTS = ("source", "read", "kept", "unit", "announced", "stopped_at", "unlisted", "mended_jobs", "skipped")


def workload_members(workload: Workload) -> dict[str, Any]:
    """Return a workload as members, without its skeletons, which are functions.

    Parameters
    ----------
    workload
        The jobs.

    Returns
    -------
    dict
        ``workload``, a document; ``jobs``, their table; ``report/dropped`` and similar, if not empty.
    """
    report = workload.report
    applications = {
        name: document_of(each) for name, each in workload.applications.items() if not has_skeletons(each)
    }
    document = {
        "header": workload.header.lines,
        "resources": workload.resources,
        "applications": applications,
        "report": {name: getattr(report, name) for name in _FACTS},
    }
    tables = {f"report/{name}": getattr(report, name) for name in _TABLES}
    filled = {name: table for name, table in tables.items() if not table.is_empty()}
    return {"workload": document, "jobs": workload.jobs, **filled}


def workload_of(members: Mapping[str, Any]) -> Workload:
    """Make a workload from its members.

    Parameters
    ----------
    members
        Those of `workload_members`; others are ignored.
    """
    document = members["workload"]
    tables = {name: members[f"report/{name}"] for name in _TABLES if f"report/{name}" in members}
    return Workload(
        members["jobs"],
        Header(tuple(document["header"])),
        Report(**document["report"], **tables),
        resources=tuple(document["resources"]),
        applications={name: application_of(each) for name, each in document["applications"].items()},
    )
