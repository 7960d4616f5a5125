//! Jobs that carry an application: they end when it does, and can be resized where it lets them.
//!
//! The execution tells of ends, scheduling points and evolving requests. A job at such a point waits until the scheduler
//! has been asked, and goes on in the same instant. Nodes that a job is given between two points are taken at once, and
//! nodes that are taken from it are given back at the next point.
use std::collections::BTreeMap;

use crate::application::{Elastic, JobType, Value};
use crate::cluster::Room;
use crate::execution::{Execution, Notice};
use crate::record::{Change, Stretches};
use crate::time::Time;
use crate::workload::jobs::{Share, State};

use super::invocation::Cause;
use super::sensing::{Sensed, Sensing, Sensors};
use super::{Feed, Moment, Refusal, Simulation, Stage};

/// The jobs that carry applications, and what they run on.
#[derive(Clone, Debug)]
pub struct Applications {
    /// What they run on.
    pub execution: Execution,
    /// By slot.
    jobs: Vec<Elastic>,
    /// The host of each node.
    hosts: Vec<u32>,
    /// The resource that counts GPUs, if there is one.
    gpus: Option<usize>,
    /// By slot, the nodes of a job by rank; empty where it does not run.
    ranks: Vec<Vec<u32>>,
    /// What running jobs are to have from their next point on, by rank.
    wanted: BTreeMap<u32, Vec<u32>>,
    /// GPUs per node of jobs for which the scheduler chose them.
    chosen_gpus: BTreeMap<u32, u32>,
    /// Jobs that are at a point until the scheduler has been asked; how many tasks they ask for, where they do.
    at_point: Vec<(u32, Option<u32>)>,
    resizes: Stretches,
    sensing: Option<Sensing>,
    next: Time,
}

impl Applications {
    /// Applications of jobs (by slot) on a platform; `hosts` gives each node's.
    #[must_use]
    pub fn new(execution: Execution, jobs: Vec<Elastic>, hosts: Vec<u32>, gpus: Option<usize>) -> Self {
        Self {
            execution,
            ranks: vec![Vec::new(); jobs.len()],
            jobs,
            hosts,
            gpus,
            wanted: BTreeMap::new(),
            chosen_gpus: BTreeMap::new(),
            at_point: Vec::new(),
            resizes: Stretches::default(),
            sensing: None,
            next: Time::NEVER,
        }
    }

    /// The same, looking at the platform as it goes.
    #[must_use]
    pub fn with_sensors(mut self, sensors: Sensors) -> Self {
        self.sensing = Some(Sensing::new(sensors));
        self
    }

    /// What was seen of the platform so far, where somebody looks.
    #[must_use]
    pub fn sensed(&self) -> Option<&Sensed> {
        self.sensing.as_ref().map(|sensing| &sensing.sensed)
    }

    /// Looks at how things have been until now.
    fn look(&mut self, now: f64) {
        if let Some(sensing) = &mut self.sensing {
            sensing.look(&mut self.execution, now);
        }
    }

    /// What a job is besides its row of numbers.
    #[must_use]
    pub fn of(&self, job: u32) -> Option<&Elastic> {
        self.jobs.get(job as usize)
    }

    /// Whether a job carries an application, instead of a run time.
    #[must_use]
    pub fn runs(&self, job: u32) -> bool {
        self.of(job).is_some_and(|elastic| elastic.application.is_some())
    }

    /// The nodes of a running job by rank.
    #[must_use]
    pub fn ranks(&self, job: u32) -> &[u32] {
        self.ranks.get(job as usize).map_or(&[], Vec::as_slice)
    }

    /// What a running job is to have from its next point on, by rank.
    #[must_use]
    pub fn wanted(&self, job: u32) -> Option<&[u32]> {
        self.wanted.get(&job).map(Vec::as_slice)
    }

