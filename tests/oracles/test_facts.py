"""What the repository has of the oracles is what lies beside it."""

import gzip
from pathlib import Path

import pytest

from support.oracles import FACTS, SHARED, fact

FILES = sorted(path.relative_to(FACTS).as_posix() for path in FACTS.rglob("*") if path.is_file())
PACKED = ".tar.xz"


@pytest.mark.skipif(not (SHARED / "oracles").is_dir(), reason="no ../shared/oracles beside the repository")
def test_facts_are_those_of_the_oracles() -> None:
    """Byte by byte, unpacked; of configurations some settings."""
    for name in FILES:
        whole = SHARED / "oracles" / name.removesuffix(PACKED)
        if name.endswith(PACKED):
            folder = fact(name.removesuffix(PACKED))
            assert folder is not None
            assert contents(folder) == contents(whole)
        elif whole.suffix == ".conf":
            assert {*(FACTS / name).read_text().split()} <= {*whole.read_text().split()}
        elif whole.exists():
            assert (FACTS / name).read_bytes() == whole.read_bytes()
        else:
            assert gzip.decompress((FACTS / name).read_bytes()) == whole.with_suffix("").read_bytes()


def test_facts_are_found_without_the_rest() -> None:
    """Files, packed files, and files in packed folders; of others nothing."""
    assert fact("slurm/s1.csv") == FACTS / "slurm/s1.csv"
    assert fact("slurm/fifo_a.csv") == FACTS / "slurm/fifo_a.csv.gz"
    assert fact("elastisim/microA_crossbar/input/nothing.json") is None
    jobs = fact("elastisim/microA_crossbar/input/jobs.json")
    assert jobs is not None
    assert jobs.is_file()
    assert fact("elastisim/torus192_mall100") is None


def test_facts_are_small() -> None:
    """They are extracts; the rest stays beside the repository."""
    assert sum((FACTS / name).stat().st_size for name in FILES) < 160_000


def contents(folder: Path) -> dict[str, bytes]:
    """Give the files below a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
