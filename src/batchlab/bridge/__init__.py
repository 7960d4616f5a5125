"""Other simulators' projects and protocols, run as they are; a folder for each simulator."""

from batchlab.lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__)
