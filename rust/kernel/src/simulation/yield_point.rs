//! Where a simulation can be left: the points at which something outside is asked, or takes note.

use serde::{Deserialize, Serialize};

use crate::control::KeyEvent;

/// A point at which something outside is asked, or takes note.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum YieldPoint {
    /// A timer is due: the number of its caller.
    Timer(u32),
    /// A job is being submitted: its estimate may be set.
    Submission(u32),
    /// A running job reached its estimate: another may be set.
    Expiry(u32),
    /// A control outside the kernel may set its rate: its number, and after what.
    Control(u32, KeyEvent),
    /// Something changed: see [`super::Simulation::take_changes`].
    Changes,
    /// The order stands outside: keys may be given.
    Priorities,
    /// The scheduler stands outside: decisions may be made.
    Decision,
    /// The allocator stands outside: it is to place this job (see [`crate::placement::Question`]).
    Allocation(u32),
    /// Jobs wait, and for very long nothing but timers has happened: no job runs and none is to come, or all this is at
    /// one instant.
    Stuck,
    /// The run cannot go on: see [`super::Simulation::failure`].
    Failed,
    /// A while has passed: the caller may look at signals, and goes on.
    Pause,
    /// Everything that happens at this instant is done.
    InstantOver,
    /// Nothing is left to happen.
    End,
}
