"""Ready descriptions of machines, by name: `batchlab.system.machines.find("mira")`, or `read_system("mira")`.

Each is a file in batchlab's format in this package. Facts on the machines, with sources, are in
``catalogue.toml``; numbers without a source are marked in the file.

>>> import batchlab as bl
>>> bl.read_system("intrepid-36864").processors
36864
>>> bl.system.machines.find("mira").summary
'IBM Blue Gene/Q Mira, Argonne'
"""

from batchlab.core.lazy import make_dir
from batchlab.system.machines.catalogue import NAMES, Machine, entries, find

__all__ = ["NAMES", "Machine", "entries", "find"]

__dir__ = make_dir(__name__)
