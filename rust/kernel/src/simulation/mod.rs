//! The event loop: one instant after the other, in the order of S2.
//!
//! The loop is a machine that can be left at every moment at which somebody outside is asked ([`Moment`]) and entered
//! again: all it knows is in the [`Simulation`], so a clone is a fork, also in the middle of an instant.
mod acts;
mod dependencies;
mod elastic;
mod instant;
mod invocation;
mod refusal;
mod sensing;

pub use acts::Keep;
pub use dependencies::Dependencies;
pub use elastic::Applications;
pub use invocation::{Asked, Cause, Invocations};
pub use refusal::Refusal;
pub use sensing::{Sensed, Sensors};

use crate::event::{Event, EventQueue, Kind};
use crate::policy::{Backfill, Order, Scheduler, Site};
use crate::record::{Change, DispatchLog, Interruptions, News};
use crate::stopwatch::Timer;
use crate::time::Time;
use crate::workload::jobs::State;

use instant::Instant;
use invocation::Asking;

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

/// Who outside is asked, beside a scheduler or an order that stands outside.
#[derive(Clone, Copy, Debug, Default)]
pub struct Listeners {
    /// Somebody estimates run times: asked at submissions, and when a running job reaches its estimate.
    pub estimates: bool,
    /// What somebody is told of: for each [`Change`] the bit of its number.
    pub changes: u16,
    /// The outside scheduler is asked at every instant, not only while jobs wait.
    pub every_instant: bool,
}

/// A moment at which somebody outside is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A timer is due: whose.
    Timer(u32),
    /// A job is being submitted: its estimate may be set.
    Submission(u32),
    /// A running job reached its estimate: another may be set.
    Expiry(u32),
    /// Something changed: see [`Simulation::take_news`].
    News,
    /// The order stands outside: keys may be given.
    Order,
    /// The scheduler stands outside: decisions may be made.
    Pass,
    /// Jobs wait, and for very long nothing but timers has happened: nobody runs and nobody is to come, or all this
    /// is at one instant.
    Stuck,
    /// An application cannot go on: see [`Simulation::failure`].
    Failed,
    /// Everything that happens at this instant is done.
    Over,
    /// Nothing is left to happen.
    End,
}

/// Where jobs come from and where they go when they are done.
pub trait Feed {
    /// What can go wrong in reading or writing.
    type Error;

    /// When the next job is submitted; [`Time::NEVER`] after the last.
    fn next_time(&self) -> Time;

    /// Hands over the next job, which is due: its slot in the site's table.
    fn submit(&mut self, site: &mut Site) -> Result<u32, Self::Error>;

    /// No further job shall come.
    fn close(&mut self) {}

    /// Takes note of a job that entered the queue.
    fn enqueued(&mut self, _site: &Site, _job: u32) {}

    /// Takes note of a job that started.
    fn started(&mut self, _site: &Site, _job: u32) {}

    /// Takes note that nothing happens from now until `next`.
    fn instant_over(&mut self, _site: &Site, _next: Time) {}

    /// Takes note of a job that ended or was rejected.
    fn finished(&mut self, site: &mut Site, job: u32) -> Result<(), Self::Error>;
}

/// After so many timers in a row with nothing else, a simulation is stuck: half a year of looking every minute.
pub const PATIENCE: u64 = 250_000;

