//! The engine: the running applications, job by job, and the events due at an instant.
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

/// Options of running applications.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// True if evolving requests are clipped to the job's limits; false if requests outside are failures.
    pub clip_requests: bool,
    /// True if the times of all tasks are recorded.
    pub log_tasks: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { clip_requests: true, log_tasks: false }
    }
}

/// Number of rank steps after which `advance` returns, so that a long instant can be interrupted.
const STEPS_AT_ONCE: u32 = 100_000;

/// The running applications. A clone is an independent fork.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Execution {
    world: World,
    runs: Vec<Option<Box<Run>>>,
    free: Vec<u32>,
    slots: HashMap<u32, u32>,
    /// The runtime arguments that schedulers have set for jobs, also before these start.
    runtime_arguments: HashMap<u32, Arc<BTreeMap<String, Value>>>,
    serial: u64,
    options: Options,
}

impl Execution {
    /// Creates an engine without running applications, with default options.
    #[must_use]
    pub fn new(platform: Arc<Platform>, network: Network) -> Self {
        Self::with_options(platform, network, Options::default())
    }

    /// Creates an engine without running applications.
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

    /// Makes looks at the platform, at the times of this clock, events for disks that progress in whole bytes.
    pub fn expect_looks(&mut self, looks: IntervalClock) {
        self.world.disks.expect_looks(looks);
    }

    /// Counts messages from now on, and records the loads of links. `hop_links` is true for links that count as a hop.
    pub fn count_messages(&mut self, hop_links: Vec<bool>) {
        self.world.activities.record_loads(hop_links.len());
        self.world.counts = Some(Box::new(MessageCounts::new(hop_links)));
    }

    /// Copies the platform of another execution: a restored execution has none.
    pub fn rejoin(&mut self, other: &Self) {
        self.world.platform = Arc::clone(&other.world.platform);
        self.world.stores = Arc::clone(&other.world.stores);
    }

    /// Starts the application of a job on hosts, in the order of its ranks. Ranks on one host share its CPU, and
    /// exchange messages in no time.
    ///
    /// The steps of the first instant run when [`Self::advance`] is called at this instant.
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

    /// Continues a job unchanged after a scheduling point or an evolving request.
    pub fn resume(&mut self, job: u32) {
        if let Some(run) = self.slots.get(&job).and_then(|slot| self.runs[*slot as usize].as_mut()) {
            run.resume(&mut self.world);
        }
    }

    /// Continues a job on other hosts after a scheduling point or an evolving request.
    ///
    /// Previous hosts that are not in `hosts` are free immediately. If the application cannot continue there, the next
    /// notice of the job is a failure.
    pub fn reconfigure(&mut self, job: u32, hosts: &[u32]) {
        let Some(&slot) = self.slots.get(&job) else { return };
        let Some(run) = self.runs[slot as usize].as_mut() else { return };
        if let Err(error) = run.reconfigure(&mut self.world, hosts) {
            self.fail(slot, &error);
        }
    }

    /// Sets the runtime arguments of a job, which its formulas can use like its arguments. They take effect at the
    /// next evaluation: at the start, at a reconfiguration, or when the application requests nodes.
    pub fn set_runtime_arguments(&mut self, job: u32, arguments: BTreeMap<String, Value>) {
        let arguments = Arc::new(arguments);
        if let Some(run) = self.slots.get(&job).and_then(|slot| self.runs[*slot as usize].as_mut()) {
            run.runtime_arguments = Arc::clone(&arguments);
        }
        self.runtime_arguments.insert(job, arguments);
    }

    /// Sets the number of GPUs per node of a running job from its next reconfiguration on.
    pub fn set_gpus_per_node(&mut self, job: u32, gpus_per_node: u32) {
        if let Some(run) = self.slots.get(&job).and_then(|slot| self.runs[*slot as usize].as_mut()) {
            run.gpus_wanted = gpus_per_node;
        }
    }

    /// Stops a job before its end; only kernels that its GPUs have begun continue.
    pub fn stop(&mut self, job: u32) {
        if let Some(&slot) = self.slots.get(&job) {
            self.forget(slot);
        }
        // An application that ends at this instant has no slot any more, but its notice may be pending.
        self.world.keep_silent(job);
    }

    /// The present time.
    #[must_use]
    pub fn now(&self) -> FineTime {
        self.world.now
    }

    /// Advances the clock to `now`, at most to the time of the next event.
    pub fn move_to(&mut self, now: FineTime) {
        self.world.set_clock(now);
    }

    /// The time of the next event.
    pub fn next_time(&mut self) -> FineTime {
        if !self.world.ready.is_empty() || !self.world.notices.is_empty() {
            return self.world.now;
        }
        self.world.next_time().min(self.next_timer())
    }

    /// Processes the events that are due now, in order, until a job has a notice; returns the job and the notice. None
    /// if nothing is due, or after a maximum number of steps ([`Self::is_unsettled`]).
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

    /// Returns whether ranks can continue at this instant: [`Self::advance`] must be called again.
    #[must_use]
    pub fn is_unsettled(&self) -> bool {
        !self.world.ready.is_empty()
    }

    /// Number of iterations of its phases that a running job has done, according to its rank 0, and the total number.
    #[must_use]
    pub fn progress(&self, job: u32) -> Option<(u64, u64)> {
        self.slots.get(&job).and_then(|slot| self.runs[*slot as usize].as_ref()).map(|run| run.progress())
    }

    /// Returns whether rank 0 of a running job is still in the stage of its start or reconfiguration.
    #[must_use]
    pub fn is_preparing(&self, job: u32) -> bool {
        let run = self.slots.get(&job).and_then(|slot| self.runs[*slot as usize].as_ref());
        run.is_some_and(|run| run.is_preparing())
    }

    /// Returns whether no application is running.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.slots.is_empty() && !self.world.has_notices()
    }

    /// Current bytes per second on a link.
    pub fn load_of_link(&mut self, link: u32) -> f64 {
        self.world.activities.load(link)
    }

    /// Current operations per second on the CPU of a host.
    pub fn load_of_host(&mut self, host: u32) -> f64 {
        self.world.activities.load(self.world.cpu(host))
    }

    /// For each GPU of a host, whether it is busy at a time that is not past.
    pub fn busy_gpus(&self, now: FineTime, host: u32) -> impl Iterator<Item = bool> {
        self.world.gpus.busy(now, host)
    }

    /// The times of tasks, if they are recorded.
    #[must_use]
    pub fn task_log(&self) -> Option<&TaskLog> {
        self.world.log.as_ref()
    }

    /// The counts of sent messages, if they are recorded.
    #[must_use]
    pub fn message_counts(&self) -> Option<&MessageCounts> {
        self.world.counts.as_deref()
    }

    /// The loads of all links up to a time that is not past, if messages are counted.
    #[must_use]
    pub fn link_loads(&self, now: f64) -> Vec<LoadTotals> {
        self.world.activities.recorded_loads(FineTime::at(now).max(self.world.now))
    }

    /// Runs the ready ranks in order, up to a maximum number of steps.
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

    /// Processes all due events; returns whether there were any.
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

    /// Removes a run and all of its activities.
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
