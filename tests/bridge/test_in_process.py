"""Algorithms in this process: the interface, and files made for `elastisim_python`."""

import copy
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from batchlab.bridge.elastisim.algorithm import Invocation, Reason
from batchlab.bridge.elastisim.algorithm_side.elastisim_python import Job, JobType, Node, NodeState
from batchlab.bridge.elastisim.in_process import InProcess, Schedule, run_file
from batchlab.bridge.elastisim.jobs import Ledger, Reply
from batchlab.errors import AlgorithmError, BridgeError
from support.elastisim_ledger import Books, lines_of, project
from support.elastisim_projects import job_of

URL = "ipc:///tmp/unused.ipc"


@pytest.fixture
def ledger() -> Ledger:
    """Three nodes with two GPUs each, and a job that waits."""
    books = Ledger([(1, 2)] * 3, oversubscription=False)
    books.submit(job_of("malleable", (1, 3), arguments={"flops": "5"}))
    return books


def submitted(ledger: Ledger) -> Invocation:
    """Call an algorithm for the last job."""
    return Invocation(Reason.JOB_SUBMIT, 4.0, ledger.jobs[-1])


def written(folder: Path, text: str) -> Path:
    """Write an algorithm's file."""
    path = folder / "algorithm.py"
    path.write_text(text)
    return path


@pytest.mark.parametrize(("name", "nodes"), [("microA_crossbar", (1, 4)), ("torus192_mall100", (0, 0))])
def test_the_same_decisions(name: str, nodes: tuple[int, int]) -> None:
    """The project's own algorithm decides at every call what it decided under ElastiSim, ranks included."""
    books = Books(project(name, [nodes] * (8 if name.startswith("micro") else 192)))
    calls = 0

    def simulate(schedule: Schedule) -> None:
        nonlocal calls
        algorithm = InProcess(schedule)
        for line, _ in lines_of(books.project.folder):
            invocation = books.happen(line)
            assert tuple(books.decide(invocation, algorithm)) == line.reply, line
            books.follow(invocation, line.reply)
            calls += 1

    run_file(books.project.folder / "algorithm.py", URL, simulate)
    assert calls == {"microA_crossbar": 839, "torus192_mall100": 1619}[name]


def test_what_an_algorithm_sees(ledger: Ledger) -> None:
    """Jobs, nodes and the system's state have ElastiSim's names and values."""

    def schedule(jobs: list[Job], nodes: list[Node], system: dict[str, object]) -> None:
        job = jobs[0]
        assert system["job"] is job
        assert system["time"] == 4.0
        assert (job.type, job.num_nodes_min, job.num_nodes_max) == (JobType.MALLEABLE, 1, 3)
        assert (job.start_time, job.makespan, job.assigned_nodes) == (-1.0, -1.0, [])
        assert job.arguments == {"flops": "5"}
        assert repr(job) == "Job(id=0, type=MALLEABLE, state=PENDING, assigned_node_ids=set())"
        assert repr(nodes[2]) == "Node(id=2, type=COMPUTE_NODE_WITH_BB, state=FREE, assigned_job_ids=set())"
        assert job.num_nodes is None

    assert InProcess(schedule).decide(submitted(ledger), ledger) == ()


def test_what_an_algorithm_does(ledger: Ledger) -> None:
    """Nodes given and taken, GPUs, runtime arguments: one answer for each job that was changed."""

    def schedule(jobs: list[Job], nodes: list[Node], _system: dict[str, object]) -> None:
        (job,) = jobs
        job.assign_num_gpus_per_node(1)
        job.assign(nodes)
        job.assign(nodes[0])
        job.remove(nodes[1])
        job.update_runtime_argument("scale", 2)

    algorithm = InProcess(schedule)
    assert algorithm.decide(submitted(ledger), ledger) == [Reply(0, (0, 2), 1, False, {"scale": "2"})]


def test_killed_jobs_take_no_nodes(ledger: Ledger) -> None:
    """As in ElastiSim's package; and the error names the algorithm's line."""

    def schedule(jobs: list[Job], nodes: list[Node], _system: dict[str, object]) -> None:
        jobs[0].kill()
        jobs[0].assign(nodes)

    with pytest.raises(
        AlgorithmError, match=r"already flagged to be killed, called for INVOKE_JOB_SUBMIT of job 0"
    ):
        InProcess(schedule).decide(submitted(ledger), ledger)


def test_assigned_nodes_are_in_the_order_of_a_set(ledger: Ledger) -> None:
    """Ranks that were given otherwise are seen in ElastiSim's package as a set has them."""
    seen: list[object] = []

    def schedule(jobs: list[Job], _nodes: list[Node], _system: dict[str, object]) -> None:
        seen.append([node.identifier for node in jobs[0].assigned_nodes])

    algorithm = InProcess(schedule)
    algorithm.decide(submitted(ledger), ledger)
    ledger.clear_changes()
    ledger.start(ledger.take(Reply(0, (2, 0))), 4.0)
    algorithm.decide(Invocation(Reason.PERIODIC, 5.0), ledger)
    assert seen == [[], [0, 2]]


