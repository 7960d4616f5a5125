//! The work list of a refilling: the open activities, the resources that may be next, and the users of the examined
//! resource.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use crate::index::IndexedHeap;
use crate::time::ordered_bits;

/// Relative tolerance for equal levels, for rounding.
pub(super) const SAME: f64 = 1e-13;

/// One user of the examined resource.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Part {
    /// The level of the activity; infinity if it is open, or limited by this resource.
    pub(super) level: f64,
    /// The amount that it uses, and the amount that it would use at level 1.
    pub(super) taken: f64,
    pub(super) pull: f64,
}

/// The state of a refilling, and its buffers. Empty between two solves.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Rising {
    /// Resources by a lower bound of their full level, or by the level at which they limit activities that they may
    /// release.
    pub(super) resources: IndexedHeap<i64>,
    /// Open activities by the level at which they reach their bounds.
    pub(super) bounds: BinaryHeap<Reverse<(i64, u32)>>,
    /// For each resource, the number of open activities, and the amount that they use at level 1.
    pub(super) open: Vec<u32>,
    pub(super) pull: Vec<f64>,
    /// Activities that were opened or moved, and their rates before.
    pub(super) changed: Vec<(u32, f64)>,
    pub(super) parts: Vec<Part>,
    pub(super) level: f64,
}

impl Rising {
    pub(super) fn new(resources: usize) -> Self {
        Self { open: vec![0; resources], pull: vec![0.0; resources], ..Self::default() }
    }

    /// Schedules a resource for examination at this level or earlier.
    pub(super) fn look_before(&mut self, resource: u32, level: f64) {
        let level = ordered_bits(level);
        if self.resources.key(resource).is_none_or(|planned| level < planned) {
            self.resources.set(resource, level);
        }
    }

    /// The next level at which an event may occur.
    pub(super) fn next_level(&self) -> Option<i64> {
        let resource = self.resources.peek().map(|next| next.0);
        let bound = self.bounds.peek().map(|next| next.0.0);
        resource.into_iter().chain(bound).min()
    }

    /// The level at which a resource is full, if none of the listed users exceeds it. `from` is the first guess.
    pub(super) fn level_of_parts(&self, capacity: f64, rounding: f64, from: f64, held_at: f64) -> f64 {
        let parts = &self.parts;
        let (mut level, mut certain) = (from, false);
        let pull = loop {
            let (mut taken, mut pull) = (0.0, 0.0);
            for part in parts {
                if part.level > level {
                    pull += part.pull;
                } else {
                    taken += part.taken;
                }
            }
            let next = (capacity - taken).max(0.0) / pull;
            if next > level {
                level = next;
            } else if certain || (level - next) * pull <= rounding {
                break pull;
            } else {
                // The first guess was too high.
                (level, certain) = (0.0, true);
            }
        };
        // Flows in equal situations are limited at the same level.
        let above = parts.iter().map(|part| part.level).filter(|other| *other > level);
        let near = [held_at, self.level, above.fold(f64::INFINITY, f64::min)];
        let width = (rounding / pull).max(SAME * level);
        near.into_iter().find(|&other| other > 0.0 && (level - other).abs() <= width).unwrap_or(level)
    }

    /// Empties the work list.
    pub(super) fn forget(&mut self) {
        self.resources.clear();
        self.bounds.clear();
    }
}
