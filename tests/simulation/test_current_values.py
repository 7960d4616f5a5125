"""What observers offer to policies is current within a scheduling pass."""

from __future__ import annotations

import batchlab as bl

WORKLOAD = bl.Workload.from_table({"submit_time": [0.0] * 3, "run_time": [5.0] * 3, "tasks": [1] * 3})
SYSTEM = bl.System.homogeneous(nodes=4, resources={"core": 1})


class Starts(bl.Observer):
    """Counts starts."""

    name = "starts"

    def begin(self, view: bl.View) -> None:  # the signature is Observer's
        """Start at 0."""
        self.count = 0

    def started(self, job: bl.Job, view: bl.View) -> None:  # as above
        """Count one."""
        self.count += 1

    def value(self, view: bl.View) -> int:  # as above
        """Return the count."""
        return self.count


class Looks(bl.Scheduler):
    """Starts all jobs, and looks at the values before and after each start."""

    def __init__(self) -> None:
        self.seen: list[tuple[object, float]] = []

    def look(self, view: bl.View) -> None:
        power = view.values["power"]
        self.seen.append((view.values["starts"], power.total))

    def schedule(self, view: bl.View) -> None:
        """Look, start, look."""
        self.look(view)
        for job in list(view.queue):
            view.start(job)
            self.look(view)


def test_each_start_changes_the_values() -> None:
    """Also those of the recorder of the kernel."""
    scheduler = Looks()
    bl.simulate(WORKLOAD, SYSTEM, scheduler, observers=[bl.Power(bl.NodePower(10, 20)), Starts()])
    assert scheduler.seen[:4] == [(0, 40.0), (1, 50.0), (2, 60.0), (3, 70.0)]
