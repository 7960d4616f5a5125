//! The clock of a virtual cluster: virtual time is slow while its processes work, and fast while all of them wait.
//!
//! A file is shared with a library that answers the processes' time queries (`virtual_clock.c`); [`Clock`] writes the
//! rate of virtual time to it. [`Clock::govern`] sets the rate: 1 while jobs are submitted, launched or ended and while
//! daemons work, so that Slurm's own work takes as long as in real time; otherwise the highest rate.
mod processes;
mod shared;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;
use std::{io, sync::Mutex};

use processes::Processes;
use shared::Shared;

/// Time between two checks of the processes.
const PERIOD: Duration = Duration::from_micros(250);
/// Time (ns) after the last sign of work in which virtual time is slow; longer if work waits for a processor.
const HOLD: f64 = 1.5e6;
/// The hold is at least this multiple of the mean time that threads wait for a processor.
const WAITS_IN_WORK: f64 = 4.0;
/// Time (ns) for which a high rate holds unless it is renewed: without a running governor, time is slow.
const LEASE: i64 = 1_000_000;
/// Threads of a busy machine wait for a processor. The rate is limited such that this wait lasts at most this time
/// (virtual ns).
const MOST_LATE: f64 = 25e6;
/// Weight of one check in the mean lateness.
const SHARE: f64 = 1.0 / 256.0;
/// Bounds of a real wait: not shorter than the first, and not longer than the second, so that an interrupted wait is
/// noticed.
const WAITS: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(50));
const NONE: i64 = i64::MAX;

/// Nanoseconds of the clock for real time.
fn monotonic() -> i64 {
    use nix::time::{ClockId, clock_gettime};
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |time| time.tv_sec() * 1_000_000_000 + time.tv_nsec())
}

/// A clock shared by all processes of a cluster.
pub struct Clock {
    shared: Mutex<Shared>,
    highest: f64,
    /// Number of active holds, which keep real time.
    held: AtomicU32,
    /// The awaited virtual instant: virtual time must not pass it at a high rate.
    awaited: AtomicI64,
    ended: AtomicBool,
    begun: (i64, i64),
    slow: AtomicI64,
    changes: AtomicU64,
}

/// The totals of a clock since its start.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    /// Real time, s.
    pub real: f64,
    /// Virtual time, s.
    pub virtual_time: f64,
    /// Real time at rate 1, s.
    pub slow: f64,
    /// Number of changes of the rate.
    pub changes: u64,
}

impl Clock {
    /// Creates a clock that shows this UNIX time (ns) now, at rate 1.
    pub fn new(path: &Path, highest: f64, unix: i64) -> io::Result<Self> {
        let shared = Shared::create(path, highest, unix)?;
        let begun = (monotonic(), unix);
        Ok(Self {
            shared: Mutex::new(shared),
            highest,
            held: AtomicU32::new(0),
            awaited: AtomicI64::new(NONE),
            ended: AtomicBool::new(false),
            begun,
            slow: AtomicI64::new(0),
            changes: AtomicU64::new(0),
        })
    }

    /// Virtual UNIX time, ns.
    pub fn now(&self) -> i64 {
        self.locked().at(monotonic())
    }

    /// Sets the rate of virtual time from now on.
    pub fn set_rate(&self, rate: f64) -> io::Result<()> {
        self.change(rate, None)
    }

    fn change(&self, rate: f64, longest: Option<i64>) -> io::Result<()> {
        let mut shared = self.locked();
        if shared.rate().to_bits() != rate.to_bits() {
            self.changes.fetch_add(1, Ordering::Relaxed);
        }
        shared.set_rate(rate, longest)
    }

    /// Keeps real time until `release` was called as often as `hold`.
    pub fn hold(&self) -> io::Result<()> {
        self.held.fetch_add(1, Ordering::SeqCst);
        self.set_rate(1.0)
    }

    /// Ends a [`Clock::hold`].
    pub fn release(&self) {
        if self.awaited.load(Ordering::SeqCst) <= self.now() {
            self.awaited.store(NONE, Ordering::SeqCst);
        }
        self.held.fetch_sub(1, Ordering::SeqCst);
    }

    /// Waits for a virtual instant (UNIX time, ns), for at most one real wait; returns whether it has come.
    ///
    /// Virtual time is slow from that instant on, until [`Clock::release`] or another wait.
    pub fn wait(&self, instant: i64) -> bool {
        self.awaited.store(instant, Ordering::SeqCst);
        let left = instant - self.now();
        if left > 0 {
            let real = Duration::from_nanos((left as f64 / self.highest) as u64);
            sleep(real.clamp(WAITS.0, WAITS.1));
        }
        instant <= self.now()
    }

    /// Sets the rate by the work of the processes, until the clock is ended.
    pub fn govern(&self) -> io::Result<()> {
        let mut processes = Processes::default();
        let (mut last_work, mut looked, mut late) = (monotonic(), monotonic(), 0.0);
        while !self.ended.load(Ordering::Relaxed) {
            sleep(PERIOD);
            let now = monotonic();
            processes.enter(&self.locked().entered()?);
            let is_slow = self.locked().rate() <= 1.0;
            if self.held.load(Ordering::SeqCst) > 0 || processes.work(now - looked, is_slow) {
                last_work = now;
            }
            late += ((now - looked) as f64 - PERIOD.as_nanos() as f64 - late) * SHARE;
            let highest = (MOST_LATE / late.max(1.0)).clamp(1.0, self.highest);
            let hold = HOLD.max(WAITS_IN_WORK * late) as i64;
            let rate = if now - last_work < hold { 1.0 } else { self.rate_to_awaited(highest) };
            if is_slow {
                self.slow.fetch_add(now - looked, Ordering::Relaxed);
            }
            self.change(rate, Some(LEASE))?;
            looked = now;
        }
        Ok(())
    }

