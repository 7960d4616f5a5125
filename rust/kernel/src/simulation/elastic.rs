//! Jobs that carry an application: they end when it does, and can be resized where it lets them.
//!
//! The execution tells of ends, scheduling points and evolving requests. A job at such a point waits until the scheduler
//! has been asked, and goes on in the same instant. Nodes that a job is given between two points are taken at once, and
//! nodes that are taken from it are given back at the next point.
use crate::application::JobType;
use crate::execution::Notice;
use crate::time::Time;
use crate::workload::jobs::State;

use super::applications::{Applications, shares_of};
use super::invocation::Cause;
use super::{Feed, Moment, Simulation, Stage};

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
