"""Other simulators' projects and protocols, run as they are; a folder for each simulator."""

from typing import TYPE_CHECKING

from batchlab.lazy import lazily

if TYPE_CHECKING:
    from batchlab.bridge import elastisim as elastisim

_HOMES = {"elastisim": "elastisim"}

__all__ = ["elastisim"]

__getattr__, __dir__ = lazily(__name__, _HOMES)
