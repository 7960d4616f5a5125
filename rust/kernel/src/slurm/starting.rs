//! A job is to start now: it is evaluated and gets nodes, or others are preempted for it (`select_nodes`).
use super::node_bits::NodeBits;
use super::occupation::{Occupation, Present};
use super::parameters::Setup;
use super::situation::{Allotment, Entry, Reservation, Situation};
use super::victims::victims;
use super::weights::evaluate;

use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What becomes of a job that is to start now.
pub(super) enum Begun {
    /// It runs.
    Started(Vec<Allotment>),
    /// These have been preempted for it.
    Preempted(Vec<u32>),
    /// It waits.
    Not,
}

/// What a call of either kind knows of the machine, and changes as it goes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CallState {
    /// The second at which the call began.
    pub now: f64,
    /// The nodes that are up and take jobs.
    pub available: NodeBits,
    /// The jobs that hold nodes.
    pub occupation: Occupation,
    /// The nodes whose jobs are over, and that have not answered.
    pub completing: NodeBits,
    /// The reservations that are known.
    pub reservations: Vec<Reservation>,
    /// The weights that nodes have since the last evaluation.
    pub weights: Vec<u32>,
    /// The jobs of which no further entry is tried.
    pub done: Vec<u32>,
}

impl CallState {
    /// What a call sees that begins now.
    #[must_use]
    pub fn of(setup: &Setup, situation: Situation) -> Self {
        let Situation { now, available, running, completing: over, reservations, weights } = situation;
        let mut occupation = Occupation::none(setup);
        let mut completing = NodeBits::none(setup.nodes());
        for held in running {
            occupation.insert(setup, held);
        }
        for held in over {
            held.nodes.add_to(&mut completing);
            occupation.insert_completing(setup, held);
        }
        Self { now, available, occupation, completing, reservations, weights, done: Vec::new() }
    }

    /// Starts a job on some of these nodes, or preempts others for it; `evaluated` get its weights.
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
        if let Some(chosen) =
            setup.select.begin(entry, self.occupation.offer(setup, entry, &free, &self.weights))
        {
            self.done.push(entry.job);
            self.occupation.start(setup, entry, self.now, &chosen);
            return Begun::Started(chosen);
        }
        self.preempt(setup, entry, free, usable)
    }

    /// The earliest start of a job on these nodes, and what it gets; None where it does not fit, or not until a time.
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
        let offer = self.occupation.offer(setup, entry, &free, &self.weights);
        let gone: Vec<u32> = victims(setup, entry, candidates, offer).iter().map(|held| held.job).collect();
        if gone.is_empty() {
            return Begun::Not;
        }
        self.done.push(entry.job);
        if !entry.may_preempt {
            return Begun::Not;
        }
        let dismissed: Vec<u32> = gone.into_iter().filter(|&job| self.dismiss(setup, job)).collect();
        if dismissed.is_empty() { Begun::Not } else { Begun::Preempted(dismissed) }
    }

    /// Takes a victim from its nodes, or lets it run on for its grace time; false where it does so already.
    fn dismiss(&mut self, setup: &Setup, job: u32) -> bool {
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

    /// The nodes to which a job is bound that begins then, of these, and whether others are reserved.
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
