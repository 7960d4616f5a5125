"""Task mappings beside starts and node lists of another implementation: 120 jobs on a torus of 64 nodes."""

import json
from pathlib import Path

import pytest

import batchlab as bl
from support.oracles import find
from support.recorded_mappings import Case, digest, extract, found, policy_of, read

BRIEF = json.loads((Path(__file__).parent / "mapping.json").read_text("utf-8"))
CASES = [
    Case(policy, allocator, BRIEF["starts"][policy], nodes) for policy, allocator, nodes in BRIEF["cases"]
]
TORUS = bl.Platform.torus((4, 4, 2), bandwidth="5GBps", nodes_per_router=2, cores=4)
SYSTEM = bl.System.of(TORUS)


@pytest.mark.parametrize("case", CASES, ids=policy_of)
def test_recorded(case: Case) -> None:
    """Not one start, node or place of a node in a job's list differs."""
    here = found(BRIEF["jobs"], policy_of(case), SYSTEM)
    assert here.start == case.start
    assert digest(here.nodes) == case.nodes


def test_brief_form_is_that_of_the_record() -> None:
    """What is kept here follows from the whole record."""
    jobs, cases = read(find("oracles/mapping/mapping.json.gz"))
    assert json.loads(extract(jobs, cases)) == BRIEF
