//! The event loop: one instant after the other, in the order of S2.
use crate::event::{Event, EventQueue, Kind};
use crate::policy::{Backfill, Scheduler, Site};
use crate::record::DispatchLog;
use crate::time::Time;
use crate::workload::jobs::State;

/// What happens to a job that reaches its requested time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WallTime {
    /// It runs on: every job runs its run_time.
    Run,
    /// It is killed.
    Kill,
}

/// The order of things at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderAtInstant {
    /// Completions, submissions, one pass.
    CompletionsFirst,
    /// Submissions by row, then completions in the order of their starts, with a pass after each.
    ArrivalsFirst,
}

/// Where jobs come from and where they go when they are done.
pub trait Feed {
    /// What can go wrong in reading or writing.
    type Error;

    /// When the next job is submitted; [`Time::NEVER`] after the last.
    fn next_time(&self) -> Time;

    /// Hands over the next job, which is due: its slot in the site's table.
    fn submit(&mut self, site: &mut Site) -> Result<u32, Self::Error>;

    /// Takes note of a job that entered the queue.
    fn enqueued(&mut self, _site: &Site, _job: u32) {}

    /// Takes note of a job that started.
    fn started(&mut self, _site: &Site, _job: u32) {}

    /// Takes note that nothing happens from now until `next`.
    fn instant_over(&mut self, _site: &Site, _next: Time) {}

    /// Takes note of a job that ended or was rejected.
    fn finished(&mut self, site: &mut Site, job: u32) -> Result<(), Self::Error>;
}

/// A simulation: state and rules, flat, so that a clone is a fork.
#[derive(Clone, Debug)]
pub struct Simulation<F> {
    site: Site,
    scheduler: Scheduler,
    feed: F,
    events: EventQueue,
    wall_time: WallTime,
    order_at_instant: OrderAtInstant,
    /// The cost of every pass, where it was asked for.
    dispatch: Option<DispatchLog>,
    finished: u64,
    starts: u64,
}

/// A completion at this instant, and whether its nodes are free already.
struct Due {
    job: u32,
    sequence: u64,
    gave_back: bool,
}

impl<F: Feed> Simulation<F> {
    /// A simulation before its first instant.
    pub fn new(
        site: Site,
        scheduler: Scheduler,
        feed: F,
        wall_time: WallTime,
        order_at_instant: OrderAtInstant,
        dispatch: Option<DispatchLog>,
    ) -> Self {
        let events = EventQueue::default();
        Self { site, scheduler, feed, events, wall_time, order_at_instant, dispatch, finished: 0, starts: 0 }
    }

    /// The site as it stands.
    pub fn site(&self) -> &Site {
        &self.site
    }

    /// The feed, to be closed.
    pub fn into_feed(self) -> F {
        self.feed
    }

    /// The cost of every pass so far.
    pub fn dispatch(&self) -> Option<&DispatchLog> {
        self.dispatch.as_ref()
    }

    /// Jobs that ended or were rejected so far.
    pub fn finished(&self) -> u64 {
        self.finished
    }

    /// The next instant at which something happens; [`Time::NEVER`] at the end.
    pub fn next_time(&self) -> Time {
        self.events.next_time().min(self.feed.next_time()).min(self.scheduler.next_due())
    }

    /// Goes on to the next instant and does everything that happens there; false if nothing is left to happen.
    pub fn step(&mut self) -> Result<bool, F::Error> {
        let now = self.next_time();
        if now == Time::NEVER {
            return Ok(false);
        }
        self.site.now = now.0;
        match self.order_at_instant {
            OrderAtInstant::CompletionsFirst => self.completions_first(now)?,
            OrderAtInstant::ArrivalsFirst => self.arrivals_first(now)?,
        }
        self.feed.instant_over(&self.site, self.next_time());
        Ok(true)
    }

    /// Does everything that happens until `time`, inclusive.
    pub fn run_until(&mut self, time: f64) -> Result<(), F::Error> {
        while self.next_time() != Time::NEVER && self.next_time() <= Time(time) {
            self.step()?;
        }
        Ok(())
    }

