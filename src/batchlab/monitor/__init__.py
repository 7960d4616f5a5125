"""Live views of a run: in the terminal, from another terminal, and in the browser."""

from batchlab.core.lazy import make_dir
from batchlab.monitor.monitor import Monitor

__all__ = ["Monitor"]

__dir__ = make_dir(__name__)
