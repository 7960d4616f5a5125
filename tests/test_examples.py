"""The examples run, and print what stands beside them."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example: Path, tmp_path: Path) -> None:
    """An example prints its ``.out`` file, and nothing on standard error."""
    command = [sys.executable, "-W", "error", str(example)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)  # noqa: S603
    assert done.stderr == ""
    assert done.stdout == example.with_suffix(".out").read_text("utf-8")
