//! CPU time of short intervals of work, shorter than a read of the CPU clock.
//!
//! A scheduling pass takes about a microsecond, as long as the system call for the CPU time of a thread, which is
//! needed at the begin and at the end. So intervals are timed by the wall clock, which costs a fortieth of that, and
//! the CPU time is read every 50 µs. The two clocks diverge only while the thread is off its processor: the divergence
//! is subtracted from an interval that is long enough to contain such a time.
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;

/// In a shorter time, a thread does not lose its processor and get it back.
const SHORT: Duration = Duration::from_micros(20);
/// A reading of both clocks is reused for intervals that begin within this time after it.
const FRESH: Duration = Duration::from_micros(50);

/// Times consecutive intervals.
#[derive(Clone, Debug, Default)]
pub struct Stopwatch {
    latest: Option<Clocks>,
}

/// A running timer of an interval.
#[derive(Clone, Debug)]
pub struct Timer {
    began: Instant,
    clocks: Clocks,
}

/// Both clocks, read together. A thread that takes over never finds the reading of another thread fresh.
#[derive(Clone, Copy, Debug)]
struct Clocks {
    wall: Instant,
    processor: Duration,
}

impl Stopwatch {
    /// Starts the timer of an interval.
    #[must_use]
    pub fn begin(&self) -> Timer {
        let began = Instant::now();
        match self.latest {
            Some(clocks) if began.duration_since(clocks.wall) < FRESH => Timer { began, clocks },
            _ => Timer { clocks: Clocks::read(), began: Instant::now() },
        }
    }

    /// Ends an interval; returns its CPU time.
    pub fn end(&mut self, timer: &Timer) -> Duration {
        let wall = timer.began.elapsed();
        self.latest = Some(timer.clocks);
        if wall < SHORT {
            return wall;
        }
        let clocks = Clocks::read();
        self.latest = Some(clocks);
        wall.saturating_sub(clocks.away_since(&timer.clocks))
    }
}

impl Clocks {
    fn read() -> Self {
        Self { wall: Instant::now(), processor: ThreadTime::now().as_duration() }
    }

    /// The time that the thread was off its processor between an earlier reading and this one.
    fn away_since(&self, earlier: &Self) -> Duration {
        let processor = self.processor.saturating_sub(earlier.processor);
        self.wall.duration_since(earlier.wall).saturating_sub(processor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    /// Both clocks, at these numbers of milliseconds after the first reading.
    fn read(first: Instant, wall: u32, processor: u32) -> Clocks {
        Clocks { wall: first + MILLISECOND * wall, processor: MILLISECOND * processor }
    }

    #[test]
    fn what_the_clocks_ran_apart_is_time_off_the_processor() {
        let first = Instant::now();
        let earlier = read(first, 10, 4);
        assert_eq!(read(first, 60, 6).away_since(&earlier), MILLISECOND * 48);
        assert_eq!(read(first, 12, 6).away_since(&earlier), Duration::ZERO);
        // The clocks are not read simultaneously: the processor's may seem to be ahead.
        assert_eq!(read(first, 12, 7).away_since(&earlier), Duration::ZERO);
    }

    #[test]
    fn a_reading_serves_only_while_it_is_fresh() {
        let mut stopwatch = Stopwatch::default();
        let old = Clocks {
            wall: Instant::now().checked_sub(MILLISECOND).expect("the clock is older"),
            processor: Duration::ZERO,
        };
        stopwatch.latest = Some(old);
        assert_ne!(stopwatch.begin().clocks.wall, old.wall);
        let soon = Clocks { wall: Instant::now() + MILLISECOND, processor: Duration::ZERO };
        stopwatch.latest = Some(soon);
        assert_eq!(stopwatch.begin().clocks.wall, soon.wall);
    }

    #[test]
    fn a_stretch_takes_no_longer_than_the_clock_on_the_wall_says() {
        let mut stopwatch = Stopwatch::default();
        for _ in 0..100 {
            let began = Instant::now();
            let timer = stopwatch.begin();
            let time = stopwatch.end(&timer);
            assert!(time <= began.elapsed());
        }
    }
}
