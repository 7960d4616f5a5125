"""The scheduler that connects the simulation of an ElastiSim project to an algorithm."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from batchlab.bridge.elastisim.algorithm import Algorithm, Invocation, Reason
from batchlab.bridge.elastisim.jobs import (
    COMPLETED,
    IN_RECONFIGURATION,
    KILLED,
    OVER,
    PENDING_ALLOCATION,
    PENDING_KILL,
    PENDING_RECONFIGURATION,
    RUNNING,
    JobEntry,
    Ledger,
)
from batchlab.errors import AlgorithmError
from batchlab.seam.components import Observer, Scheduler

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from batchlab._kernel import Job
    from batchlab.bridge.elastisim.jobs import ElastisimJob, Reply
    from batchlab.seam.view import View


_REASONS = {
    "instant": Reason.PERIODIC,
    "periodic": Reason.PERIODIC,
    "submit": Reason.JOB_SUBMIT,
    "finalise": Reason.JOB_COMPLETED,
    "kill": Reason.JOB_KILLED,
    "scheduling_point": Reason.SCHEDULING_POINT,
    "evolving_request": Reason.EVOLVING_REQUEST,
    "reconfiguration": Reason.RECONFIGURATION,
}
PATIENCE = 1_000
"""Default number of consecutive idle periodic calls after which a run is aborted."""
_AT_POINT = frozenset((Reason.SCHEDULING_POINT, Reason.EVOLVING_REQUEST))


class ElastisimScheduler(Scheduler):
    """Converts each decision point of the simulation to a call of an algorithm, and its reply to decisions.

    A job's row in the workload is its id; a node's number is its id.

    Parameters
    ----------
    algorithm
        The algorithm.
    jobs
        The project's jobs, by id.
    ledger
        The ledger, initially empty.
    totals
        Total iterations of all phases, per job.
    forwards_storage
        Whether to pass the load of the parallel file system to the algorithm.
    asks_on_reconfiguration
        Whether to call the algorithm also when a job is resized at a point for which it was called.
    patience
        Number of consecutive idle periodic calls after which the run is aborted.
    witness
        Whether some events occur without a call of the algorithm: the `Witness` then records submissions,
        ends and reconfigurations in the ledger.
    """

    every_instant: ClassVar[bool] = True

    def __init__(
        self,
        algorithm: Algorithm,
        jobs: Sequence[ElastisimJob],
        ledger: Ledger,
        totals: Sequence[int],
        *,
        forwards_storage: bool = False,
        asks_on_reconfiguration: bool = False,
        patience: int = PATIENCE,
        witness: bool = False,
    ) -> None:
        self.calls = 0
        self._idle = 0
        self._algorithm = algorithm
        self._jobs = jobs
        self._ledger = ledger
        self._totals = totals
        self._forwards_storage = forwards_storage
        self._storage: dict[str, list[tuple[int, float]]] | None = None
        """The numbers and bandwidths (B/s) of the links to and from the file system; set at first use."""
        self._asks_on_reconfiguration = asks_on_reconfiguration
        self._patience = patience
        self._witness = witness
        self._handles: list[Job] = []
        self._entries: dict[int, JobEntry] = {}
        """The jobs known to the algorithm, by row; ids are assigned in this order."""
        self._held = {row for row, job in enumerate(jobs) if job.dependencies}
        """The rows of jobs that wait for dependencies."""
        self._preparing: list[JobEntry] = []
        """Jobs that were started or reconfigured and have not reached their phases."""
        self._running: list[JobEntry] = []
        """Jobs that were started and are not known to have ended; used only with a witness."""
        self._wishes: dict[JobEntry, list[int]] = {}
        """The nodes that running jobs will have from their next scheduling point on."""
        self._happen: dict[Reason, Callable[[JobEntry, View], None]] = {
            Reason.JOB_COMPLETED: self._complete,
            Reason.JOB_KILLED: self._killed,
            Reason.SCHEDULING_POINT: self._arrive,
            Reason.EVOLVING_REQUEST: self._arrive,
            Reason.RECONFIGURATION: self._reconfigured,
        }
        if witness:
            del self._happen[Reason.JOB_COMPLETED], self._happen[Reason.JOB_KILLED]

    def schedule(self, view: View) -> None:
        """Record the event, call the algorithm, and apply its reply."""
        kind, row, tasks = view.get_trigger()
        reason = _REASONS[kind]
        if self._held:
            self._submit_released(view)
            if row in self._held:
                # The job waits for dependencies; the algorithm learns of it when they complete.
                return
        entry = None if row is None else self._entry(row, view)
        if entry is not None and reason in self._happen:
            self._happen[reason](entry, view)
        if self._witness:
            self._update_running(view.now)
        if self._preparing:
            self._update_preparing()
        answer = self._ask(reason, entry, tasks, view)
        if reason is Reason.PERIODIC:
            self._check_patience(answer)
        self._apply(reason, entry, answer, view)
        if reason is Reason.RECONFIGURATION and entry is not None:
            self._preparing.append(entry)

    def _ask(self, reason: Reason, entry: JobEntry | None, tasks: int | None, view: View) -> Sequence[Reply]:
        """Call the algorithm."""
        self._update_gpus(view)
        storage = self._storage_of(view) if self._forwards_storage else {}
        answer = self._algorithm.decide(Invocation(reason, view.now, entry, tasks, storage), self._ledger)
        self.calls += 1
        self._ledger.clear_changes()
        return answer

    def submit(self, job: Job) -> JobEntry:
        """Add a submitted job to the ledger."""
        entry = self._entries[job.row] = self._ledger.submit(self._jobs[job.row])
        entry.phases = (0, self._totals[job.row])
        self._handles.append(job)
        self._held.discard(job.row)
        return entry

    def entry_of(self, job: Job) -> JobEntry | None:
        """Return the ledger entry of a job; None if the algorithm does not know it."""
        return self._entries.get(job.row)

    def waits(self, job: Job) -> bool:
        """Return whether a job waits for dependencies."""
        return job.row in self._held

    def _submit_released(self, view: View) -> None:
        """Add jobs with completed dependencies to the ledger, so that the algorithm learns of them."""
        for job in [job for job in view.queue if job.row in self._held]:
            self.submit(job)

    def _check_patience(self, answer: Sequence[Reply]) -> None:
        lies = len(self._ledger.jobs) == len(self._jobs) and not answer
        if not lies or any(node.running for node in self._ledger.nodes):
            self._idle = 0
            return
        self._idle += 1
        if self._idle >= self._patience:
            left = [entry for entry in self._ledger.jobs if entry.state not in OVER]
            raise AlgorithmError(
                f"the simulation came to a standstill: nothing ran or was decided in {self._idle} periodic "
                f"calls, and no job is to come; job {left[0].id} is the first of {len(left)} that wait. "
                "Give it more patience if the algorithm waits for a time of its own (--patience CALLS)."
            )

    def _entry(self, row: int, view: View) -> JobEntry:
        if row not in self._entries:
            return self.submit(view.job(row))
        return self._entries[row]

    def _complete(self, entry: JobEntry, view: View) -> None:
        entry.phases = (entry.phases[1], entry.phases[1])
        self._ledger.end(entry, view.now, COMPLETED)

    def _killed(self, entry: JobEntry, view: View) -> None:
        self._ledger.end(entry, view.now, KILLED)

    def _arrive(self, entry: JobEntry, _view: View) -> None:
        entry.phases = self._handles[entry.id].progress or entry.phases

    def _reconfigured(self, entry: JobEntry, view: View) -> None:
        # ElastiSim calls the algorithm after the reconfiguration has begun.
        self._ledger.reconfigure(entry, view.now)

    def _apply(self, reason: Reason, asked: JobEntry | None, answer: Sequence[Reply], view: View) -> None:
        entries = [self._ledger.take(reply) for reply in answer]
        for reply, entry in zip(answer, entries, strict=True):
            if reply.runtime_arguments is not None:
                arguments = {name: number_or_text(text) for name, text in reply.runtime_arguments.items()}
                view.set_runtime_arguments(self._handles[entry.id], arguments)
        # Handle the triggering job first: the nodes that it releases are free for the others.
        if asked is not None and reason in _AT_POINT:
            self._resume(asked, view)
        for entry in entries:
            if entry.state == PENDING_ALLOCATION:
                self._start(entry, view)
            elif entry.state == PENDING_KILL:
                self._kill(entry, view)
            elif entry.state in {RUNNING, PENDING_RECONFIGURATION} and entry is not asked:
                self._resize(entry, view)
        resized = asked is not None and asked.state == IN_RECONFIGURATION
        if resized and reason in _AT_POINT and self._asks_on_reconfiguration:
            again = Reason.RECONFIGURATION
            self._apply(again, asked, self._ask(again, asked, None, view), view)

    def _resume(self, entry: JobEntry, view: View) -> None:
        """Apply the decision on a job at a scheduling point or with a request for nodes."""
        if entry.state == PENDING_KILL:
            self._kill(entry, view)
            return
        wished = self._wishes.pop(entry, None)
        if entry.state == PENDING_RECONFIGURATION:
            # A resize repeated at the scheduling point takes effect immediately.
            view.resize(self._handles[entry.id], nodes=entry.assigned, gpus=entry.gpus)
            self._ledger.reconfigure(entry, view.now)
            self._preparing.append(entry)
            return
        if wished is not None:
            view.resize(self._handles[entry.id], nodes=entry.executing)
        self._ledger.go_on(entry)

    def _start(self, entry: JobEntry, view: View) -> None:
        self._ledger.start(entry, view.now)
        gpus = entry.gpus if entry.type else entry.job.gpus_per_node[0]
        view.start(self._handles[entry.id], entry.assigned, gpus=gpus)
        self._preparing.append(entry)
        if self._witness:
            self._running.append(entry)

    def _resize(self, entry: JobEntry, view: View) -> None:
        """Pass on the nodes that a running job will have from its next scheduling point on."""
        wish = entry.assigned if entry.state == PENDING_RECONFIGURATION else entry.executing
        if wish != self._wishes.get(entry, entry.executing):
            view.resize(self._handles[entry.id], nodes=wish)
            self._wishes[entry] = wish

    def _kill(self, entry: JobEntry, view: View) -> None:
        view.kill(self._handles[entry.id])
        self._ledger.end(entry, view.now, KILLED)

    def _update_preparing(self) -> None:
        """Update the jobs that have reached their phases."""
        still = []
        for entry in self._preparing:
            if entry.state not in {RUNNING, IN_RECONFIGURATION}:
                continue
            if self._handles[entry.id].is_preparing:
                still.append(entry)
            else:
                self._ledger.go_on(entry)
        self._preparing = still

    def _update_gpus(self, view: View) -> None:
        """Update the busy GPUs of nodes that changed."""
        for number in set(self._ledger.changed_nodes) if self._ledger.has_gpus else ():
            node = self._ledger.nodes[number]
            node.busy_gpus = sum(busy << gpu for gpu, busy in enumerate(view.gpus_at_work(number)))

    def _storage_of(self, view: View) -> dict[str, float]:
        """Return capacity and load of the file system's links, B/s, under ElastiSim's names."""
        platform = view.system.platform
        if self._storage is None and platform is not None:
            links = {"read": platform.read_links, "write": platform.write_links}
            self._storage = {
                name: [(platform.link_number(each), platform.link(each).bandwidth) for each in names]
                for name, names in links.items()
            }
        found: dict[str, float] = {}
        for name, numbers in (self._storage or {}).items():
            found[f"pfs_{name}_bw"] = sum((bandwidth for _, bandwidth in numbers), 0.0)
            found[f"pfs_{name}_utilization"] = sum((view.flow_on(link) for link, _ in numbers), 0.0)
        return found

    def _update_running(self, now: float) -> None:
        """Update jobs that have passed a scheduling point without a call of the algorithm."""
        self._running = [entry for entry in self._running if entry.state not in OVER]
        for entry in self._running:
            self.settle(entry, now)
            phases = self._handles[entry.id].progress or entry.phases
            if phases != entry.phases:
                entry.phases = phases
                self._ledger.changed_jobs[entry] = None

    def settle(self, entry: JobEntry, now: float) -> None:
        """Record an earlier reconfiguration decision after it has taken effect."""
        if entry.state == PENDING_RECONFIGURATION and self._handles[entry.id].ranks == entry.assigned:
            self._wishes.pop(entry, None)
            self._ledger.reconfigure(entry, now)
            self._preparing.append(entry)


class Witness(Observer):
    """Records events in the ledger for which the algorithm may not be called.

    Parameters
    ----------
    scheduler, ledger
        The scheduler and its ledger.
    """

    name = "elastisim"

    def __init__(self, scheduler: ElastisimScheduler, ledger: Ledger) -> None:
        self._scheduler = scheduler
        self._ledger = ledger

    def submitted(self, job: Job, view: View) -> None:  # noqa: ARG002  # signature of observers
        """Record a submission."""
        if not self._scheduler.waits(job):
            self._scheduler.submit(job)

    def ended(self, job: Job, view: View) -> None:
        """Record an end, unless the algorithm caused it."""
        entry = self._scheduler.entry_of(job)
        if entry is None or entry.state in OVER:
            return
        if job.state == "completed":
            entry.phases = (entry.phases[1], entry.phases[1])
        self._ledger.end(entry, view.now, COMPLETED if job.state == "completed" else KILLED)

    def resized(self, job: Job, view: View) -> None:
        """Record a reconfiguration."""
        entry = self._scheduler.entry_of(job)
        if entry is not None:
            self._scheduler.settle(entry, view.now)


def number_or_text(text: str) -> float | str:
    """Parse a text as a number; return the text itself if it is none."""
    try:
        return float(text)
    except ValueError:
        return text
