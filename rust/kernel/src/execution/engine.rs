//! The engine: the applications that run, job by job, and what is due at an instant.
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::error::ExecutionError;
use super::log::TaskLog;
use super::message_counts::MessageCounts;
use super::notice::Notice;
use super::run::Run;
use super::start::Start;
use super::world::World;
use crate::application::{ApplicationJob, Value};
use crate::platform::Platform;
use crate::sharing::{LoadTotals, Network};
use crate::time::{FineTime, IntervalClock};

/// How applications are run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// Whether evolving requests are clipped to the job's limits; else those outside are failures.
    pub clip_requests: bool,
    /// Whether the times of all tasks are written down.
    pub log_tasks: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { clip_requests: true, log_tasks: false }
    }
}

/// Steps of ranks after which the engine is left, so that a long instant can be interrupted.
const STEPS_AT_ONCE: u32 = 100_000;

/// The applications that run. A clone is a fork: it goes its own way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Execution {
    world: World,
    runs: Vec<Option<Box<Run>>>,
    free: Vec<u32>,
    slots: HashMap<u32, u32>,
    /// What schedulers have set for jobs, also before these start.
    runtime_arguments: HashMap<u32, Arc<BTreeMap<String, Value>>>,
    serial: u64,
    options: Options,
}

impl Execution {
    /// Nothing runs yet.
    #[must_use]
    pub fn new(platform: Arc<Platform>, network: Network) -> Self {
        Self::with_options(platform, network, Options::default())
    }

    /// Nothing runs yet.
    #[must_use]
    pub fn with_options(platform: Arc<Platform>, network: Network, options: Options) -> Self {
        let mut world = World::new(platform, network);
        world.log = options.log_tasks.then(TaskLog::default);
        Self {
            world,
            runs: Vec::new(),
            free: Vec::new(),
            slots: HashMap::new(),
            runtime_arguments: HashMap::new(),
            serial: 0,
            options,
        }
    }

    /// Takes looks at the platform, by this clock, as events for disks that progress in whole bytes.
    pub fn expect_looks(&mut self, looks: IntervalClock) {
        self.world.disks.expect_looks(looks);
    }

    /// Counts messages from now on, and records the loads of links. `hop_links`: whether each link counts as a hop.
    pub fn count_messages(&mut self, hop_links: Vec<bool>) {
        self.world.activities.record_loads(hop_links.len());
        self.world.counts = Some(Box::new(MessageCounts::new(hop_links)));
    }

    /// Takes over the platform of another execution, which a restored one lacks.
    pub fn rejoin(&mut self, other: &Self) {
        self.world.platform = Arc::clone(&other.world.platform);
        self.world.stores = Arc::clone(&other.world.stores);
    }

    /// Begins the application of a job on hosts, in the order of its ranks. Ranks on one host share its CPU, and exchange in no
    /// time.
    ///
    /// What it does at once is done when [`Self::advance`] is called at this instant.
    pub fn start(
        &mut self,
        start: Start,
        job: u32,
        carried: &ApplicationJob,
        hosts: &[u32],
        gpus_per_node: u32,
    ) -> Result<(), ExecutionError> {
        self.serial += 1;
        let slot = self.free.last().copied().unwrap_or(self.runs.len() as u32);
        let arguments = self.runtime_arguments.get(&job).cloned().unwrap_or_default();
        let clips = self.options.clip_requests;
        let names = (slot, self.serial, job);
        let run =
            Run::new(&mut self.world, names, carried, arguments, (start, hosts), (gpus_per_node, clips))?;
        if self.free.pop().is_none() {
            self.runs.push(None);
        }
        self.runs[slot as usize] = Some(Box::new(run));
        self.slots.insert(job, slot);
        Ok(())
    }

    /// Has a job go on as it is, after a scheduling point or an evolving request.
    pub fn resume(&mut self, job: u32) {
        if let Some(run) = self.slots.get(&job).and_then(|slot| self.runs[*slot as usize].as_mut()) {
            run.resume(&mut self.world);
        }
    }

    /// Has a job go on with other hosts, after a scheduling point or an evolving request.
    ///
    /// Hosts that it had and that are not named are free at once. If the application cannot go on there, the next notice
    /// of the job says so.
    pub fn reconfigure(&mut self, job: u32, hosts: &[u32]) {
        let Some(&slot) = self.slots.get(&job) else { return };
        let Some(run) = self.runs[slot as usize].as_mut() else { return };
        if let Err(error) = run.reconfigure(&mut self.world, hosts) {
            self.fail(slot, &error);
        }
    }

    /// Sets what formulas of a job may name besides its arguments; they see it when they are evaluated next: at the
    /// start, at a reconfiguration, or when the application asks for nodes.
    pub fn set_runtime_arguments(&mut self, job: u32, arguments: BTreeMap<String, Value>) {
        let arguments = Arc::new(arguments);
        if let Some(run) = self.slots.get(&job).and_then(|slot| self.runs[*slot as usize].as_mut()) {
            run.runtime_arguments = Arc::clone(&arguments);
        }
        self.runtime_arguments.insert(job, arguments);
    }

    /// Sets how many GPUs of each node a running job has from its next reconfiguration on.
    pub fn set_gpus_per_node(&mut self, job: u32, gpus_per_node: u32) {
        if let Some(run) = self.slots.get(&job).and_then(|slot| self.runs[*slot as usize].as_mut()) {
            run.gpus_wanted = gpus_per_node;
        }
    }

    /// Ends a job before its time: nothing of it is left, but for kernels that its GPUs have begun.
    pub fn stop(&mut self, job: u32) {
        if let Some(&slot) = self.slots.get(&job) {
            self.forget(slot);
        }
        // An application that is done at this instant has no slot any more, and may not have told of it yet.
        self.world.keep_silent(job);
    }

