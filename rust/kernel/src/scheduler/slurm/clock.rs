//! When the controller's two threads act (S25).
//!
//! Each wakes once in a second or a little more, at a phase of its own. What they would find at most wakings is known without
//! a call: where nothing has changed, the same call decides the same, until the time itself makes a difference
//! (`Backfill::holds_until`). Such calls are counted and not made, so that a controller with nothing to do costs nothing.
use serde::{Deserialize, Serialize};

use crate::random::mix;
use crate::time::Time;

use super::settings::SlurmSettings;
use super::spacing::Spacing;

/// What numbers the draws of the phases.
const MAIN_PHASE: u64 = 0x51;
const BACKFILL_PHASE: u64 = 0x52;
/// Long before all times.
const LONG_AGO: i64 = i64::MIN / 4;

/// The thread that calls the main loop.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct MainThread {
    /// One time at which it wakes.
    origin: f64,
    /// Seconds from one waking to the next, 1 at least.
    period: f64,
    interval: i64,
    delay: i64,
    /// The second of its latest call.
    latest: i64,
    /// The second of its latest look at the whole queue, made or not.
    latest_full: i64,
    is_wanted: bool,
    /// Whether a look at the whole queue may start a job.
    is_stale: bool,
    /// Whether the latest call found an entry without room.
    is_blocked: bool,
}

impl MainThread {
    /// The first waking at a time or after it.
    fn waking(&self, time: f64) -> f64 {
        let number = ((time - self.origin) / self.period).floor();
        let at = |number: f64| self.origin + number * self.period;
        // The quotient was rounded.
        let candidates = [number - 1.0, number, number + 1.0];
        candidates.map(at).into_iter().find(|&waking| waking >= time).unwrap_or_else(|| at(number + 2.0))
    }

    /// When it next looks at the whole queue.
    fn next_full(&self) -> f64 {
        self.waking((self.latest_full + self.interval) as f64)
    }

    /// It calls now, whether that is put off or not.
    fn calls(&mut self, now: f64) {
        self.latest = now.floor() as i64;
        self.is_wanted = false;
        if self.next_full() <= now {
            self.latest_full = self.latest;
        }
    }

    /// When the next call is made that may matter, at `now` or later; None where there is none.
    fn due(&self, now: f64) -> Option<f64> {
        if !self.is_wanted && !self.is_stale {
            return None;
        }
        let after = now.max((self.latest + 1) as f64);
        let full = self.waking(after.max((self.latest_full + self.interval) as f64));
        if !self.is_wanted {
            return Some(full);
        }
        let latest = self.latest.max(self.latest_full);
        Some(full.min(self.waking(after.max((latest + self.delay) as f64))))
    }
}

/// A pause of a cycle of backfill.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Pause {
    until: f64,
    /// Whether something has changed in it.
    is_disturbed: bool,
    /// Whether anything has changed since the cycle began.
    has_changed: bool,
}

/// The thread that calls backfill.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct BackfillThread {
    interval: f64,
    /// The second in which its latest cycle ended.
    latest: i64,
    /// The first time at which it wakes after that; from then on it wakes each second until it works.
    next: f64,
    /// The second of the latest change that makes it work.
    changed: i64,
    /// Whether something has changed since its latest cycle.
    is_stale: bool,
    /// The second from which on its latest cycle may come out differently though nothing has changed.
    holds_until: f64,
    /// Whether a cycle is a change itself.
    goes_on: bool,
    /// How long a cycle takes, seconds.
    length: f64,
    /// The pause of the cycle that is under way.
    pause: Option<Pause>,
    /// Whether no cycle is made before an event: the latest found nothing to start on an idle machine.
    rests: bool,
}

impl BackfillThread {
    /// Whether there is something to do at its next waking.
    fn has_work(&self) -> bool {
        self.changed >= self.latest
    }

    /// Whether a cycle at a time may come out otherwise than the latest, though nothing has changed.
    fn may_differ_in(&self, time: f64) -> bool {
        time.floor() >= self.holds_until
    }

    /// A change at a time. While a cycle is under way it waits for the end of that.
    fn touch(&mut self, time: f64) {
        if let Some(pause) = &mut self.pause {
            (pause.is_disturbed, pause.has_changed) = (true, true);
            return;
        }
        if self.rests {
            return;
        }
        self.changed = (time.floor() as i64).max(self.latest);
        if self.next < time {
            // It has woken since then, and had nothing to do.
            self.next += (time - self.next).ceil();
        }
    }

    /// Counts a cycle at its next waking that is not made, since it would find what the latest one found.
    fn pass_over(&mut self) {
        let end = self.next + self.length;
        self.latest = end.floor() as i64;
        self.next = end + self.interval;
        if self.goes_on {
            self.changed = self.latest;
        }
    }
}

