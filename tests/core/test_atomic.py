"""A file written atomically is the old one or the new one."""

import errno
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from batchlab.core.outputs import atomic_write


def test_the_file_holds_what_was_written(tmp_path: Path) -> None:
    """Text is UTF-8 with its own newlines; bytes stay as they are; nothing else is left in the directory."""
    with atomic_write(tmp_path / "text") as text:
        text.write("größe\r\n1\n")
    with atomic_write(tmp_path / "bytes", "wb") as binary:
        binary.write(b"\x00\xff")
    assert (tmp_path / "text").read_bytes() == "größe\r\n1\n".encode()
    assert (tmp_path / "bytes").read_bytes() == b"\x00\xff"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["bytes", "text"]


def test_an_error_leaves_the_old_file(tmp_path: Path) -> None:
    """Where the block raises, the old content stays and the temporary file goes."""
    path = tmp_path / "file"
    path.write_text("old")

    def fail() -> None:
        with atomic_write(path) as file:
            file.write("new")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_nothing_is_seen_before_the_end(tmp_path: Path) -> None:
    """Inside the block, readers still find the old content."""
    path = tmp_path / "file"
    path.write_text("old")
    with atomic_write(path) as file:
        file.write("new")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals, links and modes")
def test_a_killed_process_leaves_the_old_file(tmp_path: Path) -> None:
    """Kill -9 within the block leaves the old content in place."""
    path = tmp_path / "file"
    path.write_text("old")
    code = (
        "import os, signal, sys\n"
        "from batchlab.core.outputs import atomic_write\n"
        "with atomic_write(sys.argv[1]) as file:\n"
        "    file.write('new'); file.flush(); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)  # noqa: S603  # our own code
    assert done.returncode == -signal.SIGKILL
    assert path.read_text() == "old"


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals, links and modes")
def test_links_and_modes_are_those_of_an_ordinary_write(tmp_path: Path) -> None:
    """A link still points to its file, and the mode is what the process's mask makes it."""
    link, path, plain = tmp_path / "link", tmp_path / "file", tmp_path / "plain"
    link.symlink_to(path)
    with atomic_write(link) as file:
        file.write("new")
    plain.write_text("new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


@pytest.mark.skipif(os.name != "posix", reason="POSIX signals, links and modes")
def test_a_device_is_written_directly() -> None:
    """What is not a regular file is never replaced."""
    with atomic_write(os.devnull) as file:
        file.write("gone")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    """The directory is not made; the error names the file, not a temporary one."""
    path = tmp_path / "missing" / "file"
    with pytest.raises(FileNotFoundError) as caught, atomic_write(path):
        pass
    assert caught.value.filename == str(path)


@pytest.mark.parametrize(
    "error",
    [OSError(errno.ENOSPC, "as the system says it"), OSError(f"full (os error {errno.ENOSPC})")],
)
def test_errors_of_writing_name_the_file(error: OSError, tmp_path: Path) -> None:
    """Those of compiled packages, too, which have the system's number in their text alone."""
    path = tmp_path / "file"
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)) as caught, atomic_write(path):
        raise error
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))


def test_errors_about_other_files_stay(tmp_path: Path) -> None:
    """What is read for the file may be missing itself."""
    with pytest.raises(FileNotFoundError) as caught, atomic_write(tmp_path / "file"):
        raise FileNotFoundError(errno.ENOENT, "no such file", "another")
    assert caught.value.filename == "another"