    /// The jobs at a point, and how many tasks they ask for, where they do.
    #[must_use]
    pub fn at_point(&self) -> &[(u32, Option<u32>)] {
        &self.at_point
    }

    /// What jobs had before they were resized.
    #[must_use]
    pub fn resizes(&self) -> &Stretches {
        &self.resizes
    }

    /// When an application does something next.
    pub(super) fn next_time(&self) -> Time {
        self.next
    }

    /// Ranks of a running job that it is to lose at its next point, and could keep as well; it is to have these nodes.
    fn to_lose(&self, job: u32, wanted: &[u32]) -> Vec<u32> {
        if self.is_at_point(job) {
            return Vec::new();
        }
        let mut kept: BTreeMap<u32, usize> = BTreeMap::new();
        for &node in wanted {
            *kept.entry(node).or_default() += 1;
        }
        let is_lost = |node: &u32| match kept.get_mut(node) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            _ => true,
        };
        self.ranks(job).iter().copied().filter(is_lost).collect()
    }

    /// What a running job is to have, or has, by rank.
    fn last_wanted(&self, job: u32) -> &[u32] {
        self.wanted(job).unwrap_or_else(|| self.ranks(job))
    }

    fn is_at_point(&self, job: u32) -> bool {
        self.at_point.iter().any(|&(other, _)| other == job)
    }

    fn hosts_of(&self, nodes: &[u32]) -> Vec<u32> {
        nodes.iter().map(|&node| self.hosts[node as usize]).collect()
    }

    fn forget(&mut self, job: u32) {
        self.ranks[job as usize] = Vec::new();
        self.wanted.remove(&job);
        self.chosen_gpus.remove(&job);
        self.at_point.retain(|&(other, _)| other != job);
    }
}

/// Shares of one rank per entry, by node.
pub(super) fn shares_of(nodes: &[u32]) -> Vec<Share> {
    let mut sorted = nodes.to_vec();
    sorted.sort_unstable();
    let runs = sorted.chunk_by(|a, b| a == b);
    runs.map(|run| Share { node: run[0], tasks: run.len() as u32 }).collect()
}

/// What is held while `now` becomes `then`: on every node the greater of both.
fn both(now: &[Share], then: &[Share]) -> Vec<Share> {
    let mut most: BTreeMap<u32, u32> = now.iter().map(|share| (share.node, share.tasks)).collect();
    for share in then {
        let tasks = most.entry(share.node).or_default();
        *tasks = (*tasks).max(share.tasks);
    }
    most.into_iter().map(|(node, tasks)| Share { node, tasks }).collect()
}

impl<F: Feed> Simulation<F> {
    /// The same with jobs that carry applications.
    #[must_use]
    pub fn with_applications(mut self, applications: Applications) -> Self {
        self.site.keep_running();
        self.may_be_stale = true;
        self.applications = Some(Box::new(applications));
        self
    }

    /// The jobs that carry applications, where there are some.
    pub fn applications(&self) -> Option<&Applications> {
        self.applications.as_deref()
    }

    /// Whether a job carries an application.
    pub fn is_elastic(&self, job: u32) -> bool {
        self.applications.as_ref().is_some_and(|applications| applications.runs(job))
    }

    /// How many tasks a job may have: the least and the most.
    #[must_use]
    pub fn sizes(&self, job: u32) -> (u32, u32) {
        let tasks = self.site.jobs.job(job).tasks;
        match self.applications.as_ref().and_then(|applications| applications.of(job)) {
            Some(elastic) if elastic.job_type != JobType::Rigid => (elastic.tasks_min, elastic.tasks_max),
            _ => (tasks, tasks),
        }
    }

    /// Whether a running job can be resized at its scheduling points, or at this very instant.
    pub fn is_resizable(&self, job: u32) -> bool {
        let least = self.sizes(job).0 as usize;
        self.check_resizable(job, least).is_ok()
    }

