"""What holds for all tests."""

import gc
from collections.abc import Generator

import pytest
from hypothesis import settings

# How long an example takes says more about the machine than about the code.
settings.register_profile("unhurried", settings.default, deadline=None)
settings.load_profile("unhurried")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the garbage collector the tests themselves: there are many, and all stay until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave campaigns out unless `-m campaign` asks for them, and begin with the tests of clusters.

    These run one at a time on a machine, and mostly wait. At the beginning of the list one process runs them
    all, while the others do what there is to compute.
    """
    if "campaign" not in config.option.markexpr:
        campaigns = [item for item in items if item.get_closest_marker("campaign")]
        chosen = set(campaigns)
        items[:] = [item for item in items if item not in chosen]
        config.hook.pytest_deselected(items=campaigns)
    items.sort(key=lambda item: not hasattr(getattr(item, "module", None), "one_at_a_time"))


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name contents of files by their parameter: a packed file may hold the time, and ids must not change."""
    return argname if isinstance(val, bytes) else None
