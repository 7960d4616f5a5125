"""Public functions that take a workload, a system or events refuse anything else by an error of batchlab."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import batchlab as bl
from batchlab.generate import demo_system, demo_workload

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WORKLOAD, SYSTEM = demo_workload(5), demo_system()
LOG: Any = "log.swf"
SETH: Any = "seth"
TAKERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "like": (lambda _: bl.generate.like(LOG, 5, system=SYSTEM), "workload = 'log.swf'"),
    "mix": (lambda _: bl.generate.mix(LOG, []), "workload = 'log.swf'"),
    "compare": (lambda _: bl.generate.compare(WORKLOAD, LOG), "generated = 'log.swf'"),
    "write_table": (lambda folder: bl.write_table(LOG, folder / "jobs.csv"), "workload = 'log.swf'"),
    "write_swf": (lambda folder: bl.write_swf(LOG, folder / "log.swf"), "workload = 'log.swf'"),
    "write_system": (lambda folder: bl.write_system(SETH, folder / "s.toml"), "system = 'seth'"),
    "write_events": (lambda folder: bl.write_events(LOG, folder / "e.jsonl"), "stream = 'log.swf'"),
    "simulate": (lambda _: bl.simulate(LOG, SYSTEM, "easy"), "workload = 'log.swf'"),
    "simulate on": (lambda _: bl.simulate(WORKLOAD, SETH, "easy"), "system = 'seth'"),
}


@pytest.mark.parametrize("taker", TAKERS)
def test_a_path_is_no_workload(taker: str, tmp_path: Path) -> None:
    """The error names the argument and its value, and nothing is written."""
    call, said = TAKERS[taker]
    with pytest.raises(bl.BatchlabError, match=said):
        call(tmp_path)
    assert not [*tmp_path.iterdir()]
