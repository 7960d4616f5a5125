//! What somebody outside may do: each act is checked, and either done whole or refused with nothing changed.
use crate::cluster::Meter;
use crate::cluster::power::{Draw, Warming};
use crate::event::{Event, Kind};
use crate::policy::{Order, Placer, Scheduler};
use crate::record::Change;
use crate::time::Time;
use crate::workload::jobs::{Share, State};

use super::applications::shares_of;
use super::{Feed, Refusal, Simulation, Stage};

/// What an interrupted job keeps of the run that was cut short.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keep {
    /// Nothing: it runs again from its start.
    Nothing,
    /// Everything: it goes on where it was.
    Everything,
    /// What it had done at its latest checkpoint; one is taken every so many seconds of its run.
    Checkpoints(f64),
}

impl<F: Feed> Simulation<F> {
    /// Starts a queued job where the allocator puts it; false where it does not fit, or would delay a reservation.
    pub fn start(&mut self, job: u32, tasks: Option<u32>) -> Result<bool, Refusal> {
        self.check_startable(job)?;
        let mut shares = Vec::new();
        let fits = match tasks {
            None => self.site.place_now(job, &mut shares),
            Some(tasks) => {
                self.check_size(job, u64::from(tasks))?;
                self.site.place_tasks_now(job, tasks, &mut shares)
            }
        };
        Ok(fits && self.start_on(job, &shares))
    }

    /// Starts a queued job on these shares.
    pub fn start_at(&mut self, job: u32, shares: &[Share]) -> Result<(), Refusal> {
        self.check_startable(job)?;
        self.check_shares(job, shares)?;
        if self.start_on(job, shares) { Ok(()) } else { Err(Refusal::Delays(job)) }
    }

    /// Starts a queued job on these nodes, one entry per rank of its application.
    pub fn start_ranks(&mut self, job: u32, nodes: &[u32]) -> Result<(), Refusal> {
        self.start_at(job, &shares_of(nodes))?;
        self.set_ranks(job, nodes);
        Ok(())
    }

    /// Where the allocator would put a queued job now; false where it does not fit.
    pub fn place(&self, job: u32, shares: &mut Vec<Share>) -> Result<bool, Refusal> {
        self.check_job(job)?;
        shares.clear();
        Ok(self.site.place_now(job, shares))
    }

    /// Whether a queued job may be started now.
    pub fn check_startable(&self, job: u32) -> Result<(), Refusal> {
        if !matches!(self.scheduler, Scheduler::Outside(_)) {
            return Err(Refusal::DecidesItself);
        }
        if self.stage != Stage::Settling {
            return Err(Refusal::NotDeciding);
        }
        self.check_queued(job)?;
        if self.site.on_hold.contains(&job) { Err(Refusal::OnHold(job)) } else { Ok(()) }
    }

