"""Read a log and simulate it, in a process of its own: `python call_once.py LOG SYSTEM POLICY STARTS`.

Prints the CPU times (s) of `read_swf`, of the first call of `simulate`, which imports what it needs, and of a
second one; writes the starts to STARTS (`job_id,start`).
"""

import json
import sys

from measure import cpu_time

import batchlab as bl


def main(log: str, description: str, policy: str, output: str) -> None:
    system = bl.read_system(description)
    read, workload = cpu_time(lambda: bl.read_swf(log, overrun="keep"))
    first, result = cpu_time(lambda: bl.simulate(workload, system, policy))
    second, _ = cpu_time(lambda: bl.simulate(workload, system, policy))
    starts = result.jobs.select("job_id", start=result.jobs["start_time"].cast(int))
    starts.write_csv(output)
    print(json.dumps([read, first, second]))


if __name__ == "__main__":
    main(*sys.argv[1:])