/// When calls are made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Clock {
    main: MainThread,
    spacing: Spacing,
    backfill: Option<BackfillThread>,
    /// Whether the threads have begun to wake.
    has_begun: bool,
    /// The next cycle of backfill that may matter, if it was looked for since something changed last.
    next_cycle: Option<Time>,
    /// Whether submissions or external events are still to come.
    pub awaits_events: bool,
}

impl Clock {
    /// The clock of a controller that has had nothing to do so far.
    pub(super) fn new(settings: &SlurmSettings, seed: u64) -> Self {
        let interval = settings.sched_interval;
        let drawn = || drawn(seed, MAIN_PHASE) * interval as f64;
        let thread = || BackfillThread {
            interval: settings.bf_interval as f64,
            latest: LONG_AGO,
            next: settings.backfill_phase.unwrap_or_else(|| self::drawn(seed, BACKFILL_PHASE)),
            changed: LONG_AGO - 1,
            is_stale: false,
            holds_until: f64::INFINITY,
            goes_on: false,
            length: 0.0,
            pause: None,
            rests: false,
        };
        Self {
            main: MainThread {
                origin: settings.main_phase.unwrap_or_else(drawn),
                period: 1.0 + settings.main_lag,
                interval,
                delay: settings.batch_sched_delay,
                latest: LONG_AGO,
                latest_full: LONG_AGO,
                is_wanted: false,
                is_stale: false,
                is_blocked: false,
            },
            spacing: Spacing::new(settings.sched_min_interval),
            backfill: settings.backfill.then(thread),
            has_begun: false,
            next_cycle: None,
            awaits_events: false,
        }
    }

    /// Lets the threads wake near the first event.
    fn begin(&mut self, now: f64) {
        let main = &mut self.main;
        let interval = main.interval as f64;
        main.origin += (now / interval).floor() * interval;
        main.latest_full = main.origin.floor() as i64 - main.interval;
        if let Some(thread) = &mut self.backfill {
            thread.next += (now - thread.next).ceil();
        }
        self.has_begun = true;
    }

    /// Takes note of the calls before now that were not made.
    pub(super) fn catch_up(&mut self, now: f64) {
        if !self.has_begun {
            self.begin(now);
        }
        while self.next_idle_call() < now {
            self.pass_over();
        }
    }

    /// The next look at the whole queue, call that was put off or cycle of backfill if nothing changes.
    fn next_idle_call(&self) -> f64 {
        let main = self.next_put_off().map_or(self.main.next_full(), |time| time.min(self.main.next_full()));
        self.next_idle_cycle().map_or(main, |cycle| main.min(cycle))
    }

    /// When a call that was put off finds what the latest found.
    fn next_put_off(&self) -> Option<f64> {
        self.spacing.next().filter(|_| !self.main.is_stale)
    }

    /// The next cycle of backfill if nothing changes and the main loop makes none work.
    fn next_idle_cycle(&self) -> Option<f64> {
        let thread = self.backfill.as_ref()?;
        (thread.pause.is_none() && !thread.is_stale && thread.has_work()).then_some(thread.next)
    }

    /// Passes over the next of these calls; the main loop comes first.
    fn pass_over(&mut self) {
        let full = self.main.next_full();
        let put_off = self.next_put_off().filter(|&time| time < full);
        let is_first = self.next_idle_cycle().is_some_and(|cycle| cycle < put_off.unwrap_or(full));
        match (&mut self.backfill, put_off) {
            (Some(thread), _) if is_first => thread.pass_over(),
            (_, Some(time)) => self.pass_over_put_off(time),
            _ => self.pass_over_full(full),
        }
    }

    /// A look at the whole queue that finds what the latest call found, unless it is put off.
    fn pass_over_full(&mut self, full: f64) {
        self.main.latest_full = full.floor() as i64;
        if !self.spacing.puts_off(full, true) {
            self.pass_over_main(full);
        }
    }

    /// A call that was put off and finds what the latest found.
    fn pass_over_put_off(&mut self, time: f64) {
        self.spacing.take();
        self.pass_over_main(time);
    }

    fn pass_over_main(&mut self, time: f64) {
        self.spacing.called(time);
        // It is a change each time when it meets a job without room.
        if self.main.is_blocked
            && !self.main.is_stale
            && let Some(thread) = &mut self.backfill
        {
            thread.touch(time);
        }
    }

    /// Something has changed: queue, nodes or running jobs.
    pub(super) fn change(&mut self, now: f64) {
        if let Some(thread) = &mut self.backfill {
            thread.rests = false;
        }
        self.touch(now);
        if let Some(thread) = &mut self.backfill {
            thread.is_stale = true;
        }
        self.main.is_stale = true;
    }

    /// Something has changed that makes backfill work, though it finds the same.
    fn touch(&mut self, now: f64) {
        self.next_cycle = None;
        if let Some(thread) = &mut self.backfill {
            thread.touch(now);
        }
    }

    /// The main loop is wanted at its next chance.
    pub(super) fn want_main(&mut self) {
        self.main.is_wanted = true;
    }

