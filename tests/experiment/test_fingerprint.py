"""Fingerprints: equal for equal content and code, else different."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from batchlab.errors import ExperimentError
from batchlab.experiment.store import fingerprint

if TYPE_CHECKING:
    from pathlib import Path


def module(text: str) -> ModuleType:
    """Make a module of a program of the user's."""
    made = ModuleType("of_the_user")
    sys.modules["of_the_user"] = made
    exec(textwrap.dedent(text), made.__dict__)  # noqa: S102  # our own code
    return made


def found(text: str, name: str = "f") -> str:
    """Fingerprint what a program calls f."""
    return fingerprint(getattr(module(text), name))


@pytest.mark.parametrize(
    "value",
    [1, 1.0, "1", b"1", True, None, (1,), [1], {1: 1}, {1}, frozenset({1}), np.array([1]), np.array([1.0])],
)
def test_kinds_are_told_apart(value: object) -> None:
    """What compares equal need not behave alike."""
    others = [
        1,
        1.0,
        "1",
        b"1",
        True,
        None,
        (1,),
        [1],
        {1: 1},
        {1},
        frozenset({1}),
        np.array([1]),
        np.array([1.0]),
    ]
    assert sum(fingerprint(value) == fingerprint(other) for other in others) == 1


def test_equal_values_are_equal() -> None:
    """However they are put together."""
    text = str(b"ab", "ascii")
    assert fingerprint(["ab", "ab"]) == fingerprint([text, "ab"])
    assert fingerprint(pl.DataFrame({"a": [1, 2]})) == fingerprint(pl.DataFrame({"a": [1, 2]}))
    assert fingerprint(pl.DataFrame({"a": [1, 2]})) != fingerprint(pl.DataFrame({"a": [1, 3]}))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("f = lambda a: a + 1", "f = lambda a: a + 2", id="constant"),
        pytest.param("f = lambda a: a.x", "f = lambda a: a.y", id="attribute"),
        pytest.param("def f(a, b=1): return b", "def f(a, b=2): return b", id="default"),
        pytest.param("def f(*, b=1): return b", "def f(*, b=2): return b", id="keyword default"),
        pytest.param("K = 1\ndef f(): return K", "K = 2\ndef f(): return K", id="constant by name"),
        pytest.param(
            "def g(): return 1\ndef f(): return g()", "def g(): return 2\ndef f(): return g()", id="helper"
        ),
        pytest.param("class f:\n def m(self): return 1", "class f:\n def m(self): return 2", id="method"),
        pytest.param("class f:\n a = 1", "class f:\n a = 2", id="class variable"),
        pytest.param(
            "class B:\n def m(self): return 1\nclass f(B): pass",
            "class B:\n def m(self): return 2\nclass f(B): pass",
            id="base",
        ),
        pytest.param(
            "class f:\n @property\n def p(self): return 1",
            "class f:\n @property\n def p(self): return 2",
            id="property",
        ),
        pytest.param(
            "class f:\n @staticmethod\n def p(): return 1",
            "class f:\n @staticmethod\n def p(): return 2",
            id="static method",
        ),
        pytest.param(
            "def g(k):\n def h(): return k\n return h\nf = g(1)",
            "def g(k):\n def h(): return k\n return h\nf = g(2)",
            id="closure",
        ),
        pytest.param(
            "class C:\n def m(self): return self.a\nf = C()\nf.a = 1",
            "class C:\n def m(self): return self.a\nf = C()\nf.a = 2",
            id="state",
        ),
        pytest.param(
            "class C:\n a = 0\n def m(self): pass\nx = C()\nx.a = 1\nf = x.m",
            "class C:\n a = 0\n def m(self): pass\nx = C()\nx.a = 2\nf = x.m",
            id="bound method",
        ),
    ],
)
def test_code_and_state_count(one: str, other: str) -> None:
    """A change of either is a change of the fingerprint; none is none, though the objects are others."""
    assert found(one) != found(other)
    assert found(one) == found(one)


def test_comments_and_places_do_not_count() -> None:
    """Nor do other things of the same program."""
    assert found("def f(a):\n    return a + 1") == found(
        "x = 3\n\ndef f(a):  # one more\n\n    return (a + 1)"
    )


def test_two_functions_of_one_line_are_two() -> None:
    """Their source would be the same text."""
    one, other = (lambda a: a.x), (lambda a: a.y)
    assert fingerprint(one) != fingerprint(other)


def test_objects_that_hold_themselves() -> None:
    """Do not lead in circles."""
    ring: list[Any] = [1]
    ring.append(ring)
    assert fingerprint(ring) == fingerprint(ring)
    assert found("def f(n): return n and f(n - 1)") != found("def f(n): return n and f(n - 2)")


def test_installed_functions_count_by_name() -> None:
    """With what they are given."""
    assert fingerprint(partial(np.full, 3)) != fingerprint(partial(np.full, 4))
    assert fingerprint(np.full) != fingerprint(np.ones)
    assert fingerprint(len) != fingerprint(max)


def test_the_same_in_every_process(tmp_path: Path) -> None:
    """Hashes of texts, and so the order of sets, are others in each."""
    code = (
        "from batchlab.experiment.store import fingerprint\n"
        "def f(x): return x in {'a', 'b', 'c', 'd'}\n"
        "print(fingerprint([f, {'a', 'b', 'c'}, {'k': {1.5}}]))\n"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    command = [sys.executable, str(script)]
    said = {subprocess.run(command, capture_output=True, check=True).stdout for _ in range(3)}  # noqa: S603
    assert len(said) == 1
    assert len(said.pop().strip()) == 64


def test_what_has_no_content_is_refused() -> None:
    """With what to do instead."""
    with pytest.raises(
        ExperimentError, match=r"policy p: its state cannot be read: .*lock.* Keep in it what can"
    ):
        fingerprint([threading.Lock()], "policy p")


def test_the_order_of_a_dictionary_counts() -> None:
    """Code that goes through it sees the order; what the order of a set is, does not."""
    assert fingerprint({"a": 1, "b": 2}) != fingerprint({"b": 2, "a": 1})
    assert fingerprint({"a", "b"}) == fingerprint({"b", "a"})
