"""Applications in files: ElastiSim's JSON, read strictly or as ElastiSim does, and written."""

import copy
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import batchlab as bl
from batchlab import tasks
from batchlab.application.files import application_of, document_of
from support.oracles import find

DOCUMENT: dict[str, Any] = {
    "on_init": {"tasks": [{"type": "pfs_read", "bytes": "size", "pattern": "root_only"}]},
    "on_expansion": {"iterations": 2, "tasks": [{"type": "idle", "delay": 1, "pattern": "uniform"}]},
    "phases": [
        {
            "iterations": "steps",
            "evolving_request": "num_nodes + 1",
            "tasks": [
                {
                    "type": "cpu",
                    "name": "step",
                    "flops": "work / num_nodes",
                    "computation_pattern": "total",
                    "bytes": [0, 1, 1, 0],
                    "communication_pattern": "matrix",
                    "coupled": True,
                },
                {"type": "GPU", "bytes": 5e9, "communication_pattern": "Ring"},
                {
                    "type": "sequence",
                    "iterations": 3,
                    "synchronized": True,
                    "tasks": [
                        {"type": "bb_write", "bytes": 7, "pattern": "uniform", "async": True},
                        {"type": "busy_wait", "delay": "pause", "pattern": "even_ranks"},
                        {"type": "delay", "delay": 4},
                        {"type": "cache_write", "bytes": 8, "pattern": "uniform"},
                        {"type": "cache_read", "bytes": 9, "pattern": "root_only", "async": True},
                    ],
                },
            ],
        },
        {
            "scheduling_point": False,
            "barrier": False,
            "tasks": [{"type": "idle", "delay": [1, 2], "pattern": "vector"}],
        },
    ],
}


def expected() -> bl.Application:
    """Give what the document describes."""
    inner = [
        tasks.Write(7, "uniform", "burst_buffer", asynchronous=True),
        tasks.BusyWait("pause", "even_ranks"),
        tasks.Delay(4),
        tasks.Write(8, "uniform", "cache"),
        tasks.Read(9, "root_only", "cache", asynchronous=True),
    ]
    first = bl.Phase(
        [
            tasks.Compute("work / num_nodes", "all_ranks", [0, 1, 1, 0], "matrix", coupled=True, name="step"),
            tasks.Gpu(bytes=5e9, communication_pattern="ring"),
            tasks.Sequence(inner, iterations=3, synchronized=True),
        ],
        iterations="steps",
        evolving_request="num_nodes + 1",
    )
    second = bl.Phase([tasks.Idle([1, 2])], scheduling_point=False, barrier=False)
    return bl.Application(
        [first, second],
        on_init=bl.Stage([tasks.Read("size", "root_only")]),
        on_expansion=bl.Stage([tasks.Idle(1)], iterations=2),
    )


def file(folder: Path, text: str) -> Path:
    """Write a file for a test."""
    path = folder / "model.json"
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("lenient", [False, True])
def test_reading(tmp_path: Path, lenient: bool) -> None:
    """All types, fields and defaults are read, strictly or not."""
    path = file(tmp_path, json.dumps(DOCUMENT))
    assert bl.read_application(path, lenient=lenient) == expected()


def test_round_trip(tmp_path: Path) -> None:
    """What is written is read as it was, whole numbers without a fraction."""
    bl.write_application(expected(), tmp_path / "again.json")
    assert bl.read_application(tmp_path / "again.json") == expected()
    assert '"iterations": 3,' in (tmp_path / "again.json").read_text("utf-8")