    /// Whether the main loop is called directly now.
    pub(super) fn calls_directly(&mut self, now: f64) -> bool {
        !self.spacing.puts_off(now, false)
    }

    /// Whether a call is made now that was put off; whether it looks at the whole queue.
    pub(super) fn put_off_is_due(&mut self, now: f64) -> Option<bool> {
        let time = self.spacing.next().filter(|&time| time <= now)?;
        if self.main.is_stale {
            return self.spacing.take();
        }
        self.next_cycle = None;
        self.pass_over_put_off(time);
        None
    }

    /// Whether its thread calls the main loop now; whether it looks at the whole queue then. A look that may be left out is.
    pub(super) fn main_is_due(&mut self, now: f64) -> Option<bool> {
        let full = self.main.next_full();
        if self.main.due(now).is_some_and(|due| due <= now) {
            if !self.spacing.puts_off(now, full <= now) {
                return Some(full <= now);
            }
            self.next_cycle = None;
            self.main.calls(now);
            return None;
        }
        if full <= now {
            self.pass_over_full(full);
        }
        None
    }

    /// Whether backfill is called now.
    pub(super) fn backfill_is_due(&self, now: f64) -> bool {
        self.backfill.as_ref().is_some_and(|thread| match thread.pause {
            Some(pause) => pause.until <= now,
            None => {
                thread.next <= now && (thread.is_stale || (thread.has_work() && thread.may_differ_in(now)))
            }
        })
    }

    /// Whether something has changed since backfill paused, other than what it decided itself.
    pub(super) fn was_disturbed(&self) -> bool {
        self.backfill.as_ref().is_some_and(|thread| thread.pause.is_some_and(|pause| pause.is_disturbed))
    }

    /// A part of a cycle is over, which goes on then.
    pub(super) fn pauses(&mut self, now: f64, until: f64, started: bool) {
        let had_changed = self.end_pause();
        if started {
            self.change(now);
        }
        self.next_cycle = None;
        if let Some(thread) = &mut self.backfill {
            thread.pause = Some(Pause { until, is_disturbed: false, has_changed: started || had_changed });
        }
    }

    /// The cycle of backfill that has paused is at work again; whether anything has changed since it began.
    fn end_pause(&mut self) -> bool {
        let pause = self.backfill.as_mut().and_then(|thread| thread.pause.take());
        pause.is_some_and(|pause| pause.has_changed)
    }

    /// The main loop was called now, by its thread or directly. Whether it started jobs, met one without room, and left
    /// entries that it did not look at.
    pub(super) fn called_main(&mut self, now: f64, by_thread: bool, found: MainCall) {
        if by_thread {
            self.main.calls(now);
        }
        self.spacing.called(now);
        self.next_cycle = None;
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
        self.next_cycle = None;
        let has_changed = self.end_pause();
        let Some(thread) = &mut self.backfill else { return };
        thread.is_stale = has_changed;
        thread.holds_until = found.holds_until;
        thread.goes_on = found.puts_off;
        thread.length = found.length;
        thread.next = found.begin;
        thread.pass_over();
        if has_changed {
            thread.changed = thread.latest;
        } else if found.rests {
            thread.rests = true;
            thread.holds_until = f64::INFINITY;
            thread.changed = LONG_AGO - 1;
        }
        if found.started {
            self.change(now);
        }
    }

    /// When the next call is due that may matter, after what happened until now.
    pub(super) fn next_due(&mut self, now: f64) -> Time {
        let put_off = self.spacing.next().filter(|_| self.main.is_stale).map_or(Time::NEVER, Time);
        let main = self.main.due(now).map_or(Time::NEVER, Time).min(put_off);
        let cycle = self.next_cycle.unwrap_or_else(|| self.look_ahead());
        self.next_cycle = Some(cycle);
        main.min(cycle)
    }

    /// The next cycle of backfill that may matter. O(cycles until then).
    fn look_ahead(&self) -> Time {
        let Some(thread) = &self.backfill else { return Time::NEVER };
        if let Some(pause) = thread.pause {
            return Time(pause.until);
        }
        if thread.is_stale {
            return Time(thread.next);
        }
        if thread.holds_until == f64::INFINITY {
            return Time::NEVER;
        }
        let mut ahead = self.clone();
        loop {
            match ahead.next_idle_cycle() {
                Some(cycle) if thread.may_differ_in(cycle) => return Time(cycle),
                None if !ahead.main.is_blocked || ahead.main.is_stale => return Time::NEVER,
                _ => ahead.pass_over(),
            }
        }
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
    /// When it began.
    pub(super) begin: f64,
    /// How long it takes, seconds.
    pub(super) length: f64,
    /// Whether the next is made after an event only, if it has started nothing.
    pub(super) rests: bool,
}

/// A number in [0, 1) for a seed.
pub(super) fn drawn(seed: u64, number: u64) -> f64 {
    (mix(seed, number) >> 11) as f64 / (1_u64 << 53) as f64
}
