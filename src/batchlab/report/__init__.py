"""Reports: one HTML file on a run or a comparison that opens without network access."""

from batchlab.core.lazy import make_dir
from batchlab.report.adequacy import write_adequacy
from batchlab.report.fit import write_fit
from batchlab.report.what_if import write_what_if
from batchlab.report.write import write

__all__ = ["write", "write_adequacy", "write_fit", "write_what_if"]

__dir__ = make_dir(__name__)