    /// Ends [`Clock::govern`].
    pub fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    /// The totals since the start.
    pub fn course(&self) -> Course {
        let seconds = |time: i64| time as f64 / 1e9;
        Course {
            real: seconds(monotonic() - self.begun.0),
            virtual_time: seconds(self.now() - self.begun.1),
            slow: seconds(self.slow.load(Ordering::Relaxed)),
            changes: self.changes.load(Ordering::Relaxed),
        }
    }

    /// The highest rate that does not pass the awaited instant before the next check.
    fn rate_to_awaited(&self, highest: f64) -> f64 {
        let left = self.awaited.load(Ordering::SeqCst).saturating_sub(self.now());
        (left as f64 / (2.0 * PERIOD.as_nanos() as f64)).clamp(1.0, highest)
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn made(highest: f64) -> (tempfile::TempDir, Clock) {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::new(&folder.path().join("clock"), highest, 1_000_000_000).unwrap();
        (folder, clock)
    }

    #[test]
    fn time_goes_at_the_rate_and_never_back() {
        let (_folder, clock) = made(1000.0);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut last = 0;
                for _ in 0..100_000 {
                    let now = clock.now();
                    assert!(now >= last, "{last} {now}");
                    last = now;
                }
            });
            for step in 0..200 {
                clock.set_rate(if step % 2 == 0 { 1000.0 } else { 1.0 }).unwrap();
                sleep(Duration::from_micros(50));
            }
            reader.join().unwrap();
        });
        assert_eq!(clock.course().changes, 200);
        clock.set_rate(100.0).unwrap();
        // The process may be interrupted between two readings: the real time is a range.
        let (first, before, begun) = (monotonic(), clock.now(), monotonic());
        sleep(Duration::from_millis(20));
        let (ending, passed, last) = (monotonic(), clock.now() - before, monotonic());
        let (shortest, longest) = ((ending - begun) as f64, (last - first) as f64);
        let range = 95.0 * shortest..=105.0 * longest;
        assert!(range.contains(&(passed as f64)), "{passed} not in {range:?}");
    }

    /// Ends a clock's thread even if a test fails.
    struct Governed<'a>(&'a Clock);

    impl<'a> Governed<'a> {
        fn begin(scope: &'a std::thread::Scope<'a, '_>, clock: &'a Clock) -> Self {
            scope.spawn(|| clock.govern().unwrap());
            Self(clock)
        }
    }

    impl Drop for Governed<'_> {
        fn drop(&mut self) {
            self.0.end();
        }
    }

    #[test]
    fn instants_are_waited_for_in_virtual_time() {
        let (_folder, clock) = made(200.0);
        std::thread::scope(|scope| {
            let _governed = Governed::begin(scope, &clock);
            for round in 1..=20 {
                let instant = 1_000_000_000 + round * 5_000_000_000;
                while !clock.wait(instant) {}
                assert!(clock.now() >= instant);
            }
            // 100 virtual seconds.
            let course = clock.course();
            assert!(course.virtual_time / course.real > 2.0, "{course:?}");
        });
    }

    #[test]
    fn who_holds_a_clock_keeps_real_time() {
        let (_folder, clock) = made(500.0);
        std::thread::scope(|scope| {
            let _governed = Governed::begin(scope, &clock);
            clock.hold().unwrap();
            // The order matters: the process may be interrupted between the two readings.
            let (real, before) = (monotonic(), clock.now());
            sleep(Duration::from_millis(30));
            assert!(clock.now() - before <= monotonic() - real);
            clock.release();
            while clock.now() - before < 10_000_000_000 {
                assert!(monotonic() - real < 10_000_000_000, "it goes no faster");
                sleep(Duration::from_millis(1));
            }
        });
    }

    #[test]
    fn a_command_is_work_until_it_has_ended() {
        let mut processes = Processes::default();
        let mut child = Command::new("sleep").arg("5").spawn().unwrap();
        let entry = processes::Entry::of(child.id() as i32 * 8 + 4).unwrap();
        processes.enter(&[entry]);
        assert!(processes.work(300_000, true));
        child.kill().unwrap();
        // Without a wait for it, the process is a zombie, which does not work.
        let ended = (0..1000).any(|_| {
            sleep(Duration::from_millis(1));
            !processes.work(300_000, true)
        });
        child.wait().unwrap();
        assert!(ended, "a zombie counts as work");
    }

    #[test]
    fn the_end_of_a_job_is_work_for_its_step() {
        let mut processes = Processes::default();
        let mut step = Command::new("sleep").arg("5").spawn().unwrap();
        let mut job = Command::new("sleep").arg("0.3").spawn().unwrap();
        let entries = [(&step, 2), (&job, 3)].map(|(child, kind)| child.id() as i32 * 8 + kind);
        processes.enter(&entries.map(|entry| processes::Entry::of(entry).unwrap()));
        assert!(!processes.work(300_000, true));
        // The job, for which no process waits, is a zombie then.
        let noticed = (0..2000).any(|_| {
            sleep(Duration::from_millis(1));
            processes.work(300_000, true)
        });
        step.kill().unwrap();
        for child in [&mut step, &mut job] {
            child.wait().unwrap();
        }
        assert!(noticed, "the end of a job counts as rest");
    }
}
