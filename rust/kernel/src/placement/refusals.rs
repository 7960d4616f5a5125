//! What did not fit, as long as nothing was given back since.
//!
//! Where jobs fit by shape, a trial costs O(n) and more; jobs that wait with the same request need one of them.
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::cluster::{EmptyMachine, Machine, PlacementRequest, Request};

use super::Allocator;

/// Which requests fit on the empty machine, by their number of tasks: one trial for each.
pub(super) type FitsWhenEmpty = HashMap<u32, Vec<(Request, bool)>>;

impl Allocator {
    /// Whether a job would fit if no other ran. Capacities do not change, so a request is tried once.
    pub fn fits_when_empty(&mut self, machine: &Machine, want: &PlacementRequest<'_>) -> bool {
        let known = self.fits_when_empty.get(&want.tasks);
        let same = known.and_then(|all| all.iter().find(|(request, _)| request == want.request));
        if let Some((_, fits)) = same {
            return *fits;
        }
        let fits = self.fits(&EmptyMachine(machine), want);
        self.fits_when_empty.entry(want.tasks).or_default().push((want.request.clone(), fits));
        fits
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
