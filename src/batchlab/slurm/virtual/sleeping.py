"""The scripts of jobs that occupy their nodes and sleep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ArrayOf", "array_option", "sleeping_script"]


@dataclass(frozen=True)
class ArrayOf:
    """The tasks of a job array: sleep time by index, and maximum number of running tasks (None: all)."""

    run_times: Mapping[int, float]
    most: int | None = None


def sleeping_script(run_time: float | ArrayOf) -> str:
    """Return the script of a job that sleeps this many seconds.

    Slurm kills the processes of a job. A shell would take time to notice it, so exec replaces the shell by
    sleep.
    """
    if not isinstance(run_time, ArrayOf):
        return f"#!/bin/sh\nexec sleep {run_time:.3f}\n"
    cases = "".join(f"{index}) exec sleep {time:.3f};;\n" for index, time in run_time.run_times.items())
    return f"#!/bin/sh\ncase $SLURM_ARRAY_TASK_ID in\n{cases}esac\n"


def array_option(run_time: float | ArrayOf) -> list[str]:
    """Return the option of ``sbatch`` for an array."""
    if not isinstance(run_time, ArrayOf):
        return []
    most = "" if run_time.most is None else f"%{run_time.most}"
    return [f"--array={','.join(map(str, run_time.run_times))}{most}"]
