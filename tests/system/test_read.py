"""Files that describe machines: the forms, the round trip, and one clear error for each way to be wrong."""

import json
import re
from pathlib import Path

import pytest

from batchlab.core.outputs import RECORD
from batchlab.errors import PlatformError, SystemDescriptionError
from batchlab.system import NodeGroup, System, read_system, write_system

SETH = System(
    (NodeGroup("g0", 120, {"core": 4, "mem": 1_000_000}),),
    equivalence={"core": 2},
    name="Seth - HPC2N",
    start_time=1_027_839_845,
)

OWN_TOML = """
name = "Seth - HPC2N"
start_time = 1027839845
equivalence = { core = 2 }

[[groups]]
name = "g0"
count = 120
resources = { core = 4, mem = 1_000_000 }
"""

ACCASIM = {
    "system_name": "Seth - HPC2N",
    "start_time": 1027839845,
    "equivalence": {"processor": {"core": 2}},
    "groups": {"g0": {"core": 4, "mem": 1000000}},
    "resources": {"g0": 120},
}

OWN = {"groups": [{"name": "g0", "count": 2, "resources": {"core": 4}}]}


def write(folder: Path, content: object, name: str = "seth.json") -> Path:
    """Write bytes or text as they are, anything else as JSON."""
    path = folder / name
    if not isinstance(content, str | bytes):
        content = json.dumps(content)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_own_toml(tmp_path: Path) -> None:
    """Our own form, as its documentation shows it."""
    assert read_system(write(tmp_path, OWN_TOML, "seth.toml")) == SETH


@pytest.mark.parametrize("name", ["seth.json", "seth.config", "seth"])
def test_accasim(tmp_path: Path, name: str) -> None:
    """AccaSim's form is told by its content, whatever the file is called."""
    assert read_system(write(tmp_path, ACCASIM, name)) == SETH


def test_accasim_numbers_nodes_in_the_order_of_its_resources(tmp_path: Path) -> None:
    """`resources` decides on the order of the nodes, as in AccaSim; a processor is one core."""
    groups = {"g0": {"core": 2}, "g1": {"core": 3, "gpu": 1}}
    system = read_system(write(tmp_path, {"groups": groups, "resources": {"g1": 1, "g0": 2}}))
    assert system.capacity.tolist() == [[3, 1], [2, 0], [2, 0]]
    assert system.equivalence == {"core": 1}


def test_accasims_own_seth() -> None:
    """The file that AccaSim was run with describes 120 nodes of 4 cores."""
    path = Path(__file__).parents[2] / "../shared/oracles/accasim/seth.json"
    if not path.exists():
        pytest.skip("no ../shared/oracles here")
    assert read_system(path) == SETH


def test_byte_order_mark(tmp_path: Path) -> None:
    """Editors that begin a file with a byte order mark do no harm."""
    assert read_system(write(tmp_path, b"\xef\xbb\xbf" + json.dumps(ACCASIM).encode())) == SETH


@pytest.mark.parametrize("suffix", [".toml", ".json", ".TOML"])
def test_round_trip(tmp_path: Path, suffix: str) -> None:
    """What is written reads back equal, odd names and a fractional origin included."""
    groups = (
        NodeGroup('a "quoted" \\ name …', 1, {"core": 4, "gpu:a100": 0}),
        NodeGroup("[g1]", 10**8 - 1, {"mem": 2**33}, weight=7, features=("a", "b:2")),
    )
    system = System(groups, {"core": 2, "mem": 0}, name="Ümlaut 🜁", start_time=-0.5)
    path = tmp_path / f"system{suffix}"
    write_system(SETH, path)
    write_system(system, path)
    assert read_system(path) == system
    # JSON has no room for a mark: the hidden record lists the file's hash.
    beside = [RECORD] if suffix == ".json" else []
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([path.name, *beside])


def test_writing_needs_a_known_suffix(tmp_path: Path) -> None:
    """A form that cannot be written is refused before anything is touched."""
    with pytest.raises(SystemDescriptionError, match=r"must end in \.toml or \.json"):
        write_system(SETH, tmp_path / "seth.yaml")


def test_failed_writing_leaves_nothing(tmp_path: Path) -> None:
    """A file that cannot be replaced stays as it is, and nothing is left beside it."""
    (tmp_path / "seth.json").mkdir()
    with pytest.raises(OSError, match=r"seth\.json"):
        write_system(SETH, tmp_path / "seth.json")
    assert [file.name for file in tmp_path.iterdir()] == ["seth.json"]


