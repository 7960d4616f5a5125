"""Workloads: jobs to be scheduled, from logs, tables, records and generators."""

from batchlab.workload.header import Header, HeaderEntry
from batchlab.workload.records import Reader, read_records
from batchlab.workload.report import Report
from batchlab.workload.swf import read_swf
from batchlab.workload.swf_writer import write_swf
from batchlab.workload.tables import read_table, write_table
from batchlab.workload.workload import Workload

__all__ = [
    "Header",
    "HeaderEntry",
    "Reader",
    "Report",
    "Workload",
    "read_records",
    "read_swf",
    "read_table",
    "write_swf",
    "write_table",
]
