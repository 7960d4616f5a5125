//! What did not fit, as long as nothing was given back since.
//!
//! Where jobs fit by shape, a trial costs O(n) and more; jobs that wait with the same request need one of them.
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::cluster::{Machine, PlacementRequest, Request};

/// Which requests fit on the empty machine, by their number of tasks: capacities do not change.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct FitsWhenEmpty(HashMap<u32, Vec<(Request, bool)>>);

impl FitsWhenEmpty {
    /// Whether it fits, where that is known.
    pub(super) fn of(&self, want: &PlacementRequest<'_>) -> Option<bool> {
        let known = self.0.get(&want.tasks)?;
        known.iter().find(|(request, _)| request == want.request).map(|(_, fits)| *fits)
    }

    /// Takes note of whether it fits.
    pub(super) fn add(&mut self, want: &PlacementRequest<'_>, fits: bool) {
        self.0.entry(want.tasks).or_default().push((want.request.clone(), fits));
    }
}

/// The requests that did not fit on the machine, by their number of tasks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Refusals {
    /// The machine's count of gains at that time.
    gains: u64,
    refused: HashMap<u32, Vec<Request>>,
}

impl Refusals {
    /// Whether it has not fitted, and nothing was given back since.
    pub(super) fn has(&self, machine: &Machine, want: &PlacementRequest<'_>) -> bool {
        self.gains == machine.gains()
            && self.refused.get(&want.tasks).is_some_and(|requests| requests.contains(want.request))
    }

    /// Takes note that it does not fit.
    pub(super) fn add(&mut self, machine: &Machine, want: &PlacementRequest<'_>) {
        if self.gains != machine.gains() {
            self.refused.clear();
            self.gains = machine.gains();
        }
        self.refused.entry(want.tasks).or_default().push(want.request.clone());
    }
}
