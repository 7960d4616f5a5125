"""Workloads: jobs to be scheduled, from logs, tables, records and generators."""

from typing import TYPE_CHECKING

from batchlab.lazy import lazily

if TYPE_CHECKING:
    from batchlab.workload.description import JobDescription as JobDescription
    from batchlab.workload.header import Header as Header
    from batchlab.workload.header import HeaderEntry as HeaderEntry
    from batchlab.workload.records import Reader as Reader
    from batchlab.workload.records import read_records as read_records
    from batchlab.workload.report import Report as Report
    from batchlab.workload.swf import read_swf as read_swf
    from batchlab.workload.swf_writer import write_swf as write_swf
    from batchlab.workload.tables import read_table as read_table
    from batchlab.workload.tables import write_table as write_table
    from batchlab.workload.workload import Workload as Workload
    from batchlab.workload.writer import Writer as Writer
    from batchlab.workload.writer import write_workload as write_workload

_HOMES = {
    "Header": "header",
    "HeaderEntry": "header",
    "JobDescription": "description",
    "Reader": "records",
    "Report": "report",
    "Workload": "workload",
    "Writer": "writer",
    "read_records": "records",
    "read_swf": "swf",
    "read_table": "tables",
    "write_swf": "swf_writer",
    "write_table": "tables",
    "write_workload": "writer",
}

__all__ = [
    "Header",
    "HeaderEntry",
    "JobDescription",
    "Reader",
    "Report",
    "Workload",
    "Writer",
    "read_records",
    "read_swf",
    "read_table",
    "write_swf",
    "write_table",
    "write_workload",
]

__getattr__, __dir__ = lazily(__name__, _HOMES)
