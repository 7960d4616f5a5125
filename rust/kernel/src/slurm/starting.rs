//! A job is to start now: it is evaluated and gets nodes, or others are preempted for it (`select_nodes`).
use super::estimate::Occupation;
use super::node_bits::NodeBits;
use super::parameters::Setup;
use super::situation::{Allotment, Entry, Reservation, Situation};
use super::victims::victims;
use super::weights::evaluate;

use serde::{Deserialize, Serialize};

/// What becomes of a job that is to start now.
pub(super) enum Begun {
    /// It runs.
    Started(Vec<Allotment>),
    /// These have been preempted for it.
    Preempted(Vec<u32>),
    /// It waits.
    Not,
}

/// What both calls know of the machine and change as they go.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Floor {
    pub now: f64,
    pub occupation: Occupation,
    /// The nodes whose jobs are over, and that have not answered.
    pub completing: NodeBits,
    pub reservations: Vec<Reservation>,
    pub weights: Vec<u32>,
    /// The jobs of which no further entry is tried.
    pub done: Vec<u32>,
}

impl Floor {
    pub fn of(setup: &Setup, mut situation: Situation) -> Self {
        Self {
            now: situation.now,
            completing: situation.completing_nodes(setup.nodes()),
            reservations: std::mem::take(&mut situation.reservations),
            weights: std::mem::take(&mut situation.weights),
            occupation: Occupation::of(setup, situation),
            done: Vec::new(),
        }
    }

    /// Starts a job on some of these nodes, or preempts others for it; `evaluated` get its weights.
    pub fn begin(&mut self, setup: &Setup, entry: &Entry, usable: &NodeBits, evaluated: &NodeBits) -> Begun {
        evaluate(setup, self.occupation.held(), entry, evaluated, &mut self.weights);
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

    fn preempt(&mut self, setup: &Setup, entry: &Entry, mut free: NodeBits, usable: &NodeBits) -> Begun {
        let candidates = self.occupation.candidates(setup, entry);
        if candidates.is_empty() {
            return Begun::Not;
        }
        for held in &candidates {
            free.add_within(&held.nodes, usable);
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
        for &job in &gone {
            let nodes = self.occupation.remove(setup, job);
            self.completing.add(&nodes);
        }
        Begun::Preempted(gone)
    }

    /// The nodes to which a job is bound that begins then, of these, and whether others are reserved.
    pub fn open(&self, entry: &Entry, members: &NodeBits, begin: f64) -> (NodeBits, bool) {
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
