//! What a run goes by besides its policy, and who outside is asked.

/// What happens to a job that reaches its requested time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WallTime {
    /// It runs on: every job runs its run_time.
    Run,
    /// It is killed.
    Kill,
}

/// The order of things at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderAtInstant {
    /// Completions, submissions, one pass.
    CompletionsFirst,
    /// Submissions by row, then completions in the order of their starts, with a pass after each.
    ArrivalsFirst,
}

/// Who outside is asked, beside a scheduler or an order that stands outside.
#[derive(Clone, Copy, Debug, Default)]
pub struct Listeners {
    /// Somebody estimates run times: asked at submissions, and when a running job reaches its estimate.
    pub estimates: bool,
    /// What somebody is told of: for each [`Change`](crate::record::Change) the bit of its number.
    pub changes: u16,
    /// The outside scheduler is asked at every instant, not only while jobs wait.
    pub every_instant: bool,
}

/// After so many timers in a row with nothing else, a simulation is stuck: half a year of looking every minute.
pub const PATIENCE: u64 = 250_000;
