"""Packed files are read as plain ones; archives and other packings are named, with the next step."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import batchlab as bl
from batchlab.cli import main
from batchlab.errors import WorkloadError
from batchlab.workload.formats import log_format
from batchlab.workload.packing import packing_of, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SWF = "; MaxProcs: 2\n1 0 0 120 2 -1 -1 2 300 -1 1 1 1 -1 1 -1 -1 -1\n"
PBS = (
    "03/01/2024 10:02:00;E;1.server;queue=batch qtime=1709287200 start=1709287200 end=1709287320 "
    "Resource_List.ncpus=2 Resource_List.walltime=00:05:00\n"
)
CSV = "job_id,submit_time,run_time,tasks\n1,0,120,2\n"


def as_zip(
    content: bytes, *, stored: bool = False, streamed: bool = False, names: tuple[str, ...] = ("x",)
) -> bytes:
    """Pack as ZIP; a streamed archive has the sizes of its files behind them."""
    file = io.BytesIO()
    method = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(_Unseekable(file) if streamed else file, "w", method) as archive:
        archive.writestr("folder/", b"")
        for name in names:
            archive.writestr(name, content)
        archive.writestr("__MACOSX/._x", b"\0")
    return file.getvalue()


class _Unseekable(io.RawIOBase):
    """A pipe."""

    def __init__(self, file: io.BytesIO) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        return self._file.write(data)  # type: ignore[arg-type]


def as_zstandard(content: bytes) -> bytes:
    """Pack as Zstandard: polars writes tables so, and the lines are a table of one column."""
    file = io.BytesIO()
    head, *rest = content.decode().splitlines()
    pl.DataFrame({head: rest}).write_csv(file, compression="zstd", quote_style="never")
    return file.getvalue()


def as_tar(content: bytes) -> bytes:
    """Put a file into a tar archive, and that into gzip."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        entry = tarfile.TarInfo("log.swf")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return file.getvalue()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".padded.gz": lambda content: gzip.compress(content) + b"\0" * 512,
    ".trailing.gz": lambda content: gzip.compress(content) + b"no gzip",
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zip": as_zip,
    ".stored.zip": lambda content: as_zip(content, stored=True),
    ".streamed.zip": lambda content: as_zip(content, streamed=True),
    ".zst": as_zstandard,
    ".members.bz2": lambda content: bz2.compress(content[:30]) + bz2.compress(content[30:]),
    ".members.xz": lambda content: lzma.compress(content[:30]) + b"\0" * 4 + lzma.compress(content[30:]),
}


@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.parametrize(("text", "form"), [(SWF, "swf"), (PBS, "pbs"), (CSV, "csv")])
def test_packed_files_are_read_as_plain_ones(text: str, form: str, packing: str, tmp_path: Path) -> None:
    """By every reader, from paths, open files and the command line; the name may be any."""
    plain, packed = tmp_path / f"plain.{form}", tmp_path / f"log.{form}{packing}"
    plain.write_text(text, "utf-8")
    packed.write_bytes(PACKERS[packing](text.encode()))
    readers: dict[str, Any] = {"swf": bl.read_swf, "pbs": bl.read_pbs, "csv": bl.read_table}
    read = readers[form]
    expected = read(plain).jobs
    assert read(packed).jobs.equals(expected)
    if form != "csv":
        assert log_format(packed) == form
        with packed.open("rb") as file:
            assert read(file).jobs.equals(expected)
    assert main(["run", str(packed), "--nodes", "2"]) == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (as_tar(SWF.encode()), r"log:? ?.*is packed \(tar\), which is not read. Unpack it: tar -xf FILE"),
        (
            b"\x1f\x9d\x90" + b"x" * 50,
            r"is packed \(compress\), which is not read. Unpack it: uncompress FILE.Z",
        ),
        (b"7z\xbc\xaf\x27\x1c" + b"x" * 50, r"is packed \(7z\), which is not read. Unpack it: 7z x FILE"),
        (as_zip(SWF.encode(), names=("a", "b")), r"the archive has several files: 'a', 'b'"),
        (as_zip(b"", names=()), "the archive has no file"),
        (lzma.compress(SWF.encode())[:-9], "the xz stream is cut short"),
        (bz2.compress(SWF.encode())[:-9], "the bzip2 stream is cut short"),
        (as_zip(SWF.encode())[:60], "the ZIP stream is cut short"),
        (as_zip(SWF.encode(), stored=True).replace(b"120 2", b"999 2"), "the sum of 'x' is wrong"),
        (
            b"\x28\xb5\x2f\xfd" + b"\xff" * 30,
            "the Zstandard stream is damaged: .* Get another copy.",
        ),
    ],
)
def test_what_cannot_be_unpacked_is_named(content: bytes, message: str, tmp_path: Path) -> None:
    """One line says which packing it is, and what to do."""
    path = tmp_path / "log"
    path.write_bytes(content)
    for read in (bl.read_swf, bl.read_pbs):
        with pytest.raises(WorkloadError, match=message):
            read(path)
    assert main(["run", str(path), "--nodes", "2"]) == 2


def test_streamed_runs_read_gzip_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They say that the file is to be unpacked."""
    path = tmp_path / "log.swf.xz"
    path.write_bytes(lzma.compress(SWF.encode()))
    assert main(["run", str(path), "--nodes", "2", "--stream"]) == 2
    assert "--stream: reads logs that are plain or gzip" in capsys.readouterr().err


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, as_zip])
def test_pieces_are_small(pack: Callable[[bytes], bytes]) -> None:
    """A file that is a thousand times as long unpacked comes in pieces of the size that is asked for."""
    content = b"\n" * 5_000_000
    packed = pack(content)
    assert len(packed) < len(content) / 500
    for size in (1, 1000, len(packed)):
        parts = (packed[begin : begin + size] for begin in range(0, len(packed), size))
        blocks = list(unpacked(parts if size > 1 else iter([packed]), "x", 65_536))
        assert max(map(len, blocks)) <= 65_536
        assert b"".join(blocks) == content


def test_plain_files_have_no_packing() -> None:
    """Nor have files that are cut off in the first bytes of one."""
    assert [packing_of(begin) for begin in (b"", b"PK", SWF.encode(), b"BZ")] == [None] * 4
