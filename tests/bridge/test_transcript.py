"""Conversations that are written down and played back."""

import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from batchlab.bridge.elastisim.algorithm import Algorithm, Invocation, Reason
from batchlab.bridge.elastisim.jobs import Ledger, Reply
from batchlab.bridge.elastisim.protocol import Line, Recorder, Replay, read_transcript
from batchlab.errors import AlgorithmError, BridgeError
from support.elastisim_projects import job_of
from support.oracles import find

LINE = {"time": 1.0, "type": "INVOKE_PERIODIC", "job": None, "reply": []}
REPLIES = [Reply(0, (1, 0), 1, kill=False, runtime_arguments={"a": "1"}), Reply(1, (), kill=True)]


class Constant(Algorithm):
    """Always gives the same answer."""

    over = False

    def decide(self, invocation: Invocation, ledger: Ledger) -> Sequence[Reply]:
        ledger.clear_changes()
        return REPLIES

    def finish(self) -> None:
        self.over = True


@pytest.fixture
def ledger() -> Ledger:
    """Two nodes and a job."""
    books = Ledger([(0, 0)] * 2, oversubscription=False)
    books.submit(job_of())
    return books


def written(folder: Path, text: str) -> Path:
    """Write a transcript."""
    path = folder / "transcript.jsonl"
    path.write_text(text)
    return path


def test_there_and_back(tmp_path: Path, ledger: Ledger) -> None:
    """What a recorder writes, a replay answers."""
    file = io.StringIO()
    constant = Constant()
    recorder = Recorder(constant, file)
    invocation = Invocation(Reason.EVOLVING_REQUEST, 2.5, ledger.jobs[0], 3)
    assert recorder.decide(invocation, ledger) == REPLIES
    recorder.finish()
    assert constant.over
    assert json.loads(file.getvalue())["sent_nodes"] == 2
    lines = read_transcript(written(tmp_path, file.getvalue()))
    assert lines == [Line(2.5, "INVOKE_EVOLVING_REQUEST", 0, tuple(REPLIES), 3)]
    assert list(Replay(lines).decide(invocation, ledger)) == REPLIES


def test_recorded_as_elastisim_was() -> None:
    """The lines of a recorder are those of the transcripts of ElastiSim."""
    path = find("oracles/elastisim/microA_crossbar/transcript.jsonl.gz")
    with gzip.open(path, "rt") as file:
        recorded = json.loads(file.readline())
    ledger = Ledger([(1, 4)] * 8, oversubscription=False)
    ledger.submit(job_of("rigid", (1, 1)))
    written = io.StringIO()
    lines = read_transcript(path)[:1]
    Recorder(Replay(lines), written).decide(Invocation(Reason.JOB_SUBMIT, 1e4, ledger.jobs[0]), ledger)
    assert json.loads(written.getvalue()) == recorded


def test_another_call_is_noticed(ledger: Ledger) -> None:
    """A replay tells when the simulation is not the one that was recorded."""
    replay = Replay([Line(2.0, "INVOKE_JOB_SUBMIT", 1, ())], "old.jsonl")
    with pytest.raises(
        AlgorithmError, match=r"call 0 was INVOKE_JOB_SUBMIT of job 1 at 2 s, and is now .* job 0"
    ):
        replay.decide(Invocation(Reason.JOB_SUBMIT, 1.0, ledger.jobs[0]), ledger)


def test_the_end_is_noticed(ledger: Ledger) -> None:
    """A replay that has no more answers says so."""
    with pytest.raises(AlgorithmError, match=r"ends after 0 calls; then comes INVOKE_PERIODIC at 7 s"):
        Replay([]).decide(Invocation(Reason.PERIODIC, 7.0), ledger)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "is not JSON"),
        ("[]", r"holds \[\]; must be an object"),
        (LINE | {"time": "1"}, "time = '1'; must be a number"),
        (LINE | {"type": 3}, "type = 3; must be the name"),
        (LINE | {"job": 1.5}, r"job = 1\.5; must be a job's id"),
        (LINE | {"evolving_request": "2"}, "evolving_request = '2'; must be a number of nodes"),
        (LINE | {"reply": None}, "jobs = None; must be a list"),
        (LINE | {"reply": [1]}, "a job 1; must be an object"),
        (LINE | {"reply": [{"id": True}]}, "id = True; must be a whole number"),
        (LINE | {"reply": [{"id": 0, "assigned_node_ids": 1}]}, "assigned_node_ids = 1; must be a list"),
        (
            LINE | {"reply": [{"id": 0, "modified_runtime_args": True, "runtime_arguments": 1}]},
            "runtime_arguments = 1; not an object",
        ),
    ],
)
def test_refused_transcripts(tmp_path: Path, line: object, message: str) -> None:
    """The file, the line and what is wrong."""
    text = line if isinstance(line, str) else json.dumps(line)
    with pytest.raises(BridgeError, match=rf"transcript\.jsonl:2: .*{message}"):
        read_transcript(written(tmp_path, json.dumps(LINE) + "\n" + text))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing file and one that is not compressed as it says."""
    with pytest.raises(BridgeError, match=r"nowhere: cannot be read .*No such file"):
        read_transcript(tmp_path / "nowhere")
    path = tmp_path / "transcript.jsonl.gz"
    path.write_bytes(b"no gzip")
    with pytest.raises(BridgeError, match=r"jsonl\.gz: cannot be read"):
        read_transcript(path)
