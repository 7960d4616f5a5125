"""Write the licences of the Rust crates that are compiled into the wheel to `rust/LICENSES.txt`.

`python scripts/licences.py` after a change of dependencies; `--check` fails if the file is not up to date.
The wheel has the file among its licences (`license-files` in pyproject.toml).
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).parents[1]
WRITTEN = ROOT / "rust" / "LICENSES.txt"
BUILT = "batchlab-python"
_TEXT = re.compile(r"(?i)(licen[sc]e|copying|copyright|notice|unlicense)")
_RULE = "=" * 100
_HEAD = """\
batchlab's compiled module contains the following Rust crates. Their licences are below, each text once, with
the crates that it is of. Written by scripts/licences.py.
"""


@dataclass(frozen=True, order=True)
class Crate:
    """A crate that is compiled into the module."""

    name: str
    version: str
    licence: str
    folder: Path

    @property
    def title(self) -> str:
        """Its name and version."""
        return f"{self.name} {self.version}"

    def texts(self) -> Iterator[str]:
        """Read the licences that come with it."""
        for path in sorted(self.folder.iterdir()):
            if path.is_file() and _TEXT.match(path.name) and path.suffix not in {".html", ".rs"}:
                lines = path.read_text("utf-8", errors="replace").splitlines()
                yield "\n".join(line.rstrip() for line in lines).strip("\n")


def crates_of(metadata: Mapping[str, Any]) -> list[Crate]:
    """List the crates of others on which the module depends, for any target.

    Parameters
    ----------
    metadata
        What ``cargo metadata`` writes.
    """
    packages = {each["id"]: each for each in metadata["packages"]}
    nodes = {each["id"]: each for each in metadata["resolve"]["nodes"]}
    waiting = [key for key, each in packages.items() if each["name"] == BUILT]
    found = set(waiting)
    while waiting:
        for needed in nodes[waiting.pop()]["deps"]:
            is_linked = any(kind["kind"] is None for kind in needed["dep_kinds"])
            if is_linked and needed["pkg"] not in found:
                found.add(needed["pkg"])
                waiting.append(needed["pkg"])
    others = (packages[key] for key in found if packages[key]["source"] is not None)
    return sorted(
        Crate(each["name"], each["version"], each["license"] or "", Path(each["manifest_path"]).parent)
        for each in others
    )


def document(crates: list[Crate]) -> str:
    """Write the list of crates, and each text of a licence once."""
    width = max(len(each.title) for each in crates)
    lines = [_HEAD, *(f"{each.title:{width}}  {each.licence}" for each in crates)]
    owners: dict[str, list[str]] = {}
    for crate in crates:
        for text in crate.texts():
            owners.setdefault(text, []).append(crate.title)
    for text, titles in owners.items():
        lines += ["", _RULE, *titles, _RULE, "", text]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the file, or check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the file would change")
    checks = parser.parse_args().check
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    text = document(crates_of(json.loads(done.stdout)))
    if not checks:
        WRITTEN.write_text(text, "utf-8")
        return 0
    if WRITTEN.exists() and WRITTEN.read_text("utf-8") == text:
        return 0
    sys.stderr.write(f"{WRITTEN} is not up to date: python scripts/licences.py\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