/// What is done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Go on to the next instant.
    Between,
    /// Take in what happens at this instant, until a pass is due.
    Taking,
    /// Admit this job, whose estimate is known now.
    Admitting(u32),
    /// Tell what changed.
    Telling,
    /// Ask for keys.
    Ordering,
    /// Make the pass, or ask for decisions.
    Deciding,
    /// See to the jobs that the pass started.
    Settling,
    /// Tell what the passes changed, and see whether the instant is over.
    Closing,
    /// An application cannot go on; nothing more happens.
    Failed,
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
    listeners: Listeners,
    stage: Stage,
    instant: Instant,
    /// Somebody outside changed something since the last pass.
    disturbed: bool,
    /// Some event may be that of a run that was interrupted.
    may_be_stale: bool,
    news: News,
    interruptions: Interruptions,
    /// Jobs that carry applications.
    applications: Option<Box<Applications>>,
    /// Why an application cannot go on: the job, and what is wrong.
    failure: Option<(u32, String)>,
    dependencies: Dependencies,
    /// Where the scheduler is asked event by event.
    asking: Option<Asking>,
    cause: Cause,
    /// Who has just entered the queue.
    submitted: Option<u32>,
    /// The cost of every pass, where it was asked for.
    dispatch: Option<DispatchLog>,
    timer: Option<Timer>,
    finished: u64,
    starts: u64,
    /// Timers set: those that may bring something about, and those that only watch.
    timers: u64,
    watches: u64,
    /// Timers gone off and disturbances in a row without anything else, or at this instant.
    idle: u64,
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
        Self {
            site,
            scheduler,
            feed,
            events: EventQueue::default(),
            wall_time,
            order_at_instant,
            listeners: Listeners::default(),
            stage: Stage::Between,
            instant: Instant::default(),
            disturbed: false,
            may_be_stale: false,
            news: News::new(),
            interruptions: Interruptions::default(),
            applications: None,
            failure: None,
            dependencies: Dependencies::default(),
            asking: None,
            cause: Cause::default(),
            submitted: None,
            dispatch,
            timer: None,
            finished: 0,
            starts: 0,
            timers: 0,
            watches: 0,
            idle: 0,
        }
    }

    /// The same with listeners.
    #[must_use]
    pub fn with_listeners(mut self, listeners: Listeners) -> Self {
        self.listeners = listeners;
        self
    }

    /// The same, with jobs that wait for others to complete.
    #[must_use]
    pub fn with_dependencies(mut self, dependencies: Dependencies) -> Self {
        self.dependencies = dependencies;
        self
    }

    /// The same, asking event by event.
    #[must_use]
    pub fn with_invocations(mut self, rules: Invocations) -> Self {
        self.site.keep_running();
        self.asking = Some(Asking::new(rules));
        self
    }

    /// Why the scheduler is being asked.
    pub fn cause(&self) -> Cause {
        self.cause
    }

    /// Why the run cannot go on: a job, and what is wrong with its application.
    pub fn failure(&self) -> Option<&(u32, String)> {
        self.failure.as_ref()
    }

    /// The site as it stands.
    pub fn site(&self) -> &Site {
        &self.site
    }

    /// The scheduler as it stands.
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// The feed, to be closed.
    pub fn into_feed(self) -> F {
        self.feed
    }

    /// The cost of every pass so far.
    pub fn dispatch(&self) -> Option<&DispatchLog> {
        self.dispatch.as_ref()
    }

    /// The runs that were cut short so far.
    pub fn interruptions(&self) -> &Interruptions {
        &self.interruptions
    }

    /// Jobs that ended or were rejected so far.
    pub fn finished(&self) -> u64 {
        self.finished
    }

    /// What changed since this was asked last.
    pub fn take_news(&mut self) -> News {
        std::mem::take(&mut self.news)
    }

    /// The next instant at which something happens; [`Time::NEVER`] at the end.
    pub fn next_time(&self) -> Time {
        if self.stage != Stage::Between {
            return Time(self.site.now);
        }
        let applications = self.applications.as_ref().map_or(Time::NEVER, |running| running.next_time());
        let next = self.events.next_time().min(self.feed.next_time()).min(self.scheduler.next_due());
        let next = next.min(applications).min(self.next_question());
        let timed = self.timers + self.watches > 0 && next != Time::NEVER;
        if timed && self.waits_for_timers() && self.is_in_vain() { Time::NEVER } else { next }
    }

    /// When the clock alone has the scheduler asked; never where nobody is left to be decided about.
    fn next_question(&self) -> Time {
        let nobody = self.feed.next_time() == Time::NEVER
            && self.site.running.is_empty()
            && self.site.queue.is_empty()
            && self.site.on_hold.is_empty();
        match &self.asking {
            Some(asking) if !nobody => asking.next_time(),
            _ => Time::NEVER,
        }
    }

    /// Whether nothing can happen any more but by timers, or questions of the clock. (Whoever can set one, has it known
    /// who runs.)
    fn waits_for_timers(&self) -> bool {
        (self.timers + self.watches > 0 || self.next_question() != Time::NEVER)
            && self.feed.next_time() == Time::NEVER
            && self.site.running.is_empty()
            && self.scheduler.next_due() == Time::NEVER
    }

    /// Whether timers can bring nothing about: there is nobody left, or they only watch.
    fn is_in_vain(&self) -> bool {
        let nobody = self.site.queue.is_empty() && self.site.on_hold.is_empty();
        nobody || (self.timers == 0 && self.next_question() == Time::NEVER)
    }

    /// Goes on to the next instant and does everything that happens there; false if nothing is left to happen.
    ///
    /// Nobody outside is asked.
    pub fn step(&mut self) -> Result<bool, F::Error> {
        loop {
            match self.advance()? {
                Moment::Over => return Ok(true),
                Moment::End | Moment::Stuck | Moment::Failed => return Ok(false),
                Moment::News => self.news.clear(),
                _ => {}
            }
        }
    }

    /// At most `instants` steps; false if nothing is left to happen.
    pub fn advance_by(&mut self, instants: u64) -> Result<bool, F::Error> {
        for _ in 0..instants {
            if !self.step()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Goes on to the next moment at which somebody outside is asked, or an instant is over.
    pub fn advance(&mut self) -> Result<Moment, F::Error> {
        loop {
            match self.stage {
                Stage::Between => {
                    let now = self.next_time();
                    if now == Time::NEVER {
                        return Ok(Moment::End);
                    }
                    self.site.now = now.0;
                    self.begin_instant();
                    self.stage = Stage::Taking;
                }
                Stage::Failed => return Ok(Moment::Failed),
                Stage::Taking => {
                    if let Some(moment) = self.failed() {
                        return Ok(moment);
                    }
                    if self.idle > PATIENCE {
                        return Ok(Moment::Stuck);
                    }
                    if let Some(moment) = self.take_in()? {
                        return Ok(moment);
                    }
                }
                Stage::Admitting(job) => {
                    self.stage = Stage::Taking;
                    self.admit(job)?;
                }
                Stage::Telling => {
                    self.stage = Stage::Ordering;
                    if self.has_news() {
                        return Ok(Moment::News);
                    }
                }
                Stage::Ordering => {
                    self.stage = Stage::Deciding;
                    if self.wants_keys() {
                        return Ok(Moment::Order);
                    }
                }
                Stage::Deciding => {
                    self.stage = Stage::Settling;
                    if self.decide() {
                        return Ok(Moment::Pass);
                    }
                }
                Stage::Settling => {
                    self.settle()?;
                    self.stage = Stage::Taking;
                }
                Stage::Closing => {
                    if self.has_news() {
                        return Ok(Moment::News);
                    }
                    if self.close_instant() {
                        return Ok(Moment::Over);
                    }
                }
            }
        }
    }

    fn has_news(&self) -> bool {
        !self.news.is_empty()
    }

    fn tell(&mut self, change: Change, whom: u32) {
        if self.listeners.changes >> (change as u16) & 1 == 1 {
            self.news.push((change, whom));
        }
    }

    fn wants_keys(&self) -> bool {
        // Reservations are made in order where nothing can start, and who decides outside may look at it for any reason.
        let looks = matches!(self.scheduler, Scheduler::Outside(_) | Scheduler::Conservative(_));
        let is_seen = looks || self.site.may_start_some();
        matches!(self.site.order, Order::Outside) && self.site.queue.len() > 1 && is_seen
    }

    /// Makes a pass; true if it is somebody outside who has to.
    fn decide(&mut self) -> bool {
        self.timer = self.dispatch.as_ref().map(DispatchLog::begin);
        self.disturbed = false;
        let Scheduler::Outside(outside) = &mut self.scheduler else {
            self.scheduler.pass(&mut self.site);
            return false;
        };
        outside.begin();
        self.site.reorder();
        let at_point = self.applications.as_ref().is_some_and(|running| !running.at_point().is_empty());
        self.listeners.every_instant || at_point || self.asking.is_some() || !self.site.queue.is_empty()
    }

    /// Whether somebody outside can decide.
    fn decides_outside(&self) -> bool {
        matches!(self.scheduler, Scheduler::Outside(_))
    }

    /// Sees to the jobs that the pass started, and to those that ended before it.
    fn settle(&mut self) -> Result<(), F::Error> {
        if let (Some(log), Some(timer)) = (&mut self.dispatch, &self.timer) {
            log.end(timer, &self.site);
        }
        // Those that were asked about go on before others begin.
        self.leave_points();
        for index in 0..self.site.started.len() {
            let job = self.site.started[index];
            self.feed.started(&self.site, job);
            self.schedule_end(job);
            self.tell(Change::Started, job);
        }
        self.site.started.clear();
        self.site.arrived.clear();
        self.cause = Cause::Instant;
        let mut ended = std::mem::take(&mut self.site.ended);
        for job in ended.drain(..) {
            self.feed.finished(&mut self.site, job)?;
        }
        self.site.ended = ended;
        Ok(())
    }

    fn schedule_end(&mut self, job: u32) {
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
    fn schedule_expiry(&mut self, job: u32, from: Time) {
        let end = self.site.estimated_end(job).time;
        if self.listeners.estimates && end >= from {
            let sequence = self.site.jobs.job(job).row;
            self.events.push(Event { time: end, kind: Kind::Expiry, sequence, job });
            self.may_be_stale = true;
        }
    }

    /// Takes a job into the queue, or rejects it.
    fn admit(&mut self, job: u32) -> Result<(), F::Error> {
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
    fn end(&mut self, job: u32, state: State) {
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
    fn complete(&mut self, job: u32) {
        if self.is_elastic(job) {
            // Its application would have told of its end.
            self.stop_application(job);
            return self.end(job, State::Killed);
        }
        let cut = self.wall_time == WallTime::Kill
            && self.site.jobs.remaining(job) > self.site.jobs.job(job).requested_time;
        self.end(job, if cut { State::Killed } else { State::Completed });
    }

    fn drop_stale(&mut self) {
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
