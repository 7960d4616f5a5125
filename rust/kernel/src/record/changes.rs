//! Changes since the last notification of observers.
use serde::{Deserialize, Serialize};

/// A kind of change that observers can be notified of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum Change {
    /// A job entered the queue.
    Submitted = 0,
    /// A job started.
    Started = 1,
    /// A job completed its run.
    Completed = 2,
    /// A job was killed or cancelled.
    Killed = 3,
    /// A job was rejected.
    Rejected = 4,
    /// A running job released its nodes and waits again.
    Interrupted = 5,
    /// A node was drained.
    NodeDrained = 6,
    /// A node accepts jobs again.
    NodeResumed = 7,
    /// The available amounts of a node changed.
    NodeChanged = 8,
    /// The nodes of a running job changed.
    Resized = 9,
}

impl Change {
    /// The observer method for each kind of change, in the order of their numbers.
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

/// Pending changes of subscribed kinds, each with its job or node.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Changes {
    /// Bit set of the subscribed kinds, by number.
    subscribed: u16,
    pending: Vec<(Change, u32)>,
}

impl Changes {
    /// Subscribes to kinds of changes, given as a bit set of their numbers.
    #[must_use]
    pub fn subscribed(subscribed: u16) -> Self {
        Self { subscribed, pending: Vec::new() }
    }

    /// Adds a change, if its kind is subscribed.
    pub fn notify(&mut self, change: Change, about: u32) {
        if self.subscribed >> (change as u16) & 1 == 1 {
            self.pending.push((change, about));
        }
    }

    /// Returns whether any change is pending.
    #[must_use]
    pub fn any(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Removes and returns the pending changes.
    pub fn take(&mut self) -> Vec<(Change, u32)> {
        std::mem::take(&mut self.pending)
    }
}
