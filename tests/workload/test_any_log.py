"""No bytes can break the reading of logs: they end in a workload and a report, or in one clear error."""

import gzip
import io
import os
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from batchlab.errors import WorkloadError
from batchlab.workload import read_swf

# `BATCHLAB_FUZZ=100000 pytest tests/workload/test_any_log.py` is the campaign; a sample runs every time.
EXAMPLES = int(os.environ.get("BATCHLAB_FUZZ", "100"))

ODD = [
    "-1",
    "-0",
    "0",
    "1e400",
    "nan",
    "inf",
    "-inf",
    ".",
    "-",
    "x",
    "1.5",
    "4294967296",
    "9007199254740993",
    "é",
    "\0",
]
FIELD = st.integers(0, 10**6).map(str) | st.sampled_from(ODD) | st.floats().map(repr)
ROW = st.tuples(st.lists(FIELD, max_size=20), st.sampled_from([" ", "\t", "  ", " \r"])).map(
    lambda row: row[1].join(row[0])
)
SOUND = st.builds(
    "{} {} 5 100 4 99.5 2000 4 200 3000 1 7 8 9 1 2 -1 -1".format, st.integers(), st.integers(0)
)
COMMENT = st.from_regex(re.compile(r";\s?(MaxProcs|Queue|Note|MaxRecords): .{0,10}"), fullmatch=True)
LINES = st.lists(ROW | SOUND | COMMENT | st.text(max_size=30), max_size=10)
LOOKS_REAL = st.tuples(LINES, st.sampled_from(["\n", "\r\n"])).map(lambda log: log[1].join(log[0]).encode())


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Give a log with a few bytes replaced, perhaps packed, perhaps cut short."""
    content = bytearray(draw(LOOKS_REAL))
    if draw(st.integers(0, 3)) == 0:
        content = bytearray(gzip.compress(bytes(content), mtime=0))
    for place, byte in draw(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 255)), max_size=3)):
        if place < len(content):
            content[place] = byte
    return bytes(content[: draw(st.integers(0, 2000))])


@pytest.mark.timeout(0 if EXAMPLES > 1000 else 120)
@given(st.binary(max_size=200) | damaged(), st.sampled_from(["drop", "raise"]), st.booleans())
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_any_bytes_end_in_a_report_or_one_error(content: bytes, invalid: str, use_memory: bool) -> None:
    """Every row is accounted for, everything can be shown, and errors are of one line."""
    try:
        workload = read_swf(io.BytesIO(content), invalid=invalid, use_memory=use_memory)  # type: ignore[arg-type]
    except WorkloadError as error:
        message = str(error)
        assert message
        assert "\n" not in message
        return
    report = workload.report
    assert report.read == report.kept + report.dropped.height
    assert len(workload) == report.kept
    assert repr(workload)
    assert str(report)
    assert all(isinstance(queue.description, str) for queue in workload.header.queues)
