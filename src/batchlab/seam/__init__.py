"""The seam between a simulation and components in Python: the view, and the classes that receive it."""

from batchlab.lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__)
