"""Reports: one HTML file on a run or a comparison that opens without network access; bundles of faults."""

from batchlab.core.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
