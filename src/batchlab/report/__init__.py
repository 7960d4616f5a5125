"""The report: one HTML file that says what was run and what came of it, and opens anywhere."""

from batchlab.report.write import write

__all__ = ["write"]
