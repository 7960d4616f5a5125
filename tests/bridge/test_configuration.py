"""Configuration and jobs files: what is understood, where files are found, and what is refused."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batchlab.bridge.elastisim.configuration import read_configuration
from batchlab.bridge.elastisim.jobs import read_jobs
from batchlab.errors import BridgeError

LEAST = {"jobs_file": "input/jobs.json", "platform_file": "input/platform.xml", "scheduling_interval": 5}
RIGID = {"type": "rigid", "submit_time": 3, "num_nodes": 2, "application_model": "app.json"}
ELASTIC = RIGID | {"type": "Malleable", "num_nodes_min": 1, "num_nodes_max": 4}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a project's folder; its files are empty."""
    (tmp_path / "input").mkdir()
    for name in ("jobs.json", "platform.xml"):
        (tmp_path / "input" / name).touch()
    return tmp_path


def written(folder: Path, document: object) -> Path:
    """Write a file of JSON (or, given bytes, of anything)."""
    path = folder / "input/configuration.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(document if isinstance(document, bytes) else json.dumps(document).encode())
    return path


def test_defaults(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not said is as in ElastiSim."""
    monkeypatch.chdir(root)
    said = read_configuration(written(root, LEAST | {"sensing": None}))
    assert said.paths.root == Path()
    assert said.jobs_file == Path("input/jobs.json")
    assert (said.schedule_on_scheduling_point, said.clip_evolving_requests, said.sensing) == (
        False,
        True,
        False,
    )
    assert (said.scheduling_interval, said.min_scheduling_interval, said.job_kill_grace_period) == (
        5.0,
        0.0,
        0.0,
    )
    assert (said.outputs, said.notes, said.zmq_url) == ({}, (), None)


def test_the_root_is_found(root: Path) -> None:
    """From elsewhere, a project's folder is found above its configuration, and that is said."""
    document = LEAST | {"job_statistics": "output/jobs.csv", "pfs_read_links": ["a", "b"]}
    said = read_configuration(written(root, document))
    assert said.paths.root == root
    assert said.platform_file == root / "input/platform.xml"
    assert said.outputs == {"job_statistics": root / "output/jobs.csv"}
    assert said.pfs_read_links == ("a", "b")
    assert said.notes == (f"relative paths are taken from {root}, where the jobs file is",)
    assert said.paths.input("input/jobs.json") == root / "input/jobs.json"


# The folder of the host that a container had as /data or as /, and a container's paths.
CONTAINERS = [
    ("data/input", "/data/input", "/"),
    ("input", "/data/input", "/data"),
    ("", "/work/study/in", "/work/study/in"),
]


@pytest.mark.parametrize(("here", "there", "prefix"), CONTAINERS)
def test_paths_of_a_container(tmp_path: Path, here: str, there: str, prefix: str) -> None:
    """Absolute paths that are not on this machine are found by their ends, and a line says so."""
    folder = tmp_path / here
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("jobs.json", "platform.xml", "model.json"):
        (folder / name).touch()
    document = {"jobs_file": f"{there}/jobs.json", "platform_file": f"{there}/platform.xml"}
    outputs = {"job_statistics": f"{there}/out/jobs.csv", "task_times": f"{tmp_path}/tasks.csv"}
    path = folder / "configuration.json"
    path.write_text(json.dumps(LEAST | document | outputs))
    said = read_configuration(path)
    assert (said.jobs_file, said.platform_file) == (folder / "jobs.json", folder / "platform.xml")
    assert said.paths.input(f"{there}/model.json") == folder / "model.json"
    # A path whose folder is here stays as it is.
    assert said.outputs == {
        "job_statistics": folder / "out/jobs.csv",
        "task_times": tmp_path / "tasks.csv",
    }
    taken = f"{there}/jobs.json is not on this machine; taken from {folder}/jobs.json"
    assert said.notes == (f"{taken}, and other paths below {prefix} likewise",)


def test_models_beside_the_project(tmp_path: Path) -> None:
    """A model that a job names by another way is found above the configuration, and a note says where."""
    folder = tmp_path / "rigid/data/input"
    folder.mkdir(parents=True)
    other = tmp_path / "simple/data/input"
    other.mkdir(parents=True)
    for path in (folder / "jobs.json", folder / "platform.xml", other / "model.json"):
        path.touch()
    document = {"jobs_file": "/data/input/jobs.json", "platform_file": "/data/input/platform.xml"}
    path = folder / "configuration.json"
    path.write_text(json.dumps(LEAST | document))
    paths = read_configuration(path).paths
    name = "simple/data/input/model.json"
    assert paths.input(name) == other / "model.json"
    assert paths.note(name) == f"{name} is not there; taken from {other}/model.json"
    # By the end of an absolute path: neither a job nor a platform needs to be absolute for that.
    assert paths.input("/app/simple/data/input/model.json") == other / "model.json"
    assert paths.note("/data/input/jobs.json") is None
    assert paths.note("nowhere.json") is None


def test_paths_of_a_container_that_are_nowhere(root: Path) -> None:
    """A path that ends like no file of the project's is refused; mixed with relative ones it is found."""
    with pytest.raises(
        BridgeError, match=r"'/data/input/other\.json' is neither in .* nor in a folder above"
    ):
        read_configuration(written(root, LEAST | {"jobs_file": "/data/input/other.json"}))
    said = read_configuration(written(root, LEAST | {"jobs_file": "/data/input/jobs.json"}))
    assert said.jobs_file == root / "input/jobs.json"
    assert said.platform_file == root / "input/platform.xml"
    assert said.notes[1:] == (f"relative paths are taken from {root}, where the jobs file is",)


def test_foreign_keys_are_passed_over(root: Path) -> None:
    """ElastiSim reads no key that it does not know; so it is said that they mean nothing."""
    said = read_configuration(written(root, LEAST | {"author": "somebody"}))
    assert said.notes[-1] == "configuration.json: passed over like in ElastiSim: 'author'"
    said = read_configuration(written(root, LEAST | {f"key{number}": 1 for number in range(5000)}))
    assert len(said.notes[-1]) < 300
    assert said.notes[-1].endswith("'key19' and 4,980 more")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sensng": True}, r"'sensng' is not a key of ElastiSim's\. Did you mean 'sensing'"),
        ({"sensing": "yes"}, r"sensing = 'yes'; must be true or false"),
        ({"scheduling_interval": -1}, r"scheduling_interval = -1; must be finite and >= 0 seconds"),
        ({"scheduling_interval": 1 << 999}, r"whole number of 1000 bits; must be less than 2\^64"),
        ({"scheduling_interval": 1e300}, r"scheduling_interval = 1e\+300; must be at most 10\^10 seconds"),
        (
            {"min_scheduling_interval": 1 << 60},
            r"min_scheduling_interval = \d+; must be at most 10\^10",
        ),
        ({"sensing_interval": 2e10}, r"sensing_interval = 2.*; must be at most 10\^10 seconds"),
        ({"scheduling_interval": True}, r"scheduling_interval = True; must be a number"),
        ({"scheduling_interval": 0}, r"must be > 0 seconds unless schedule_on_job_submit and"),
        ({"sensing": True}, r"sensing_interval = 0; must be > 0"),
        ({"pfs_read_links": "a"}, r"pfs_read_links = 'a'; must be a list"),
        ({"zmq_url": ""}, r"zmq_url = ''; must be text, and not empty"),
        ({"jobs_file": None}, r"jobs_file is missing"),
        ({"jobs_file": "x" * 5000}, r"'xxxx.*' is neither in"),
        ({"jobs_file": "jobs.json"}, r"'jobs\.json' is neither in .* nor in a folder above"),
    ],
)
def test_refused_configurations(root: Path, change: dict[str, object], message: str) -> None:
    """The file, the key, the value and the rule."""
    with pytest.raises(BridgeError, match=rf"configuration\.json: .*{message}"):
        read_configuration(written(root, LEAST | change))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", r"configuration\.json:1:2: not JSON"),
        (b"[]", "holds a list; must hold one object"),
        (b"\xff\xfe", "byte 0 is not UTF-8"),
        (b'{"a": NaN}', r"configuration\.json: not JSON \('a' = nan, and numbers of JSON are finite\)"),
        (b'{"a": 1e999}', "'a' = inf, and numbers"),
        (b'{"a": 1, "a": 2}', r"configuration\.json: key 'a' appears twice in one object; keep one of them"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_files_that_are_not_json(root: Path, content: bytes, message: str) -> None:
    """What is no JSON object is said to be none, and where."""
    with pytest.raises(BridgeError, match=message):
        read_configuration(written(root, content))


def test_no_file(tmp_path: Path) -> None:
    """A missing file is said to be missing."""
    with pytest.raises(BridgeError, match=r"nowhere\.json: No such file or directory"):
        read_configuration(tmp_path / "nowhere.json")


def test_jobs_in_order_of_submission(tmp_path: Path) -> None:
    """Jobs of one instant stay in the order of the file."""
    times = [5, 3, 4, 3]
    jobs = [RIGID | {"submit_time": time, "num_nodes": place + 1} for place, time in enumerate(times)]
    read = read_jobs(written(tmp_path, {"jobs": jobs}))
    assert [job.nodes[0] for job in read] == [2, 4, 3, 1]


def test_a_job(tmp_path: Path) -> None:
    """Texts of arguments are those of ElastiSim: six decimals; types are in any case."""
    arguments = {"small": 1.23456789e-6, "whole": 10**15, "text": "2*num_nodes", "huge": 1e22, "minus": -0.5}
    job = ELASTIC | {"walltime": 30, "arguments": arguments, "num_gpus_per_node_max": 2}
    (read,) = read_jobs(written(tmp_path, {"jobs": [job]}))
    assert (read.type, read.nodes, read.gpus_per_node, read.walltime) == ("malleable", (1, 4), (0, 2), 30.0)
    assert read.arguments == {
        "small": "0.000001",
        "whole": "1000000000000000",
        "text": "2*num_nodes",
        "huge": "10000000000000000000000.000000",
        "minus": "-0.500000",
    }


def test_what_elastisim_takes_for_nothing(tmp_path: Path) -> None:
    """A walltime that is no unsigned integer is no limit; that is remembered, since it is hardly meant."""
    (read,) = read_jobs(written(tmp_path, {"jobs": [RIGID | {"walltime": 30.5, "num_gpus_per_node": -1}]}))
    assert (read.walltime, read.gpus_per_node) == (0.0, (0, 0))
    assert read.passed_over == ("walltime", "num_gpus_per_node")


@pytest.mark.parametrize(
    ("jobs", "message"),
    [
        ({}, "has no list of jobs"),
        ([1], r"jobs\[0\] = 1; must be an object"),
        ([RIGID | {"type": "rigit"}], r"jobs\[0\]\.type = 'rigit' is unknown\. Did you mean 'rigid'"),
        ([RIGID | {"type": 1}], r"type = 1; must be one of rigid"),
        ([RIGID | {"subnit_time": 1}], r"'subnit_time' is not a key of a job\. Did you mean 'submit_time'"),
        ([RIGID | {"submit_time": None}], r"jobs\[0\]\.submit_time is missing"),
        ([RIGID | {"submit_time": "1"}], r"submit_time = '1'; must be a number of seconds"),
        ([RIGID | {"num_nodes": 0}], r"num_nodes = 0; a rigid job needs an integer >= 1"),
        ([RIGID | {"num_nodes": 2**40}], r"num_nodes = .*; must be < 2\^31"),
        ([ELASTIC | {"num_nodes_max": None}], r"num_nodes_max is missing; a malleable job needs"),
        ([ELASTIC | {"num_nodes_min": 5}], r"num_nodes_min = 5; must be <= num_nodes_max = 4"),
        ([ELASTIC | {"num_gpus_per_node_min": 1}], r"num_gpus_per_node_min = 1; must be <= "),
        ([RIGID | {"arguments": {"x": True}}], r"arguments\.x = True; must be a text or a number"),
        ([RIGID | {"attributes": []}], r"attributes = \[\]; must be an object"),
        ([RIGID | {"application_model": ["a"]}], r"application_model = \['a'\]; must be text"),
    ],
)
def test_refused_jobs(tmp_path: Path, jobs: object, message: str) -> None:
    """The file, the job, the key, the value and the rule."""
    with pytest.raises(BridgeError, match=message):
        read_jobs(written(tmp_path, {"jobs": jobs}))


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
VALUES = SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(st.text(max_size=3), SCALARS, max_size=2)
KEYS = st.sampled_from(
    [*LEAST, *ELASTIC, "arguments", "sensing", "zmq_url", "walltime", "pfs_read_links", "x"]
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=4)


@settings(deadline=None)
@given(change=DOCUMENTS)
def test_any_configuration_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, change: dict[str, object]
) -> None:
    """Whatever is written, either a configuration comes out or one error of one line."""
    folder = tmp_path_factory.mktemp("project")
    path = written(folder, json.dumps(LEAST | change, ensure_ascii=False).encode("utf-8", "replace"))
    for name in ("jobs.json", "platform.xml"):
        (folder / "input" / name).touch()
    try:
        read_configuration(path)
    except BridgeError as error:
        assert "\n" not in str(error)  # noqa: PT017  # reading may also succeed


@settings(deadline=None)
@given(change=DOCUMENTS, kind=st.sampled_from([RIGID, ELASTIC]))
def test_any_jobs_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, change: dict[str, object], kind: dict[str, object]
) -> None:
    """Whatever is written, either jobs come out or one error of one line."""
    document = json.dumps({"jobs": [kind | change]}, ensure_ascii=False).encode("utf-8", "replace")
    path = written(tmp_path_factory.mktemp("project"), document)
    try:
        read_jobs(path)
    except BridgeError as error:
        assert "\n" not in str(error)  # noqa: PT017  # reading may also succeed


@settings(deadline=None)
@given(content=st.binary(max_size=40))
def test_any_bytes_are_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    """Bytes that are no jobs file are refused in one line."""
    with pytest.raises(BridgeError, match=r"configuration\.json"):
        read_jobs(written(tmp_path_factory.mktemp("project"), content))
