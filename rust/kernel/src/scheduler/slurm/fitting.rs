//! Which jobs their partitions can never run: those that do not fit on the partition's suitable nodes if all are idle. They wait, and
//! keep no other from its start.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::slurm::{Entry, Select, Setup};

/// What is known of the requests of jobs so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Fitting {
    /// Whether so many tasks of a request fit, where nodes are shared.
    known: BTreeMap<(u32, u32), bool>,
}

impl Fitting {
    /// Whether an entry fits on its partition when that is idle. O(log requests); O(nodes) for the first of its kind,
    /// and O(nodes / 64) where nodes are taken whole.
    pub fn is_possible(&mut self, setup: &Setup, entry: &Entry, request: u32) -> bool {
        if setup.select == Select::Linear {
            return entry.least_nodes() as usize <= setup.suitable_nodes(entry).count();
        }
        *self.known.entry((request, entry.tasks)).or_insert_with(|| setup.fits_idle(entry))
    }
}
