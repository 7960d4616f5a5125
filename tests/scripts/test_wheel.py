"""What a wheel must have: the licences of all crates, and no paths of the machine that built it."""

from __future__ import annotations

import re
import subprocess
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LICENCES = ("LICENSE", "rust/LICENSES.txt")


@pytest.fixture(autouse=True)
def _scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))


def wheel_of(folder: Path, module: bytes, licences: tuple[str, ...] = LICENCES) -> Path:
    """Write a wheel with a module of these bytes."""
    wheel = folder / "batchlab-0.1.0-cp311-abi3-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("batchlab/_kernel.abi3.so", module)
        for name in licences:
            archive.writestr(f"batchlab-0.1.0.dist-info/licenses/{name}", (ROOT / name).read_bytes())
    return wheel


def test_a_sound_wheel(tmp_path: Path) -> None:
    """Paths that were replaced are no faults."""
    from wheel import faults  # noqa: PLC0415  # scripts are found only now

    assert faults(wheel_of(tmp_path, b"\0cargo/registry/src/flate2-1.1/src/lib.rs\0")) == []


@pytest.mark.parametrize(
    ("module", "licences", "message"),
    [
        (
            b"\0/home/a/.cargo/registry/x/lib.rs\0",
            LICENCES,
            "has a path .*: /home/a/.cargo/registry/x/lib.rs",
        ),
        (b"\0C:\\\\Users\\a\\.cargo\\x.rs\0", LICENCES, "has a path of the machine"),
        (f"{ROOT}/rust/kernel/src/lib.rs".encode(), LICENCES, "has a path of the machine"),
        (b"", ("LICENSE",), "has no licence rust/LICENSES.txt"),
    ],
)
def test_faults_are_named(tmp_path: Path, module: bytes, licences: tuple[str, ...], message: str) -> None:
    """One line each."""
    from wheel import faults  # noqa: PLC0415  # as above

    (fault,) = faults(wheel_of(tmp_path, module, licences), (ROOT,))
    assert re.search(message, fault)


def test_the_build_replaces_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A program that is compiled with the flags of the build has no path of the machine in it."""
    from environment import variables_of_build  # noqa: PLC0415  # as above

    monkeypatch.setenv("CARGO_HOME", str(tmp_path))
    monkeypatch.setenv("RUSTFLAGS", "-Cdebuginfo=0")
    monkeypatch.delenv("CARGO_ENCODED_RUSTFLAGS", raising=False)
    flags = variables_of_build()["CARGO_ENCODED_RUSTFLAGS"].split("\x1f")
    assert flags[0] == "-Cdebuginfo=0"
    source = tmp_path / "sample.rs"
    source.write_text("pub fn place() -> &'static str { file!() }\n")
    command = [
        "rustc",
        *flags,
        "--crate-type",
        "lib",
        "--emit",
        "obj",
        "-o",
        str(tmp_path / "sample.o"),
        str(source),
    ]
    subprocess.run(command, check=True)  # noqa: S603  # our own code
    content = (tmp_path / "sample.o").read_bytes()
    assert b"cargo/sample.rs" in content
    assert str(tmp_path).encode() not in content


def test_all_crates_have_their_licences() -> None:
    """The list has each crate that is linked here, in the version that is locked."""
    listed = (ROOT / "rust/LICENSES.txt").read_text("utf-8").partition("=" * 100)[0]
    found = {tuple(line.split()[:2]) for line in listed.splitlines()[3:] if line}
    command = [
        "cargo",
        "tree",
        "-p",
        "batchlab-python",
        "-e",
        "normal",
        "--prefix",
        "none",
        "--locked",
        "--offline",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S603  # ours
    linked = {tuple(line.replace(" v", " ").split()[:2]) for line in done.stdout.splitlines()}
    others = {crate for crate in linked if not crate[0].startswith("batchlab")}
    assert others <= found
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text("utf-8"))["package"]
    assert found <= {(each["name"], each["version"]) for each in locked}


def test_the_wheel_has_the_licences() -> None:
    """By the metadata of the project, and as a file that is checked in CI."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["license-files"] == [*LICENCES]
