//! When a caller is given the chance to look at signals, also within a long instant.
//!
//! The clock is read about once in [`FRESH`] at most: a step takes from nanoseconds to many milliseconds, so the number
//! of steps between two readings follows what the latest ones took. It is small enough that, where steps become slow
//! at once, the caller still gets its look in time.
use std::time::{Duration, Instant};

/// A caller gets a look so often.
const INTERVAL: Duration = Duration::from_millis(50);
/// A reading of the clock is worth it after so long.
const FRESH: Duration = Duration::from_micros(100);
/// The most steps between two readings: with steps of 2 ms a look is a tenth of a second late, once.
const MOST_STEPS: u32 = 64;

/// Steps of the loop, and when the next look is due. It is no part of the state: what happens does not depend on it.
#[derive(Clone, Debug)]
pub(super) struct Patience {
    interval: Duration,
    most_steps: u32,
    /// Steps until the clock is read, and how many they were.
    left: u32,
    steps: u32,
    read: Option<Instant>,
    /// None until the loop has gone on after a look.
    due: Option<Instant>,
}

impl Default for Patience {
    fn default() -> Self {
        Self { interval: INTERVAL, most_steps: MOST_STEPS, left: 1, steps: 1, read: None, due: None }
    }
}

impl Patience {
    /// A look is due at every second step.
    #[cfg(test)]
    pub fn none() -> Self {
        Self { interval: Duration::ZERO, most_steps: 1, ..Self::default() }
    }

    /// Counts a step; whether a look is due. O(1).
    pub fn is_over(&mut self) -> bool {
        self.left -= 1;
        self.left == 0 && self.read_clock()
    }

    /// Reads the clock, and chooses when to do so again; whether a look is due.
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
        let mut patience = Patience::default();
        while patience.steps < MOST_STEPS {
            patience.is_over();
        }
        let began = Instant::now();
        let mut looks = 0;
        // Counted, not timed: on a busy machine a sleep takes longer.
        for _ in 0..300 {
            std::thread::sleep(Duration::from_millis(1));
            looks += u32::from(patience.is_over());
        }
        assert!(looks >= 2, "{looks} looks in 300 steps, {:?}", began.elapsed());
    }
}
