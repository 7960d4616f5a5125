"""Reports: one HTML file on a run or a comparison that opens without network access."""

from batchlab.core.lazy import make_dir
from batchlab.report.models import write_adequacy, write_fit, write_what_if
from batchlab.report.runs import write

__all__ = ["write", "write_adequacy", "write_fit", "write_what_if"]

__dir__ = make_dir(__name__)
