//! Which jobs would delay EASY's head, where that costs a trial of the head for each.
use serde::{Deserialize, Serialize};

use crate::placement::Allocator;
use crate::state::View;

use super::shadow::Shadow;

/// Requests and numbers of tasks whose jobs would delay the head, as long as the nodes are as they are.
///
/// Where jobs fit by shape, all jobs with the same request go to the same nodes: those behind the first need no trial.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Harm {
    /// The machine's count of changes at that time.
    changes: u64,
    known: Vec<(u32, u32)>,
}

impl Harm {
    /// Forgets all of it: the head has another reservation.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    /// Whether a job is known to delay the head.
    pub fn is_known(&self, view: View<'_>, allocator: &Allocator, shadow: &Shadow, job: u32) -> bool {
        self.changes == view.state.machine.changes()
            && key_of(view, allocator, shadow, job).is_some_and(|key| self.known.contains(&key))
    }

    /// Takes note that a job would delay the head.
    pub fn note(&mut self, view: View<'_>, allocator: &Allocator, shadow: &Shadow, job: u32) {
        let Some(key) = key_of(view, allocator, shadow, job) else { return };
        let changes = view.state.machine.changes();
        if self.changes != changes {
            self.known.clear();
            self.changes = changes;
        }
        self.known.push(key);
    }
}

/// What jobs have in common that go to the same nodes and stay there beyond the shadow time; None where they may not.
fn key_of(view: View<'_>, allocator: &Allocator, shadow: &Shadow, job: u32) -> Option<(u32, u32)> {
    let scenario = view.scenario;
    let goes_by_shape =
        !allocator.is_free_to_spread() && scenario.sleep.is_none() && scenario.calendar.is_none();
    let &[request] = scenario.alternatives(job) else { return None };
    let stays = view.now() + view.state.jobs.estimate(job) > shadow.time;
    (goes_by_shape && stays).then(|| (request, scenario.job(job).tasks))
}
