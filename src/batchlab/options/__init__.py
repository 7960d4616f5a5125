"""The options of a run. Needs neither NumPy nor polars, so that the command line can check them first."""

from batchlab.lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__)
