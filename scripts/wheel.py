"""Build the wheel, or check wheels: no paths of the machine that built it, and the licences of all crates.

`python scripts/wheel.py DIR` builds it into DIR by the maturin on the path, with the flags of
`scripts/environment.py`, so from what is compiled in ``target``; `python scripts/wheel.py --check WHEEL …`
checks.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import zipfile
from pathlib import Path

from environment import ROOT, variables_of_build

_MODULE = re.compile(r"batchlab/_kernel\.[\w.-]*(?:so|pyd|dylib)")
_LICENCES = ("LICENSE", "rust/LICENSES.txt")
# What is printed of a path that is found.
_PATHS = re.compile(rb"[\x20-\x7e]*[/\\]\.(?:cargo|rustup)[/\\][\x20-\x7e]{0,80}")


def faults(wheel: Path, folders: tuple[Path, ...] = (ROOT, Path.home())) -> list[str]:
    """Return what is wrong with a wheel.

    Parameters
    ----------
    wheel
        The file.
    folders
        Folders of this machine whose paths must not be in the module.
    """
    found = []
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        modules = [name for name in names if _MODULE.fullmatch(name)]
        if not modules:
            found.append("has no compiled module")
        for name in modules:
            content = archive.read(name)
            paths = [match.decode() for match in _PATHS.findall(content)[:1]]
            paths += [str(each) for each in folders if f"{each}/".encode() in content]
            found += [f"{name} has a path of the machine that built it: {path}" for path in paths]
        for licence in _LICENCES:
            written = [name for name in names if name.endswith(f".dist-info/licenses/{licence}")]
            if not written:
                found.append(f"has no licence {licence}")
            elif archive.read(written[0]) != (ROOT / licence).read_bytes():
                found.append(f"has another licence {licence} than the checkout")
    return found


def main() -> int:
    """Build or check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="build nothing; check these wheels")
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    given = parser.parse_args()
    wheels = given.paths
    if not given.check:
        (folder,) = given.paths
        manifest = ROOT / "rust/python/Cargo.toml"
        options = ["--quiet", "--release", "--locked", "--manifest-path", str(manifest), "--out", str(folder)]
        subprocess.run(["maturin", "build", *options], check=True, env=variables_of_build())
        wheels = sorted(folder.glob("*.whl"))
    wrong = [f"{wheel.name}: {fault}" for wheel in wheels for fault in faults(wheel)]
    sys.stderr.write("".join(f"{line}\n" for line in wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
