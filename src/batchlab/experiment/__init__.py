"""Experiments: many runs, kept in a store and summarised in tables."""

from batchlab.lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__)
