"""Disciplines beside recorded recursions over key events, of another implementation, at rate 1."""

import json
from pathlib import Path

import polars as pl
import pytest

from support.oracles import find
from support.recorded_recursions import Recorded, replayed

TINY = json.loads((Path(__file__).parent / "disciplines.json").read_text())
TRACE = "oracles/hpcwld/percustomer_disciplines_fixed1_HPC_KRC_model_cores_used.csv.gz"
MEASURES = "oracles/hpcwld/disciplines_controls.csv"
RECORDED_AS = {"easy_literal": "easy"}


@pytest.mark.parametrize("discipline", TINY["disciplines"])
def test_tiny(discipline: str) -> None:
    """Twelve jobs on four servers, one of them without work: all first starts, ends and preemptions."""
    recorded = Recorded(**TINY["disciplines"][discipline])
    jobs = (TINY["submit_time"], TINY["work"], TINY["servers"], TINY["c"])
    assert replayed(discipline, *jobs) == recorded


@pytest.mark.parametrize("discipline", TINY["disciplines"])
def test_trace(discipline: str) -> None:
    """8,281 jobs of a real log on 80 servers, in whole seconds: not one time differs."""
    table = pl.read_csv(find(TRACE)).sort("row")
    recorded_as = RECORDED_AS.get(discipline, discipline)
    found = replayed(discipline, table["t"].to_list(), table["S"].to_list(), table["N"].to_list(), 80)
    assert found.first_start == table[f"{recorded_as}_tS"].cast(pl.Float64).to_list()
    assert found.end == table[f"{recorded_as}_tD"].cast(pl.Float64).to_list()
    measures = pl.read_csv(find(MEASURES)).filter(
        pl.col("trace") == "HPC_KRC_model_cores_used", control="fixed1", disc=recorded_as
    )
    assert measures["preempt"].to_list() == [found.preemptions]
