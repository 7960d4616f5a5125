"""Reports: one HTML file on a run or a comparison that opens without network access; bundles of faults."""

from batchlab.core.lazy import make_dir
from batchlab.report.bundle import Bundle, read_bundle, write_bundle
from batchlab.report.models import write_adequacy, write_fit, write_what_if
from batchlab.report.runs import write

__all__ = [
    "Bundle",
    "read_bundle",
    "write",
    "write_adequacy",
    "write_bundle",
    "write_fit",
    "write_what_if",
]

__dir__ = make_dir(__name__)
