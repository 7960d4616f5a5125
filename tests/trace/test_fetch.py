"""Fetching logs: from a server on this machine, through its failures, and what is left behind."""

from __future__ import annotations

import gzip
import json
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.trace import store

if TYPE_CHECKING:
    from pathlib import Path

    from support.trace_archive import Archive

NAME = "LCG-2005-1"
FILE = "/l_lcg/LCG-2005-1.swf.gz"


def test_a_log_is_fetched_once(archive: Archive, cache: Path) -> None:
    """The second time it is there; it can be read, and nothing else is left but its record."""
    assert bl.traces.fetch(NAME, mirror=archive.address) == cache / "LCG-2005-1.swf.gz"
    path = bl.traces.fetch(NAME, mirror=archive.address)
    assert len(bl.read_swf(path)) == 2
    assert archive.asked == [(FILE, None)]
    assert sorted(entry.name for entry in cache.iterdir()) == ["LCG-2005-1.swf.gz", "LCG-2005-1.swf.gz.json"]
    assert bl.traces.path(NAME) == path
    assert bl.traces.catalogue()["fetched"].sum() == 1


def test_what_is_first_fetched_is_trusted(archive: Archive, cache: Path) -> None:
    """The checksum is kept beside it; another content is refused from then on, and taken if told."""
    path = bl.traces.fetch(NAME, mirror=archive.address)
    record = json.loads((cache / "LCG-2005-1.swf.gz.json").read_text())
    assert record["learned"]
    assert record["address"] == archive.address + FILE
    assert record["sha256"] == store.checksum(path, "")
    path.write_bytes(gzip.compress(b"; another\n"))
    for look in (bl.traces.fetch, bl.traces.path):
        with pytest.raises(bl.TraceError, match=r"must be .*by what was fetched first.*trust=True"):
            look(NAME)
    bl.traces.fetch(NAME, trust=True)
    assert bl.traces.path(NAME) == path


def test_how_a_log_is_compressed_does_not_matter(archive: Archive) -> None:
    """Mirrors may compress it anew: the checksum is of what is inside."""
    path = bl.traces.fetch(NAME, mirror=archive.address)
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()), compresslevel=1, mtime=1))
    assert bl.traces.path(NAME) == path


def test_known_checksums_are_held(archive: Archive, cache: Path) -> None:
    """What is not the log that the catalogue knows is not kept, unless told to."""
    with pytest.raises(bl.TraceError, match=r"l_hpc2n/HPC2N.*; must be 77b8993c.*by the catalogue"):
        bl.traces.fetch("hpc2n", mirror=archive.address)
    assert list(cache.iterdir()) == []
    bl.traces.fetch("hpc2n", mirror=archive.address, trust=True)
    assert bl.traces.path("hpc2n").exists()


def test_logs_put_there_by_hand_are_taken(archive: Archive, cache: Path) -> None:
    """That is what the errors advise."""
    cache.mkdir()
    (cache / "LCG-2005-1.swf.gz").write_bytes(archive.files[FILE])
    path = bl.traces.fetch(NAME)
    record = json.loads(path.with_name(f"{path.name}.json").read_text())
    assert (record["address"], record["learned"]) == ("", True)


def test_a_broken_transfer_goes_on(archive: Archive) -> None:
    """From where it broke, and only if it is still the same file."""
    archive.breaks = 2
    seen: list[tuple[int, int | None]] = []
    path = bl.traces.fetch(NAME, mirror=archive.address, progress=lambda *state: seen.append(state))
    whole = archive.files[FILE]
    assert path.read_bytes() == whole
    half = len(whole) // 2
    assert [part for _, part in archive.asked] == [
        None,
        f"bytes={half}-",
        f"bytes={half + (len(whole) - half) // 2}-",
    ]
    assert seen[0] == (half, len(whole))
    assert seen[-1] == (len(whole), len(whole))


