"""The case study of AccaSim's paper: one command, one report, against its 80 simulations by themselves.

`python benchmarks/case_study.py [--replications N]`. The clock depends on who else uses the machine, so the
CPU time is put beside it: that of the runs, which two processors share, and that of what is made of them.
"""

import argparse
import json
import sys
import tempfile
from functools import partial
from pathlib import Path

from measure import ROOT, SETH, cpu_time, run_process, verdict

import batchlab as bl
from batchlab.experiment.specification import read_specification

STUDY = ROOT / "examples" / "case_study.toml"
TARGET = 60.0
PROCESSORS = 2


def bare(replications: int) -> float:
    """Give the CPU time (s) of reading the log and of all simulations, one after the other."""
    with tempfile.TemporaryDirectory() as name:
        experiment = read_specification(described(Path(name), replications)).experiment
    system = experiment.systems["seth"]
    reading, workload = cpu_time(lambda: bl.read_swf(SETH))
    calls = [partial(bl.simulate, workload, system, policy) for policy in experiment.policies.values()]
    once = sum(cpu_time(call)[0] for call in calls)
    return reading + replications * once


def described(folder: Path, replications: int) -> Path:
    """Write the study with so many replications; its paths stay good."""
    text = STUDY.read_text("utf-8").replace("replications = 10", f"replications = {replications}")
    path = folder / "study.toml"
    path.write_text(text.replace(SETH.name, str(SETH)), "utf-8")
    return path


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--replications", type=int, default=10)
    options = parser.parse_args()
    alone = bare(options.replications)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command: list[str | Path] = [
            sys.executable,
            "-m",
            "batchlab",
            "experiment",
            described(folder, options.replications),
        ]
        command += ["--store", folder / "runs", "--format", "json"]
        runs, output = run_process(command)
        again, _ = run_process([*command, "--out", folder / "out", "--report", folder / "report.html"])
        size = sum(path.stat().st_size for path in (folder / "runs").rglob("*") if path.is_file())
    table = json.loads(output)["table"]
    print(f"{len(table)} runs of {table[0]['jobs_submitted']:,} jobs")
    print(f"  the runs                    {runs}")
    print(f"  tables, figures, report     {again}")
    print(f"  the store                   {size / 1e6:8.1f} MB")
    print(f"  the simulations alone       {alone:8.3f} s CPU")
    print(f"{'  the runs : the simulations alone, CPU':<60} {runs.cpu / alone:12,.2f}")
    print(f"{'  all of it : the simulations alone, CPU':<60} {(runs.cpu + again.cpu) / alone:12,.2f}")
    free = runs.cpu / PROCESSORS + again.cpu
    verdict(f"  on {PROCESSORS} free processors, by CPU time, s", free, TARGET, at_least=False)
    verdict("  on this machine as it is now, s", runs.wall + again.wall, TARGET, at_least=False)


if __name__ == "__main__":
    main()
