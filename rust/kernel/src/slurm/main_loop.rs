//! The main loop: `schedule()`.
use serde::{Deserialize, Serialize};

use super::node_bits::NodeBits;
use super::offer::Offer;
use super::parameters::Setup;
use super::situation::{Amounts, Entry, Situation, Verdict, take};

/// What becomes of each entry of the queue, in a call that looks at all of them.
#[must_use]
pub fn main_loop(setup: &Setup, situation: &Situation, queue: &[Entry]) -> Vec<Verdict> {
    let mut call = MainLoop::new(setup, situation);
    queue.iter().map(|entry| call.consider(setup, entry)).collect()
}

/// A call on its way. It starts jobs in order. The first of a partition that does not fit closes it for this call, and takes
/// its nodes away from the partitions behind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MainLoop {
    available: NodeBits,
    left: Vec<Amounts>,
    away: NodeBits,
    closed: Vec<bool>,
    started: Vec<u32>,
}

impl MainLoop {
    /// A call that begins now.
    #[must_use]
    pub fn new(setup: &Setup, situation: &Situation) -> Self {
        let mut left = setup.machine.clone();
        situation.running.iter().for_each(|held| take(&mut left, &held.allotments));
        Self {
            available: situation.available.clone(),
            left,
            away: situation.completing_nodes(setup.nodes()),
            closed: vec![false; setup.partitions.len()],
            started: Vec::new(),
        }
    }

    /// Starts a job, or lets it wait.
    pub fn consider(&mut self, setup: &Setup, entry: &Entry) -> Verdict {
        if self.closed[entry.partition] || self.started.contains(&entry.job) {
            return Verdict::NotTried;
        }
        if !entry.is_open {
            return Verdict::Waits;
        }
        let partition = &setup.partitions[entry.partition];
        let mut usable = partition.nodes.clone();
        usable.keep(&self.available);
        usable.remove(&self.away);
        let offer = Offer {
            usable: &usable,
            machine: &setup.machine,
            left: &self.left,
            most_nodes: partition.most_nodes,
        };
        if let Some(chosen) = setup.select.choose(entry, offer) {
            take(&mut self.left, &chosen);
            self.started.push(entry.job);
            return Verdict::Started(chosen);
        }
        self.closed[entry.partition] = true;
        self.away.add(&partition.nodes);
        Verdict::Waits
    }

    /// Whether some entry did not fit.
    #[must_use]
    pub fn met_no_room(&self) -> bool {
        self.closed.contains(&true)
    }

    /// Whether entries of all partitions did not fit, so that none behind is tried.
    #[must_use]
    pub fn is_over(&self) -> bool {
        !self.closed.contains(&false)
    }
}