    /// Starts the application of a job that has just been given its nodes.
    pub(super) fn begin_application(&mut self, job: u32) {
        let now = self.site.now;
        let request = self.site.request(job);
        let Some(applications) = &mut self.applications else { return };
        let asked =
            applications.gpus.map_or(0, |gpu| u32::try_from(request.amounts[gpu]).unwrap_or(u32::MAX));
        if applications.ranks[job as usize].is_empty() {
            let placed = self.site.jobs.placement(job);
            applications.ranks[job as usize] =
                placed.iter().flat_map(|share| (0..share.tasks).map(|_| share.node)).collect();
        }
        let gpus = applications.chosen_gpus.get(&job).copied().unwrap_or(asked);
        let hosts = applications.hosts_of(&applications.ranks[job as usize]);
        let elastic = &applications.jobs[job as usize];
        if let Err(error) = applications.execution.start(now, job, elastic, &hosts, gpus) {
            self.failure.get_or_insert((job, error.to_string()));
        }
    }

    /// Sets who of a job's ranks is where, before it starts.
    pub(super) fn set_ranks(&mut self, job: u32, nodes: &[u32]) {
        if let Some(applications) = &mut self.applications
            && applications.runs(job)
        {
            applications.ranks[job as usize] = nodes.to_vec();
        }
    }

    /// Sets how many GPUs of each node a job uses that has just been started.
    pub fn set_gpus(&mut self, job: u32, gpus: u32) {
        if let Some(applications) = &mut self.applications {
            applications.chosen_gpus.insert(job, gpus);
        }
    }

    /// Takes in what applications have to tell at this instant, one notice: why the scheduler might be asked.
    pub(super) fn take_notice(&mut self) -> Option<Cause> {
        let now = self.site.now;
        let (job, notice) = self.applications.as_mut()?.execution.advance(now)?;
        match notice {
            Notice::Done => {
                self.site.give_back(job);
                if let Some(applications) = &mut self.applications {
                    applications.forget(job);
                }
                self.end(job, State::Completed);
                Some(Cause::Completion(job))
            }
            Notice::SchedulingPoint => Some(self.arrive(job, None)),
            Notice::EvolvingRequest { tasks } => Some(self.arrive(job, Some(tasks))),
            Notice::Failed(reason) => {
                self.failure.get_or_insert((job, reason));
                Some(Cause::Instant)
            }
        }
    }

    fn arrive(&mut self, job: u32, asks_for: Option<u32>) -> Cause {
        if let Some(applications) = &mut self.applications {
            applications.at_point.push((job, asks_for));
        }
        match asks_for {
            None => Cause::SchedulingPoint(job),
            Some(tasks) => Cause::EvolvingRequest(job, tasks),
        }
    }

    /// Gives back what a job at a point loses by what was decided before; whether there is something.
    pub(super) fn shrink_as_wanted(&mut self, job: u32) -> bool {
        let wanted = self.applications.as_ref().and_then(|applications| applications.wanted(job));
        let Some(wanted) = wanted.map(shares_of) else { return false };
        self.site.jobs.placement(job) != wanted && self.reshape(job, &wanted)
    }

    /// Lets the jobs at a point go on, resized where that was decided.
    pub(super) fn leave_points(&mut self) {
        let now = self.site.now;
        let Some(applications) = &mut self.applications else { return };
        for (job, _) in std::mem::take(&mut applications.at_point) {
            self.shrink_as_wanted(job);
            let Some(applications) = &mut self.applications else { return };
            match applications.wanted.remove(&job) {
                Some(nodes) => {
                    let hosts = applications.hosts_of(&nodes);
                    applications.ranks[job as usize] = nodes;
                    if let Some(&gpus) = applications.chosen_gpus.get(&job) {
                        applications.execution.set_gpus_per_node(job, gpus);
                    }
                    applications.execution.reconfigure(now, job, &hosts);
                }
                None => applications.execution.resume(now, job),
            }
        }
    }