    /// At most `instants` steps; false if nothing is left to happen.
    pub fn advance(&mut self, instants: u64) -> Result<bool, F::Error> {
        for _ in 0..instants {
            if !self.step()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn completions_first(&mut self, now: Time) -> Result<(), F::Error> {
        loop {
            while let Some(event) = self.events.pop_at(now) {
                self.site.give_back(event.job);
                self.complete(event.job);
            }
            while self.feed.next_time() <= now {
                self.submit()?;
            }
            self.pass()?;
            if self.events.next_time() > now {
                return Ok(());
            }
        }
    }

    /// Submissions, then completions, with a pass after each: the way of simulators that schedule per event.
    fn arrivals_first(&mut self, now: Time) -> Result<(), F::Error> {
        // (a) Jobs that end as estimated give back what the scheduler counts as free already.
        let mut due: Vec<Due> = self.due(now);
        for due in &mut due {
            due.gave_back = self.site.estimated_end(due.job).time <= now;
            if due.gave_back {
                self.site.give_back(due.job);
            }
        }
        if due.is_empty() && self.feed.next_time() > now {
            // Only a reservation is due.
            self.pass()?;
        }
        // (b) Submissions.
        while self.feed.next_time() <= now {
            self.submit()?;
            self.pass()?;
        }
        // (c) Completions, and in rounds those of jobs that started in this instant and take no time.
        due.extend(self.due(now));
        due.sort_by_key(|due| due.sequence);
        while !due.is_empty() {
            for Due { job, gave_back, .. } in due {
                if !gave_back {
                    self.site.give_back(job);
                }
                self.complete(job);
                self.pass()?;
            }
            due = self.due(now);
        }
        Ok(())
    }

    /// Takes the completions that are due at `now`, in order.
    fn due(&mut self, now: Time) -> Vec<Due> {
        let due = |event: Event| Due { job: event.job, sequence: event.sequence, gave_back: false };
        std::iter::from_fn(|| self.events.pop_at(now)).map(due).collect()
    }

    fn submit(&mut self) -> Result<(), F::Error> {
        let job = self.feed.submit(&mut self.site)?;
        let refused = self.site.jobs.state(job) == State::Rejected;
        if refused || matches!(self.scheduler, Scheduler::Reject) || !self.site.can_ever_fit(job) {
            self.site.jobs.set_state(job, State::Rejected);
            self.finished += 1;
            return self.feed.finished(&mut self.site, job);
        }
        self.site.enqueue(job);
        self.feed.enqueued(&self.site, job);
        Ok(())
    }

    fn complete(&mut self, job: u32) {
        let row = self.site.jobs.job(job);
        let killed = self.wall_time == WallTime::Kill && row.run_time > row.requested_time;
        self.site.jobs.end(job, self.site.now, if killed { State::Killed } else { State::Completed });
        self.site.ended.push(job);
        self.finished += 1;
    }

    fn pass(&mut self) -> Result<(), F::Error> {
        let timer = self.dispatch.as_ref().map(DispatchLog::begin);
        self.scheduler.pass(&mut self.site);
        if let (Some(log), Some(timer)) = (&mut self.dispatch, timer) {
            log.end(&timer, &self.site);
        }
        for index in 0..self.site.started.len() {
            let job = self.site.started[index];
            self.feed.started(&self.site, job);
            let row = self.site.jobs.job(job);
            let duration = match self.wall_time {
                WallTime::Run => row.run_time,
                WallTime::Kill => row.run_time.min(row.requested_time),
            };
            let time = Time(self.site.now + duration);
            let sequence = match self.order_at_instant {
                OrderAtInstant::CompletionsFirst => row.row,
                OrderAtInstant::ArrivalsFirst => self.starts,
            };
            self.starts += 1;
            self.events.push(Event { time, kind: Kind::Completion, sequence, job });
        }
        self.site.started.clear();
        self.site.arrived.clear();
        let mut ended = std::mem::take(&mut self.site.ended);
        for job in ended.drain(..) {
            self.feed.finished(&mut self.site, job)?;
        }
        self.site.ended = ended;
        Ok(())
    }
}
