//! What happens at one instant before its passes, in the order of S2 or in that of simulators that schedule per event.
use crate::event::{Event, Kind};
use crate::policy::{Backfill, Scheduler};
use crate::time::Time;
use crate::workload::jobs::State;

use super::invocation::Cause;
use super::{Feed, Moment, OrderAtInstant, Simulation, Stage};

/// How far an instant is.
#[derive(Clone, Debug, Default)]
pub(super) struct Instant {
    /// Something happened for which no pass has been made.
    pass_is_due: bool,
    /// `arrivals_first`: the completions of this round, those before `next` taken.
    due: Vec<Due>,
    next: usize,
    /// `arrivals_first`: what is free as estimated has been given back.
    opened: bool,
    /// `arrivals_first`: submissions are over.
    completing: bool,
}

/// A completion at this instant, and whether its nodes are free already.
#[derive(Clone, Copy, Debug)]
struct Due {
    job: u32,
    sequence: u64,
    gave_back: bool,
}

impl<F: Feed> Simulation<F> {
    pub(super) fn begin_instant(&mut self) {
        self.look_at_platform();
        if !self.waits_for_timers() {
            self.idle = 0;
        }
        self.instant.pass_is_due =
            self.order_at_instant == OrderAtInstant::CompletionsFirst && self.reservation_is_due();
        if self.order_at_instant == OrderAtInstant::ArrivalsFirst {
            self.instant.opened = false;
            self.instant.completing = false;
            self.instant.due.clear();
            self.instant.next = 0;
        }
    }

    /// Takes in what happens until a pass is due, the instant closes, or somebody outside is asked.
    pub(super) fn take_in(&mut self) -> Result<Option<Moment>, F::Error> {
        if self.asking.is_some() {
            return self.event_by_event();
        }
        match self.order_at_instant {
            OrderAtInstant::CompletionsFirst => self.completions_first(),
            OrderAtInstant::ArrivalsFirst => self.arrivals_first(),
        }
    }

    /// Whether the instant is over; if not, there is more of it.
    pub(super) fn close_instant(&mut self) -> bool {
        self.drop_stale();
        let goes_on = self.look_at_applications();
        if goes_on || self.disturbed || self.events.next_time() <= Time(self.site.now) {
            self.idle += u64::from(self.disturbed);
            self.instant.pass_is_due |= self.disturbed;
            self.stage = Stage::Taking;
            return false;
        }
        self.stage = Stage::Between;
        self.feed.instant_over(&self.site, self.next_time());
        true
    }

    /// Whether a job's end at this instant is on its way already.
    pub(super) fn is_ending(&self, job: u32) -> bool {
        self.instant.due[self.instant.next.min(self.instant.due.len())..].iter().any(|due| due.job == job)
    }

    fn completions_first(&mut self) -> Result<Option<Moment>, F::Error> {
        let now = Time(self.site.now);
        loop {
            self.drop_stale();
            if !self.events.wakes_at(now) {
                // Who reaches its limit as its application ends has ended by itself.
                self.instant.pass_is_due |= self.take_notices();
                self.drop_stale();
            }
            let Some(event) = self.events.pop_at(now) else { break };
            match event.kind {
                Kind::Timer | Kind::Watch => return Ok(Some(self.wake(event))),
                Kind::Completion => {
                    self.instant.pass_is_due = true;
                    self.site.give_back(event.job);
                    self.complete(event.job);
                }
                Kind::Expiry => return Ok(Some(self.expire(event))),
            }
        }
        if let Some(moment) = self.failed() {
            return Ok(Some(moment));
        }
        while self.feed.next_time() <= now {
            self.instant.pass_is_due = true;
            if let Some(moment) = self.submit()? {
                return Ok(Some(moment));
            }
        }
        self.make_pass_or_close();
        Ok(None)
    }

    /// Timers, applications, other ends, questions of the clock, submissions: whatever the scheduler is asked about has
    /// a pass of its own, and what follows from it at this instant comes before the next event.
    fn event_by_event(&mut self) -> Result<Option<Moment>, F::Error> {
        let now = Time(self.site.now);
        loop {
            self.drop_stale();
            if let Some(moment) = self.failed() {
                return Ok(Some(moment));
            }
            let woken = std::mem::take(&mut self.instant.pass_is_due);
            let cause = if std::mem::take(&mut self.disturbed) || woken {
                Cause::Instant
            } else if let Some(job) = self.submitted.take() {
                Cause::Submission(job)
            } else if self.events.wakes_at(now)
                && let Some(event) = self.events.pop_at(now)
            {
                return Ok(Some(self.wake(event)));
            } else if let Some(cause) = self.take_notice() {
                cause
            } else if let Some(event) = self.events.pop_at(now) {
                if event.kind == Kind::Expiry {
                    return Ok(Some(self.expire(event)));
                }
                self.site.give_back(event.job);
                self.complete(event.job);
                match self.site.jobs.state(event.job) {
                    State::Killed => Cause::Kill(event.job),
                    _ => Cause::Completion(event.job),
                }
            } else if self.asking.as_mut().is_some_and(|asking| asking.is_due(now)) {
                self.idle += 1;
                Cause::Periodic
            } else if self.feed.next_time() <= now {
                if let Some(moment) = self.submit()? {
                    return Ok(Some(moment));
                }
                continue;
            } else {
                self.stage = Stage::Closing;
                return Ok(None);
            };
            if self.asks_about(cause) {
                self.stage = Stage::Telling;
                return Ok(None);
            }
        }
    }

