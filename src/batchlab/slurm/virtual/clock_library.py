"""Build the preloaded library that provides the clock of a virtual cluster, from our C source."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from tempfile import TemporaryDirectory

from batchlab.errors import BridgeError, one_line

__all__ = ["clock_library"]

_SOURCE = Path(__file__).with_name("virtual_clock.c")
_FLAGS = ("-O2", "-std=gnu11", "-shared", "-fPIC")


def clock_library() -> Path:
    """Return the path of the library that replaces the time functions.

    It is built at its first use, and cached in ``$XDG_CACHE_HOME/batchlab/clock`` (by default ``~/.cache``).
    Its name contains a hash of its source, so that each version is a separate file.

    Raises
    ------
    BridgeError
        If there is no C compiler, or it fails.
    """
    source = _SOURCE.read_bytes()
    platform = sysconfig.get_platform()
    mark = hashlib.sha256(source + " ".join(_FLAGS).encode() + platform.encode()).hexdigest()[:16]
    base = os.environ.get("XDG_CACHE_HOME", "")
    home = Path(base) if Path(base).is_absolute() else Path.home() / ".cache"
    library = home / "batchlab" / "clock" / f"virtual_clock-{mark}.so"
    if not library.is_file():
        _build(library)
    return library


def _build(library: Path) -> None:
    compiler = next((found for name in ("cc", "gcc", "clang") if (found := shutil.which(name))), None)
    if compiler is None:
        raise BridgeError(
            "virtual nodes: a clock other than real needs a C compiler once, and there is none. "
            "Install with: apt-get install gcc libc6-dev, or use --clock real."
        )
    library.parent.mkdir(parents=True, exist_ok=True)
    # Build in a temporary folder and move: several processes may build it at once.
    with TemporaryDirectory(dir=library.parent) as aside:
        made = Path(aside, library.name)
        command = [compiler, *_FLAGS, "-o", str(made), str(_SOURCE), "-ldl", "-lpthread"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            reason = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr)
            raise BridgeError(
                f"virtual nodes: {compiler} cannot build the clock: {one_line(reason)}. Use --clock real."
            )
        made.replace(library)
