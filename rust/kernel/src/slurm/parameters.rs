//! How backfill is set up.

/// How backfill is set up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackfillParameters {
    /// `bf_resolution`, seconds.
    pub resolution: f64,
    /// How far jobs are planned, seconds.
    pub window: f64,
    /// What is added to times to get seconds of the clock, on which plans are rounded.
    pub epoch: f64,
}