    /// The present time.
    #[must_use]
    pub fn now(&self) -> FineTime {
        self.world.now
    }

    /// Lets time pass, to no later than when something happens next: there something happens at this time.
    pub fn move_to(&mut self, now: FineTime) {
        self.world.set_clock(now);
    }

    /// When something happens next.
    pub fn next_time(&mut self) -> FineTime {
        if !self.world.ready.is_empty() || !self.world.notices.is_empty() {
            return self.world.now;
        }
        self.world.next_time().min(self.next_timer())
    }

    /// Does what is due now, in order, until there is something to tell: the job, and what. None: nothing is due, or
    /// a while has passed ([`Self::is_unsettled`]).
    pub fn advance(&mut self) -> Option<(u32, Notice)> {
        loop {
            self.settle();
            if self.is_unsettled() {
                return None;
            }
            if let Some(notice) = self.world.notices.pop_front() {
                return Some(notice);
            }
            if !self.collect() {
                return None;
            }
        }
    }

    /// Whether ranks can go on at this instant: [`Self::advance`] is to be called again.
    #[must_use]
    pub fn is_unsettled(&self) -> bool {
        !self.world.ready.is_empty()
    }

    /// How many iterations of its phases a running job has done, as its rank 0 counts them, and of how many.
    #[must_use]
    pub fn progress(&self, job: u32) -> Option<(u64, u64)> {
        self.slots.get(&job).and_then(|slot| self.runs[*slot as usize].as_ref()).map(|run| run.progress())
    }

    /// Whether a running job is still at the stage of its start or reconfiguration, as its rank 0 is.
    #[must_use]
    pub fn is_preparing(&self, job: u32) -> bool {
        let run = self.slots.get(&job).and_then(|slot| self.runs[*slot as usize].as_ref());
        run.is_some_and(|run| run.is_preparing())
    }

    /// Whether no application runs.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.slots.is_empty() && !self.world.has_notices()
    }

    /// Bytes per second on a link now.
    pub fn load_of_link(&mut self, link: u32) -> f64 {
        self.world.activities.load(link)
    }

    /// Operations per second on the CPU of a host now.
    pub fn load_of_host(&mut self, host: u32) -> f64 {
        self.world.activities.load(self.world.cpu(host))
    }

    /// Which GPUs of a host are busy at a time that is not past.
    pub fn busy_gpus(&self, now: FineTime, host: u32) -> impl Iterator<Item = bool> {
        self.world.gpus.busy(now, host)
    }

    /// The times of tasks, if they are wanted.
    #[must_use]
    pub fn task_log(&self) -> Option<&TaskLog> {
        self.world.log.as_ref()
    }

    /// What messages were sent, if that is counted.
    #[must_use]
    pub fn message_counts(&self) -> Option<&MessageCounts> {
        self.world.counts.as_deref()
    }

    /// The loads of all links until a time that is not past, if messages are counted.
    #[must_use]
    pub fn link_loads(&self, now: f64) -> Vec<LoadTotals> {
        self.world.activities.recorded_loads(FineTime::at(now).max(self.world.now))
    }

    /// Has the ranks that can go on do so, in order, for so many steps.
    fn settle(&mut self) {
        let mut steps = STEPS_AT_ONCE;
        while let Some((slot, first, count)) = self.world.ready.pop() {
            for rank in first..first + count {
                let Some(run) = self.runs[slot as usize].as_mut() else { break };
                match run.go(&mut self.world, rank, &mut steps) {
                    Err(error) => self.fail(slot, &error),
                    Ok(false) => return self.world.ready.put_back(slot, rank, first + count - rank),
                    Ok(true) if run.done => self.forget(slot),
                    Ok(true) => {}
                }
            }
        }
    }

    /// Takes out all that is due; whether there was something.
    fn collect(&mut self) -> bool {
        let now = self.world.now;
        let mut some = self.world.is_due();
        while some && let Some(tag) = self.world.completed() {
            let activity = self.world.pending.get(tag);
            if let Some(run) = self.runs[activity.slot as usize].as_mut() {
                self.world.pending.take(tag, &mut run.pending);
                run.completed(&mut self.world, activity.purpose);
            }
        }
        while self.next_timer() <= now {
            if let Some(timer) = self.world.timers.pop()
                && let Some(run) = self.runs[timer.slot as usize].as_mut()
            {
                some = true;
                run.wake(&mut self.world, timer.first, timer.count);
            }
        }
        for (slot, rank, write) in std::mem::take(&mut self.world.migrations) {
            if let Some(run) = self.runs[slot as usize].as_mut() {
                run.migrate(&mut self.world, rank, write);
            }
        }
        some
    }

    fn next_timer(&mut self) -> FineTime {
        let runs = &self.runs;
        self.world.timers.next_time(|timer| {
            runs[timer.slot as usize].as_ref().is_none_or(|run| run.serial != timer.serial)
        })
    }

    fn fail(&mut self, slot: u32, error: &ExecutionError) {
        if let Some(run) = &self.runs[slot as usize] {
            let job = run.job;
            self.forget(slot);
            self.world.notices.push_back((job, Notice::Failed(error.to_string())));
        }
    }

    /// Removes a run and all that it has under way.
    fn forget(&mut self, slot: u32) {
        if let Some(mut run) = self.runs[slot as usize].take() {
            self.world.cancel(&mut run.pending);
            run.lose_cache(&mut self.world);
            self.world.ready.forget(slot);
            self.slots.remove(&run.job);
            self.runtime_arguments.remove(&run.job);
            self.free.push(slot);
        }
    }
}
