"""The seam between a simulation and components in Python: the view, and the classes that receive it."""

from batchlab.core.lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
