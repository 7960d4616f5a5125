//! When a caller is given the chance to look at signals, also within a long instant.
use std::time::{Duration, Instant};

/// A caller gets a look so often.
const INTERVAL: Duration = Duration::from_millis(100);
/// Steps between two looks at the clock: a step takes from nanoseconds to a few milliseconds.
const STEPS: u32 = 64;

/// Steps of the loop, and when the next look is due. It is no part of the state: what happens does not depend on it.
#[derive(Clone, Debug, Default)]
pub(super) struct Patience {
    steps: u32,
    due: Option<Instant>,
}

impl Patience {
    /// Counts a step; whether a look is due. O(1), and the clock is read at every 64th step.
    pub fn is_over(&mut self) -> bool {
        self.steps += 1;
        if self.steps < STEPS {
            return false;
        }
        self.steps = 0;
        let now = Instant::now();
        let is_over = self.due.is_some_and(|due| now >= due);
        if is_over || self.due.is_none() {
            self.due = Some(now + INTERVAL);
        }
        is_over
    }
}
