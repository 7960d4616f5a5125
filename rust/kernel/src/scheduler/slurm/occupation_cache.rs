//! Occupation of nodes and node weights, kept by the controller between calls.
//!
//! Each pass updates them for the jobs that have changed since the latest pass, each O(its nodes + log jobs). During a
//! call, the call owns them.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::index::NodeBits;
use crate::slurm::{CallState, Held, Occupation, Setup};
use crate::state::{Phase, View};

use super::entries::{Description, available};
use super::relations;

/// The kept occupation and weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct OccupationCache {
    occupation: Occupation,
    /// Completing jobs, which still hold their nodes, by number.
    completing: BTreeMap<u32, Held>,
    /// The number of each job that holds nodes, by slot.
    numbers: BTreeMap<u32, u32>,
    /// Node weights after the latest evaluation.
    pub(super) weights: Vec<u32>,
    /// Slots of jobs that calls have started or preempted: the run may differ from what was recorded.
    decided: Vec<u32>,
    has_begun: bool,
}

impl OccupationCache {
    /// Create the state without running jobs.
    pub(super) fn new(setup: &Setup) -> Self {
        Self {
            occupation: Occupation::none(setup),
            completing: BTreeMap::new(),
            numbers: BTreeMap::new(),
            weights: setup.weights.clone(),
            decided: Vec::new(),
            has_begun: false,
        }
    }

    /// Return the occupation, and the node weights for modification.
    pub(super) fn weights_beside(&mut self) -> (&Occupation, &mut [u32]) {
        (&self.occupation, &mut self.weights)
    }

    /// Return whether `begin` was called.
    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Add all running jobs.
    pub(super) fn begin(&mut self, view: View<'_>, setup: &Setup, description: &Description) {
        self.has_begun = true;
        for job in view.state.running.jobs() {
            self.look_again(view, setup, description, job);
        }
    }

    /// Update the jobs that have changed.
    pub(super) fn follow(&mut self, view: View<'_>, setup: &Setup, description: &Description) {
        let mut changed = std::mem::take(&mut self.decided);
        changed.extend_from_slice(view.state.running.changed());
        changed.sort_unstable();
        changed.dedup();
        for job in changed {
            self.look_again(view, setup, description, job);
        }
        debug_assert!(self.matches_recomputed(view, setup, description), "what is kept is what holds nodes");
    }

    /// Update what a job holds.
    fn look_again(&mut self, view: View<'_>, setup: &Setup, description: &Description, job: u32) {
        if let Some(number) = self.numbers.remove(&job) {
            self.occupation.remove(setup, number);
            self.completing.remove(&number);
        }
        // Preempted jobs leave their nodes before they end.
        if !view.state.holds_nodes(job) {
            return;
        }
        let held = description.held(view, job, setup);
        self.numbers.insert(job, held.job);
        let phase = view.state.jobs.run(job).map(|run| view.state.running.get(run).phase);
        if matches!(phase, Some(Phase::Completing(_))) {
            self.completing.insert(held.job, held.clone());
            self.occupation.insert_completing(setup, held);
        } else {
            self.occupation.insert(setup, held);
        }
    }

    /// Compare the cache with a recomputation.
    fn matches_recomputed(&self, view: View<'_>, setup: &Setup, description: &Description) -> bool {
        let mut recomputed = Self { weights: self.weights.clone(), ..Self::new(setup) };
        recomputed.begin(view, setup, description);
        let mut own = self.clone();
        recomputed.see_who_may_be_preempted(view);
        own.see_who_may_be_preempted(view);
        own == recomputed
    }

    /// Return the input of a call that begins now. The call owns the occupation until `end_call`.
    pub(super) fn begin_call(
        &mut self,
        view: View<'_>,
        setup: &Setup,
        description: &Description,
    ) -> CallState {
        self.follow(view, setup, description);
        if !setup.precedence.preempts.is_empty() {
            self.see_who_may_be_preempted(view);
        }
        let mut completing = NodeBits::none(setup.nodes());
        for held in self.completing.values() {
            held.nodes.add_to(&mut completing);
        }
        CallState {
            now: view.now().floor(),
            available: available(view, setup.nodes()),
            occupation: std::mem::take(&mut self.occupation),
            completing,
            reservations: relations::reservations(view, setup.nodes()),
            weights: std::mem::take(&mut self.weights),
            done: Vec::new(),
        }
    }

    /// Take back the state that a call leaves.
    pub(super) fn end_call(&mut self, state: CallState) {
        self.occupation = state.occupation;
        self.weights = state.weights;
    }

    /// Record a start by a call.
    pub(super) fn starts(&mut self, job: u32, number: u32) {
        self.numbers.insert(job, number);
        self.decided.push(job);
    }

    /// Record preemptions by a call.
    pub(super) fn preempts(&mut self, jobs: &[u32]) {
        self.decided.extend_from_slice(jobs);
    }

    /// Update which jobs may be preempted, which changes with time. O(running jobs · log of them).
    fn see_who_may_be_preempted(&mut self, view: View<'_>) {
        for (&job, number) in &self.numbers {
            if !self.completing.contains_key(number) {
                self.occupation.set_began(*number, relations::began(view, job));
            }
        }
    }
}