    /// Whether a job may be put on these shares now, reservations aside.
    pub fn check_shares(&self, job: u32, shares: &[Share]) -> Result<(), Refusal> {
        self.check_job(job)?;
        self.check_size(job, shares.iter().map(|share| u64::from(share.tasks)).sum())?;
        let mut nodes: Vec<u32> = shares.iter().map(|share| share.node).collect();
        nodes.sort_unstable();
        if let Some(pair) = nodes.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Refusal::NodeTwice { job, node: pair[0] });
        }
        for &Share { node, tasks } in shares {
            self.check_node(node)?;
            if !self.site.may_use(job, node) {
                return Err(Refusal::OutsideSet { job, node });
            }
            let slots = self.site.slots(node, job);
            if slots < tasks {
                return Err(Refusal::NoRoom { job, node, tasks, slots });
            }
        }
        Ok(())
    }

    /// Reserves for a queued job at the earliest instant, given the reservations made before: that instant.
    pub fn reserve(&mut self, job: u32) -> Result<f64, Refusal> {
        self.check_startable(job)?;
        match &mut self.scheduler {
            Scheduler::Outside(outside) => Ok(outside.reserve(&self.site, job)),
            _ => Err(Refusal::DecidesItself),
        }
    }

    /// Reserves for a queued job at this instant.
    pub fn reserve_at(&mut self, job: u32, time: f64) -> Result<(), Refusal> {
        self.check_startable(job)?;
        self.check_time(time)?;
        let Scheduler::Outside(outside) = &mut self.scheduler else { return Err(Refusal::DecidesItself) };
        if outside.reserve_at(&self.site, job, time) { Ok(()) } else { Err(Refusal::NoFit { job, time }) }
    }

    /// Takes a queued job out of the queue until it is released.
    pub fn hold(&mut self, job: u32) -> Result<(), Refusal> {
        self.check_queued(job)?;
        if self.dependencies.waits(job) {
            self.dependencies.hold(job);
        } else if !self.site.on_hold.contains(&job) {
            self.leave_queue(job);
            self.site.on_hold.insert(job);
        }
        Ok(())
    }

    /// Puts a job that was on hold back into the queue.
    pub fn release(&mut self, job: u32) -> Result<(), Refusal> {
        self.check_state(job, State::Queued, "queued")?;
        let was_held = self.dependencies.release(job);
        if self.dependencies.waits(job) {
            return if was_held { Ok(()) } else { Err(Refusal::Depends(job)) };
        }
        if self.site.on_hold.remove(&job) {
            self.site.enqueue(job);
            self.disturb();
        }
        Ok(())
    }

    /// Ends a running or queued job.
    pub fn kill(&mut self, job: u32) -> Result<(), Refusal> {
        self.check_job(job)?;
        match self.site.jobs.state(job) {
            State::Queued => self.leave_queue(job),
            State::Running => {
                self.check_interruptible(job)?;
                self.site.give_back(job);
                self.stop_application(job);
                self.may_be_stale = true;
            }
            state => return Err(Refusal::WrongState { job, state, needed: "queued or running" }),
        }
        self.disturb();
        self.end(job, State::Killed);
        Ok(())
    }

    /// Puts a running job back into the queue.
    pub fn interrupt(&mut self, job: u32, keep: Keep) -> Result<(), Refusal> {
        self.check_state(job, State::Running, "running")?;
        self.check_interruptible(job)?;
        if self.is_elastic(job) && keep != Keep::Nothing {
            return Err(Refusal::Stateless(job));
        }
        let elapsed = self.site.now - self.site.jobs.start_time(job);
        let saved = match keep {
            Keep::Nothing => 0.0,
            Keep::Everything => elapsed,
            Keep::Checkpoints(every) if every.is_finite() && every > 0.0 => (elapsed / every).floor() * every,
            Keep::Checkpoints(every) => return Err(Refusal::BadDuration(every)),
        };
        self.site.give_back(job);
        self.interruptions.add(&self.site, job, saved);
        self.stop_application(job);
        self.site.jobs.interrupt(job, saved);
        self.site.enqueue(job);
        self.feed.enqueued(&self.site, job);
        self.may_be_stale = true;
        self.disturb();
        self.tell(Change::Interrupted, job);
        Ok(())
    }

    /// Sets what schedulers take a job's run_time to be: of a job that is being submitted, waits or runs.
    pub fn set_estimate(&mut self, job: u32, estimate: f64) -> Result<(), Refusal> {
        self.check_job(job)?;
        // Nothing else may be known of a job without a limit.
        let no_limit = self.site.jobs.job(job).requested_time.is_infinite();
        if !(estimate >= 0.0 && (no_limit || estimate.is_finite())) {
            return Err(Refusal::BadDuration(estimate));
        }
        let state = self.site.jobs.state(job);
        match state {
            State::Completed | State::Killed => {
                return Err(Refusal::WrongState { job, state, needed: "submitted, queued or running" });
            }
            State::Running if self.is_ending(job) => return Err(Refusal::EndsNow(job)),
            _ if Time(self.site.jobs.job(job).estimate) == Time(estimate + 0.0) => return Ok(()),
            State::Queued if !self.site.on_hold.contains(&job) => self.site.estimate_queued(job, estimate),
            _ => self.site.set_estimate(job, estimate),
        }
        match state {
            State::Queued => self.expect_otherwise(),
            State::Running => {
                self.schedule_expiry(job, Time(self.site.now.next_up()));
                self.expect_otherwise();
            }
            _ => {}
        }
        Ok(())
    }

    /// Estimates changed: a pass follows, unless it is the scheduler who changed them in its own.
    fn expect_otherwise(&mut self) {
        if self.stage == Stage::Settling {
            self.renew_reservations();
        } else {
            self.disturb();
        }
    }

    /// Gives the keys of the queued jobs, in the present order of the queue.
    pub fn order_by(&mut self, keys: &[f64]) {
        self.site.sort_queue_by(keys);
    }

    /// Asks to be woken at a time; only to watch, perhaps, which keeps nothing going and lets nobody decide.
    pub fn wake_at(&mut self, time: f64, whose: u32, watching: bool) -> Result<(), Refusal> {
        self.check_time(time)?;
        let (count, kind) =
            if watching { (&mut self.watches, Kind::Watch) } else { (&mut self.timers, Kind::Timer) };
        *count += 1;
        self.events.push(Event { time: Time(time + 0.0), kind, sequence: self.starts, job: whose });
        self.starts += 1;
        Ok(())
    }

    /// The running jobs with tasks on a node, by estimated end.
    pub fn jobs_on(&self, node: u32) -> Result<Vec<u32>, Refusal> {
        self.check_node(node)?;
        let mut there = Vec::new();
        self.site.running.visit(&mut |end| {
            if self.site.jobs.placement(end.job).binary_search_by_key(&node, |share| share.node).is_ok() {
                there.push(end.job);
            }
            true
        });
        Ok(there)
    }

    /// Lets a node take nobody more, or takes that back; who is there stays.
    pub fn set_closed(&mut self, node: u32, closed: bool) -> Result<(), Refusal> {
        self.check_node(node)?;
        if self.site.machine.is_closed(node) != closed {
            self.site.set_closed(node, closed);
            self.disturb();
            self.tell(if closed { Change::Closed } else { Change::Opened }, node);
        }
        Ok(())
    }

    /// Withholds amounts of a node's resources, in place of what was withheld of it before.
    pub fn withhold(&mut self, node: u32, amounts: &[i64]) -> Result<(), Refusal> {
        self.check_node(node)?;
        let capacity = self.site.machine.capacity_of(node);
        for (&amount, &capacity) in amounts.iter().zip(capacity) {
            if amount < 0 || amount > capacity {
                return Err(Refusal::BadAmount { node, amount, capacity });
            }
        }
        if self.site.machine.withhold(node, amounts) {
            self.disturb();
            self.tell(Change::Withheld, node);
        }
        Ok(())
    }

    /// Has the power of the nodes measured from now on: `kinds` gives each node's place in `draws`.
    pub fn measure_power(&mut self, kinds: &[u32], draws: Vec<Draw>) -> Result<(), Refusal> {
        // Jobs that run already would not be known to the meter.
        self.check_node(0)?;
        if self.site.running.is_empty() {
            self.site.meter = Some(Box::new(Meter::new(&self.site.machine, kinds, draws, self.site.now)));
            Ok(())
        } else {
            Err(Refusal::UnderWay)
        }
    }

    /// Has it told how warm the nodes get; their power must be measured.
    pub fn measure_temperature(&mut self, warming: Vec<Warming>, initial: &[f64]) -> Result<(), Refusal> {
        let now = self.site.now;
        let meter = self.site.meter.as_mut().ok_or(Refusal::Unmeasured)?;
        meter.warm(warming, initial, now);
        Ok(())
    }

    /// Goes on under another scheduler, order and allocator, beginning with a pass at this very instant.
    pub fn adopt(&mut self, scheduler: Scheduler, order: Order, placer: Placer) {
        self.site.keep_running();
        if placer.allocator().needs_loads() {
            self.site.machine.keep_loads();
        }
        self.scheduler = scheduler;
        self.site.order = order;
        self.site.placer = placer;
        let queued = self.site.queued();
        self.site.queue.clear();
        for job in queued {
            self.site.enqueue(job);
        }
        self.site.arrived.clear();
        // It is not one that is asked event by event.
        self.asking = None;
        self.submitted = None;
        self.disturb();
    }

    fn start_on(&mut self, job: u32, shares: &[Share]) -> bool {
        let Scheduler::Outside(outside) = &mut self.scheduler else { return false };
        let admitted = outside.admit(&self.site, job, shares);
        if admitted {
            self.site.start(job, shares);
        }
        admitted
    }

    fn leave_queue(&mut self, job: u32) {
        self.site.leave_queue(job);
        if let Scheduler::Outside(outside) = &mut self.scheduler {
            outside.give_up(&self.site, job);
        }
        self.scheduler.disturbed();
    }

    /// Reservations of this pass are made anew, by what is known now.
    fn renew_reservations(&mut self) {
        if let (Stage::Settling, Scheduler::Outside(outside)) = (self.stage, &mut self.scheduler) {
            outside.renew(&self.site);
        }
    }

    /// What was known of the machine no longer holds; a pass follows at this instant.
    fn disturb(&mut self) {
        // Asked event by event, a scheduler is not asked about what it does itself.
        self.disturbed |= self.asking.is_none() || self.stage != Stage::Settling;
        self.nodes_changed();
        if self.stage == Stage::Between {
            self.stage = Stage::Closing;
        }
    }

    /// What was known of the nodes no longer holds.
    pub(super) fn nodes_changed(&mut self) {
        self.site.releases += 1;
        self.scheduler.disturbed();
        self.renew_reservations();
    }

    fn check_size(&self, job: u32, placed: u64) -> Result<(), Refusal> {
        let (least, most) = self.sizes(job);
        if (u64::from(least)..=u64::from(most)).contains(&placed) {
            return Ok(());
        }
        Err(if least == most {
            Refusal::WrongTasks { job, placed, tasks: least }
        } else {
            Refusal::BadSize { job, tasks: placed, least, most }
        })
    }

    pub(super) fn check_job(&self, job: u32) -> Result<(), Refusal> {
        if (job as usize) < self.site.jobs.len() { Ok(()) } else { Err(Refusal::NoSuchJob(job)) }
    }

    /// Whether there is such a node, and it may be disturbed.
    pub fn check_node(&self, node: u32) -> Result<(), Refusal> {
        if !self.site.keeps_running() {
            return Err(Refusal::Undisturbed);
        }
        let nodes = self.site.machine.capacity().len() / self.site.machine.resources();
        if (node as usize) < nodes { Ok(()) } else { Err(Refusal::NoSuchNode { node, nodes: nodes as u32 }) }
    }

    fn check_time(&self, time: f64) -> Result<(), Refusal> {
        let now = self.site.now;
        if time.is_finite() && time >= now { Ok(()) } else { Err(Refusal::BadTime { time, now }) }
    }

    pub(super) fn check_state(&self, job: u32, wanted: State, needed: &'static str) -> Result<(), Refusal> {
        self.check_job(job)?;
        let state = self.site.jobs.state(job);
        if state == wanted { Ok(()) } else { Err(Refusal::WrongState { job, state, needed }) }
    }

    fn check_queued(&self, job: u32) -> Result<(), Refusal> {
        self.check_state(job, State::Queued, "queued")
    }

    fn check_interruptible(&self, job: u32) -> Result<(), Refusal> {
        if !self.site.keeps_running() {
            return Err(Refusal::Undisturbed);
        }
        if self.site.started.contains(&job) {
            return Err(Refusal::StartsNow(job));
        }
        if self.is_ending(job) { Err(Refusal::EndsNow(job)) } else { Ok(()) }
    }

    /// Makes this a look ahead by what schedulers know: every job runs for its estimate, and no further job comes.
    pub fn believe_estimates(&mut self) {
        self.site.keep_running();
        self.feed.close();
        self.applications = None;
        self.site.jobs.believe_estimates();
        self.events.drop_kind(Kind::Completion);
        self.events.drop_kind(Kind::Expiry);
        let mut running = Vec::new();
        self.site.running.visit(&mut |end| {
            running.push(end);
            true
        });
        for end in running {
            let time = Time(end.time.0.max(self.site.now));
            self.site.jobs.will_end(end.job, time.0);
            let sequence = self.site.jobs.job(end.job).row;
            self.events.push(Event { time, kind: Kind::Completion, sequence, job: end.job });
        }
    }
}
