//! What was given up in a conservative plan, so that only what it can have unblocked is examined.
use serde::{Deserialize, Serialize};

use crate::cluster::{NodeTasks, PlacementRequest, Profile};

/// One span of time per node in which something was given up: wide enough, not exact.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Freed {
    spans: Vec<(f64, f64)>,
    nodes: Vec<u32>,
}

impl Freed {
    const NOTHING: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);

    /// Nothing is given up on this many nodes.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        Self { spans: vec![Self::NOTHING; nodes], nodes: Vec::new() }
    }

    /// Adds the nodes of a placement over [begin, end).
    pub fn add(&mut self, placement: &[NodeTasks], begin: f64, end: f64) {
        for part in placement {
            let span = &mut self.spans[part.node as usize];
            if *span == Self::NOTHING {
                self.nodes.push(part.node);
            }
            *span = (span.0.min(begin), span.1.max(end));
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        for node in self.nodes.drain(..) {
            self.spans[node as usize] = Self::NOTHING;
        }
    }

    /// The instants in [now, before) from which some freed node has a slot for the job that it may not have had: the
    /// earliest, and one by which there are none later.
    #[must_use]
    pub fn starts(&self, profile: &Profile, want: &PlacementRequest<'_>, before: f64) -> (f64, f64) {
        self.nodes
            .iter()
            .filter_map(|&node| profile.starts_on(node, want, self.spans[node as usize], before))
            .fold(Self::NOTHING, |(first, last), (earliest, latest)| (first.min(earliest), last.max(latest)))
    }
}
