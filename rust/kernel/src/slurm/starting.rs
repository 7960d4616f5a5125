//! Start of a job now: it is evaluated and gets nodes, or others are preempted for it (`select_nodes`).
use super::controller_input::{Allotment, Entry, Reservation};
use super::occupation::{Occupation, Present};
use super::setup::Setup;
use super::victims::victims;
use super::weights::evaluate;
use crate::index::NodeBits;

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Outcome of a job that should start now.
pub(super) enum Begun {
    /// Started on these nodes.
    Started(Vec<Allotment>),
    /// These jobs were preempted for it.
    Preempted(Vec<u32>),
    /// Waits.
    Not,
}

/// State of the machine during a call of either kind.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CallState {
    /// The second at which the call began.
    pub now: f64,
    /// Available nodes.
    pub available: NodeBits,
    /// The jobs that hold nodes.
    pub occupation: Occupation,
    /// Nodes of completing jobs that have not confirmed the end yet.
    pub completing: NodeBits,
    /// Known reservations.
    pub reservations: Vec<Reservation>,
    /// Node weights after the last evaluation.
    pub weights: Vec<u32>,
    /// Jobs with no further entry to try in this call.
    pub done: Vec<u32>,
}

impl CallState {
    /// Create the state of a call that begins with these jobs on nodes; the other fields are empty.
    #[must_use]
    pub fn of(setup: &Setup, occupation: Occupation) -> Self {
        Self { completing: occupation.completing(setup.nodes()), occupation, ..Self::default() }
    }

    /// Start a job on some of these nodes, or preempt others for it. The nodes `evaluated` get its weights.
    pub(super) fn begin(
        &mut self,
        setup: &Setup,
        entry: &Entry,
        usable: &NodeBits,
        evaluated: &NodeBits,
    ) -> Begun {
        evaluate(setup, &self.occupation, entry, evaluated, &mut self.weights);
        if !entry.is_open() {
            return Begun::Not;
        }
        let mut free = usable.clone();
        free.remove(&self.completing);
        if let Some(chosen) = setup
            .parameters
            .select
            .begin(entry, self.occupation.selection_input(setup, entry, &free, &self.weights))
        {
            self.done.push(entry.job);
            self.occupation.start(setup, entry, self.now, &chosen);
            return Begun::Started(chosen);
        }
        self.preempt(setup, entry, free, usable)
    }

    /// Return the earliest start of a job on these nodes, with its allotments. None if it does not fit, or not until
    /// `until`.
    pub(super) fn earliest(
        &mut self,
        setup: &Setup,
        entry: &Entry,
        usable: &NodeBits,
        until: Option<f64>,
    ) -> Option<(f64, Vec<Allotment>)> {
        if usable.count() < entry.least_nodes() as usize {
            return None;
        }
        if until.is_some_and(|until| !self.occupation.may_fit_by(setup, entry, usable, until)) {
            return None;
        }
        let present = Present { now: self.now, weights: &self.weights, completing: &self.completing };
        self.occupation.earliest(setup, entry, usable, present, until)
    }

    fn preempt(&mut self, setup: &Setup, entry: &Entry, mut free: NodeBits, usable: &NodeBits) -> Begun {
        let candidates = self.occupation.candidates(setup, entry);
        if candidates.is_empty() {
            return Begun::Not;
        }
        for held in &candidates {
            held.nodes.add_to_within(&mut free, usable);
        }
        let input = self.occupation.selection_input(setup, entry, &free, &self.weights);
        let gone: Vec<u32> = victims(setup, entry, candidates, input).iter().map(|held| held.job).collect();
        if gone.is_empty() {
            return Begun::Not;
        }
        self.done.push(entry.job);
        if !entry.may_preempt {
            return Begun::Not;
        }
        let preempted: Vec<u32> = gone.into_iter().filter(|&job| self.preempt_job(setup, job)).collect();
        if preempted.is_empty() { Begun::Not } else { Begun::Preempted(preempted) }
    }

    /// Remove a victim from its nodes, or begin its grace time. Return false if it already runs in its grace time.
    fn preempt_job(&mut self, setup: &Setup, job: u32) -> bool {
        let Some(held) = self.occupation.remove(setup, job) else { return false };
        let grace_time = setup.precedence.grace_time;
        let runs_on = held.noticed && self.now < held.end;
        if runs_on || (grace_time > 0.0 && !held.noticed) {
            let end = if runs_on { held.end } else { self.now + grace_time };
            self.occupation.insert(setup, Arc::unwrap_or_clone(held).noticed_until(end));
        } else {
            held.nodes.add_to(&mut self.completing);
        }
        !runs_on
    }

    /// Return those of these nodes that a job with this start may use, and whether reservations exclude others.
    pub(super) fn open(&self, entry: &Entry, members: &NodeBits, begin: f64) -> (NodeBits, bool) {
        let end = begin + entry.limit;
        let mut nodes = members.clone();
        if let Some(own) = entry.reservation.and_then(|own| self.reservations.get(own)) {
            nodes.keep(&own.nodes);
        }
        let mut is_reserved = false;
        for (number, each) in self.reservations.iter().enumerate() {
            if Some(number) != entry.reservation && each.begin < end && each.end > begin {
                nodes.remove(&each.nodes);
                is_reserved = true;
            }
        }
        (nodes, is_reserved)
    }
}
