"""Reports: one HTML file that says what was run, or compared, and what came of it, and opens anywhere."""

from batchlab.lazy import listing
from batchlab.report.adequacy import write_adequacy
from batchlab.report.fit import write_fit
from batchlab.report.what_if import write_what_if
from batchlab.report.write import write

__all__ = ["write", "write_adequacy", "write_fit", "write_what_if"]

__dir__ = listing(__name__)
