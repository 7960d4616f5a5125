//! Times at which the controller's two threads act (S25).
//!
//! Each thread wakes every second or slightly less often, with its own phase. The result of most calls is known
//! beforehand: if nothing has changed, the same call decides the same, until time itself makes a difference
//! (`Backfill::holds_until`). Such calls are counted but not executed, so that an idle controller costs nothing.
use serde::{Deserialize, Serialize};

use crate::random::mix;
use crate::slurm::SlurmParameters;
use crate::time::Time;

use super::remembered::{BackfillState, MainState};
use super::spacing::Spacing;

/// Stream numbers of the random phases.
const MAIN_PHASE: u64 = 0x51;
const BACKFILL_PHASE: u64 = 0x52;
/// Largest difference in seconds between fractions of a second that only rounding has made unequal.
const SHIFT: f64 = 1e-6;
/// Earlier than any event.
const LONG_AGO: i64 = i64::MIN / 4;

/// The thread that calls the main loop.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct MainThread {
    /// One time at which the thread wakes.
    origin: f64,
    /// Seconds between two wakings, at least 1.
    period: f64,
    interval: i64,
    delay: i64,
    /// The second of the latest call.
    latest: i64,
    /// The second of the latest full call, executed or not. A full call examines the whole queue.
    latest_full: i64,
    is_wanted: bool,
    /// True if a full call may start a job.
    is_stale: bool,
    /// True if the latest call found an entry that did not fit.
    is_blocked: bool,
}

impl MainThread {
    /// Return the first waking at or after a time.
    fn waking(&self, time: f64) -> f64 {
        let number = ((time - self.origin) / self.period).floor();
        let at = |number: f64| self.origin + number * self.period;
        // The quotient is rounded: check its neighbours.
        let candidates = [number - 1.0, number, number + 1.0];
        candidates.map(at).into_iter().find(|&waking| waking >= time).unwrap_or_else(|| at(number + 2.0))
    }

    /// Return the time of the next full call.
    fn next_full(&self) -> f64 {
        self.waking((self.latest_full + self.interval) as f64)
    }

    /// Record a call by the thread now, postponed or not.
    fn calls(&mut self, now: f64) {
        self.latest = now.floor() as i64;
        self.is_wanted = false;
        if self.next_full() <= now {
            self.latest_full = self.latest;
        }
    }

    /// Return the time, at `now` or later, of the next call that may change something. None if there is none.
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

/// A pause of a backfill cycle.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Pause {
    until: f64,
    /// True if something has changed during the pause.
    is_disturbed: bool,
    /// True if anything has changed since the cycle began.
    has_changed: bool,
}

/// The thread that calls backfill.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct BackfillThread {
    interval: f64,
    /// The second in which the latest cycle ended.
    latest: i64,
    /// The first waking after that cycle. From then on the thread wakes each second until it runs a cycle.
    next: f64,
    /// The second of the latest change that triggers a cycle.
    changed: i64,
    /// True if something has changed since the latest cycle.
    is_stale: bool,
    /// From this second on, a cycle may have another result than the latest one although nothing has changed.
    holds_until: f64,
    /// If plans are recorded and a reservation is to come or under way: the fraction of the second at which the latest cycle began.
    /// Calls see reservations earlier by it, so that it moves planned starts.
    fraction: Option<f64>,
    /// True if a cycle is itself a change that triggers the next one.
    goes_on: bool,
    /// Duration of a cycle, seconds.
    length: f64,
    /// The pause of the current cycle.
    pause: Option<Pause>,
    /// True if no cycle runs before the next event: the latest one found nothing to start on an idle machine.
    rests: bool,
}

impl BackfillThread {
    /// Return whether the next waking triggers a cycle.
    fn has_work(&self) -> bool {
        self.changed >= self.latest
    }

    /// Return whether a cycle at this time may have another result than the latest one although nothing has changed.
    fn may_differ_in(&self, time: f64) -> bool {
        time.floor() >= self.holds_until || self.shifts_by(time)
    }

