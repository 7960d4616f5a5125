"""Options of a run. Needs neither NumPy nor polars, so that commands can check options before imports."""

from batchlab.lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__)
