//! The main loop: `schedule()`.
use serde::{Deserialize, Serialize};

use super::controller_input::{Entry, EntryOutcome, Limits};
use super::finding::{Finding, Stop};
use super::setup::Setup;
use super::starting::{Begun, CallState};

/// Return the outcome of each queue entry in a full call, and the node weights after the call.
#[must_use]
pub fn main_loop(setup: &Setup, state: CallState, queue: &[Entry]) -> (Vec<EntryOutcome>, Vec<u32>) {
    let mut call = MainLoop::new(setup, state);
    let outcomes = queue.iter().map(|entry| call.consider(setup, entry)).collect();
    (outcomes, call.state.weights)
}

/// State of a call in progress. It starts jobs in order. A job that does not fit closes its partition for this call,
/// and makes its nodes unavailable to later partitions; a job in a reservation closes only the reservation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MainLoop {
    state: CallState,
    closed: Vec<bool>,
    /// Number of entries examined, by partition.
    tested_of: Vec<usize>,
    starts: usize,
    /// The jobs that closed reservations, and these.
    over: Vec<(u32, usize)>,
    /// The jobs that closed partitions, and these.
    closings: Vec<(u32, usize)>,
}

impl MainLoop {
    /// Create a call that begins now.
    #[must_use]
    pub fn new(setup: &Setup, state: CallState) -> Self {
        Self {
            state,
            closed: vec![false; setup.partitions.len()],
            tested_of: vec![0; setup.partitions.len()],
            starts: 0,
            over: Vec::new(),
            closings: Vec::new(),
        }
    }

    /// Start a job, preempt others for it, or let it wait.
    pub fn consider(&mut self, setup: &Setup, entry: &Entry) -> EntryOutcome {
        let is_over = self.closed_reservation(entry.reservation).is_some();
        let has_ended = self.is_over(setup) || is_over;
        if self.closed[entry.partition] || has_ended || self.state.done.contains(&entry.job) {
            return EntryOutcome::NotTried;
        }
        let most = setup.parameters.partition_job_depth;
        self.tested_of[entry.partition] += 1;
        if most > 0 && self.tested_of[entry.partition] > most {
            return EntryOutcome::NotTried;
        }
        if !entry.is_open() && (entry.limits == Limits::Shut || !setup.weighs) {
            return EntryOutcome::Waits;
        }
        let outcome = match self.begin(setup, entry) {
            Begun::Started(chosen) => {
                self.starts += 1;
                return EntryOutcome::Started(chosen);
            }
            Begun::Preempted(gone) => EntryOutcome::Preempts(gone, Vec::new()),
            Begun::Not => EntryOutcome::Waits,
        };
        if entry.is_open() {
            self.close(setup, entry);
        }
        outcome
    }

    fn begin(&mut self, setup: &Setup, entry: &Entry) -> Begun {
        let members = &setup.partitions[entry.partition].nodes;
        let (mut usable, _) = self.state.open(entry, members, self.state.now);
        usable.keep(&self.state.available);
        let mut evaluated = members.clone();
        if let Some(own) = entry.reservation.and_then(|own| self.state.reservations.get(own)) {
            evaluated.keep(&own.nodes);
        }
        entry.keep_suitable(&mut usable);
        entry.keep_suitable(&mut evaluated);
        self.state.begin(setup, entry, &usable, &evaluated)
    }

    fn close(&mut self, setup: &Setup, entry: &Entry) {
        if let Some(own) = entry.reservation {
            self.over.push((entry.job, own));
            return;
        }
        self.closed[entry.partition] = true;
        self.closings.push((entry.job, entry.partition));
        self.state.available.remove(&setup.partitions[entry.partition].nodes);
    }

    /// Return the state that the call leaves.
    #[must_use]
    pub fn into_state(self) -> CallState {
        self.state
    }

    /// Return the job that closed a reservation.
    fn closed_reservation(&self, reservation: Option<usize>) -> Option<u32> {
        let own = reservation?;
        self.over.iter().find(|&&(_, closed)| closed == own).map(|&(job, _)| job)
    }

    /// Return the first job that closed nodes of a partition. O(closed partitions · nodes / 64).
    fn closed_nodes(&self, setup: &Setup, partition: usize) -> Option<u32> {
        let nodes = |partition: usize| &setup.partitions[partition].nodes;
        let own = nodes(partition);
        let closing =
            self.closings.iter().find(|&&(_, closed)| closed == partition || own.meets(nodes(closed)));
        closing.map(|&(job, _)| job)
    }

    /// Return whether no further entry of a job is tried.
    #[must_use]
    pub fn is_done(&self, job: u32) -> bool {
        self.state.done.contains(&job)
    }

    /// Return what keeps the call from an entry in a partition and maybe a reservation, which may be beyond its depth.
    /// O(closed partitions · nodes / 64).
    #[must_use]
    pub fn stopped(
        &self,
        setup: &Setup,
        (partition, reservation): (usize, Option<usize>),
        is_beyond: bool,
    ) -> Option<Finding> {
        let closing = match reservation {
            Some(_) => self.closed_reservation(reservation),
            None => self.closed_nodes(setup, partition),
        };
        if let Some(job) = closing {
            return Some(Finding::Behind(job));
        }
        let most = setup.parameters.sched_max_job_start;
        if most > 0 && self.starts >= most {
            return Some(Finding::Stopped(Stop::SchedMaxJobStart));
        }
        is_beyond.then_some(Finding::Stopped(Stop::DefaultQueueDepth))
    }

    /// Return whether some entry did not fit.
    #[must_use]
    pub fn met_no_room(&self) -> bool {
        self.closed.contains(&true) || !self.over.is_empty()
    }

    /// Return whether all partitions are closed, so that no further entry is tried.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        !self.closed.contains(&false)
    }

    /// Return whether no further entry is tried: all partitions are closed, or the maximum number of jobs was started.
    #[must_use]
    pub fn is_over(&self, setup: &Setup) -> bool {
        let most = setup.parameters.sched_max_job_start;
        self.is_closed() || (most > 0 && self.starts >= most)
    }
}
