"""Bridges to other simulators' projects and protocols, and to real batch systems; one folder each."""

from batchlab.lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__)