GROUP = {"name": "a", "count": 2, "resources": {"core": 2}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {**ACCASIM, "groups": {"g0": {"core": -4}}},
            "groups.g0.core = -4; must be a whole number from 0 to 2^53",
        ),
        ({**ACCASIM, "groups": {"g0": {"core": 4.5}}}, "groups.g0.core = 4.5; must be a whole number"),
        ({**ACCASIM, "groups": {"g0": {"core": 2**60}}}, "groups.g0.core = 1152921504606846976; must be"),
        ({**ACCASIM, "groups": {"g0": {"core": "4"}}}, "groups.g0.core = '4'; must be a whole number"),
        ({**ACCASIM, "groups": {"g0": {"co re": 4}}}, "groups.g0: key 'co re'; must be a resource's name"),
        ({**ACCASIM, "groups": {"g0": {}}}, "groups.g0 = {}; must name at least one resource"),
        ({**ACCASIM, "groups": {"g0": 4}}, "groups.g0 = 4; must be a mapping"),
        ({**ACCASIM, "groups": {"": {"core": 4}}}, "groups: key ''; must be a name of 1 to 200"),
        ({**ACCASIM, "groups": {}}, "groups = {}; must hold at least one group"),
        ({**ACCASIM, "resources": {"g0": 0}}, "resources.g0 = 0; must be a whole number from 1"),
        (
            {**ACCASIM, "resources": {"g0": 4, "g1": 1}},
            "resources.g1 = 1; must be the number of nodes of a group",
        ),
        (
            {**ACCASIM, "groups": {"g0": {"core": 4}, "a b": {"core": 4}}},
            "groups.'a b' = {'core': 4}; has no number of nodes; add the group to 'resources'",
        ),
        (
            {**ACCASIM, "equivalence": {"processor": {"coer": 2}}},
            "equivalence.processor = {'coer': 2}; must say",
        ),
        (
            {**ACCASIM, "equivalence": {"procesor": {}}},
            "equivalence.procesor = {}; is not a key of a description.",
        ),
        ({**ACCASIM, "equivalence": 2}, "equivalence = 2; must be an object"),
        ({**ACCASIM, "start_time": "now"}, "start_time = 'now'; must be a number of seconds"),
        ({**ACCASIM, "system_nam": ""}, "Did you mean 'system_name'? Known: equivalence, groups, resources"),
        (
            {"system_name": "Seth"},
            "groups is missing; a description has at least one group of nodes (and 1 more).",
        ),
        ({"groups": []}, "groups = []; must hold at least one group"),
        ({"groups": [7]}, "groups[0] = 7; must be an object"),
        ({"groups": 7}, "groups = 7; must be a list of groups"),
        ({"groups": [{**GROUP, "count": None}]}, "groups[0].count = None; must be a whole number"),
        ({"groups": [{**GROUP, "resources": {"core": True}}]}, "groups[0].resources.core = True; must be"),
        ({"groups": [GROUP, GROUP]}, "groups[1].name = 'a'; must be unique; an earlier one has this name."),
        (
            {"groups": [{**GROUP, "cuont": 3}]},
            "groups[0].cuont = 3; is not a key of a description. Did you mean 'count'",
        ),
        ({"groups": [{"name": "a"}]}, "groups[0].count is missing; say how many nodes the group has"),
        ({**OWN, "equivalence": {"gpu": 1}}, "equivalence = {'gpu': 1}; must say what one processor is"),
        ({**OWN, "equivalence": {}}, "equivalence = {}; must name at least one resource"),
        ({**OWN, "name": "a\tb"}, r"name = 'a\tb'; must be a name"),
        ({}, "groups is missing"),
        ([OWN], "document = [{'groups': [...]}]; must be an object with the key 'groups'"),
        ("null", "document = None; must be an object"),
        ('{"groups": [}', "seth.json:1:13: is not JSON: Expecting value"),
        ('{"groups": [], "groups": {}}', "key 'groups' appears twice in one object"),
        ('{"groups": NaN}', "NaN is not a number of JSON"),
        ('{"groups": -Infinity}', "-Infinity is not a number of JSON"),
        ('{"groups": [], "start_time": 1e999}', "(and 1 more)"),
        ({**OWN, "start_time": float("inf")}, "Infinity is not a number of JSON"),
        (
            json.dumps({**OWN, "start_time": 0}).replace(": 0}", ": 1e999}"),
            "start_time = inf; must be a number of seconds",
        ),
        ('{"groups": ' + "9" * 5000 + "}", "holds a number of thousands of digits"),
        ("[" * 100_000, "is nested too deeply"),
        ('{"a":' * 100_000, "is nested too deeply"),
        ("", "is empty"),
        (" \n\t", "is empty"),
        (b"\x80abc", "is not UTF-8 text (byte 0)"),
        (b"\x1f\x8b\x08\x00", "is not UTF-8 text (byte 1)"),
        (b" " * (2**24 + 1), "has more than 16 MiB"),
    ],
)
def test_bad_json(tmp_path: Path, content: object, message: str) -> None:
    """Each way to be wrong has one error: the file, the path into the document, the value and the rule."""
    path = write(tmp_path, content)
    with pytest.raises(SystemDescriptionError, match=re.escape(message)) as caught:
        read_system(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("groups = [", "is neither JSON nor TOML: Invalid value (at end of document)"),
        ("groups = 1\ngroups = 2", "is neither JSON nor TOML: Cannot overwrite a value"),
        ("groups = " + "[" * 10_000, "is nested too deeply"),
        ("groups = " + "9" * 5000, "holds a number of thousands of digits"),
        ("groups = 0x" + "f" * 5000, "groups = a whole number of 20000 bits; must be a list"),
        (
            "[groups.g0]\ncount = 3",
            "groups = {'g0': {'count': 3}}; must be a list of groups; in TOML write [[groups]]",
        ),
        ("start_time = nan\n" + OWN_TOML.split("2 }")[1], "start_time = nan; must be a number of seconds"),
        ("[[groups]]\nname = 1979-05-27", "groups[0].name = datetime.date(1979, 5, 27); must be a name"),
        ("; a log\n1 0 0 10 1", "is neither JSON nor TOML: Invalid statement (at line 1, column 1)"),
    ],
)
def test_bad_toml(tmp_path: Path, content: str, message: str) -> None:
    """TOML has its own ways to be wrong; a log in its place is none of the forms."""
    path = write(tmp_path, content, "seth")
    with pytest.raises(SystemDescriptionError, match=re.escape(message)):
        read_system(path)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere/seth.json", "nowhere/seth.json: cannot be read: No such file or directory"),
        (".", ".: cannot be read: Is a directory"),
        ("a\0b", r"'a\x00b': cannot be read: embedded null byte"),
    ],
)
def test_unreadable(path: str, message: str) -> None:
    """Files that are not there, are folders or cannot be: an error like any other."""
    with pytest.raises(SystemDescriptionError, match=re.escape(message)):
        read_system(path)


