"""Run AccaSim on a log, in an environment of its own.

`python -I accasim_driver.py LOG SYSTEM fifo|sjf|ljf|easy[+best_fit] STARTS FOLDER`

AccaSim is used as it was released, without changing its code. What this driver adds:

- names that Python 3.10 took out of `collections`, without which it cannot be imported;
- for `easy`, an amount of 0 that can be divided by: its EBF divides by the amount asked of every resource,
  also of those of which a job asks nothing;
- the start of each job, taken down in memory when it ends (16 bytes a job), since its own schedule file
  doubles the CPU time of a run.

Writes the starts to STARTS (`job_id,start`, seconds of the log); prints the CPU time of the simulation alone.
"""

import array
import collections
import collections.abc
import json
import sys
import time
from pathlib import Path
from typing import Any

for name in ("Mapping", "MutableMapping", "Sequence", "Iterable", "Callable"):
    setattr(collections, name, getattr(collections.abc, name))

from accasim.base.allocator_class import (  # type: ignore[import-not-found]  # noqa: E402  # after the names
    BestFit,
    FirstFit,
)
from accasim.base.event_class import EventManager  # type: ignore[import-not-found]  # noqa: E402
from accasim.base.scheduler_class import (  # type: ignore[import-not-found]  # noqa: E402
    EASYBackfilling,
    FirstInFirstOut,
    LongestJobFirst,
    ShortestJobFirst,
)
from accasim.base.simulator_class import Simulator  # type: ignore[import-not-found]  # noqa: E402


class Nothing(int):
    """The amount 0: everything holds it as often as one likes."""

    def __rfloordiv__(self, _: int) -> int:
        return sys.maxsize


class DivisibleBackfilling(EASYBackfilling):  # type: ignore[misc]  # AccaSim has no types
    """EBF that is not stopped by a job that asks nothing of a resource."""

    def _calculate_slot(self, *arguments: Any) -> Any:  # noqa: ANN401  # AccaSim's own signature
        blocked_job = arguments[4]
        for resource, amount in blocked_job.requested_resources.items():
            if amount == 0:
                blocked_job.override_requested_resources(resource, Nothing())
        return super()._calculate_slot(*arguments)


def take_down_starts() -> "array.array[int]":
    """Have each job's id and start appended to an array when it ends."""
    starts = array.array("q")
    finish = EventManager.finish_event

    def finish_event(manager: Any, job: Any) -> None:  # noqa: ANN401  # AccaSim has no types
        starts.extend((int(job.id), job.start_time))
        finish(manager, job)

    EventManager.finish_event = finish_event
    return starts


def main(log: str, system: str, policy: str, output: str, folder: str) -> None:
    schedulers = {
        "fifo": FirstInFirstOut,
        "sjf": ShortestJobFirst,
        "ljf": LongestJobFirst,
        "easy": DivisibleBackfilling,
    }
    scheduler, _, allocator = policy.partition("+")
    dispatcher = schedulers[scheduler](BestFit() if allocator == "best_fit" else FirstFit())
    origin = json.loads(Path(system).read_text("utf-8")).get("start_time", 0)
    starts = take_down_starts()
    simulator = Simulator(
        log,
        system,
        dispatcher,
        scheduling_output=False,
        statistics_output=False,
        benchmark_output=False,
        show_statistics=False,
        RESULTS_FOLDER_PATH=folder,
    )
    begin = time.process_time()
    simulator.start_simulation()
    simulation = time.process_time() - begin
    with Path(output).open("w", encoding="ascii") as file:
        file.write("job_id,start\n")
        file.writelines(f"{starts[i]},{starts[i + 1] - origin}\n" for i in range(0, len(starts), 2))
    print(json.dumps({"simulation": simulation}))


if __name__ == "__main__":
    main(*sys.argv[1:])
