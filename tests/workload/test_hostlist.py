"""Lists of hosts as Slurm and PBS write them."""

import pytest

from batchlab.workload.logs.node_events import hosts


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", ["n1"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[08-10,2],m", ["n08", "n09", "n10", "n2", "m"]),
        ("r[1-2]n[0-1]x", ["r1n0x", "r1n1x", "r2n0x", "r2n1x"]),
        ("", []),
    ],
)
def test_lists_of_hosts(text: str, names: list[str]) -> None:
    """Brackets hold numbers and ranges, whose zeros are kept."""
    assert hosts(text) == names


@pytest.mark.parametrize("text", ["n[3-1]", "n[a-b]", "n[1-99999]"])
def test_no_lists_of_hosts(text: str) -> None:
    """A range that is none, or too many names, are no list."""
    assert hosts(text, most=65_536) is None