    /// Bytes per second that flow over a link of the platform now.
    pub fn link_load(&mut self, link: u32) -> f64 {
        self.applications.as_mut().map_or(0.0, |running| running.execution.load_of_link(link))
    }

    /// Operations per second on the CPU of a node now, and how many of its GPUs are at work.
    pub fn node_load(&mut self, node: u32) -> (f64, u32) {
        let now = self.site.now;
        self.applications.as_mut().map_or((0.0, 0), |running| {
            let host = running.hosts[node as usize];
            (running.execution.load_of_host(host), running.execution.busy_gpus(now, host))
        })
    }

    /// Ends the application of a job that is killed or interrupted.
    pub(super) fn stop_application(&mut self, job: u32) {
        let now = self.site.now;
        if let Some(applications) = &mut self.applications
            && applications.runs(job)
        {
            applications.execution.stop(now, job);
            applications.forget(job);
        }
    }

    /// Has the platform looked at as it has been until now.
    pub(super) fn look_at_platform(&mut self) {
        let now = self.site.now;
        if let Some(applications) = &mut self.applications {
            applications.look(now);
        }
    }

    /// Takes note of when applications do something next; true if that is now.
    pub(super) fn look_at_applications(&mut self) -> bool {
        let Some(applications) = &mut self.applications else { return false };
        applications.next = Time(applications.execution.next_time());
        applications.next <= Time(self.site.now)
    }

    /// Gives a running job these nodes, one entry per rank: at once where it is at a point, else from the next one on.
    ///
    /// Nodes that it gains are its own from now on. `gpus` is how many GPUs it uses on each, where that changes too.
    pub fn resize_to(&mut self, job: u32, nodes: &[u32], gpus: Option<u32>) -> Result<(), Refusal> {
        self.check_resizable(job, nodes.len())?;
        for &node in nodes {
            self.check_node(node)?;
        }
        let Some(applications) = &self.applications else { return Err(Refusal::Rigid(job)) };
        let then = shares_of(nodes);
        let held = if applications.is_at_point(job) {
            then
        } else {
            both(&shares_of(applications.ranks(job)), &then)
        };
        if self.site.jobs.placement(job) != held && !self.reshape(job, &held) {
            return Err(self.no_room(job, &held));
        }
        if let Some(applications) = &mut self.applications {
            let others = gpus.is_some_and(|gpus| applications.chosen_gpus.insert(job, gpus) != Some(gpus));
            if nodes == applications.ranks(job) && !others {
                applications.wanted.remove(&job);
            } else {
                applications.wanted.insert(job, nodes.to_vec());
            }
        }
        Ok(())
    }

    /// Changes the number of tasks of a running job: it loses its last ranks; or it keeps some that it was to lose at its
    /// next point, and gains such as the allocator chooses.
    pub fn resize(&mut self, job: u32, tasks: u32) -> Result<(), Refusal> {
        self.check_resizable(job, tasks as usize)?;
        let Some(applications) = &self.applications else { return Err(Refusal::Rigid(job)) };
        let mut nodes = applications.last_wanted(job).to_vec();
        let tasks = tasks as usize;
        if nodes.len() < tasks {
            let kept = applications.to_lose(job, &nodes);
            nodes.extend(kept);
        }
        let more = tasks.saturating_sub(nodes.len()) as u32;
        nodes.truncate(tasks);
        if more > 0 {
            let mut shares = Vec::new();
            if !self.site.place_tasks_now(job, more, &mut shares) {
                return Err(Refusal::NoRoomToGrow { job, more });
            }
            nodes.extend(shares.iter().flat_map(|share| (0..share.tasks).map(|_| share.node)));
        }
        self.resize_to(job, &nodes, None)
    }

