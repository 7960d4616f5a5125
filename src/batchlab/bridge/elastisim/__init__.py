"""ElastiSim's projects: configuration, jobs, Python algorithms, protocol and output files."""

from batchlab.core.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