    /// Return whether a cycle at this time may plan other start times than the latest cycle. The fraction of the second
    /// changes by the same amount from each cycle to the next.
    fn shifts_by(&self, time: f64) -> bool {
        self.fraction.is_some_and(|fraction| (time.fract() - fraction).abs() > SHIFT)
    }

    /// Record a change. During a cycle, its effect is deferred to the end of the cycle.
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
            // The thread has woken since then, with nothing to do.
            self.next += (time - self.next).ceil();
        }
    }

    /// Count the cycle at the next waking without executing it: its result equals that of the latest one.
    fn pass_over(&mut self) {
        let end = self.next + self.length;
        self.latest = end.floor() as i64;
        self.next = end + self.interval;
        if self.goes_on {
            self.changed = self.latest;
        }
    }
}

/// The schedule of calls.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Clock {
    main: MainThread,
    spacing: Spacing,
    backfill: Option<BackfillThread>,
    /// The time before which no backfill cycle begins.
    backfill_start: f64,
    /// True if the threads have begun to wake.
    has_begun: bool,
    /// The next backfill cycle that may change something, if computed since the last change.
    next_cycle: Option<Time>,
    /// True if submissions or external events are still pending.
    pub awaits_events: bool,
}

impl Clock {
    /// Create the clock of a controller that has not been called yet.
    pub(super) fn new(parameters: &SlurmParameters, seed: u64) -> Self {
        let interval = parameters.sched_interval;
        let drawn = || drawn(seed, MAIN_PHASE) * interval as f64;
        let thread = || BackfillThread {
            interval: parameters.bf_interval as f64,
            latest: LONG_AGO,
            next: parameters.backfill_phase.unwrap_or_else(|| self::drawn(seed, BACKFILL_PHASE)),
            changed: LONG_AGO - 1,
            is_stale: false,
            holds_until: f64::INFINITY,
            fraction: None,
            goes_on: false,
            length: 0.0,
            pause: None,
            rests: false,
        };
        Self {
            main: MainThread {
                origin: parameters.main_phase.unwrap_or_else(drawn),
                period: 1.0 + parameters.main_lag,
                interval,
                delay: parameters.batch_sched_delay,
                latest: LONG_AGO,
                latest_full: LONG_AGO,
                is_wanted: false,
                is_stale: false,
                is_blocked: false,
            },
            spacing: Spacing::new(parameters.min_spacing()),
            backfill: parameters.backfill.then(thread),
            backfill_start: parameters.backfill_start.unwrap_or(f64::NEG_INFINITY),
            has_begun: false,
            next_cycle: None,
            awaits_events: false,
        }
    }

    /// Return what the threads remember; None before they begin to wake.
    pub(super) fn remembered(&self) -> Option<(MainState, Option<BackfillState>)> {
        let (loop_called, put_off) = self.spacing.remembered();
        let main = MainState {
            phase: self.main.origin,
            called: seconds(self.main.latest),
            called_for_all: seconds(self.main.latest_full),
            wanted: self.main.is_wanted,
            may_differ: self.main.is_stale,
            met_no_room: self.main.is_blocked,
            loop_called,
            put_off,
        };
        let backfill = self.backfill.as_ref().map(|thread| BackfillState {
            ended: seconds(thread.latest),
            wakes: thread.next,
            changed: seconds(thread.changed),
            may_differ: thread.is_stale,
            holds_until: Some(thread.holds_until).filter(|time| time.is_finite()),
            goes_on: thread.goes_on,
            length: thread.length,
            rests: thread.rests,
        });
        self.has_begun.then_some((main, backfill))
    }

