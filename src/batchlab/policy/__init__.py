"""Policies: which job runs next, and on which nodes."""

from batchlab.lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__)
