"""Run benchmarks one after the other: `python benchmarks/run.py [NAME …]`; all but AccaSim unless named."""

import subprocess
import sys
from pathlib import Path

USUAL = [
    "kernel",
    "call",
    "queue_growth",
    "scale",
    "stream",
    "generate",
    "sharing",
    "deep_learning",
    "case_study",
]
KNOWN = [*USUAL, "accasim"]


def main() -> None:
    names = sys.argv[1:] or USUAL
    unknown = [name for name in names if name not in KNOWN]
    if unknown:
        sys.exit(f"no benchmark named {unknown[0]!r}. Known: {', '.join(KNOWN)}.")
    for name in names:
        print(f"== {name}", flush=True)
        script = Path(__file__).with_name(f"{name}.py")
        subprocess.run([sys.executable, script], check=True)


if __name__ == "__main__":
    main()
