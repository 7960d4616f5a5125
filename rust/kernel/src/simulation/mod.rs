//! The event loop: one instant after the other, in the order of S2.
//!
//! The loop is a machine that can be left at every moment at which somebody outside is asked ([`Moment`]) and entered
//! again: all it knows is in the [`Simulation`], so a clone is a fork, also in the middle of an instant.
mod acts;
mod applications;
mod dependencies;
mod elastic;
mod fate;
mod feed;
mod instant;
mod invocation;
mod refusal;
mod resizing;
mod rules;
mod sensing;

pub use acts::Keep;
pub use applications::Applications;
pub use dependencies::Dependencies;
pub use feed::Feed;
pub use invocation::{Asked, Cause, Invocations};
pub use refusal::Refusal;
pub use rules::{Listeners, OrderAtInstant, PATIENCE, WallTime};
pub use sensing::{Sensed, Sensors};

use crate::event::EventQueue;
use crate::policy::{Backfill, Order, Scheduler, Site};
use crate::record::{Change, DispatchLog, Interruptions, News};
use crate::stopwatch::Timer;
use crate::time::Time;

use instant::Instant;
use invocation::Asking;

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
}
