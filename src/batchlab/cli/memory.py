"""Peak memory of the process."""

import sys
from pathlib import Path

__all__ = ["peak_memory"]


def peak_memory() -> int | None:
    """Return the peak resident memory of this process.

    Returns
    -------
    int or None
        Bytes; None if the operating system does not report it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        # More accurate than getrusage, which on Linux starts from the parent's peak.
        lines = status.read_text(encoding="ascii", errors="replace").splitlines()
        peaks = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
        return int(peaks[0]) * 1024 if peaks else None
    if sys.platform == "win32":
        return None
    import resource  # noqa: PLC0415  # Windows has none

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
