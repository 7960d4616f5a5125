"""What holds for all tests."""

import pytest
from hypothesis import settings

# How long an example takes says more about the machine than about the code.
settings.register_profile("unhurried", settings.default, deadline=None)
settings.load_profile("unhurried")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave campaigns out unless `-m campaign` asks for them."""
    if "campaign" in config.option.markexpr:
        return
    campaigns = [item for item in items if item.get_closest_marker("campaign")]
    items[:] = [item for item in items if item not in campaigns]
    config.hook.pytest_deselected(items=campaigns)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name contents of files by their parameter: a packed file may hold the time, and ids must not change."""
    return argname if isinstance(val, bytes) else None
