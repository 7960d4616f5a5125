"""S1: how long an application takes depends neither on the time nor on what else is under way."""

import os
from dataclasses import replace
from random import Random

import polars as pl
import pytest

import batchlab as bl
from batchlab import tasks
from batchlab.core.vocabulary import SharingModel
from support.clock_cases import clock_case, ran

CASES = 60
CHUNKS = 3
BESIDE = 30
# `BATCHLAB_CASES=10000 pytest -m campaign tests/properties/test_application_clock.py`
CAMPAIGN = int(os.environ.get("BATCHLAB_CASES", "5000"))
CAMPAIGN_CHUNK = 250
SHARINGS: tuple[SharingModel, ...] = ("max_min", "fair_bottleneck", "bottleneck_max_min")
CLOSE = 1e-9
STEP = 64.0


def check(seed: int) -> None:
    """Run a case at 0 and at a late time that is a multiple of 1/64 s."""
    random = Random(f"clock {seed}")  # noqa: S311 - no secret
    case, sharing = clock_case(random), random.choice(SHARINGS)
    begin = round(10 ** random.uniform(3, 9.23) * STEP) / STEP
    early, late = ran(case, 0.0, sharing), ran(case, begin, sharing)
    same(early, late, seed)
    assert (late["end_time"] == late["start_time"] + late["run_time"]).all(), seed
    assert early["end_time"][0] > max(case.delays), f"{seed}: the first runs throughout"


def same(early: pl.DataFrame, late: pl.DataFrame, seed: int) -> None:
    """Assert that jobs take as long."""
    pairs = zip(early["run_time"].to_list(), late["run_time"].to_list(), strict=True)
    for job, (before, after) in enumerate(pairs):
        assert after == pytest.approx(before, rel=CLOSE, abs=0), f"clock_case {seed}, job {job}"


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_run_times_at_any_time(chunk: int) -> None:
    """Computing, messages, skeletons, files, disks, GPUs: as long late as at 0, with others under way."""
    for seed in range(chunk, CASES, CHUNKS):
        check(seed)


@pytest.mark.campaign
@pytest.mark.parametrize("begin", range(0, CAMPAIGN, CAMPAIGN_CHUNK))
def test_many_run_times(begin: int) -> None:
    """The same of many cases."""
    for seed in range(begin, min(begin + CAMPAIGN_CHUNK, CAMPAIGN)):
        check(seed)


def test_beside_others_on_other_nodes() -> None:
    """A job that shares nothing takes as long as alone at 0, whenever it comes, and ends once rounded."""
    messages = tasks.Compute(bytes=64.0, communication_pattern="ring_clockwise")
    ring = bl.Application([bl.Phase([messages], iterations=5000)])
    for seed in range(BESIDE):
        random = Random(f"beside {seed}")  # noqa: S311 - no secret
        case, sharing = clock_case(random), random.choice(SHARINGS)
        mine, size = case.applications[1], case.tasks[1]
        alone = replace(case, applications=(mine,), tasks=(size,), delays=(0.0,))
        delays = (0.0, random.uniform(0, 0.005))
        beside = replace(case, applications=(ring, mine), tasks=(2, size), delays=delays)
        took = ran(alone, 0.0, sharing)["run_time"][0]
        found = ran(beside, 10 ** random.uniform(3, 9.23), sharing)
        assert found["run_time"][1] == pytest.approx(took, rel=CLOSE, abs=0), seed
        assert found["start_time"][1] == found["submit_time"][1], seed
        assert found["end_time"][1] == found["start_time"][1] + found["run_time"][1], seed
