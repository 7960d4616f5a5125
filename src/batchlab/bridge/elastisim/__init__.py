"""ElastiSim's projects: configuration, jobs, Python algorithms, protocol and output files."""

from batchlab.lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__)
