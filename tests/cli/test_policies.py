"""`batchlab policies`."""

import pytest

from batchlab.cli import main
from batchlab.cli.catalogues import EXAMPLES
from batchlab.policy import ALLOCATORS, BACKFILLS, DISCIPLINES, ORDERS, PREDICTORS, Policy


def test_every_name_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """With what it does, in its section."""
    assert main(["policies"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    for table in (ORDERS, BACKFILLS, DISCIPLINES, ALLOCATORS, PREDICTORS):
        for name, rule in table.items():
            assert any(line.split() == [name, *rule.summary.split()] for line in lines)


@pytest.mark.parametrize("spec", EXAMPLES)
def test_the_examples_are_policies(spec: str) -> None:
    """What is shown can be passed to --policy."""
    assert str(Policy.parse(spec)) == spec
