//! CPU time of stretches of work that are shorter than it takes to ask for it.
//!
//! A scheduling pass takes about a microsecond; so does asking the system for a thread's CPU time, when the pass begins
//! and when it ends. So stretches are timed by the clock on the wall, which costs a fortieth of that, and the CPU time
//! is read every 50 µs. The two run apart only while the thread is off its processor: what they ran apart is taken off
//! a stretch that took long enough for that to have happened in it.
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;

/// In less a thread does not lose its processor and get it back.
const SHORT: Duration = Duration::from_micros(20);
/// A reading of both clocks serves for stretches that begin so soon after it.
const FRESH: Duration = Duration::from_micros(50);

/// Times one stretch after the other.
#[derive(Clone, Debug, Default)]
pub struct Stopwatch {
    latest: Option<Clocks>,
}

/// A stretch being timed.
#[derive(Clone, Debug)]
pub struct Timer {
    began: Instant,
    clocks: Clocks,
}

/// Both clocks, read together. A thread that takes over does not find the reading of another fresh.
#[derive(Clone, Copy, Debug)]
struct Clocks {
    wall: Instant,
    processor: Duration,
}

impl Stopwatch {
    /// Begins a stretch.
    #[must_use]
    pub fn begin(&self) -> Timer {
        let began = Instant::now();
        match self.latest {
            Some(clocks) if began.duration_since(clocks.wall) < FRESH => Timer { began, clocks },
            _ => Timer { clocks: Clocks::read(), began: Instant::now() },
        }
    }

    /// Ends a stretch, and gives its CPU time.
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

    /// For how long the thread was off its processor between an earlier reading and this one.
    fn away_since(&self, earlier: &Self) -> Duration {
        let processor = self.processor.saturating_sub(earlier.processor);
        self.wall.duration_since(earlier.wall).saturating_sub(processor)
    }
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::thread::sleep;

    use super::*;

    fn busy(time: Duration) {
        let began = ThreadTime::now();
        while began.elapsed() < time {
            black_box(0);
        }
    }

    #[test]
    fn time_off_the_processor_does_not_count() {
        let mut stopwatch = Stopwatch::default();
        for _ in 0..3 {
            let timer = stopwatch.begin();
            busy(Duration::from_millis(2));
            sleep(Duration::from_millis(50));
            let time = stopwatch.end(&timer);
            assert!(time >= Duration::from_millis(2) && time < Duration::from_millis(20), "{time:?}");
        }
    }

    #[test]
    fn time_off_the_processor_before_a_pass_is_not_taken_off_it() {
        let mut stopwatch = Stopwatch::default();
        let timer = stopwatch.begin();
        stopwatch.end(&timer);
        sleep(Duration::from_millis(20));
        let timer = stopwatch.begin();
        busy(Duration::from_millis(2));
        assert!(stopwatch.end(&timer) >= Duration::from_millis(2));
    }

    #[test]
    fn the_sum_is_the_processor_s_time() {
        let mut stopwatch = Stopwatch::default();
        let (began, mut sum) = (ThreadTime::now(), Duration::ZERO);
        for _ in 0..200 {
            let timer = stopwatch.begin();
            busy(Duration::from_micros(30));
            sum += stopwatch.end(&timer);
        }
        let all = began.elapsed();
        assert!(sum <= all && sum > all / 2, "{sum:?} of {all:?}");
    }
}
