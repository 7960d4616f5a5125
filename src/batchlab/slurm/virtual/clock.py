"""The clocks of virtual clusters: real time, a constant factor, or fast while the cluster is idle."""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import subprocess
import sysconfig
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Protocol

from batchlab.errors import BridgeError, one_line, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager

    from batchlab._kernel import VirtualClock

__all__ = ["AutoClock", "Clock", "ConstantClock", "Course", "RealClock", "clock_library", "clock_of"]

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


_HIGHEST = 100.0
_FASTEST = 10_000.0
_RELIABLE = 10.0
# Maximum real wait of clocks that are not monitored, after which the condition is checked again.
_LONGEST = 1.0


@dataclass(frozen=True)
class Course:
    """The real and virtual time (s) that passed since the start of a cluster."""

    real: float
    virtual: float

    @property
    def factor(self) -> float:
        """Ratio of virtual time to real time."""
        return self.virtual / self.real if self.real > 0.0 else 1.0


class Clock(Protocol):
    """The clock of a virtual cluster, which its daemons and jobs use for time and waits."""

    @property
    def name(self) -> str:
        """The argument for `clock_of`."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks for the user, one sentence each."""
        ...

    @property
    def is_virtual(self) -> bool:
        """Whether it differs from real time."""
        ...

    def start(self, directory: Path) -> Mapping[str, str]:
        """Start in the directory of a cluster; return environment variables for its processes."""
        ...

    def stop(self) -> None:
        """Stop; repeated calls have no effect."""
        ...

    def now(self) -> float:
        """Return the UNIX time of the cluster, in s."""
        ...

    def wait_until(self, instant: float, meanwhile: Callable[[], None] | None = None) -> None:
        """Wait until a time of the cluster (s); ``meanwhile`` is called about once per real second."""
        ...

    def working(self) -> AbstractContextManager[None]:
        """Return a context manager that keeps real time, for work whose real duration matters."""
        ...

    def course(self) -> Course:
        """Return the real and virtual time since the start."""
        ...


class RealClock:
    """The clock of the machine."""

    name = "real"
    notes: tuple[str, ...] = ()
    is_virtual = False

    def __init__(self) -> None:
        self._begun = time.monotonic()

    def start(self, directory: Path) -> Mapping[str, str]:  # noqa: ARG002  # interface
        """Start."""
        self._begun = time.monotonic()
        return {}

    def stop(self) -> None:
        """Do nothing."""

    def now(self) -> float:
        """Return the UNIX time, in s."""
        return time.time()

    def wait_until(self, instant: float, meanwhile: Callable[[], None] | None = None) -> None:
        """Sleep until a time; ``meanwhile`` is called once per second, except in the last two seconds."""
        while (left := instant - time.time()) > _LONGEST:
            time.sleep(_LONGEST)
            if meanwhile is not None and left > 2 * _LONGEST:
                # The work done in `meanwhile` must not delay the next submission.
                meanwhile()
        time.sleep(max(0.0, left))

    @contextmanager
    def working(self) -> Iterator[None]:
        """Do nothing."""
        yield

    def course(self) -> Course:
        """Return the time since the start."""
        passed = time.monotonic() - self._begun
        return Course(passed, passed)


class _VirtualClock:
    """A clock that the processes of a cluster read from a shared file.

    A preloaded library, written in C and built at its first use, replaces the time functions in each process
    of the cluster. Slurm itself is unchanged.
    """

    is_virtual = True

    def __init__(self, highest: float) -> None:
        self._highest = highest
        self._clock: VirtualClock | None = None

    def start(self, directory: Path) -> Mapping[str, str]:
        """Start at the machine's time and rate.

        Raises
        ------
        BridgeError
            If the library cannot be built: without a C compiler, or on an unsupported system.
        """
        library = clock_library()
        from batchlab._kernel import VirtualClock  # noqa: PLC0415  # on Linux only

        path = directory / "clock"
        self._clock = VirtualClock(path, self._highest, time.time_ns())
        return {"LD_PRELOAD": str(library), "BATCHLAB_CLOCK": str(path)}

    def stop(self) -> None:
        """Stop the thread that sets the rate, if any."""
        if self._clock is not None:
            self._clock.end()

    def now(self) -> float:
        """Return the UNIX time of the cluster, in s."""
        return self._running.now()

    def wait_until(self, instant: float, meanwhile: Callable[[], None] | None = None) -> None:
        """Wait until a time of the cluster; ``meanwhile`` is called once per real second."""
        while not self._running.wait(instant, _LONGEST):
            if meanwhile is not None:
                meanwhile()

    def course(self) -> Course:
        """Return the real and virtual time since the start."""
        real, passed, _, _ = self._running.course()
        return Course(real, passed)

    @property
    def _running(self) -> VirtualClock:
        if self._clock is None:
            raise BridgeError("virtual nodes: the clock has not been started; start the cluster first.")
        return self._clock


class ConstantClock(_VirtualClock):
    """A clock that runs faster than real time by a constant factor.

    Starting and ending a job takes 15 to 45 ms of real work; in virtual time, this is multiplied by the
    factor.

    Parameters
    ----------
    factor
        The factor, above 1.
    """

    def __init__(self, factor: float) -> None:
        super().__init__(factor)
        self.name = f"{factor:g}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Return a warning for a factor at which the work of starting jobs takes too much virtual time."""
        if self._highest <= _RELIABLE:
            return ()
        text = f"at {self.name} times real time the work of launching a job lasts as many times longer"
        return (f"{text}; use --clock auto, or a factor up to {_RELIABLE:g}",)

    def start(self, directory: Path) -> Mapping[str, str]:
        """Start at the constant rate; see the base class."""
        environment = super().start(directory)
        self._running.set_rate(self._highest)
        return environment

    @contextmanager
    def working(self) -> Iterator[None]:
        """Do nothing: the rate is constant."""
        yield


class AutoClock(_VirtualClock):
    """A clock that runs at real time while the cluster works, and fast while all of it waits.

    The cluster works if a command runs, a job starts or ends, or daemons use the processor.

    Parameters
    ----------
    highest
        The factor while the cluster is idle. Work in the millisecond before it is detected takes longer by
        this factor in virtual time.
    """

    name = "auto"
    notes: tuple[str, ...] = ()

    def __init__(self, highest: float = _HIGHEST) -> None:
        super().__init__(highest)

    def start(self, directory: Path) -> Mapping[str, str]:
        """Start, and monitor the processes; see the base class."""
        environment = super().start(directory)
        self._running.govern()
        return environment

    @contextmanager
    def working(self) -> Iterator[None]:
        """Keep real time in a ``with`` block."""
        self._running.hold()
        try:
            yield
        finally:
            self._running.release()


def clock_of(given: str | float | Clock) -> Clock:
    """Create a clock.

    Parameters
    ----------
    given
        ``"real"``, ``"auto"``, a factor (a number from 1 to 10,000, or its text), or a clock.

    Raises
    ------
    BridgeError
        If the argument is none of these.
    """
    if not isinstance(given, (str, int, float)):
        return given
    if given == RealClock.name:
        return RealClock()
    if given == AutoClock.name:
        return AutoClock()
    try:
        factor = float(given)
    except ValueError:
        factor = math.nan
    if not 1.0 <= factor <= _FASTEST:
        raise BridgeError(
            f"clock = {shown(given)}; must be real, auto or a factor from 1 to {_FASTEST:,.0f}."
        )
    return RealClock() if factor == 1.0 else ConstantClock(factor)
