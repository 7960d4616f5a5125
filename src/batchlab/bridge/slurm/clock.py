"""The clocks of virtual clusters: real time, a constant factor, or fast while nothing happens."""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from batchlab.bridge.slurm.clock_library import clock_library
from batchlab.errors import BridgeError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from batchlab._kernel import VirtualClock

__all__ = ["AutoClock", "Clock", "ConstantClock", "Course", "RealClock", "clock_of"]

_HIGHEST = 100.0
_FASTEST = 10_000.0
_RELIABLE = 10.0
# A real wait, for clocks that are not watched: what is waited for is looked at again after so long.
_LONGEST = 1.0


@dataclass(frozen=True)
class Course:
    """What a clock did from the start of its cluster on: real and virtual time, in s."""

    real: float
    virtual: float

    @property
    def factor(self) -> float:
        """How much faster than real time virtual time went."""
        return self.virtual / self.real if self.real > 0.0 else 1.0


class Clock(Protocol):
    """The time of a virtual cluster: what its daemons and jobs take for the time, and what they wait by."""

    @property
    def name(self) -> str:
        """As `clock_of` takes it."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What its user should know, a sentence each."""
        ...

    @property
    def is_virtual(self) -> bool:
        """Whether it is not real time."""
        ...

    def start(self, directory: Path) -> Mapping[str, str]:
        """Begin in the directory of a cluster; gives what its processes need in their environment."""
        ...

    def stop(self) -> None:
        """End; may be called again."""
        ...

    def now(self) -> float:
        """Give the UNIX time of the cluster, in s."""
        ...

    def wait_until(self, instant: float, meanwhile: Callable[[], None] | None = None) -> None:
        """Wait for an instant of the cluster's time (s); ``meanwhile`` is called about once a real second."""
        ...

    def working(self) -> AbstractContextManager[None]:
        """Keep real time in a ``with`` block, for work that takes as long as it does."""
        ...

    def course(self) -> Course:
        """Tell what it did since its start."""
        ...


class RealClock:
    """The machine's own clock."""

    name = "real"
    notes: tuple[str, ...] = ()
    is_virtual = False

    def __init__(self) -> None:
        self._begun = time.monotonic()

    def start(self, directory: Path) -> Mapping[str, str]:  # noqa: ARG002  # of the protocol
        """Begin."""
        self._begun = time.monotonic()
        return {}

    def stop(self) -> None:
        """Do nothing."""

    def now(self) -> float:
        """Give the UNIX time, in s."""
        return time.time()

    def wait_until(self, instant: float, meanwhile: Callable[[], None] | None = None) -> None:
        """Sleep until an instant; ``meanwhile`` is called once a second, not in the last two seconds."""
        while (left := instant - time.time()) > _LONGEST:
            time.sleep(_LONGEST)
            if meanwhile is not None and left > 2 * _LONGEST:
                # What is done meanwhile must not make the next submission late.
                meanwhile()
        time.sleep(max(0.0, left))

    @contextmanager
    def working(self) -> Iterator[None]:
        """Change nothing."""
        yield

    def course(self) -> Course:
        """Tell how long it has run."""
        passed = time.monotonic() - self._begun
        return Course(passed, passed)


class _VirtualClock:
    """A clock that the processes of a cluster read from a file that they share.

    A library of ours, written in C and built at its first use, is loaded into each process of the cluster and
    answers for the time. Slurm itself is not changed.
    """

    is_virtual = True

    def __init__(self, highest: float) -> None:
        self._highest = highest
        self._clock: VirtualClock | None = None

    def start(self, directory: Path) -> Mapping[str, str]:
        """Begin now, at the machine's time and rate.

        Raises
        ------
        BridgeError
            If the library cannot be built: there is no C compiler, or not on this system.
        """
        library = clock_library()
        from batchlab._kernel import VirtualClock  # noqa: PLC0415  # on Linux only

        path = directory / "clock"
        self._clock = VirtualClock(path, self._highest, time.time_ns())
        return {"LD_PRELOAD": str(library), "BATCHLAB_CLOCK": str(path)}

    def stop(self) -> None:
        """End the thread that sets the rate, if there is one."""
        if self._clock is not None:
            self._clock.end()

    def now(self) -> float:
        """Give the UNIX time of the cluster, in s."""
        return self._running.now()

    def wait_until(self, instant: float, meanwhile: Callable[[], None] | None = None) -> None:
        """Wait for an instant of the cluster's time; ``meanwhile`` is called once a real second."""
        while not self._running.wait(instant, _LONGEST):
            if meanwhile is not None:
                meanwhile()

    def course(self) -> Course:
        """Tell what it did since its start."""
        real, passed, _, _ = self._running.course()
        return Course(real, passed)

    @property
    def _running(self) -> VirtualClock:
        if self._clock is None:
            raise BridgeError("virtual nodes: the clock has not been started; start the cluster first.")
        return self._clock


class ConstantClock(_VirtualClock):
    """A clock that is so many times as fast as real time, whatever happens.

    Launching and ending a job takes 15 to 45 ms of real work; in virtual time it lasts so many times as long.

    Parameters
    ----------
    factor
        Above 1.
    """

    def __init__(self, factor: float) -> None:
        super().__init__(factor)
        self.name = f"{factor:g}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Warn of a factor at which the work of launching jobs lasts too long."""
        if self._highest <= _RELIABLE:
            return ()
        text = f"at {self.name} times real time the work of launching a job lasts as many times longer"
        return (f"{text}; use --clock auto, or a factor up to {_RELIABLE:g}",)

    def start(self, directory: Path) -> Mapping[str, str]:
        """Begin now; see the base."""
        environment = super().start(directory)
        self._running.set_rate(self._highest)
        return environment

    @contextmanager
    def working(self) -> Iterator[None]:
        """Change nothing: time goes on at the same rate."""
        yield


class AutoClock(_VirtualClock):
    """A clock that goes at the rate of real time while the cluster works, and fast while all of it waits.

    Work is: a command runs, a job is launched or ended, daemons use the processor.

    Parameters
    ----------
    highest
        How many times as fast as real time it goes while nothing happens. What is done in the millisecond
        before it is noticed lasts as many times longer.
    """

    name = "auto"
    notes: tuple[str, ...] = ()

    def __init__(self, highest: float = _HIGHEST) -> None:
        super().__init__(highest)

    def start(self, directory: Path) -> Mapping[str, str]:
        """Begin now, and watch the processes; see the base."""
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
    """Make a clock.

    Parameters
    ----------
    given
        ``"real"``, ``"auto"``, a factor (a number from 1 to 10,000, or its text), or a clock.

    Raises
    ------
    BridgeError
        If it is none of these.
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