def test_objects_stay_the_same(ledger: Ledger) -> None:
    """What an algorithm keeps of a job, or hangs on it, lasts; nodes show who is on them."""
    seen: list[object] = []

    def schedule(jobs: list[Job], nodes: list[Node], _system: dict[str, object]) -> None:
        if seen:
            assert jobs[0] is seen[0]
            assert nodes[1].assigned_jobs == [jobs[0]]
            assert nodes[1].state is NodeState.ALLOCATED
        seen.append(jobs[0])

    algorithm = InProcess(schedule)
    algorithm.decide(submitted(ledger), ledger)
    ledger.clear_changes()
    ledger.start(ledger.take(Reply(0, (1,))), 4.0)
    algorithm.decide(Invocation(Reason.PERIODIC, 5.0), ledger)
    assert len(seen) == 2


def test_a_file_is_a_script(tmp_path: Path) -> None:
    """It has its arguments, modules beside it, and goes on after the simulation; nothing of it stays."""
    (tmp_path / "helping.py").write_text("from elastisim_python.job import Job\n")
    path = written(
        tmp_path,
        "import sys, helping\n"
        "from elastisim_python import pass_algorithm, Job\n"
        "assert helping.Job is Job\n"
        "if __name__ == '__main__':\n"
        "    pass_algorithm(lambda jobs, nodes, system: None, sys.argv[1])\n"
        f"    open({str(tmp_path / 'after')!r}, 'w').close()\n",
    )
    before = list(sys.argv), list(sys.path), set(sys.modules)
    called: list[Schedule] = []
    run_file(path, URL, called.append)
    assert len(called) == 1
    assert (tmp_path / "after").exists()
    assert before == (list(sys.argv), list(sys.path), set(sys.modules))


def test_an_installed_package_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever `elastisim_python` was imported before is there again."""
    installed = ModuleType("elastisim_python")
    monkeypatch.setitem(sys.modules, "elastisim_python", installed)
    path = written(tmp_path, "import elastisim_python\nelastisim_python.pass_algorithm(print, 'url')\n")
    run_file(path, URL, lambda _: None)
    assert sys.modules["elastisim_python"] is installed


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "never called pass_algorithm"),
        ("import sys\nsys.exit(3)\n", "exited with 3"),
        ("x = \n", r"algorithm.py:1: the algorithm raised SyntaxError"),
        ("\nraise KeyError('x')\n", r"algorithm.py:2: the algorithm raised KeyError: 'x'"),
        ("open('/nowhere')\n", r"algorithm.py:1: the algorithm raised FileNotFoundError"),
        ("from elastisim_python import *\n" * 2 + "pass_algorithm(1)\npass_algorithm(2)\n", "twice"),
    ],
)
def test_files_that_fail(tmp_path: Path, text: str, message: str) -> None:
    """One error names the file, the line and what happened."""
    with pytest.raises(AlgorithmError, match=message):
        run_file(written(tmp_path, text), URL, lambda _: None)


def test_no_file(tmp_path: Path) -> None:
    """A missing file is said to be missing."""
    with pytest.raises(AlgorithmError, match=r"nowhere\.py: No such file"):
        run_file(tmp_path / "nowhere.py", URL, lambda _: None)


def test_errors_of_the_simulation_pass(tmp_path: Path) -> None:
    """An error that is not the algorithm's is told as it is."""

    def simulate(_schedule: Callable[..., object]) -> None:
        raise BridgeError("platform.xml:3: no such thing.")

    path = written(tmp_path, "import elastisim_python\nelastisim_python.pass_algorithm(print, '')\n")
    with pytest.raises(BridgeError, match=r"platform\.xml:3"):
        run_file(path, URL, simulate)


def test_enumerations_are_like_any() -> None:
    """Members are found by name and value, printed, counted and copied as those of `enum.Enum`."""
    assert JobType(2) is JobType["MALLEABLE"] is JobType.MALLEABLE
    assert JobType(JobType.RIGID) is JobType.RIGID
    assert [each.name for each in NodeState] == ["FREE", "ALLOCATED", "RESERVED"]
    assert (len(NodeState), NodeState.FREE in NodeState, NodeState.RESERVED.value) == (3, True, 2)
    assert (repr(NodeState.FREE), str(NodeState.FREE)) == ("<NodeState.FREE: 0>", "NodeState.FREE")
    assert copy.deepcopy({NodeState.FREE: [JobType.RIGID]}) == {NodeState.FREE: [JobType.RIGID]}
    assert pickle.loads(pickle.dumps(NodeState.FREE)) is NodeState.FREE  # noqa: S301
    assert copy.copy(NodeState.FREE) is NodeState.FREE
    with pytest.raises(ValueError, match="7 is not a valid NodeState"):
        NodeState(7)


def test_numbers_of_python_are_no_members() -> None:
    """Class bodies of Python 3.13 have the number of their first line, as this one has."""
    metaclass: Any = type(NodeState)
    made = metaclass("Colour", (), {"__firstlineno__": 7, "RED": 0})
    assert list(made.__members__) == ["RED"]
