"""The examples run, and print what stands beside them."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = {path.stem: path for path in sorted((Path(__file__).parents[1] / "examples").glob("*.py"))}
# They start processes, which import the example by its name, and end with them.
IN_PROCESSES_OF_THEIR_OWN = ("experiment_on_dask", "experiment_on_parsl")


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in IN_PROCESSES_OF_THEIR_OWN])
def test_example(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """An example prints its ``.out`` file, and nothing on standard error; warnings are errors here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(EXAMPLES[name].parent)
    monkeypatch.setattr(sys, "argv", [str(EXAMPLES[name])])
    runpy.run_path(str(EXAMPLES[name]), run_name="__main__")
    said = capfd.readouterr()
    assert said.err == ""
    assert said.out == EXAMPLES[name].with_suffix(".out").read_text("utf-8")


@pytest.mark.parametrize("name", IN_PROCESSES_OF_THEIR_OWN)
def test_example_on_a_cluster(name: str, tmp_path: Path) -> None:
    """So do those that start processes."""
    command = [sys.executable, "-W", "error", str(EXAMPLES[name])]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)  # noqa: S603
    assert done.stderr == ""
    assert done.stdout == EXAMPLES[name].with_suffix(".out").read_text("utf-8")
