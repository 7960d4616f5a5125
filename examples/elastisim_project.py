"""Run an ElastiSim project unchanged: platform, jobs, application model and scheduling algorithm."""

from pathlib import Path

import batchlab as bl

project = Path(__file__).parent / "elastisim"
run = bl.bridge.elastisim.run(project / "input/configuration.json", project / "algorithm.py")

print(f"{len(run.project.jobs)} jobs on {run.project.system.nodes} nodes, {run.calls} calls of the algorithm")
for path in run.write("output"):
    first, *more = path.read_text().splitlines()
    print(f"\n{path.name}\n{first}")
    print("\n".join(more[:5]) + (f"\n… and {len(more) - 5} more" if len(more) > 5 else ""))  # noqa: PLR2004
