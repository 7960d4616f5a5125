//! The revision of the situation, by which policies know whether anything has changed.
use super::State;

impl State {
    /// Takes note that something has changed that a scheduler may decide by: an event, a decision, a node. Not so of what
    /// follows from the present time alone, of the progress of applications, and of which jobs are at scheduling points.
    pub(crate) fn changed(&mut self) {
        self.revision += 1;
    }
}