    /// How many more tasks of a job, up to `most`, there is room for now: what it was to lose counts.
    #[must_use]
    pub fn room(&self, job: u32, most: u32) -> u32 {
        let applications = self.applications.as_ref();
        let kept =
            applications.map_or(0, |running| running.to_lose(job, running.last_wanted(job)).len() as u32);
        kept.min(most) + self.site.room(job, most.saturating_sub(kept))
    }

    /// Sets arguments that formulas see from the next start or resizing of a job on.
    pub fn set_runtime_arguments(
        &mut self,
        job: u32,
        arguments: BTreeMap<String, Value>,
    ) -> Result<(), Refusal> {
        self.check_job(job)?;
        match &mut self.applications {
            Some(applications) if applications.runs(job) => {
                applications.execution.set_runtime_arguments(job, arguments);
                Ok(())
            }
            _ => Err(Refusal::NoApplication(job)),
        }
    }

    fn reshape(&mut self, job: u32, shares: &[Share]) -> bool {
        let before = self.applications.as_ref().map(|applications| applications.resizes.job.len());
        if let Some(applications) = &mut self.applications {
            applications.resizes.add(&self.site, job, self.site.jobs.since(job));
        }
        if !self.site.reshape(job, shares) {
            if let (Some(applications), Some(before)) = (&mut self.applications, before) {
                applications.resizes.truncate(before, self.site.machine.resources());
            }
            return false;
        }
        self.nodes_changed();
        self.tell(Change::Resized, job);
        true
    }

    fn check_resizable(&self, job: u32, tasks: usize) -> Result<(), Refusal> {
        self.check_job(job)?;
        let elastic = self.applications.as_ref().and_then(|applications| {
            let asks = |&(other, asks_for): &(u32, Option<u32>)| other == job && asks_for.is_some();
            applications.of(job).map(|elastic| (elastic, applications.at_point.iter().any(asks)))
        });
        let Some((elastic, asks)) = elastic
            .filter(|(elastic, _)| elastic.application.is_some() && elastic.job_type != JobType::Rigid)
        else {
            return Err(Refusal::Rigid(job));
        };
        self.check_state(job, State::Running, "running")?;
        if self.site.started.contains(&job) {
            return Err(Refusal::StartsNow(job));
        }
        let may = elastic.job_type.is_malleable() || (elastic.job_type.is_evolving() && asks);
        if !may {
            return Err(Refusal::NotAsking(job));
        }
        let (least, most) = (elastic.tasks_min, elastic.tasks_max);
        if tasks < least as usize || tasks > most as usize {
            return Err(Refusal::BadSize { job, tasks: tasks as u64, least, most });
        }
        Ok(())
    }

    fn no_room(&self, job: u32, held: &[Share]) -> Refusal {
        let (beside, request) = (self.site.beside(job), self.site.request(job));
        let slots = |node| beside.tasks_on(node) + beside.slots(node, request);
        let full = held.iter().find(|share| slots(share.node) < share.tasks).unwrap_or(&held[0]);
        Refusal::NoRoom { job, node: full.node, tasks: full.tasks, slots: slots(full.node) }
    }
}

/// Where nothing outside decides about points, jobs go on at once.
impl<F: Feed> Simulation<F> {
    /// Takes in all that applications have to tell at this instant; whether a pass follows.
    pub(super) fn take_notices(&mut self) -> bool {
        let mut pass = false;
        while let Some(cause) = self.take_notice() {
            match cause {
                Cause::SchedulingPoint(job) | Cause::EvolvingRequest(job, _) => {
                    // Observers, too, may have decided before.
                    pass |= self.shrink_as_wanted(job);
                    if self.decides_outside() {
                        pass = true;
                    } else {
                        self.leave_points();
                    }
                }
                _ => pass = true,
            }
        }
        pass
    }

    /// The moment at which a failure is told.
    pub(super) fn failed(&mut self) -> Option<Moment> {
        self.failure.as_ref().map(|_| {
            self.stage = Stage::Failed;
            Moment::Failed
        })
    }
}