def test_a_file_that_changed_meanwhile_is_begun_anew(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never are two halves of different files put together."""
    archive.breaks = 1
    other = gzip.compress(b"; quite another log\n" * 5)

    def replace(_pause: float) -> None:
        archive.tag, archive.files[FILE] = '"two"', other

    monkeypatch.setattr("time.sleep", replace)
    assert bl.traces.fetch(NAME, mirror=archive.address).read_bytes() == other


@pytest.mark.parametrize("tag", [None, 'W/"weak"'])
def test_without_a_mark_a_broken_transfer_begins_anew(archive: Archive, tag: str | None) -> None:
    """Nothing says that the rest would belong to the beginning."""
    archive.breaks, archive.tag = 1, tag
    path = bl.traces.fetch(NAME, mirror=archive.address)
    assert path.read_bytes() == archive.files[FILE]
    assert [part for _, part in archive.asked] == [None, None]


def test_servers_are_asked_again_when_it_is_their_fault(archive: Archive) -> None:
    """A few times."""
    archive.fails = 2
    assert bl.traces.fetch(NAME, mirror=archive.address).exists()
    assert len(archive.asked) == 3


@pytest.mark.parametrize(("breaks", "fails"), [(99, 0), (0, 99)])
def test_nothing_is_left_of_what_fails(archive: Archive, cache: Path, breaks: int, fails: int) -> None:
    """After the last attempt the directory is empty, and the error says what to do by hand."""
    archive.breaks, archive.fails = breaks, fails
    with pytest.raises(
        bl.TraceError, match=r"Download https://www\.cs\.huji.*\.gz where you can and put it at"
    ):
        bl.traces.fetch(NAME, mirror=archive.address)
    assert list(cache.iterdir()) == []
    assert len(archive.asked) == 4


def test_what_is_not_there_is_not_asked_for_again(archive: Archive, cache: Path) -> None:
    """A 404 says so, with the address, the archive's own, and the place to put the file."""
    del archive.files[FILE]
    said = rf"{archive.address}{FILE}: the server answers 404.*put it at {cache}/LCG-2005-1\.swf.*--mirror"
    with pytest.raises(bl.TraceError, match=said):
        bl.traces.fetch(NAME, mirror=archive.address)
    assert len(archive.asked) == 1


def test_offline(cache: Path) -> None:
    """Where no server listens, the same."""
    with pytest.raises(bl.TraceError, match=f"Connection refused.*put it at {cache}"):
        bl.traces.fetch(NAME, mirror="http://127.0.0.1:9")


def test_pages_that_are_no_logs_are_refused(archive: Archive, cache: Path) -> None:
    """As those of a network that wants one to log in first."""
    archive.files[FILE] = b"<html>Welcome to our hotel</html>"
    with pytest.raises(bl.TraceError, match=r"LCG-2005-1\.swf\.gz: is not a whole gzip file"):
        bl.traces.fetch(NAME, mirror=archive.address)
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("length", ["x", "-5", "1e9", "9" * 5000, "\N{SUPERSCRIPT TWO}"])
def test_lengths_that_are_none(archive: Archive, cache: Path, length: str) -> None:
    """What a mirror says of the length may be anything; one error, and nothing is left."""
    archive.length = length
    with suppress(bl.TraceError):
        bl.traces.fetch(NAME, mirror=archive.address)
    assert not [path for path in cache.iterdir() if path.suffix == ".tmp"]


def test_a_mirror_that_never_ends(archive: Archive, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answer does not fill the disk."""
    monkeypatch.setattr("batchlab.trace.store._LARGEST", 100_000)
    archive.files[FILE] = bytes(1_000_000)
    with pytest.raises(bl.TraceError, match=r"LCG.*sends more than 100,000 bytes"):
        bl.traces.fetch(NAME, mirror=archive.address)
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "LCG-2005-1/../../x", "/etc/passwd", "a" * 5000, "\0", "\udcff"]
)
def test_names_are_no_paths(name: str, archive: Archive, cache: Path) -> None:
    """Only names of the catalogue become files."""
    with pytest.raises(bl.TraceError, match="no log named"):
        bl.traces.fetch(name, mirror=archive.address)
    assert archive.asked == []
    assert not cache.exists() or list(cache.iterdir()) == []


def test_mirrors_by_variable_and_directory(
    archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A directory with the archive's folders will do, and so will the environment."""
    folder = tmp_path / "mirror/l_lcg"
    folder.mkdir(parents=True)
    (folder / "LCG-2005-1.swf.gz").write_bytes(archive.files[FILE])
    monkeypatch.setenv(bl.traces.MIRROR_VARIABLE, str(tmp_path / "mirror"))
    assert bl.traces.fetch(NAME).read_bytes() == archive.files[FILE]
    monkeypatch.setenv(bl.traces.MIRROR_VARIABLE, f"{archive.address}/")
    assert bl.traces.fetch("LLNL-T3D").exists()


def test_other_schemes_are_refused() -> None:
    """No mirror makes us read from anywhere else."""
    with pytest.raises(bl.TraceError, match="must begin with http://, https:// or file://"):
        bl.traces.fetch(NAME, mirror="ftp://127.0.0.1")


def test_logs_that_are_not_there(cache: Path) -> None:
    """The error is the command that fetches them."""
    with pytest.raises(bl.TraceError, match=f"not in {cache}.*batchlab traces fetch LCG-2005-1"):
        bl.traces.path("lcg")


def test_machines(archive: Archive) -> None:
    """The catalogue's, and where it knows none that of the log's header."""
    assert bl.traces.system("hpc2n").nodes == 120
    assert bl.traces.system("hpc2n").total == {"core": 240}
    bl.traces.fetch(NAME, mirror=archive.address)
    header = bl.traces.system(NAME)
    assert (header.nodes, header.total, header.name) == (2, {"core": 4}, "LHC Computing Grid")


def test_machines_that_nobody_knows(archive: Archive) -> None:
    """The error says where to look."""
    archive.files[FILE] = gzip.compress(b"; Computer: some\n")
    bl.traces.fetch(NAME, mirror=archive.address)
    with pytest.raises(bl.TraceError, match=r"neither the catalogue nor the log's header.*l_lcg/index.html"):
        bl.traces.system(NAME)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"BATCHLAB_CACHE": "/a"}, "/a"),
        ({"XDG_CACHE_HOME": "/b"}, "/b/batchlab/traces"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/c"}, "/c/.cache/batchlab/traces"),
        ({"HOME": "/c"}, "/c/.cache/batchlab/traces"),
    ],
)
def test_where_logs_lie(variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By argument, by our variable, by that of the system, or in the home directory."""
    for name in ("BATCHLAB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert str(store.directory()) == expected
    assert str(store.directory("/mine")) == "/mine"


def test_records_that_cannot_be_read_are_made_anew(archive: Archive) -> None:
    """They hold nothing that the log does not."""
    path = bl.traces.fetch(NAME, mirror=archive.address)
    beside = path.with_name(f"{path.name}.json")
    for text in ("", "[]", '{"sha256": 1}'):
        beside.write_text(text)
        bl.traces.fetch(NAME)
        assert json.loads(beside.read_text())["sha256"] == store.checksum(path, "")