CLUSTER = """
[[clusters]]
name = "machine"
nodes = 3
bandwidth = "1GBps"
topology = { kind = "crossbar" }
node = { speed = "1Gf", cores = 2, gpus = 4, gpu_speed = "1Gf", gpu_bandwidth = "1GBps" }
"""
SIMGRID = """<?xml version="1.0"?>
<platform version="4.1">
  <cluster id="machine" prefix="node" suffix="" radical="0-2" speed="1Gf" bw="1GBps" lat="0" core="2"/>
</platform>
"""


@pytest.mark.parametrize("name", ["machine.toml", "machine"])
def test_platform_of_our_own(name: str, tmp_path: Path) -> None:
    """The machine of a platform are its hosts, with their cores and GPUs."""
    (tmp_path / name).write_text(CLUSTER)
    found = read_system(tmp_path / name)
    assert found.hosts == ("node0", "node1", "node2")
    assert found.total == {"core": 6, "gpu": 12}
    assert found.platform is not None


@pytest.mark.parametrize("name", ["machine.xml", "machine"])
def test_platform_of_simgrid(name: str, tmp_path: Path) -> None:
    """SimGrid's XML is known by its name or its beginning."""
    (tmp_path / name).write_text(SIMGRID)
    assert read_system(tmp_path / name).total == {"core": 6}


def test_platform_that_is_wrong(tmp_path: Path) -> None:
    """Errors are those of platforms, and name the file."""
    (tmp_path / "machine.xml").write_text("<platform>")
    with pytest.raises(PlatformError, match=r"machine\.xml"):
        read_system(tmp_path / "machine.xml")
    with pytest.raises(PlatformError, match=r"none\.xml: cannot be read"):
        read_system(tmp_path / "none.xml")


def test_systems_on_platforms_are_not_written(tmp_path: Path) -> None:
    """A form that would lose the platform refuses it."""
    (tmp_path / "machine.xml").write_text(SIMGRID)
    with pytest.raises(SystemDescriptionError, match=r"this form holds no platform"):
        write_system(read_system(tmp_path / "machine.xml"), tmp_path / "copy.toml")


@pytest.mark.parametrize("key", ["a", '"b c"', "'d'"])
@pytest.mark.parametrize("around", ["{} = 1", "[{}]", "[[{}]]", "x = 1\n  {} = 1"])
def test_keys_of_many_parts_are_refused(tmp_path: Path, key: str, around: str) -> None:
    """At once, with both numbers: to parse them takes time by the square of the parts."""
    path = tmp_path / "system.toml"
    path.write_text(around.format(" . ".join([key] * 100_000)))
    rule = "has a key of 100,000 parts; no description needs more than 100. Is it the right file?"
    with pytest.raises(SystemDescriptionError, match=rule):
        read_system(path)
