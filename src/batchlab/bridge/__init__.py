"""Bridges to other simulators' projects and protocols, and to real batch systems; one folder each."""

from batchlab.core.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
