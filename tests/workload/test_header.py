"""Headers tell what the log says of itself, and never fail."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batchlab.workload import Header

LINES = (
    "; Version: 2.2",
    "; Computer: Linux cluster (Seth)",
    ";Installation: HPC2N",
    "; Acknowledge: Ake Sandgren",
    "; Information: http://example.org/a",
    ";              http://example.org/b",
    "; Conversion: Dror Feitelson",
    "; MaxJobs: 527371",
    "; MaxRecords: 202871",
    "; Preemption: No",
    "; UnixStartTime: 1027839845",
    "; TimeZone: 3600",
    "; TimeZoneString: Europe/Stockholm",
    "; StartTime: Sun Jul 28 09:04:05 CEST 2002",
    "; EndTime:   Mon Jan 16 20:31:24 CET 2006",
    "; MaxNodes: 120 (dual)",
    "; maxprocs: 240",
    "; MaxRuntime: 432000.0",
    "; MaxMemory: 1024",
    "; AllowOveruse: No",
    "; MaxQueues: 2",
    "; Queue:  1  [fque:1]   ",
    "; Queue: all the rest",
    "; MaxPartitions: 1",
    "; Partition: 1 DEFAULT",
    "; Note: first",
    ";",
    "; not part of the note",
    "; Note: second,",
    ";       on two lines",
)


def test_the_fields_of_the_format() -> None:
    """Every field that the format defines has its name and type."""
    header = Header(LINES)
    assert header.version == "2.2"
    assert header.computer == "Linux cluster (Seth)"
    assert header.installation == "HPC2N"
    assert header.acknowledge == ("Ake Sandgren",)
    assert header.information == ("http://example.org/a\nhttp://example.org/b",)
    assert header.conversion == "Dror Feitelson"
    assert (header.max_jobs, header.max_records) == (527_371, 202_871)
    assert header.preemption == "No"
    assert (header.unix_start_time, header.time_zone) == (1_027_839_845, 3600)
    assert header.time_zone_string == "Europe/Stockholm"
    assert header.start_time == "Sun Jul 28 09:04:05 CEST 2002"
    assert header.end_time == "Mon Jan 16 20:31:24 CET 2006"
    assert (header.max_nodes, header.max_processors) == (120, 240)
    assert (header.max_run_time, header.max_memory, header.allow_overuse) == (432_000, 1024, "No")
    assert (header.max_queues, header.max_partitions) == (2, 1)
    assert header.queues == ((1, "[fque:1]"), (None, "all the rest"))
    assert header.partitions[0].description == "DEFAULT"
    assert header.notes == ("first", "second,\non two lines")


def test_all_fields_are_there_as_spelled() -> None:
    """What the format does not define is in ``fields``, which cannot be changed."""
    header = Header(("; My Field: a", "; My Field: b"))
    assert header.fields == {"My Field": ("a", "b")}
    with pytest.raises(TypeError):
        header.fields["x"] = ()  # type: ignore[index]


@pytest.mark.parametrize("value", ["", "many", "inf", "nan", "9" * 5000, "-", "1e400"])
def test_bad_numbers_are_no_numbers(value: str) -> None:
    """A number that is none, or is absurd, is None; the text is still in the fields."""
    header = Header((f"; MaxProcs: {value}",))
    assert header.max_processors is None
    assert header.fields["MaxProcs"] == (value,)


def test_an_empty_header_knows_nothing() -> None:
    """Without lines all is None or empty."""
    header = Header()
    assert (header.max_nodes, header.version, header.queues, header.notes) == (None, None, (), ())


def test_headers_are_values() -> None:
    """Equal lines make equal, hashable headers that survive pickling."""
    header = Header(LINES)
    assert header.max_jobs
    assert pickle.loads(pickle.dumps(header)) == header  # noqa: S301
    assert hash(header) == hash(Header(LINES))


def test_headers_can_be_made_of_fields() -> None:
    """Labels and values become lines; a value of several lines continues."""
    header = Header.from_fields({"Computer": "x", "MaxProcs": 8, "Note": ["a", "b\nc"]})
    assert header.max_processors == 8
    assert header.notes == ("a", "b\nc")


@given(st.lists(st.text(max_size=60) | st.from_regex(r"; ?[A-Z][a-z]{1,8}: ?.{0,10}")))
def test_any_lines_make_a_header(lines: list[str]) -> None:
    """No comment can make reading the header fail."""
    header = Header(tuple(f"; {line}" for line in lines))
    for name in dir(Header):
        if not name.startswith("_"):
            getattr(header, name)
