//! When the controller's two threads act (S25).
//!
//! Both wake at whole seconds and a phase of their own. What they would find at most wakings is known without a call: where
//! nothing has changed, the same call decides the same, until the time itself makes a difference (`Backfill::holds_until`).
//! Such calls are counted and not made, so that a controller with nothing to do costs nothing.
use serde::{Deserialize, Serialize};

use crate::random::mix;
use crate::time::Time;

use super::settings::SlurmSettings;

/// What numbers the draws of the phases.
const MAIN_PHASE: u64 = 0x51;
const BACKFILL_PHASE: u64 = 0x52;
/// Long before all times.
const LONG_AGO: i64 = i64::MIN / 4;

/// The thread that calls the main loop.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct MainThread {
    /// When within a second it wakes.
    phase: f64,
    /// The remainder of the seconds at which it looks at the whole queue.
    remainder: i64,
    interval: i64,
    delay: i64,
    /// The second of its latest call.
    latest: i64,
    is_wanted: bool,
    /// Whether a look at the whole queue may start a job.
    is_stale: bool,
    /// Whether the latest call found an entry without room.
    is_blocked: bool,
}

impl MainThread {
    /// The first second from `second` on at which it looks at the whole queue.
    fn full_from(&self, second: i64) -> i64 {
        second + (self.remainder - second).rem_euclid(self.interval)
    }

    /// The second of the next call that may matter, at `now` or later; None where there is none.
    fn due(&self, now: f64) -> Option<i64> {
        if !self.is_wanted && !self.is_stale {
            return None;
        }
        let first = waking_at(now, self.phase).max(self.latest + 1);
        let full = self.full_from(first);
        if !self.is_wanted {
            return Some(full);
        }
        let latest = self.latest.max(full - self.interval);
        Some(full.min(first.max(latest + self.delay)))
    }
}

/// The thread that calls backfill.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct BackfillThread {
    /// When within a second it wakes.
    phase: f64,
    interval: i64,
    /// The second of its latest cycle.
    latest: i64,
    /// The first second at which it wakes after that; from then on it wakes each second until it works.
    next: i64,
    /// The second of the latest change that makes it work.
    changed: i64,
    /// Whether something has changed since its latest cycle.
    is_stale: bool,
    /// The second from which on its latest cycle may come out differently though nothing has changed.
    holds_until: f64,
    /// Whether a cycle is a change itself.
    goes_on: bool,
}

impl BackfillThread {
    /// A cycle at a second, from which nothing follows but by what has been found before.
    fn pass_over(&mut self, second: i64) {
        self.latest = second;
        self.next = second + self.interval;
        if self.goes_on {
            self.changed = second;
        }
    }
}

/// When calls are made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Clock {
    main: MainThread,
    backfill: Option<BackfillThread>,
}

impl Clock {
    /// The clock of a controller that has had nothing to do so far.
    pub(super) fn new(settings: &SlurmSettings, seed: u64) -> Self {
        let interval = settings.sched_interval;
        let drawn = || drawn(seed, MAIN_PHASE) * interval as f64;
        let main = settings.main_phase.unwrap_or_else(drawn);
        let thread = || BackfillThread {
            phase: settings.backfill_phase.unwrap_or_else(|| self::drawn(seed, BACKFILL_PHASE)),
            interval: settings.bf_interval,
            latest: LONG_AGO,
            next: LONG_AGO,
            changed: LONG_AGO - 1,
            is_stale: false,
            holds_until: f64::INFINITY,
            goes_on: false,
        };
        Self {
            main: MainThread {
                phase: main.fract(),
                remainder: main.floor() as i64,
                interval,
                delay: settings.batch_sched_delay,
                latest: LONG_AGO,
                is_wanted: false,
                is_stale: false,
                is_blocked: false,
            },
            backfill: settings.backfill.then(thread),
        }
    }

    /// Counts the cycles of backfill before now that were not made.
    pub(super) fn catch_up(&mut self, now: f64) {
        while let Some((cycle, changed)) = self.next_idle_cycle() {
            let Some(thread) = &mut self.backfill else { return };
            let last = waking_at(now, thread.phase) - 1;
            if cycle > last {
                return;
            }
            thread.changed = thread.changed.max(changed);
            let further = if thread.goes_on { (last - cycle) / thread.interval } else { 0 };
            thread.pass_over(cycle + further * thread.interval);
        }
    }

