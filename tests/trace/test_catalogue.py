"""The catalogue: its entries hold together, and are found by short names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import batchlab as bl
from batchlab.trace import catalogue, store

LOGS = Path(__file__).parents[3] / "shared/data"


@pytest.mark.parametrize("trace", catalogue.entries(), ids=lambda trace: trace.name)
def test_entries_hold_together(trace: catalogue.Trace) -> None:
    """Months are months, sizes multiply to the processors, and every name finds itself."""
    for month in filter(None, (trace.first, trace.last)):
        assert re.fullmatch(r"(19|20)\d\d(-(0[1-9]|1[0-2]))?", month)
    assert trace.last is None or trace.first <= trace.last
    assert (trace.nodes is None) == (trace.cores is None)
    if trace.nodes is not None and trace.cores is not None:
        assert trace.nodes * trace.cores == trace.processors
    assert trace.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", trace.sha256)
    assert trace.computer
    assert catalogue.find(trace.name) == catalogue.find(trace.file) == trace


def test_names_are_unique_and_sorted() -> None:
    """No log is there twice."""
    names = [trace.name.lower() for trace in catalogue.entries()]
    assert names == sorted(set(names))
    assert len(names) == 40


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("hpc2n", "HPC2N-2002-2.2-cln"),
        ("KTH-SP2", "KTH-SP2-1996-2.1-cln"),
        ("ctc-sp2-1995", "CTC-SP2-1995-2"),
        ("Sandia-Ross-2001-1.1-cln.swf", "Sandia-Ross-2001-1.1-cln"),
    ],
)
def test_beginnings_of_names(name: str, found: str) -> None:
    """As much as is unique will do, in any case of letters."""
    assert bl.traces.find(name).name == found


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("hpc2", "Did you mean 'HPC2N-2002-2.2-cln'"),
        ("sdsc", "may mean SDSC-BLUE-2000-4.2-cln, SDSC-DS"),
        ("", "no log named ''.*batchlab traces list"),
        ("x" * 200, "no log named 'xxx.*batchlab traces list"),
    ],
)
def test_other_names_are_refused(name: str, said: str) -> None:
    """With the nearest name, or all that are meant."""
    with pytest.raises(bl.TraceError, match=said):
        bl.traces.find(name)


@pytest.mark.parametrize("trace", [trace for trace in catalogue.entries() if trace.sha256])
def test_known_checksums_are_those_of_the_logs(trace: catalogue.Trace) -> None:
    """Where a copy is here, it has the catalogue's checksum, and its header agrees with the catalogue."""
    copy = LOGS / trace.file
    if not copy.exists():
        pytest.skip(f"needs {trace.file}, which is not here")
    assert store.checksum(copy, "") == trace.sha256
    header = bl.read_swf(copy, max_jobs=1).header
    assert header.max_jobs == trace.jobs
    assert header.max_processors == trace.processors


def test_the_catalogue_is_a_table() -> None:
    """Numbers are numbers, and what is not known is null."""
    table = bl.traces.catalogue()
    atlas = table.filter(table["name"] == "LLNL-Atlas-2006-2.1-cln").row(0, named=True)
    assert (atlas["nodes"], atlas["cores"], atlas["processors"], atlas["jobs"]) == (1152, 8, 9216, 60332)
    assert atlas["page"] == "https://www.cs.huji.ac.il/labs/parallel/workload/l_llnl_atlas/index.html"
    assert not atlas["fetched"]
    assert table.filter(table["name"] == "LCG-2005-1")["jobs"].to_list() == [None]
    assert len(table) == len(catalogue.entries())
