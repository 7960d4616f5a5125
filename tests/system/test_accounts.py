"""Accounts, qualities of service and fair share in descriptions and files."""

import math
import pickle
from pathlib import Path

import pytest

import batchlab as bl
from batchlab.errors import SystemDescriptionError

NODES = """
[[groups]]
name = "nodes"
count = 2
resources = { core = 4, gpu = 1 }
"""
SHARING = """
[[accounts]]
name = "optics"
parent = "physics"
shares = "parent"
users = { dee = 2, "e e" = 0 }

[[accounts]]
name = "physics"
shares = 60
users = { ann = 1, bob = "parent" }

[[qos]]
name = "high"
priority = 100
usage_factor = 2

[fair_share]
rule = "classic"
half_life = "inf"
weights = { core = 1, gpu = 20.5 }
"""


def read(folder: Path, text: str) -> bl.System:
    """Read a description of nodes and of what is given."""
    path = folder / "system.toml"
    path.write_text(NODES + text, "utf-8")
    return bl.read_system(path)


@pytest.mark.parametrize("form", ["toml", "json"])
def test_files_hold_accounts(tmp_path: Path, form: str) -> None:
    """What is read is what was described, parents first, and is the same after it was written."""
    system = read(tmp_path, SHARING)
    assert system.accounts == (
        bl.Account("physics", shares=60, users={"ann": 1, "bob": "parent"}),
        bl.Account("optics", "physics", "parent", {"dee": 2, "e e": 0}),
    )
    assert system.qos == (bl.QualityOfService("high", 100, 2),)
    weights = {"core": 1.0, "gpu": 20.5}
    assert system.fair_share == bl.FairShare(rule="classic", half_life=math.inf, weights=weights)
    bl.write_system(system, tmp_path / f"again.{form}")
    again = bl.read_system(tmp_path / f"again.{form}")
    assert again == system == pickle.loads(pickle.dumps(system))  # noqa: S301  # our own


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            '[[accounts]]\nname = "a"\nshares = 0',
            r"accounts\[0\]\.shares = 0; must be a number from 2\^-53 to 2\^53",
        ),
        ('[[accounts]]\nname = "a"\nshares = true', r"accounts\[0\]\.shares = True; must be a number from"),
        (
            '[[accounts]]\nname = "a"\nusers = { x = -1 }',
            r"accounts\[0\]\.users\.x = -1; must be a number from",
        ),
        (
            '[[accounts]]\nname = "alpha"\n[[accounts]]\nname = "b"\nparent = "alhpa"',
            r"accounts\[1\]\.parent = 'alhpa'; must be another account or 'root'\. Did you mean 'alpha'",
        ),
        ('[[accounts]]\nname = "a"\n[[accounts]]\nname = "a"', r"accounts\[1\]\.name = 'a'; must be unique"),
        (
            '[[accounts]]\nname = "a"\nparent = "b"\n[[accounts]]\nname = "b"\nparent = "a"',
            r"accounts\[0\]\.parent = 'b'; makes a circle: a is part of b is part of a\. Let one",
        ),
        ('[[accounts]]\nname = "a"\nparent = "a"', r"accounts\[0\]\.parent = 'a'; makes a circle"),
        (
            '[[accounts]]\nname = "root"\nshares = 2',
            r"accounts\[0\]: root is part of nothing; give it users only",
        ),
        ('[[accounts]]\nname = "a"\nshare = 2', r"accounts\[0\]\.share = 2; is not a key .*'shares'"),
        (
            '[accounts]\nname = "a"',
            r"accounts = .*must be a list of accounts; in TOML write \[\[accounts\]\]",
        ),
        ('[[qos]]\nname = "a"\n[[qos]]\nname = "a"', r"qos\[1\]\.name = 'a'; must be unique"),
        ('[[qos]]\nname = "a"\npriority = -1', r"qos\[0\]\.priority = -1; must be a number from 0"),
        (
            '[fair_share]\nrule = "clasic"',
            r"fair_share\.rule = 'clasic'; must be one of .*Did you mean 'classic'",
        ),
        ("[fair_share]\nhalf_life = 0", r"fair_share\.half_life = 0; must be a number of seconds >= 2\^-53"),
        ("[fair_share]\nhalf_live = 0", r"fair_share\.half_live = 0; is not a key .*'half_life'"),
        (
            "[fair_share]\nweights = { cpu = 1 }",
            r"fair_share\.weights: key 'cpu'; must be a resource that nodes",
        ),
    ],
)
def test_bad_descriptions_are_one_line_with_the_path(tmp_path: Path, text: str, line: str) -> None:
    """The path into the file, the value, the rule and the next step."""
    with pytest.raises(SystemDescriptionError, match=line) as error:
        read(tmp_path, text)
    assert "\n" not in str(error.value)


def test_unknown_users_and_amounts_are_refused() -> None:
    """Usage of what is not there, or that is no number, is an error that names it."""
    accounts = [bl.Account("physics", users={"ann": 1})]
    with pytest.raises(SystemDescriptionError, match=r"account = 'phisics'.*Did you mean 'physics'"):
        bl.accounting.fair_share(accounts, {("phisics", "ann"): 1.0})
    with pytest.raises(SystemDescriptionError, match=r"user = 'amn'; must be a user of account 'physics'"):
        bl.accounting.fair_share(accounts, {("physics", "amn"): 1.0})
    with pytest.raises(SystemDescriptionError, match=r"usage of 'ann' = -1\.0; must be a finite number >= 0"):
        bl.accounting.fair_share(accounts, {("physics", "ann"): -1.0})