    /// Whether the scheduler is asked about an event; a job at a point about which it is not asked goes on.
    fn asks_about(&mut self, cause: Cause) -> bool {
        let now = self.site.now;
        let Some(asking) = &mut self.asking else { return true };
        let mut asked = asking.asks(cause, now).then_some(cause);
        if let (None, Cause::SchedulingPoint(job)) = (asked, cause) {
            let resized = self.applications.as_ref().is_some_and(|running| running.wanted(job).is_some());
            let other = Cause::Reconfiguration(job);
            asked = (resized && asking.asks(other, now)).then_some(other);
            if asked.is_none() {
                self.leave_points();
            }
        }
        self.cause = asked.unwrap_or_default();
        asked.is_some()
    }

    /// Node events, submissions, then completions, with a pass after each.
    fn arrivals_first(&mut self) -> Result<Option<Moment>, F::Error> {
        let now = Time(self.site.now);
        if let Some(moment) = self.gather(now) {
            return Ok(Some(moment));
        }
        if self.pass_is_due() {
            self.make_pass_or_close();
            return Ok(None);
        }
        if !self.instant.opened {
            self.instant.opened = true;
            self.open_instant(now);
        }
        if !self.instant.completing {
            // (b) Submissions.
            if self.feed.next_time() <= now {
                self.instant.pass_is_due = true;
                return self.submit();
            }
            self.instant.completing = true;
        }
        // (c) Completions, and in rounds those of jobs that started in this instant and take no time.
        if self.instant.next == 0 {
            self.instant.due.sort_by_key(|due| due.sequence);
        }
        if let Some(&Due { job, gave_back, .. }) = self.instant.due.get(self.instant.next) {
            self.instant.next += 1;
            if !gave_back {
                self.site.give_back(job);
            }
            self.complete(job);
            self.instant.pass_is_due = true;
        }
        self.make_pass_or_close();
        Ok(None)
    }

    /// (a) Jobs that end as estimated give back what the scheduler counts as free already.
    fn open_instant(&mut self, now: Time) {
        for index in 0..self.instant.due.len() {
            let job = self.instant.due[index].job;
            if self.site.estimated_end(job).time <= now {
                self.instant.due[index].gave_back = true;
                self.site.give_back(job);
            }
        }
        // Where only a reservation is due there is a pass for it alone.
        self.instant.pass_is_due =
            self.instant.due.is_empty() && self.feed.next_time() > now && self.reservation_is_due();
    }

    /// Collects the completions of the next round, unless a pass is due; timers and expiries ask first.
    fn gather(&mut self, now: Time) -> Option<Moment> {
        let round_is_over = self.instant.next >= self.instant.due.len();
        if self.instant.completing && !round_is_over {
            return None;
        }
        if self.instant.completing {
            self.instant.due.clear();
            self.instant.next = 0;
        }
        self.drop_stale();
        while (self.events.wakes_at(now) || !self.pass_is_due())
            && let Some(event) = self.events.pop_at(now)
        {
            match event.kind {
                Kind::Timer | Kind::Watch => return Some(self.wake(event)),
                // A job that ends as estimated needs no other estimate.
                Kind::Expiry if self.is_ending(event.job) => {}
                Kind::Expiry => return Some(self.expire(event)),
                Kind::Completion => {
                    let Event { job, sequence, .. } = event;
                    let known = self.instant.due.iter_mut().find(|due| self.may_be_stale && due.job == job);
                    // The event of a run that was interrupted may name the very instant at which the later one ends.
                    match known {
                        Some(due) => due.sequence = sequence,
                        None => self.instant.due.push(Due { job, sequence, gave_back: false }),
                    }
                }
            }
            self.drop_stale();
        }
        None
    }

    /// Somebody is woken. A scheduler outside decides after that; one in the kernel only if something is changed, so
    /// that watching a run does not change it.
    fn wake(&mut self, event: Event) -> Moment {
        self.idle += 1;
        if event.kind == Kind::Watch {
            self.watches -= 1;
        } else {
            self.timers -= 1;
            self.instant.pass_is_due |= matches!(self.scheduler, Scheduler::Outside(_));
        }
        Moment::Timer(event.job)
    }

    fn reservation_is_due(&self) -> bool {
        self.scheduler.next_due() <= Time(self.site.now)
    }

    fn pass_is_due(&self) -> bool {
        self.instant.pass_is_due || self.disturbed
    }

    /// A running job reaches its estimate; who corrects it has learnt all that happened before.
    fn expire(&mut self, event: Event) -> Moment {
        if self.has_news() {
            self.events.push(event);
            return Moment::News;
        }
        self.instant.pass_is_due = true;
        Moment::Expiry(event.job)
    }

    /// Hands over the next job; a moment if somebody estimates its run time.
    fn submit(&mut self) -> Result<Option<Moment>, F::Error> {
        if self.listeners.estimates && self.has_news() {
            // Who estimates has learnt all that happened before.
            return Ok(Some(Moment::News));
        }
        let job = self.feed.submit(&mut self.site)?;
        if self.listeners.estimates {
            self.stage = Stage::Admitting(job);
            return Ok(Some(Moment::Submission(job)));
        }
        self.admit(job)?;
        Ok(None)
    }

    fn make_pass_or_close(&mut self) {
        let due = self.pass_is_due();
        self.instant.pass_is_due = false;
        self.stage = if due { Stage::Telling } else { Stage::Closing };
    }
}
