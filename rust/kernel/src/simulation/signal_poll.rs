//! When a caller gets the opportunity to check for signals, also within a long instant.
//!
//! The clock is read about once per [`FRESH`] at most: a step takes from nanoseconds to many milliseconds, so the
//! number of steps between two readings is adapted to the latest steps. It is small enough that the caller is served in
//! time even if steps suddenly become slow.
use std::time::{Duration, Instant};

/// Time between two opportunities.
const INTERVAL: Duration = Duration::from_millis(50);
/// Minimum time between two readings of the clock.
const FRESH: Duration = Duration::from_micros(100);
/// Maximum number of steps between two readings: with steps of 2 ms, one opportunity is a tenth of a second late, once.
const MOST_STEPS: u32 = 64;

/// Counter of steps, and time of the next opportunity. It is not part of the state: results do not depend on it.
#[derive(Clone, Debug)]
pub(super) struct SignalPoll {
    interval: Duration,
    most_steps: u32,
    /// Steps left until the next reading, and their number at the last one.
    left: u32,
    steps: u32,
    read: Option<Instant>,
    /// None until the loop has continued after an opportunity.
    due: Option<Instant>,
}

impl Default for SignalPoll {
    fn default() -> Self {
        Self { interval: INTERVAL, most_steps: MOST_STEPS, left: 1, steps: 1, read: None, due: None }
    }
}

impl SignalPoll {
    /// Create a poll that is due at every second step.
    #[cfg(test)]
    pub fn none() -> Self {
        Self { interval: Duration::ZERO, most_steps: 1, ..Self::default() }
    }

    /// Count a step. Return whether the caller should get an opportunity. O(1).
    pub fn is_due(&mut self) -> bool {
        self.left -= 1;
        self.left == 0 && self.read_clock()
    }

    /// Read the clock, and choose the step of the next reading. Return whether the caller should get an opportunity.
    #[cold]
    fn read_clock(&mut self) -> bool {
        let now = Instant::now();
        let took = self.read.replace(now).map_or(FRESH, |before| now - before);
        let steps = if took < FRESH { self.steps * 2 } else { self.steps / 4 };
        self.steps = steps.clamp(1, self.most_steps);
        self.left = self.steps;
        match self.due {
            None => self.due = Some(now + self.interval),
            Some(due) if now < due => {}
            Some(_) => {
                self.due = None;
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_steps_are_few_between_two_looks() {
        let mut signal_poll = SignalPoll::default();
        while signal_poll.steps < MOST_STEPS {
            signal_poll.is_due();
        }
        let began = Instant::now();
        let mut looks = 0;
        // Counted, not timed: on a busy machine a sleep takes longer.
        for _ in 0..300 {
            std::thread::sleep(Duration::from_millis(1));
            looks += u32::from(signal_poll.is_due());
        }
        assert!(looks >= 2, "{looks} looks in 300 steps, {:?}", began.elapsed());
    }
}
