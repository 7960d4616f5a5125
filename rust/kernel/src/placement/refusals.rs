//! Requests that did not fit, valid until something is released.
//!
//! If a fit depends on shape, a trial costs O(n) or more; waiting jobs with the same request need only one.
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::cluster::{Machine, PlacementRequest, Request};

/// Requests that fit or do not fit on the empty machine, by number of tasks: capacities do not change.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct FitsWhenEmpty(HashMap<u32, Vec<(Request, bool)>>);

impl FitsWhenEmpty {
    /// The known result for a request: true if it fits; None if it was not tried.
    pub(super) fn of(&self, want: &PlacementRequest<'_>) -> Option<bool> {
        let known = self.0.get(&want.tasks)?;
        known.iter().find(|(request, _)| request == want.request).map(|(_, fits)| *fits)
    }

    /// Records whether the request fits.
    pub(super) fn add(&mut self, want: &PlacementRequest<'_>, fits: bool) {
        self.0.entry(want.tasks).or_default().push((want.request.clone(), fits));
    }
}

/// The requests that did not fit on the machine, by number of tasks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Refusals {
    /// The machine's count of gains at the time of the records.
    gains: u64,
    refused: HashMap<u32, Vec<Request>>,
}

impl Refusals {
    /// Returns whether the request is recorded as not fitting, with nothing released since.
    pub(super) fn has(&self, machine: &Machine, want: &PlacementRequest<'_>) -> bool {
        self.gains == machine.gains()
            && self.refused.get(&want.tasks).is_some_and(|requests| requests.contains(want.request))
    }

    /// Records that the request does not fit.
    pub(super) fn add(&mut self, machine: &Machine, want: &PlacementRequest<'_>) {
        if self.gains != machine.gains() {
            self.refused.clear();
            self.gains = machine.gains();
        }
        self.refused.entry(want.tasks).or_default().push(want.request.clone());
    }
}
