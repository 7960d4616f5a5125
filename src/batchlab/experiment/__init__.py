"""Experiments: many runs, kept in a store and summarised in tables."""

from batchlab.core.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
