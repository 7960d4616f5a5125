"""Make the files of this folder anew: `python tests/kept/make.py`, with the version whose files are kept.

It works on copies in a folder for temporary files, as some of what is written names the path of its input.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import batchlab as bl

HERE = Path(__file__).parent
INPUTS = ("experiment.toml", "jobs.csv")
SYSTEM = bl.System.homogeneous(nodes=16, resources={"core": 4, "mem": 1_000_000})
POLICY = "easy(order=sjf)"
STEPS = 20


def main() -> None:
    """Replace the store, which goes into an archive, the result and the snapshot."""
    with tempfile.TemporaryDirectory() as folder:
        for name in INPUTS:
            shutil.copy(HERE / name, folder)
        os.chdir(folder)
        subprocess.run([sys.executable, "-m", "batchlab", "experiment", "experiment.toml"], check=True)
        shutil.make_archive(str(HERE / "store"), "zip", "store")
        workload = bl.read_table("jobs.csv")
        shutil.rmtree(HERE / "result", ignore_errors=True)
        bl.simulate(workload, SYSTEM, POLICY, dispatch=True).write(HERE / "result")
        simulation = bl.Simulation(workload, SYSTEM, POLICY)
        for _ in range(STEPS):
            simulation.step()
        (HERE / "snapshot.bin").write_bytes(simulation.snapshot())
        os.chdir(HERE)


if __name__ == "__main__":
    main()
