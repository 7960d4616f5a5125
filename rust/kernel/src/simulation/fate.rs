//! What becomes of a job: it is admitted or rejected, its end is foreseen, and it ends; and what that means for others.
use crate::event::{Event, Kind};
use crate::policy::Scheduler;
use crate::record::Change;
use crate::time::Time;
use crate::workload::jobs::State;

use super::{Feed, OrderAtInstant, Simulation, WallTime};

impl<F: Feed> Simulation<F> {
    pub(super) fn schedule_end(&mut self, job: u32) {
        let row = *self.site.jobs.job(job);
        let elastic = self.is_elastic(job);
        if elastic {
            self.begin_application(job);
        }
        // Who carries an application ends by it, or at its limit.
        let remaining = if elastic { f64::INFINITY } else { self.site.jobs.remaining(job) };
        let duration = match self.wall_time {
            WallTime::Run => remaining,
            WallTime::Kill => remaining.min(row.requested_time),
        };
        let time = Time(self.site.now + duration);
        self.site.jobs.will_end(job, time.0);
        let sequence = match self.order_at_instant {
            OrderAtInstant::CompletionsFirst => row.row,
            OrderAtInstant::ArrivalsFirst => self.starts,
        };
        self.starts += 1;
        if time != Time::NEVER {
            self.events.push(Event { time, kind: Kind::Completion, sequence, job });
        }
        // An estimate of no time expires at once, a corrected one later: who corrects is asked once at an instant.
        self.schedule_expiry(job, Time(self.site.now));
    }

    /// Has somebody asked again when a running job reaches its estimate, if it does so at `from` or later.
    pub(super) fn schedule_expiry(&mut self, job: u32, from: Time) {
        let end = self.site.estimated_end(job).time;
        if self.listeners.estimates && end >= from {
            let sequence = self.site.jobs.job(job).row;
            self.events.push(Event { time: end, kind: Kind::Expiry, sequence, job });
            self.may_be_stale = true;
        }
    }

    /// Takes a job into the queue, or rejects it.
    pub(super) fn admit(&mut self, job: u32) -> Result<(), F::Error> {
        let refused = self.site.jobs.state(job) == State::Rejected || self.dependencies.is_hopeless(job);
        // Who decides outside may start a job on fewer tasks than it asks for, where its type lets it.
        let tasks = if self.decides_outside() { self.sizes(job).0 } else { self.site.jobs.job(job).tasks };
        if refused || matches!(self.scheduler, Scheduler::Reject) || !self.site.can_ever_fit(job, tasks) {
            self.reject(job);
            return self.feed.finished(&mut self.site, job);
        }
        self.site.enqueue(job);
        if self.dependencies.waits(job) {
            self.site.leave_queue(job);
            self.site.on_hold.insert(job);
        }
        self.submitted = Some(job);
        self.tell(Change::Submitted, job);
        self.feed.enqueued(&self.site, job);
        Ok(())
    }

    fn reject(&mut self, job: u32) {
        self.reject_alone(job);
        self.decide_dependents(job, State::Rejected);
    }

    fn reject_alone(&mut self, job: u32) {
        self.site.jobs.set_state(job, State::Rejected);
        self.finished += 1;
        self.tell(Change::Rejected, job);
    }

    /// Ends a job, which has given back its nodes.
    pub(super) fn end(&mut self, job: u32, state: State) {
        self.site.jobs.end(job, self.site.now, state);
        self.site.ended.push(job);
        self.finished += 1;
        self.idle = 0;
        self.tell(if state == State::Killed { Change::Killed } else { Change::Completed }, job);
        self.decide_dependents(job, state);
    }

    /// A job is done: those that waited for it alone join the queue, and those that waited in vain are rejected.
    fn decide_dependents(&mut self, job: u32, state: State) {
        let mut done = vec![(job, state)];
        while let Some((job, state)) = done.pop() {
            for dependent in self.dependencies.done(job, state) {
                // One that has not been submitted yet is decided then.
                if !self.site.on_hold.remove(&dependent) {
                    continue;
                }
                if self.dependencies.is_hopeless(dependent) {
                    self.reject_alone(dependent);
                    self.site.ended.push(dependent);
                    done.push((dependent, State::Rejected));
                } else if self.dependencies.is_held(dependent) {
                    self.site.on_hold.insert(dependent);
                } else {
                    self.site.enqueue(dependent);
                }
            }
        }
    }

    /// A running job reaches its end.
    pub(super) fn complete(&mut self, job: u32) {
        if self.is_elastic(job) {
            // Its application would have told of its end.
            self.stop_application(job);
            return self.end(job, State::Killed);
        }
        let cut = self.wall_time == WallTime::Kill
            && self.site.jobs.remaining(job) > self.site.jobs.job(job).requested_time;
        self.end(job, if cut { State::Killed } else { State::Completed });
    }

    pub(super) fn drop_stale(&mut self) {
        if !self.may_be_stale {
            return;
        }
        let site = &self.site;
        self.events.drop_stale(|event| match event.kind {
            Kind::Timer | Kind::Watch => false,
            Kind::Completion => !site.jobs.ends_at(event.job, event.time.0),
            Kind::Expiry => {
                site.jobs.state(event.job) != State::Running
                    || site.estimated_end(event.job).time != event.time
            }
        });
    }
}
