//! Snapshots: the state of a simulation as bytes, restorable in another process.

/// Why bytes cannot be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SnapshotError {
    /// They are no snapshot.
    NotASnapshot,
}
