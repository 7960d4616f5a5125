"""Writers: the formats that are known by their suffix, and one's own."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

import batchlab as bl
from batchlab.errors import WorkloadError
from batchlab.workload.custom_formats import WRITERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

WORKLOAD = bl.Workload.from_table({"submit_time": [0, 9], "run_time": [60, 30], "tasks": [4, 2]})


class Commands(bl.Writer):
    """Lines such as `9 2x30`, between two others."""

    def head(self, workload: bl.Workload) -> Iterable[str]:
        return [f"{len(workload)} jobs"]

    def line(self, job: Mapping[str, object]) -> str:
        return f"{job['submit_time']:g} {job['tasks']}x{job['run_time']:g}"

    def foot(self, workload: bl.Workload) -> Iterable[str]:
        return ["end"] if len(workload) else []


def test_ones_own_writer(tmp_path: Path) -> None:
    """It gives lines; the rest is done, packing included."""
    bl.write_workload(WORKLOAD, tmp_path / "jobs.txt", writer=Commands())
    assert (tmp_path / "jobs.txt").read_text() == "2 jobs\n0 4x60\n9 2x30\nend\n"
    Commands().write(WORKLOAD, tmp_path / "jobs.gz")
    assert gzip.decompress((tmp_path / "jobs.gz").read_bytes()) == (tmp_path / "jobs.txt").read_bytes()


def test_a_failing_writer_leaves_nothing(tmp_path: Path) -> None:
    """A file is there whole or not at all."""

    class Failing(bl.Writer):
        def line(self, job: Mapping[str, object]) -> str:
            return str(job["no such column"])

    with pytest.raises(KeyError):
        Failing().write(WORKLOAD, tmp_path / "jobs.txt")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("suffix", WRITERS)
def test_known_formats(suffix: str, tmp_path: Path) -> None:
    """The suffix decides, in any case of letters, and what is written reads back."""
    path = tmp_path / f"JOBS{suffix}"
    bl.write_workload(WORKLOAD, path)
    read = bl.read_swf if "swf" in suffix else bl.read_table
    again = read(path).jobs
    assert again.select(WORKLOAD.jobs.columns).equals(WORKLOAD.jobs)


def test_unknown_formats_are_told(tmp_path: Path) -> None:
    """With those that are known; and a writer must be one."""
    with pytest.raises(WorkloadError, match=r"no format has the suffix '.cvs'. Did you mean '.csv'"):
        bl.write_workload(WORKLOAD, tmp_path / "jobs.cvs")
    with pytest.raises(WorkloadError, match="must be an object of a class derived from Writer"):
        bl.write_workload(WORKLOAD, tmp_path / "jobs", writer=Commands)  # type: ignore[arg-type]
