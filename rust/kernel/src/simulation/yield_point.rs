//! Points at which a simulation returns to its caller, to call or notify an external party.

use serde::{Deserialize, Serialize};

use crate::control::KeyEvent;

/// A point at which an external party is called or notified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum YieldPoint {
    /// A timer is due: number of its caller.
    Timer(u32),
    /// A job is being submitted: its estimate may be set.
    Submission(u32),
    /// A running job has reached its estimate: another may be set.
    Expiry(u32),
    /// An external control may set its rate: number of the control, and its event.
    Control(u32, KeyEvent),
    /// Something has changed: see [`super::Simulation::take_changes`].
    Changes,
    /// The order is external: keys may be set.
    Priorities,
    /// The scheduler is external: decisions may be made.
    Decision,
    /// The allocator is external: it has to place this job (see [`crate::placement::Question`]).
    Allocation(u32),
    /// Jobs wait, and only timers have occurred for a very long time: no job runs or will be submitted, or all timers
    /// are at one instant.
    Stuck,
    /// The run cannot continue: see [`super::Simulation::failure`].
    Failed,
    /// A time slice has ended: the caller may check for signals, and continue.
    Pause,
    /// This instant is complete.
    InstantOver,
    /// No event is left.
    End,
}
