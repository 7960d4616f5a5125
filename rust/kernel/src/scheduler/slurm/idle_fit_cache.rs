//! Detection of jobs that their partition can never run: they do not fit on its suitable nodes even if all are idle.
//! Such jobs wait without blocking others.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::slurm::{Entry, Select, Setup};

/// Results for the requests of jobs so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct IdleFitCache {
    /// By request and number of tasks: whether they fit, for shared nodes.
    known: BTreeMap<(u32, u32), bool>,
}

impl IdleFitCache {
    /// Return whether an entry fits on its idle partition. O(log requests); O(nodes) for the first of its kind, and
    /// O(nodes / 64) if nodes are allocated whole.
    pub fn is_possible(&mut self, setup: &Setup, entry: &Entry, request: u32) -> bool {
        if setup.parameters.select == Select::Linear {
            return entry.least_nodes() as usize <= setup.suitable_nodes(entry).count();
        }
        *self.known.entry((request, entry.tasks)).or_insert_with(|| setup.fits_idle(entry))
    }
}
