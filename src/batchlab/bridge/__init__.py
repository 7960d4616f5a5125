"""Other simulators' projects and protocols, and batch systems, run as they are; a folder for each."""

from batchlab.lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__)
