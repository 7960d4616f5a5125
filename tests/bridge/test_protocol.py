"""The protocol: messages field by field, and conversations with processes."""

import json
import socket as sockets
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import zmq

from batchlab.bridge.elastisim import protocol
from batchlab.bridge.elastisim.algorithm import Invocation, Reason
from batchlab.bridge.elastisim.jobs import Ledger, Reply
from batchlab.bridge.elastisim.protocol import (
    FINALIZE,
    INVOKE,
    SCHEDULED,
    OverZeroMQ,
    invocation_message,
    replies,
)
from batchlab.errors import AlgorithmError, BridgeError
from support.elastisim_ledger import Books, lines_of, project
from support.elastisim_projects import job_of
from support.oracles import find


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Where to meet."""
    return f"ipc://{tmp_path}/socket"


@pytest.fixture
def ledger() -> Ledger:
    """Two nodes and a job that waits."""
    books = Ledger([(0, 0)] * 2, oversubscription=False)
    books.submit(job_of())
    return books


def script(folder: Path, body: str) -> Path:
    """Write an algorithm whose function has this body."""
    path = folder / "algorithm.py"
    path.write_text(
        "import sys\nfrom elastisim_python import pass_algorithm\n"
        f"def schedule(jobs, nodes, system):\n    {body}\n"
        "if __name__ == '__main__':\n    pass_algorithm(schedule, sys.argv[1])\n"
    )
    return path


def called(ledger: Ledger) -> Invocation:
    """Call an algorithm for the first job."""
    return Invocation(Reason.JOB_SUBMIT, 4.0, ledger.jobs[0])


def test_messages_field_by_field() -> None:
    """The first messages of a recorded conversation come out as they were, every field of them."""
    books = Books(project("microA_crossbar", [(1, 4)] * 8))
    path = find("oracles/elastisim/microA_crossbar/protocol_messages_sample.jsonl")
    messages = [json.loads(line) for line in path.read_text().splitlines()]
    sent = [each["msg"] for each in messages if each["dir"] == "sim->alg"]
    answered = [each["msg"] for each in messages if each["dir"] == "alg->sim"]
    for (line, _), recorded, answer in zip(lines_of(books.project.folder), sent, answered, strict=False):
        invocation = books.happen(line)
        assert invocation.job is not None
        # How many phases there are, the simulation knows.
        invocation.job.phases = (int(line.type.endswith("COMPLETED")), 1)
        assert json.loads(invocation_message(invocation, books.ledger)) == recorded
        books.ledger.clear_changes()
        assert answer["code"] == SCHEDULED
        books.follow(invocation, replies(answer["jobs"]))
    assert len(sent) == 6


def test_messages_of_every_kind(ledger: Ledger) -> None:
    """What a periodic call and an evolving request say."""
    periodic = json.loads(invocation_message(Invocation(Reason.PERIODIC, 3.0), ledger))
    assert set(periodic) == {"code", "invocation_type", "time", "jobs", "nodes"}
    request = Invocation(Reason.EVOLVING_REQUEST, 3.0, ledger.jobs[0], 2)
    message = json.loads(invocation_message(request, ledger))
    assert (message["code"], message["invocation_type"], message["evolving_request"]) == (INVOKE, 5, 2)
    assert message["jobs"][0]["num_gpus_per_node_max"] == 2


def test_a_process_decides(
    tmp_path: Path, url: str, ledger: Ledger, capfd: pytest.CaptureFixture[str]
) -> None:
    """A file that was made for ElastiSim's package runs as a process, and what it says is heard."""
    path = script(tmp_path, "jobs[0].assign(nodes[1]); print('called', file=sys.stderr)")
    with OverZeroMQ(url, path, timeout=30) as algorithm:
        assert algorithm.decide(called(ledger), ledger) == [Reply(0, (1,))]
        algorithm.finish()
    assert capfd.readouterr().err == "called\n"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "raise KeyError('x')",
            r"algorithm.py ended with exit code 1 \(line 4\): KeyError: 'x'; it was to answer",
        ),
        ("sys.exit(3)", r"ended with exit code 3; it was to answer INVOKE_JOB_SUBMIT of job 0 at 4 s"),
        # On a busy machine, a second may not do for Python to begin.
        ("import time; time.sleep(9)", r"would (take|answer) INVOKE_JOB_SUBMIT .* within 1 s"),
    ],
)
def test_processes_that_fail(
    tmp_path: Path, ledger: Ledger, body: str, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """What became of it is told in one error; its traceback is not shown, and no process stays."""
    with (
        pytest.raises(AlgorithmError, match=message),
        OverZeroMQ(
            f"ipc://{tmp_path}/socket", script(tmp_path, body), timeout=1 if "sleep" in body else 30
        ) as algorithm,
    ):
        algorithm.decide(called(ledger), ledger)
    assert capfd.readouterr().err == ""


def test_silence(url: str, ledger: Ledger) -> None:
    """An algorithm that is there and does not answer."""
    with (
        zmq.Context() as context,
        context.socket(zmq.PAIR) as socket,
        OverZeroMQ(url, timeout=1) as algorithm,
    ):
        socket.connect(url)
        with pytest.raises(AlgorithmError, match=r"would answer INVOKE_JOB_SUBMIT .* within 1 s"):
            algorithm.decide(called(ledger), ledger)


def test_nobody_connects(url: str, ledger: Ledger) -> None:
    """Who waits in vain is told where."""
    with (
        pytest.raises(AlgorithmError, match=r"no algorithm at ipc:.* would take INVOKE_JOB_SUBMIT"),
        OverZeroMQ(url, timeout=0.1) as algorithm,
    ):
        algorithm.decide(called(ledger), ledger)


def test_urls_that_are_none() -> None:
    """The value and the reason."""
    with pytest.raises(BridgeError, match=r"zmq_url = 'nowhere' cannot be listened at"):
        OverZeroMQ("nowhere")


def test_no_script(tmp_path: Path, url: str) -> None:
    """A missing algorithm is noticed before the run waits."""
    with pytest.raises(BridgeError, match=r"nowhere\.py: there is no such file"):
        OverZeroMQ(url, tmp_path / "nowhere.py")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"\x82\xa4code", r"is not JSON"),
        (b"[]", r"with \[\]; not an object"),
        (b'{"code": 1}', f"with code 1; not {SCHEDULED}"),
        (b'{"code": 4293673985}', r"jobs = None; must be a list"),
    ],
)
def test_answers_that_make_no_sense(url: str, ledger: Ledger, answer: bytes, message: str) -> None:
    """Whatever comes, it is told what was expected."""
    with (
        zmq.Context() as context,
        context.socket(zmq.PAIR) as socket,
        OverZeroMQ(url, timeout=30) as algorithm,
    ):
        socket.connect(url)
        socket.send(answer)
        with pytest.raises(AlgorithmError, match=message):
            algorithm.decide(called(ledger), ledger)