def changed(path: str, value: object) -> dict[str, Any]:
    """Give the document with one place changed, as ``phases.0.tasks.1.type``; ``...`` takes it away."""
    document = copy.deepcopy(DOCUMENT)
    *way, last = [int(step) if step.isdecimal() else step for step in path.split(".")]
    place: Any = document
    for step in way:
        place = place[step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return document


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("phases", ..., "phases is missing; must be a list of phases"),
        ("phases", {}, r"phases = \{\}; must be a list"),
        ("phases", [], "phases = .*; must be at least one Phase"),
        ("phases.1", 3, r"phases\[1\] = 3; must be an object"),
        ("phase", [], r"phase = \[\]; is not a key of an application. Did you mean 'phases'"),
        (
            "phases.0.bariere",
            True,
            r"phases\[0\].bariere = True; is not a key of an application. Did you mean 'barrier'",
        ),
        ("phases.0.barrier", "yes", r"phases\[0\].barrier = 'yes'; must be true or false"),
        ("phases.0.iterations", "1 +", r"phases\[0\].iterations = '1 \+': a number.*character 4"),
        ("phases.0.iterations", -1, r"phases\[0\].iterations = -1; must be from 0"),
        ("phases.0.tasks", ..., r"phases\[0\].tasks is missing; must be a list"),
        (
            "phases.0.tasks.0.type",
            "cpus",
            r"phases\[0\].tasks\[0\].type = 'cpus'; must be a type of task. Did you mean 'cpu'",
        ),
        ("phases.0.tasks.0.type", ..., r"tasks\[0\].type is missing"),
        (
            "phases.0.tasks.0.flop",
            1,
            r"tasks\[0\].flop = 1; is not a key of an application. Did you mean 'flops'",
        ),
        (
            "phases.0.tasks.0.computation_pattern",
            "al_ranks",
            r"tasks\[0\].computation_pattern = 'al_ranks'; .*'all_ranks'",
        ),
        ("phases.0.tasks.0.bytes", [1, 2], r"tasks\[0\].bytes has 2 entries"),
        ("phases.0.tasks.1.coupled", True, r"tasks\[1\].coupled = True; is not a key of an application"),
        ("phases.0.tasks.2.tasks.0.async", 1, r"tasks\[2\].tasks\[0\].async = 1; must be true or false"),
        ("phases.0.tasks.2.tasks.1.delay", "x ^", r"tasks\[2\].tasks\[1\].delay = 'x \^': "),
        ("phases.0.tasks.2.tasks.1.delay", ..., r"tasks\[1\].delay is missing; such a task needs it"),
        ("phases.0.tasks.2.tasks.1.pattern", ..., r"tasks\[1\].pattern is missing; must say how"),
        ("on_init", [], r"on_init = \[\]; must be an object"),
        ("phases.0.tasks.0.bytes", ..., r"tasks\[0\].communication_pattern = 'matrix' without bytes"),
        ("phases.0.tasks.1", {"type": "gpu"}, r"tasks\[1\]: there is nothing to do"),
    ],
)
def test_errors_name_the_path(tmp_path: Path, path: str, value: object, message: str) -> None:
    """Errors name the file, the path into it, the value and the rule."""
    model = file(tmp_path, json.dumps(changed(path, value)))
    with pytest.raises(bl.ApplicationError, match=f"model.json: .*{message}") as caught:
        bl.read_application(model)
    assert str(caught.value).startswith(str(model))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n"phases": [}', r"model.json:2:12: is not JSON: Expecting value"),
        ("", "model.json:1:1: is not JSON"),
        ('{"phases": [], "phases": []}', "model.json: key 'phases' appears twice"),
        ('{"phases": NaN}', "model.json: NaN is not a number of JSON"),
        ("[" * 100_000, "model.json: is nested too deeply"),
        ("1" * 5_000, "model.json: holds a number of thousands of digits"),
        ("3", "model.json: document = 3; must be an object"),
    ],
)
def test_what_is_no_json(tmp_path: Path, text: str, message: str) -> None:
    """Errors in the syntax name line and column."""
    with pytest.raises(bl.ApplicationError, match=message):
        bl.read_application(file(tmp_path, text))


