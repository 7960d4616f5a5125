"""Small logs of Slurm and PBS, as their versions write them; and what must hold of any reading."""

from __future__ import annotations

import io
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import batchlab as bl

__all__ = ["COBALT", "GWF", "JOBCOMP", "LSF", "MAUI", "PBS", "SACCT", "SACCT_JSON", "SGE", "reading_of"]

FOLDER = Path(__file__).parent / "accounting"
SACCT = ((FOLDER / "sacct.txt").read_bytes(), (FOLDER / "sacct_raw.txt").read_bytes())
SACCT_JSON = ((FOLDER / "sacct_22.json").read_bytes(), (FOLDER / "sacct_23.json").read_bytes())
JOBCOMP = ((FOLDER / "jobcomp.txt").read_bytes(),)
LSF = ((FOLDER / "lsb.acct").read_bytes(),)
SGE = ((FOLDER / "sge.txt").read_bytes(),)
COBALT = ((FOLDER / "cobalt.txt").read_bytes(),)
MAUI = ((FOLDER / "maui.txt").read_bytes(), (FOLDER / "moab.txt").read_bytes())
GWF = ((FOLDER / "gwf.txt").read_bytes(), (FOLDER / "gwf.csv").read_bytes())
PBS = ((FOLDER / "pbs.txt").read_bytes(),)
_OPTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"timezone": "Europe/Berlin", "overrun": "keep"},
    {"requeues": "each", "processors": "allocated"},
    {"use_memory": True, "node_names": True, "unlimited": {"batch": 60.0}, "overrun": "cut"},
    {"invalid": "raise"},
)


def reading_of(read: Callable[..., bl.Workload], **more: object) -> Callable[[bytes, Path], object]:
    """Read a log with arguments that its content chooses, and with some more; check the report."""

    def of_content(content: bytes, _folder: Path) -> object:
        options = _OPTIONS[zlib.crc32(content) % len(_OPTIONS)]
        workload = read(io.BytesIO(content), **options, **more)
        report = workload.report
        assert report.read == report.kept + report.dropped.height
        assert report.kept == len(workload)
        return repr(workload), str(report), workload.header.unix_start_time

    return of_content
