"""Ready descriptions of machines, by name: `batchlab.system.machines.find("mira")`, or `read_system("mira")`.

Each is a file in batchlab's own form beside this module. What is known of it, and from where, is in
``catalogue.toml``; numbers from no source are marked in the file.

>>> import batchlab as bl
>>> bl.read_system("intrepid-36864").processors
36864
>>> bl.system.machines.find("mira").summary
'IBM Blue Gene/Q Mira, Argonne'
"""

from batchlab.lazy import make_dir
from batchlab.system.machines.catalogue import NAMES, Machine, entries, find

__all__ = ["NAMES", "Machine", "entries", "find"]

__dir__ = make_dir(__name__)
