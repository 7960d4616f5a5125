"""Adequacy of a model of a job-management system: the distance of two streams of jobs, and its limits.

A. Baranov, D. Lyakhovets, G. Savin, B. Shabanov and P. Telegin, "Measure of adequacy for the supercomputer
job management system model". See ``docs/adequacy.md``.
"""

from batchlab.adequacy.comparison import Comparison, compare
from batchlab.adequacy.reference import Reference, reference
from batchlab.adequacy.repetitions import repeat
from batchlab.adequacy.stream import read
from batchlab.core.lazy import make_dir

__all__ = ["Comparison", "Reference", "compare", "read", "reference", "repeat"]

__dir__ = make_dir(__name__)