    /// Continue with what the threads remembered.
    pub(super) fn recall(
        &mut self,
        main: &MainState,
        backfill: Option<&BackfillState>,
    ) -> Result<(), &'static str> {
        let second = |time: Option<f64>, never: i64| time.map_or(never, |time| time.floor() as i64);
        let own = &mut self.main;
        own.origin = main.phase;
        own.latest = second(main.called, LONG_AGO);
        own.latest_full = second(main.called_for_all, LONG_AGO);
        (own.is_wanted, own.is_stale) = (main.wanted, main.may_differ);
        own.is_blocked = main.met_no_room;
        self.spacing.recall(main.loop_called, main.put_off);
        match (&mut self.backfill, backfill) {
            (Some(thread), Some(given)) => {
                thread.latest = second(given.ended, LONG_AGO);
                thread.next = given.wakes;
                thread.changed = second(given.changed, LONG_AGO - 1);
                thread.is_stale = given.may_differ;
                thread.holds_until = given.holds_until.unwrap_or(f64::INFINITY);
                (thread.goes_on, thread.rests) = (given.goes_on, given.rests);
                thread.length = given.length;
            }
            (None, None) => {}
            _ => {
                return Err(
                    "the controller of the state has a backfill thread and the policy none, or the policy alone",
                );
            }
        }
        (self.has_begun, self.next_cycle) = (true, None);
        Ok(())
    }

    /// Execute the next calls, even if their results equal those of the latest calls.
    pub(super) fn look_again(&mut self) {
        self.main.is_stale = true;
        self.next_cycle = None;
        if let Some(thread) = &mut self.backfill {
            thread.is_stale |= thread.has_work();
        }
    }

    /// Align the phases of the threads to the first event.
    fn begin(&mut self, now: f64) {
        let main = &mut self.main;
        let interval = main.interval as f64;
        main.origin += (now / interval).floor() * interval;
        main.latest_full = main.origin.floor() as i64 - main.interval;
        if let Some(thread) = &mut self.backfill {
            thread.next += (now.max(self.backfill_start) - thread.next).ceil();
        }
        self.has_begun = true;
    }

    /// Count the calls before `now` that were not executed.
    pub(super) fn catch_up(&mut self, now: f64) {
        if !self.has_begun {
            self.begin(now);
        }
        while self.next_idle_call() < now {
            self.pass_over();
        }
    }

    /// Return the time of the next full call, postponed call or backfill cycle if nothing changes.
    fn next_idle_call(&self) -> f64 {
        let main = self.next_put_off().map_or(self.main.next_full(), |time| time.min(self.main.next_full()));
        self.next_idle_cycle().map_or(main, |cycle| main.min(cycle))
    }

    /// Return the time of a postponed call that would have the same result as the latest call.
    fn next_put_off(&self) -> Option<f64> {
        self.spacing.next().filter(|_| !self.main.is_stale)
    }

    /// Return the time of the next backfill cycle if nothing changes and the main loop triggers no cycle.
    fn next_idle_cycle(&self) -> Option<f64> {
        let thread = self.backfill.as_ref()?;
        (thread.pause.is_none() && !thread.is_stale && thread.has_work()).then_some(thread.next)
    }

    /// Count the earliest of these calls without executing it; at equal times the main loop comes first.
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

    /// Count a full call whose result equals that of the latest call, unless it is postponed.
    fn pass_over_full(&mut self, full: f64) {
        self.main.latest_full = full.floor() as i64;
        if !self.spacing.puts_off(full, true) {
            self.pass_over_main(full);
        }
    }

    /// Count a postponed call whose result equals that of the latest call.
    fn pass_over_put_off(&mut self, time: f64) {
        self.spacing.take();
        self.pass_over_main(time);
    }

    fn pass_over_main(&mut self, time: f64) {
        self.spacing.called(time);
        // Each call that finds an entry that does not fit triggers backfill.
        if self.main.is_blocked
            && !self.main.is_stale
            && let Some(thread) = &mut self.backfill
        {
            thread.touch(time);
        }
    }

    /// Record a change of the queue, nodes or running jobs.
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

    /// Record a change that triggers a backfill cycle but cannot change its result.
    fn touch(&mut self, now: f64) {
        self.next_cycle = None;
        if let Some(thread) = &mut self.backfill {
            thread.touch(now);
        }
    }

    /// Request a call of the main loop at its thread's next opportunity.
    pub(super) fn want_main(&mut self) {
        self.main.is_wanted = true;
    }

    /// Return whether a direct call of the main loop runs now; otherwise postpone it.
    pub(super) fn calls_directly(&mut self, now: f64) -> bool {
        !self.spacing.puts_off(now, false)
    }

    /// Return whether a postponed call is executed now; the value is true if it is a full call.
    pub(super) fn put_off_is_due(&mut self, now: f64) -> Option<bool> {
        let time = self.spacing.next().filter(|&time| time <= now)?;
        if self.main.is_stale {
            return self.spacing.take();
        }
        self.next_cycle = None;
        self.pass_over_put_off(time);
        None
    }

    /// Return whether the thread calls the main loop now; the value is true for a full call. A call without effect is
    /// only counted.
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

    /// Return whether a backfill cycle begins or continues now.
    pub(super) fn backfill_is_due(&self, now: f64) -> bool {
        self.backfill.as_ref().is_some_and(|thread| match thread.pause {
            Some(pause) => pause.until <= now,
            None => {
                thread.next <= now && (thread.is_stale || (thread.has_work() && thread.may_differ_in(now)))
            }
        })
    }

    /// Return whether something has changed since backfill paused, apart from its own decisions.
    pub(super) fn was_disturbed(&self) -> bool {
        self.backfill.as_ref().is_some_and(|thread| thread.pause.is_some_and(|pause| pause.is_disturbed))
    }

    /// Pause the current cycle until a time.
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

    /// End the pause of a cycle. Return whether anything has changed since the cycle began.
    fn end_pause(&mut self) -> bool {
        let pause = self.backfill.as_mut().and_then(|thread| thread.pause.take());
        pause.is_some_and(|pause| pause.has_changed)
    }

    /// Record a call of the main loop, by its thread or direct, and its result.
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

    /// Record a backfill cycle and its result.
    pub(super) fn called_backfill(&mut self, now: f64, found: BackfillCall) {
        self.next_cycle = None;
        let has_changed = self.end_pause();
        let Some(thread) = &mut self.backfill else { return };
        thread.is_stale = has_changed;
        thread.holds_until = found.holds_until;
        thread.fraction = found.fraction;
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

    /// Return the time of the next call that may change something, given all events until now.
    pub(super) fn next_due(&mut self, now: f64) -> Time {
        let put_off = self.spacing.next().filter(|_| self.main.is_stale).map_or(Time::NEVER, Time);
        let main = self.main.due(now).map_or(Time::NEVER, Time).min(put_off);
        let cycle = self.next_cycle.unwrap_or_else(|| self.look_ahead());
        self.next_cycle = Some(cycle);
        main.min(cycle)
    }

    /// Return the time of the next backfill cycle that may change something. O(cycles until then).
    fn look_ahead(&self) -> Time {
        let Some(thread) = &self.backfill else { return Time::NEVER };
        if let Some(pause) = thread.pause {
            return Time(pause.until);
        }
        if thread.is_stale {
            return Time(thread.next);
        }
        if thread.holds_until == f64::INFINITY && !thread.shifts_by(thread.next) {
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

/// Result of a call of the main loop.
#[derive(Clone, Copy, Debug)]
pub(super) struct MainCall {
    pub(super) started: bool,
    pub(super) met_no_room: bool,
    /// True if a full call may start a job: entries were not examined, or their order changes with time.
    pub(super) is_cut: bool,
}

/// Result of a backfill cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct BackfillCall {
    pub(super) started: bool,
    pub(super) puts_off: bool,
    pub(super) holds_until: f64,
    /// The fraction of the second at which the cycle began, if it moves planned starts that are recorded.
    pub(super) fraction: Option<f64>,
    /// Begin of the cycle.
    pub(super) begin: f64,
    /// Duration of the cycle, seconds.
    pub(super) length: f64,
    /// True if the next cycle runs only after an event, provided that this one has started nothing.
    pub(super) rests: bool,
}

/// Return a second as a time; None if it is before any event.
fn seconds(second: i64) -> Option<f64> {
    (second > LONG_AGO).then_some(second as f64)
}

/// Return a random number in [0, 1) for a seed and a stream number.
pub(super) fn drawn(seed: u64, number: u64) -> f64 {
    (mix(seed, number) >> 11) as f64 / (1_u64 << 53) as f64
}
