//! What changed since observers took note last.
use serde::{Deserialize, Serialize};

/// A change of which observers take note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Change {
    /// A job entered the queue.
    Submitted = 0,
    /// A job started.
    Started = 1,
    /// A job ran to its end.
    Completed = 2,
    /// A job was ended.
    Killed = 3,
    /// A job was rejected.
    Rejected = 4,
    /// A running job gave up its nodes and waits again.
    Interrupted = 5,
    /// A node is drained.
    NodeDrained = 6,
    /// A node takes jobs again.
    NodeResumed = 7,
    /// A node offers other amounts.
    NodeChanged = 8,
    /// A running job has other nodes.
    Resized = 9,
}

impl Change {
    /// For each kind, in the order of their numbers, the method by which an observer takes note of it.
    pub const METHODS: [&str; 10] = [
        "submitted",
        "started",
        "ended",
        "ended",
        "rejected",
        "interrupted",
        "node_drained",
        "node_resumed",
        "node_changed",
        "resized",
    ];
}

/// Changes, with the job or node that each is about, of the kinds that are heeded.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Changes {
    /// For each kind that is heeded the bit of its number.
    heeded: u16,
    pending: Vec<(Change, u32)>,
}

impl Changes {
    /// Heeds these kinds: for each the bit of its number.
    #[must_use]
    pub fn heeding(heeded: u16) -> Self {
        Self { heeded, pending: Vec::new() }
    }

    /// Takes note of a change, where it is heeded.
    pub fn notify(&mut self, change: Change, about: u32) {
        if self.heeded >> (change as u16) & 1 == 1 {
            self.pending.push((change, about));
        }
    }

    /// Whether there are changes of which no note was taken.
    #[must_use]
    pub fn any(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Takes out the changes of which no note was taken.
    pub fn take(&mut self) -> Vec<(Change, u32)> {
        std::mem::take(&mut self.pending)
    }
}
