"""The measurements of the sources: what `scripts/house.py` counts and draws."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"

RUST = """//! Braces in comments } and in /* { */ do not count.
use crate::{index::{Tree, Mark}, time};

pub struct Job {
    pub rate: f64,
    pub(crate) walltime: f64,
}

/// Says `fn none() {`.
pub fn first(seed: u64) -> &'static str {
    let brace = '{';
    r#"a "quoted" { word"#
}

trait Named {
    fn name(&self, sizes: [u8; 4]) -> String;
}

#[cfg(test)]
mod tests {
    fn second() {
        assert_eq!("queued", "running");
    }
}
"""

PYTHON = '''"""A module."""
import batchlab.workload

def simulate(seed, *, walltime="run"):
    """Say much.

    At length.
    """
    # Nothing.
    return "queued", seed
'''


@pytest.fixture(autouse=True)
def _scripts_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the scripts on the path, as running one does."""
    monkeypatch.syspath_prepend(str(SCRIPTS))


def test_rust(tmp_path: Path) -> None:
    """Functions by their braces, tests apart, public items by kind, strings and declared names."""
    import house_count  # noqa: PLC0415  # scripts are found only now

    path = tmp_path / "job.rs"
    path.write_text(RUST)
    code, tests = house_count.read_rust(path, "code", "tests")
    assert [(each.name, each.line, each.lines) for each in code.functions] == [("first", 10, 4)]
    assert [(each.name, each.lines) for each in tests.functions] == [("second", 3)]
    assert code.public == {"struct": 1, "field": 1, "crate": 1, "fn": 1}
    assert (code.lines, tests.lines) == (18, 6)
    assert code.code == 12
    assert code.literals == ['a "quoted" { word']
    assert tests.literals == ["queued", "running"]
    assert sorted(code.declared) == ["rate", "seed", "sizes", "walltime"]
    assert house_count.rust_parts_used(RUST) >= {"index", "time"}


def test_python(tmp_path: Path) -> None:
    """Functions without their docstrings; code without prose; strings and parameters as places of words."""
    import house_count  # noqa: PLC0415  # as above

    path = tmp_path / "simulate.py"
    path.write_text(PYTHON)
    source = house_count.read_python(path, "code")
    assert [(each.name, each.lines) for each in source.functions] == [("simulate", 3)]
    assert source.code == 3
    assert house_count.imported_parts(PYTHON) == {"workload"}
    terms = {"options": ("seed", "walltime"), "job states": ("queued", "seed")}
    counts = house_count.count_terms([source], terms)
    assert counts == {
        "options": {"seed": (1, 1), "walltime": (1, 1)},
        "job states": {"queued": (1, 1), "seed": (0, 0)},
    }


def test_of_this_project(tmp_path: Path) -> None:
    """The tables have every part, and the picture names every part of the package and of the kernel."""
    script = SCRIPTS / "house.py"
    printed = subprocess.run(  # noqa: S603  # our own script
        [sys.executable, script], capture_output=True, encoding="utf-8", check=True
    ).stdout
    assert "Rust kernel" in printed
    assert "job states" in printed
    picture = tmp_path / "house.svg"
    subprocess.run([sys.executable, script, "--picture", picture], check=True)  # noqa: S603  # likewise
    image = picture.read_text("utf-8")
    for folder in ("src/batchlab", "rust/kernel/src"):
        for path in (SCRIPTS.parent / folder).iterdir():
            name = path.stem
            hidden = name.startswith(("_", ".")) or path.suffix not in ("", ".py", ".rs")
            assert hidden or name in ("lib", "py", "tests") or f">{name}<" in image, name


def test_circles_are_refused() -> None:
    """Parts that use one another cannot be put in layers; the error names them."""
    import house_picture  # noqa: PLC0415  # as above

    parts = {name: house_picture.Part(name, uses={other}) for name, other in (("a", "b"), ("b", "a"))}
    with pytest.raises(ValueError, match="a -> b -> a"):
        house_picture.layers_of(parts)
