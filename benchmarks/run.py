"""Run benchmarks one after the other: `python benchmarks/run.py [NAME …]`; all but AccaSim unless named.

Exits with 1 where one of them did.
"""

import subprocess
import sys
from pathlib import Path

USUAL = [
    "kernel",
    "loaded",
    "call",
    "growth",
    "fork",
    "scale",
    "stream",
    "generate",
    "queueing",
    "rates",
    "placements",
    "sharing",
    "contention",
    "deep_learning",
    "case_study",
]
KNOWN = [*USUAL, "accasim"]


def main() -> None:
    names = sys.argv[1:] or USUAL
    unknown = [name for name in names if name not in KNOWN]
    if unknown:
        sys.exit(f"no benchmark named {unknown[0]!r}. Known: {', '.join(KNOWN)}.")
    failed = []
    for name in names:
        print(f"== {name}", flush=True)
        script = Path(__file__).with_name(f"{name}.py")
        if subprocess.run([sys.executable, script], check=False).returncode:
            failed.append(name)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
