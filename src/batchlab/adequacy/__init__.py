"""How adequate a model of a job-management system is: the distance of two streams of jobs, and its limits.

A. Baranov, D. Lyakhovets, G. Savin, B. Shabanov and P. Telegin, "Measure of adequacy for the supercomputer
job management system model". See ``docs/adequacy.md``.
"""

from batchlab.adequacy.comparison import Comparison
from batchlab.adequacy.measure import compare
from batchlab.adequacy.read import read

__all__ = ["Comparison", "compare", "read"]