def test_an_answer_without_end_is_not_read(url: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message above the limit never reaches memory, and the error names the limit."""
    monkeypatch.setattr(protocol, "_LARGEST_ANSWER", 1000)
    with (
        zmq.Context() as context,
        context.socket(zmq.PAIR) as socket,
        OverZeroMQ(url, timeout=0.5) as algorithm,
    ):
        socket.linger = 0
        socket.connect(url)
        socket.send(b" " * 2000)
        with pytest.raises(AlgorithmError, match="answers in at most 1,000 bytes"):
            algorithm.decide(called(ledger), ledger)


def test_somebody_elses_process(url: str, ledger: Ledger) -> None:
    """An algorithm that connects by itself is asked, and told of the end."""
    with (
        zmq.Context() as context,
        context.socket(zmq.PAIR) as socket,
        OverZeroMQ(url, timeout=30) as algorithm,
    ):
        socket.connect(url)
        socket.send(json.dumps({"code": SCHEDULED, "jobs": [{"id": 0, "assigned_node_ids": [1]}]}).encode())
        assert algorithm.decide(called(ledger), ledger) == [Reply(0, (1,))]
        algorithm.finish()
        assert json.loads(socket.recv())["jobs"][0]["id"] == 0
        assert json.loads(socket.recv()) == {"code": FINALIZE}


@contextmanager
def algorithm_elsewhere(url: str) -> Iterator[None]:
    """Start an algorithm that connects by itself, waits for one call and places job 0 on node 1."""

    def converse() -> None:
        with zmq.Context() as context, context.socket(zmq.PAIR) as socket:
            socket.connect(url)
            socket.recv()
            socket.send_json({"code": SCHEDULED, "jobs": [{"id": 0, "assigned_node_ids": [1]}]})

    thread = threading.Thread(target=converse, daemon=True)
    thread.start()
    yield
    thread.join(10)


@contextmanager
def decided(algorithm: OverZeroMQ, ledger: Ledger) -> Iterator[None]:
    """Ask the algorithm meanwhile, and expect the answer of `algorithm_elsewhere`."""
    answers: list[object] = []
    thread = threading.Thread(
        target=lambda: answers.extend(algorithm.decide(called(ledger), ledger)), daemon=True
    )
    thread.start()
    yield
    thread.join(20)
    assert answers == [Reply(0, (1,))]


@pytest.fixture
def tcp() -> str:
    """Find an address that other programs may try, too."""
    with sockets.create_server(("127.0.0.1", 0)) as server:
        return f"tcp://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize("said", [None, b"hello", b'{"code": 1}'])
def test_a_stray_client_that_leaves(url: str, ledger: Ledger, said: bytes | None) -> None:
    """It takes the call, and leaves without an answer that makes sense: the next client is asked."""
    with OverZeroMQ(url, timeout=10) as algorithm, decided(algorithm, ledger):
        with zmq.Context() as context, context.socket(zmq.PAIR) as stray:
            stray.linger = 100
            stray.connect(url)
            stray.recv()
            if said is not None:
                stray.send(said)
        with algorithm_elsewhere(url):
            pass


def test_a_client_that_speaks_no_zeromq(tcp: str, ledger: Ledger) -> None:
    """A browser or a port scan at the address is not taken for the algorithm, as long as it stays."""
    host, _, port = tcp.removeprefix("tcp://").partition(":")
    with OverZeroMQ(tcp, timeout=5) as algorithm, sockets.create_connection((host, int(port))) as stray:
        stray.sendall(b"GET / HTTP/1.0\r\n\r\n" + b"\0" * 100)
        with algorithm_elsewhere(tcp):
            assert algorithm.decide(called(ledger), ledger) == [Reply(0, (1,))]


def test_clients_wait_while_there_is_a_peer(url: str, ledger: Ledger) -> None:
    """What another client says meanwhile is not heard; it is asked once the algorithm has left."""
    answer = {"code": SCHEDULED, "jobs": [{"id": 0, "assigned_node_ids": [1]}]}
    with zmq.Context() as context, OverZeroMQ(url, timeout=10) as algorithm:
        with context.socket(zmq.PAIR) as first, context.socket(zmq.PAIR) as second:
            second.linger = 0
            first.connect(url)
            with decided(algorithm, ledger):
                first.recv()
                second.connect(url)
                second.send(b"hello")
                assert not second.poll(300, zmq.POLLIN)
                first.send_json(answer)
        with algorithm_elsewhere(url):
            assert algorithm.decide(called(ledger), ledger) == [Reply(0, (1,))]


def test_a_process_has_an_address_of_its_own(tmp_path: Path, url: str, ledger: Ledger) -> None:
    """A client that waits at the URL of the configuration, which the file names, is not asked."""
    path = script(tmp_path, "jobs[0].assign(nodes[1])")
    path.write_text(path.read_text().replace("sys.argv[1]", repr(url)))
    with (
        zmq.Context() as context,
        context.socket(zmq.PAIR) as stray,
        OverZeroMQ(url, path, timeout=30) as algorithm,
    ):
        stray.linger = 0
        stray.connect(url)
        stray.send(b"hello")
        assert algorithm.decide(called(ledger), ledger) == [Reply(0, (1,))]
        algorithm.finish()


def test_the_interface_needs_nothing_of_ours() -> None:
    """An algorithm's process imports neither batchlab nor numpy for it."""
    ours = Path(protocol.__file__).parent / "algorithm_side"
    code = "import sys, elastisim_python; print({'batchlab', 'numpy', 'zmq'} & set(sys.modules))"
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], cwd=ours, capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"
