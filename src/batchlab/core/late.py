"""Modules that start-up does without: each is imported when a name of it is first used.

The stub, ``late.pyi``, is the list, and type checkers read it too. A module's name there is its path with
underscores: ``from batchlab.core.late import workload_formats``.
"""

from batchlab.core.lazy import late

__getattr__ = late(__name__)
