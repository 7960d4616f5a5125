"""Whatever a system file holds, the answer is a machine or one clear error."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from batchlab.errors import PlatformError, SystemDescriptionError
from batchlab.system import read_system, write_system

# `BATCHLAB_FUZZ=100000 pytest tests/system/test_any_input.py` is the campaign; a sample runs every time.
EXAMPLES = int(os.environ.get("BATCHLAB_FUZZ", "100"))

OWN = {
    "name": "Mixed",
    "start_time": 1.5,
    "equivalence": {"core": 2},
    "groups": [
        {"name": "thin", "count": 2, "resources": {"core": 4}},
        {"name": "fat", "count": 1, "resources": {"core": 4, "gpu": 2}},
    ],
}
ACCASIM = {
    "system_name": "Mixed",
    "start_time": 1.5,
    "equivalence": {"processor": {"core": 2}},
    "groups": {"thin": {"core": 4}, "fat": {"core": 4, "gpu": 2}},
    "resources": {"thin": 2, "fat": 1},
}
TOML = b"""name = "Mixed"
equivalence = { core = 2 }
[[groups]]
name = "thin"
count = 2
resources = { core = 4, "gpu" = 0x2 }
"""
SEEDS = (json.dumps(OWN).encode(), json.dumps(ACCASIM, indent=1).encode(), TOML)

KEYS = (
    st.sampled_from(["groups", "resources", "count", "name", "core", "equivalence", "processor"]) | st.text()
)
SCALARS = st.none() | st.booleans() | st.integers() | st.integers(2**52, 2**65) | st.floats() | st.text()
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)


@st.composite
def mutated_documents(draw: DrawFn) -> object:
    """One of our descriptions, with some value, somewhere, replaced, removed or added."""
    document = json.loads(json.dumps(draw(st.sampled_from([OWN, ACCASIM]))))
    for _ in range(draw(st.integers(1, 3))):
        place = document
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = draw(st.sampled_from(keys)) if keys else None
            if key is None or not isinstance(place[key], dict | list) or draw(st.booleans()):
                break
            place = place[key]
        change = draw(st.sampled_from(["replace", "remove", "add"]))
        if change == "add" and isinstance(place, dict):
            place[draw(KEYS)] = draw(VALUES)
        elif change == "remove" and key is not None:
            del place[key]
        elif key is not None:
            place[key] = draw(VALUES)
    return document


@st.composite
def mutated_bytes(draw: DrawFn) -> bytes:
    """One of our files with a few bytes cut out, put in or repeated."""
    content = draw(st.sampled_from(SEEDS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(len(content), start + 12)))
        middle = draw(
            st.binary(max_size=4) | st.sampled_from([b"-", b"9", b"0x", b"nan", b"[[", b'"', b"1e999"])
        )
        content = content[:start] + middle + content[end:]
    return content


CONTENTS: SearchStrategy[bytes] = st.one_of(
    st.binary(),
    st.text().map(lambda text: text.encode("utf-8", "surrogatepass")),
    VALUES.map(lambda value: json.dumps(value).encode()),
    mutated_documents().map(lambda value: json.dumps(value).encode()),
    mutated_bytes(),
)


@pytest.mark.timeout(0 if EXAMPLES > 1000 else 120)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(content=CONTENTS, suffix=st.sampled_from(["", ".json", ".toml"]))
def test_any_file_gives_a_system_or_a_clear_error(tmp_path: Path, content: bytes, suffix: str) -> None:
    """No other error, and on one line; what is accepted, and no platform, can be written and read again."""
    path = tmp_path / f"system{suffix}"
    path.write_bytes(content)
    message = ""
    try:
        system = read_system(path)
    except (PlatformError, SystemDescriptionError) as error:
        message = str(error)
    if message:
        assert message.startswith(str(path))
        assert message.isprintable()
        assert len(message) < len(str(path)) + 1000
        return
    if system.platform is not None:
        return
    for form in (".json", ".toml"):
        write_system(system, tmp_path / f"again{form}")
        assert read_system(tmp_path / f"again{form}") == system
