"""Small runs whose scheduler follows a script."""

from collections.abc import Callable

import batchlab as bl
from support.python_schedulers import FirstFit

__all__ = ["Script", "Scripted", "jobs_of", "run", "times"]

Scripted = dict[float, list[Callable[[bl.View], object]]]


class Script(FirstFit):
    """First fit, which at given times first does what it is told to; asked again at the next of them."""

    every_instant = True

    def __init__(self, script: Scripted) -> None:
        self.script = script

    def begin(self, view: bl.View) -> None:
        """Ask to be called at all these times."""
        self.to_do = {time: list(deeds) for time, deeds in self.script.items()}
        for time in self.to_do:
            view.wake(time)

    def schedule(self, view: bl.View) -> None:
        """Follow the script."""
        for deed in self.to_do.pop(view.now, []):
            deed(view)
        super().schedule(view)


def jobs_of(**columns: list[float]) -> bl.Workload:
    """Make jobs of one task that are submitted at 0, unless told otherwise."""
    count = len(columns["run_time"])
    given = {"submit_time": [0.0] * count, "tasks": [1] * count, **columns}
    return bl.Workload.from_table(given, overrun="keep")


def run(workload: bl.Workload, script: Scripted, nodes: int = 1, **options: str) -> bl.Result:
    """Run jobs on single cores under a script."""
    system = bl.System.homogeneous(nodes=nodes, resources={"core": 1})
    return bl.simulate(workload, system, Script(script), **options)  # type: ignore[arg-type]  # names and values


def times(result: bl.Result) -> list[tuple[str, float | None, float | None]]:
    """Give state, start and end of each job."""
    return result.jobs.select("state", "start_time", "end_time").rows()
