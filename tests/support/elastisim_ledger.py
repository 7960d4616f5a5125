"""ElastiSim's books driven by a recorded conversation, without a simulation."""

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from batchlab.bridge.elastisim.algorithm import Algorithm, Invocation, Reason
from batchlab.bridge.elastisim.configuration import Configuration, read_configuration
from batchlab.bridge.elastisim.jobs import (
    COMPLETED,
    KILLED,
    PENDING_ALLOCATION,
    PENDING_RECONFIGURATION,
    ElastisimJob,
    JobEntry,
    Ledger,
    Reply,
    read_jobs,
)
from batchlab.bridge.elastisim.protocol import Line, read_transcript
from support.oracles import find

__all__ = ["Books", "Project", "lines_of", "project"]


@dataclass
class Project:
    """An ElastiSim project beside the repository, and the conversation that was recorded."""

    folder: Path
    configuration: Configuration
    jobs: list[ElastisimJob]
    nodes: list[tuple[int, int]]

    def stages(self, job: ElastisimJob) -> set[str]:
        """Name the one-time stages of a job's application."""
        model = json.loads(self.configuration.paths.input(job.application_model).read_text())
        return {name for name in ("on_init", "on_reconfiguration") if model.get(name)}


def project(name: str, nodes: list[tuple[int, int]]) -> Project:
    """Open a project, or skip the test where the folder is absent."""
    folder = find(f"oracles/elastisim/{name}")
    configuration = read_configuration(folder / "input/configuration.json")
    return Project(folder, configuration, read_jobs(configuration.jobs_file), nodes)


def lines_of(folder: Path) -> Iterator[tuple[Line, dict[str, int]]]:
    """Give each recorded call, and how many jobs and nodes were told of."""
    path = folder / "transcript.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line, text in zip(read_transcript(path), file, strict=True):
            yield line, json.loads(text)


class Books:
    """The books of a project whose jobs have no stages that take time before their phases."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.ledger = Ledger(project.nodes, oversubscription=False)
        self._preparing: set[JobEntry] = set()
        self._points: dict[JobEntry, int] = {}

    def happen(self, line: Line) -> Invocation:
        """Enter what a call was about."""
        reason = Reason[line.type.removeprefix("INVOKE_")]
        assert line.job is not None
        if reason is Reason.JOB_SUBMIT:
            entry = self.ledger.submit(self.project.jobs[line.job])
        else:
            entry = self.ledger.jobs[line.job]
        if reason in {Reason.JOB_COMPLETED, Reason.JOB_KILLED}:
            state = COMPLETED if reason is Reason.JOB_COMPLETED else KILLED
            self.ledger.end(entry, line.time, state)
        if entry in self._preparing:
            self._preparing.remove(entry)
            self.ledger.go_on(entry)
        if reason in {Reason.SCHEDULING_POINT, Reason.EVOLVING_REQUEST}:
            self._points[entry] = self._points.get(entry, 0) + 1
            entry.phases = (self._points[entry], 99)
        return Invocation(reason, line.time, entry, line.nodes)

    def decide(self, invocation: Invocation, algorithm: Algorithm) -> Sequence[Reply]:
        """Ask an algorithm."""
        answer = algorithm.decide(invocation, self.ledger)
        self.ledger.clear_changes()
        return answer

    def follow(self, invocation: Invocation, answer: Sequence[Reply]) -> None:
        """Enter an answer."""
        entries = [self.ledger.take(reply) for reply in answer]
        entry = invocation.job
        if invocation.reason in {Reason.SCHEDULING_POINT, Reason.EVOLVING_REQUEST} and entry:
            if entry.state == PENDING_RECONFIGURATION:
                self.ledger.reconfigure(entry, invocation.time)
                self._prepare(entry, "on_reconfiguration")
            else:
                self.ledger.go_on(entry)
        for each in entries:
            if each.state == PENDING_ALLOCATION:
                self.ledger.start(each, invocation.time)
                self._prepare(each, "on_init")

    def _prepare(self, entry: JobEntry, stage: str) -> None:
        if stage in self.project.stages(entry.job):
            self._preparing.add(entry)
        else:
            self.ledger.go_on(entry)
