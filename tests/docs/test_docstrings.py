"""The examples in the package's docstrings are true."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import batchlab

MODULES = [
    "batchlab",
    *(
        module.name
        for module in pkgutil.walk_packages(batchlab.__path__, "batchlab.")
        if module.name not in {"batchlab.__main__", "batchlab._kernel"}
    ),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every example in a module's docstrings gives what it shows."""
    monkeypatch.chdir(tmp_path)
    assert not doctest.testmod(importlib.import_module(name)).failed
