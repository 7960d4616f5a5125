"""Shell completion: what is offered for a word that was begun."""

from __future__ import annotations

import subprocess
import sys

import pytest

from batchlab.cli.options import complete_log, complete_machine, complete_policy
from batchlab.policy import ALLOCATORS, Policy


@pytest.mark.parametrize(
    ("begun", "offered"),
    [
        ("conserv", ["conservative"]),
        ("easy_", ["easy_accasim", "easy_literal", "easy_skip"]),
        ("easy(order=sj", ["easy(order=sjf)", "easy(order=sjf_node_hours)"]),
        ("easy(order=sjf, backfill=cons", ["easy(order=sjf, backfill=conservative)"]),
        ("easy(predictor=last", ["easy(predictor=last_two)"]),
        ("easy(reservations=", []),
        ("my_policy.py:", []),
    ],
)
def test_policies(begun: str, offered: list[str]) -> None:
    """Names, and values of keys by their kinds; files are left to the shell."""
    assert complete_policy(begun) == offered


def test_allocators() -> None:
    """Every one; what is offered can be passed to --policy."""
    offered = complete_policy("easy(allocator=")
    assert offered == [f"easy(allocator={name})" for name in ALLOCATORS]
    # An expression has to be written.
    for spec in set(complete_policy("")) - {"expression"}:
        Policy.parse(spec)


def test_machines_and_logs() -> None:
    """By their beginnings; where nothing fits, the shell offers files."""
    assert complete_machine("cor") == ["cori"]
    assert complete_machine("platform:ci") == ["platform:cielo"]
    assert complete_machine("./") == []
    assert complete_log("KTH") == ["KTH-SP2-1996-2.1-cln"]
    assert complete_log("") == []


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("batchlab comp", {"compare"}),
        ("batchlab plot job_", {"job_nodes", "job_sizes", "job_times"}),
        ("batchlab run --policy conse", {"conservative"}),
        ("batchlab run -p conse", {"conservative"}),
        ("batchlab run --walltime k", {"kill"}),
        ("batchlab compare --system cor", {"cori"}),
        ("batchlab demo --form", {"--format"}),
    ],
)
def test_bash_is_answered(line: str, offered: set[str]) -> None:
    """As the script that `--show-completion bash` prints asks."""
    environment = {
        "_BATCHLAB_COMPLETE": "complete_bash",
        "COMP_WORDS": line.replace(" ", "\n"),
        "COMP_CWORD": str(line.count(" ")),
    }
    code = "import sys; from batchlab.cli import main; sys.exit(main())"
    done = subprocess.run(  # noqa: S603  # our own
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**environment, "PYTHONPATH": ":".join(sys.path), "PATH": ""},
    )
    assert set(done.stdout.split()) == offered
