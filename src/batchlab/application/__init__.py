"""Applications: what jobs do when their run time follows from the platform instead of being given.

Descriptions only: how long tasks take is the business of the kernel. Needs neither polars nor matplotlib.
"""

from typing import TYPE_CHECKING

from batchlab.lazy import lazily

if TYPE_CHECKING:
    from batchlab.application.application import Application as Application
    from batchlab.application.application import Phase as Phase
    from batchlab.application.application import Stage as Stage
    from batchlab.application.read import read_application as read_application
    from batchlab.application.write import write_application as write_application

_HOMES = {
    "Application": "application",
    "Phase": "application",
    "Stage": "application",
    "read_application": "read",
    "write_application": "write",
}

__all__ = ["Application", "Phase", "Stage", "read_application", "write_application"]

__getattr__, __dir__ = lazily(__name__, _HOMES)
