"""Applications: what jobs do when their run time follows from the platform instead of being given.

Descriptions only: how long tasks take is the business of the kernel. Needs neither polars nor matplotlib.
"""

from batchlab.lazy import lazily

__all__, __getattr__, __dir__ = lazily(__name__)
