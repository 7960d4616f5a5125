//! Revision number of the state, by which policies detect changes.
use super::State;

impl State {
    /// Record a change that a scheduler's decision may depend on: an event, a decision, a node. The passage of time,
    /// the progress of applications, and the set of jobs at scheduling points do not count.
    pub(crate) fn changed(&mut self) {
        self.revision += 1;
    }
}