def test_keys_that_are_there_twice_are_refused_in_projects_too(tmp_path: Path) -> None:
    """Of two values of one key none is left out silently, leniently read or not."""
    model = file(tmp_path, '{"phases": [{"tasks": [], "iterations": 2, "iterations": 3}]}')
    with pytest.raises(bl.ApplicationError, match=r"model.json: key 'iterations' appears twice"):
        bl.read_application(model, lenient=True)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    """A file that is not there, or no text, is an error of its own."""
    with pytest.raises(bl.ApplicationError, match=r"nowhere.json: cannot be read: No such file"):
        bl.read_application(tmp_path / "nowhere.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(bl.ApplicationError, match="is not UTF-8 text"):
        bl.read_application(tmp_path / "bytes.json")


@pytest.mark.parametrize(
    ("path", "value", "same"),
    [
        ("comment", "none", ()),
        ("phases.0.tasks.1.computation_pattern", "uniform", ()),
        ("phases.0.tasks.1.coupled", True, ()),
        ("phases.0.barrier", "no", ()),
        ("phases.0.evolving_request", 4, ("evolving_request", None)),
        ("phases.0.iterations", 2.5, ("iterations", bl.Formula(1))),
        ("phases.0.iterations", -2, ("iterations", bl.Formula(1))),
    ],
)
def test_lenient_reading_ignores_what_elastisim_ignores(
    path: str, value: object, same: tuple[Any, ...]
) -> None:
    """Unknown fields and values of other kinds are as if they were not there."""
    read = application_of(changed(path, value), lenient=True)
    first = expected().phases[0] if not same else None
    assert read.phases[0] == first or getattr(read.phases[0], same[0]) == same[1]


def test_lenient_stages_take_whole_numbers_only() -> None:
    """ElastiSim does what is done once as often as a whole number says, else once."""
    document = changed("on_expansion.iterations", "3")
    assert application_of(document, lenient=True).on_expansion == bl.Stage([tasks.Idle(1)])
    assert application_of(document).on_expansion == bl.Stage([tasks.Idle(1)], iterations="3")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "cpu", "1 +", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "tasks", "x"]), inner)
    ),
    max_leaves=4,
)


def places(document: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401  # JSON
    """Give the way to every place in a document."""
    yield way
    steps = (
        document.items()
        if isinstance(document, dict)
        else enumerate(document)
        if isinstance(document, list)
        else ()
    )
    for step, inner in steps:
        yield from places(inner, (*way, step))


PLACES = [way for way in places(DOCUMENT) if way]


@given(
    st.lists(st.tuples(st.sampled_from(PLACES), JSON | st.just(...)), min_size=1, max_size=3), st.booleans()
)
def test_damaged_documents(changes: list[tuple[tuple[Any, ...], Any]], lenient: bool) -> None:
    """A document with places changed or taken away is an application or an ApplicationError."""
    document = copy.deepcopy(DOCUMENT)
    for (*way, last), value in changes:
        place: Any = document
        try:
            for step in way:
                place = place[step]
            if value is ...:
                del place[last]
            else:
                place[last] = value
        except (KeyError, IndexError, TypeError):
            continue
    try:
        made = application_of(document, lenient=lenient)
    except bl.ApplicationError:
        return
    assert application_of(document_of(made)) == made
    assert made.kernel


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary()
    | st.builds(
        lambda start, end: json.dumps(DOCUMENT).encode()[start:end], st.integers(0, 200), st.integers()
    )
)
def test_any_bytes(tmp_path: Path, content: bytes) -> None:
    """No file does worse than ApplicationError."""
    path = tmp_path / "any.json"
    path.write_bytes(content)
    with suppress(bl.ApplicationError):
        bl.read_application(path)


@pytest.mark.parametrize("project", ["microA_crossbar", "torus192_mall100", "example500"])
def test_projects_of_elastisim(project: str) -> None:
    """All models that ElastiSim ran are read strictly, written and read again."""
    folder = find(f"oracles/elastisim/{project}/input")
    others = {"jobs.json", "configuration.json", "node_order.json"}
    models = [path for path in folder.rglob("*.json") if path.name not in others]
    assert models
    for path in models:
        made = bl.read_application(path)
        assert made == bl.read_application(path, lenient=True)
        assert application_of(document_of(made)) == made
        assert made.kernel