    /// The second of the next cycle of backfill if nothing changes, and that of what makes it work; None where nothing does.
    fn next_idle_cycle(&self) -> Option<(i64, i64)> {
        let thread = self.backfill.as_ref().filter(|thread| !thread.is_stale)?;
        if thread.changed >= thread.latest {
            return Some((thread.next, thread.changed));
        }
        // The main loop is a change each time when it meets a job without room.
        if !self.main.is_blocked || self.main.is_stale {
            return None;
        }
        let full = self.main.full_from(thread.latest);
        let seen = waking_at(full as f64 + self.main.phase, thread.phase);
        Some((thread.next.max(seen), full))
    }

    /// Something has changed: queue, nodes or running jobs.
    pub(super) fn change(&mut self, now: f64) {
        self.touch(now);
        if let Some(thread) = &mut self.backfill {
            thread.is_stale = true;
        }
        self.main.is_stale = true;
    }

    /// Something has changed that makes backfill work, though it finds the same.
    fn touch(&mut self, now: f64) {
        if let Some(thread) = &mut self.backfill {
            thread.changed = now.floor() as i64;
            // It has woken in vain before.
            thread.next = thread.next.max(waking_at(now, thread.phase));
        }
    }

    /// The main loop is wanted at its next chance.
    pub(super) fn want_main(&mut self) {
        self.main.is_wanted = true;
    }

    /// Whether the main loop is called now; whether it looks at the whole queue then.
    pub(super) fn main_is_due(&self, now: f64) -> Option<bool> {
        let second = self.main.due(now)?;
        (second as f64 + self.main.phase <= now).then(|| self.main.full_from(second) == second)
    }

    /// Whether backfill is called now.
    pub(super) fn backfill_is_due(&self, now: f64) -> bool {
        self.next_backfill() <= Time(now)
    }

    /// The main loop was called now, by its thread or directly. Whether it started jobs, met one without room, and left
    /// entries that it did not look at.
    pub(super) fn called_main(&mut self, now: f64, by_thread: bool, found: MainCall) {
        if by_thread {
            self.main.latest = waking_at(now, self.main.phase);
            self.main.is_wanted = false;
        }
        self.main.is_blocked = found.met_no_room;
        if found.started {
            self.change(now);
        } else if found.met_no_room {
            self.touch(now);
        }
        self.main.is_stale = found.is_cut;
    }

    /// Backfill was called now.
    pub(super) fn called_backfill(&mut self, now: f64, found: BackfillCall) {
        let BackfillCall { started, puts_off, holds_until } = found;
        let Some(thread) = &mut self.backfill else { return };
        thread.is_stale = false;
        thread.holds_until = holds_until;
        thread.goes_on = puts_off;
        thread.pass_over(waking_at(now, thread.phase));
        if started {
            self.change(now);
        }
    }

    /// When the next call is due that may matter, after what happened until now.
    pub(super) fn next_due(&self, now: f64) -> Time {
        let main = self.main.due(now).map_or(Time::NEVER, |second| Time(second as f64 + self.main.phase));
        main.min(self.next_backfill())
    }

    /// The next cycle of backfill that may matter.
    fn next_backfill(&self) -> Time {
        let Some(thread) = &self.backfill else { return Time::NEVER };
        let at = |second: i64| Time(second as f64 + thread.phase);
        if thread.is_stale {
            return at(thread.next);
        }
        if thread.holds_until == f64::INFINITY {
            return Time::NEVER;
        }
        let until = thread.holds_until.ceil() as i64;
        let mut ahead = self.clone();
        while let Some((cycle, changed)) = ahead.next_idle_cycle() {
            if cycle >= until {
                return at(cycle);
            }
            let Some(thread) = &mut ahead.backfill else { break };
            thread.changed = thread.changed.max(changed);
            let further = if thread.goes_on { (until - cycle - 1) / thread.interval } else { 0 };
            thread.pass_over(cycle + further * thread.interval);
        }
        Time::NEVER
    }
}

/// What a call of the main loop found.
#[derive(Clone, Copy, Debug)]
pub(super) struct MainCall {
    pub(super) started: bool,
    pub(super) met_no_room: bool,
    /// Whether a look at the whole queue may start a job: entries are left, or their order changes with time.
    pub(super) is_cut: bool,
}

/// What a call of backfill found.
#[derive(Clone, Copy, Debug)]
pub(super) struct BackfillCall {
    pub(super) started: bool,
    pub(super) puts_off: bool,
    pub(super) holds_until: f64,
}

/// A number in [0, 1) for a seed.
fn drawn(seed: u64, number: u64) -> f64 {
    (mix(seed, number) >> 11) as f64 / (1_u64 << 53) as f64
}

/// The second of the first waking at a time or after it.
fn waking_at(time: f64, phase: f64) -> i64 {
    let second = (time - phase).floor() as i64;
    // The difference was rounded.
    let mut candidates = second - 1..=second + 1;
    candidates.find(|&candidate| candidate as f64 + phase >= time).unwrap_or(second + 2)
}
