//! Jobs that carry an application: they end when it does, and can be resized where it admits that.
//!
//! The execution tells of ends, scheduling points and evolving requests. A job at a scheduling point waits until the
//! scheduler has been asked, and goes on in the same instant. Nodes that a job is given between two points are taken at
//! once, and nodes that are taken from it are given back at the next point.
use crate::application::JobType;
use crate::cluster::{placement_of_ranks, ranks_of_placement};
use crate::execution::{Execution, Notice, Start};
use crate::state::{ApplicationState, SchedulingPoint};
use crate::time::{FineTime, Time};
use crate::workload::JobState;

use super::cursor::LoopState;
use super::triggers::Trigger;
use super::{Feed, Simulation};

impl<F: Feed> Simulation<F> {
    /// The same with an execution of the applications that the scenario's jobs carry.
    #[must_use]
    pub fn with_applications(mut self, execution: Execution) -> Self {
        self.state.index_running(&self.scenario, false);
        self.state.applications = Some(Box::new(ApplicationState::new(execution)));
        self.expect_looks();
        self.choose_kinds();
        self
    }

    /// Takes the looks of the sensor, once there is one, for events of the platform, once there is one.
    pub(super) fn expect_looks(&mut self) {
        if let (Some(sensor), Some(running)) = (&self.recorders.platform, &mut self.state.applications) {
            running.execution.expect_looks(sensor.looks());
        }
    }

    /// The running jobs that carry applications, where some may.
    pub fn applications(&self) -> Option<&ApplicationState> {
        self.state.applications.as_deref()
    }

    /// How many tasks a job may have: the least and the most.
    #[must_use]
    pub fn sizes(&self, job: u32) -> (u32, u32) {
        let tasks = self.scenario.job(job).tasks;
        match self.view().application_job(job) {
            Some(carried) if carried.job_type != JobType::Rigid => (carried.tasks_min, carried.tasks_max),
            _ => (tasks, tasks),
        }
    }

    /// Whether a running job can be resized at its scheduling points, or at this very instant.
    pub fn is_resizable(&self, job: u32) -> bool {
        let least = self.sizes(job).0 as usize;
        self.check_resizable(job, least).is_ok()
    }

    pub(super) fn pending_allocation(&self, job: u32) -> Option<&[u32]> {
        self.applications().and_then(|running| running.pending_allocation(job))
    }

    /// Starts the application of a job whose launch is over, on the nodes that it has by now.
    pub(super) fn begin_application(&mut self, job: u32) {
        let start = Start { time: self.state.jobs.start_time(job), before: self.seconds_before_work(job) };
        let Some(given) = &self.scenario.applications else { return };
        let Some(running) = &mut self.state.applications else { return };
        let request = self.scenario.request(job);
        let asked = given.gpus.map_or(0, |gpu| u32::try_from(request.amounts[gpu]).unwrap_or(u32::MAX));
        let carried = &given.jobs[job as usize];
        running.keep_ranks(job, &ranks_of_placement(self.state.jobs.placement(job)));
        let gpus = running.chosen_gpus.get(&job).copied().unwrap_or(asked);
        let hosts = given.hosts_of(running.ranks(job));
        if let Err(error) = running.execution.start(start, job, carried, &hosts, gpus) {
            self.cursor.failure.get_or_insert((job, error.to_string()));
        }
    }

    /// Seconds from a job's start until its work begins.
    fn seconds_before_work(&self, job: u32) -> f64 {
        let waking = self.state.ready_time(job) - self.state.jobs.start_time(job);
        waking + self.view().overhead(job).launch
    }

    /// Sets where each rank of a job is that has just been given its nodes: on these, or else in the order of its ranks. From
    /// here to the end of its run they say what it has, whether its application has begun or not.
    pub(super) fn place_ranks(&mut self, job: u32, nodes: Option<Vec<u32>>) {
        if !self.view().has_application(job) {
            return;
        }
        if let (Some(running), Some(given)) = (&mut self.state.applications, &self.scenario.applications) {
            let in_order = || {
                let placement = self.state.jobs.placement(job);
                given.jobs[job as usize].nodes_of_ranks(placement, given.fabric.as_ref())
            };
            running.set_ranks(job, nodes.unwrap_or_else(in_order));
        }
    }

    /// Sets how many GPUs of each node a job uses that has just been started.
    pub fn set_gpus(&mut self, job: u32, gpus: u32) {
        if let Some(running) = &mut self.state.applications {
            running.chosen_gpus.insert(job, gpus);
        }
    }

    /// Lets applications do what is due until one has something to tell, or a while has passed; whether there is more to
    /// come.
    pub(super) fn next_notice(&mut self) -> bool {
        if self.cursor.notice.is_none()
            && let Some(running) = &mut self.state.applications
        {
            self.cursor.notice = running.execution.advance();
            return self.cursor.notice.is_some() || running.execution.is_unsettled();
        }
        self.cursor.notice.is_some()
    }

    /// Ends the run where nothing is left to happen, and applications are still under way: what they do would end after
    /// the last time that a float64 can express.
    pub(super) fn fail_if_endless(&mut self) {
        let Some(running) = &self.state.applications else { return };
        if running.next != Time::NEVER || running.execution.is_idle() || self.next_time() != Time::NEVER {
            return;
        }
        if let Some(job) = self.state.running.jobs().into_iter().find(|&job| self.view().has_application(job))
        {
            let reason =
                "what it does now would end after the last time there is, 1.8e308 s; give it less to do";
            self.cursor.failure.get_or_insert((job, reason.to_owned()));
            self.cursor.at = LoopState::Failed;
        }
    }

    /// Takes what an application has to tell.
    pub(super) fn take_notice(&mut self) {
        let Some((job, notice)) = self.cursor.notice.take() else { return };
        match notice {
            Notice::Done { seconds } => self.application_is_done(job, seconds),
            Notice::SchedulingPoint => self.arrive(SchedulingPoint { job, requested_tasks: None }),
            Notice::EvolvingRequest { tasks } => {
                self.arrive(SchedulingPoint { job, requested_tasks: Some(tasks) });
            }
            Notice::Failed(reason) => {
                self.cursor.failure.get_or_insert((job, reason));
            }
        }
    }

    /// The application of a job is done after so many seconds: its completion begins, or the job ends.
    fn application_is_done(&mut self, job: u32, seconds: f64) {
        let Some(run) = self.state.jobs.run(job) else { return };
        self.state.changed();
        self.forget_application(job);
        self.state.jobs.set_run_time(job, seconds);
        if !self.begin_completion(job, run, false) {
            self.release_held_nodes(job);
            self.end(job, JobState::Completed);
            return self.happened(Trigger::Completion(job));
        }
        // The end is the start and the run time, rounded once.
        let ran = self.seconds_before_work(job) + seconds + self.view().overhead(job).completion;
        let end = (self.state.jobs.start_time(job) + ran).max(self.state.now);
        let sequence = self.state.running.get(run).sequence;
        self.state.work.end_at(self.state.now, run, sequence, end);
    }

    /// The application of a job is cut at the job's limit, if it has begun.
    pub(super) fn note_cut_application(&mut self, job: u32) {
        if self.applications().is_some_and(|running| !running.ranks(job).is_empty()) {
            let seconds = self.allowed_from(job, self.view().work_begin(job));
            self.state.jobs.set_run_time(job, seconds);
        }
    }

    /// A job comes to a scheduling point. Where no scheduler outside decides about it, it goes on at once.
    fn arrive(&mut self, point: SchedulingPoint) {
        if let Some(running) = &mut self.state.applications {
            running.arrive(point);
        }
        if self.agenda.triggers.is_some() {
            self.happened(match point.requested_tasks {
                None => Trigger::SchedulingPoint(point.job),
                Some(tasks) => Trigger::EvolvingRequest(point.job, tasks),
            });
            return;
        }
        // Observers, too, may have decided before.
        self.cursor.pass_is_due |= self.shrink_as_decided(point.job) || self.scheduler.is_external();
        if !self.scheduler.is_external() {
            self.leave_scheduling_points();
        }
    }

    /// Gives back what a job at a scheduling point loses by what was decided before; whether there is something.
    pub(super) fn shrink_as_decided(&mut self, job: u32) -> bool {
        let Some(next) = self.pending_allocation(job).map(placement_of_ranks) else { return false };
        // One that reaches its limit now may have given back all.
        self.state.holds_nodes(job)
            && *self.state.jobs.placement_by_index(job) != next
            && self.change_nodes(job, &next)
    }

    /// Lets the jobs at scheduling points go on, resized where that was decided.
    pub(super) fn leave_scheduling_points(&mut self) {
        let Some(running) = &mut self.state.applications else { return };
        for SchedulingPoint { job, .. } in running.take_scheduling_points() {
            self.shrink_as_decided(job);
            let (Some(running), Some(given)) = (&mut self.state.applications, &self.scenario.applications)
            else {
                return;
            };
            let Some(nodes) = running.take_pending_allocation(job) else {
                running.execution.resume(job);
                continue;
            };
            let hosts = given.hosts_of(&nodes);
            running.set_ranks(job, nodes);
            if let Some(&gpus) = running.chosen_gpus.get(&job) {
                running.execution.set_gpus_per_node(job, gpus);
            }
            running.execution.reconfigure(job, &hosts);
            self.state.changed();
        }
    }

    /// Bytes per second that flow over a link of the platform now.
    pub fn link_load(&mut self, link: u32) -> f64 {
        self.state.applications.as_mut().map_or(0.0, |running| running.execution.load_of_link(link))
    }

    /// Operations per second on the CPU of a node now, and which of its GPUs are at work.
    pub fn node_load(&mut self, node: u32) -> (f64, Vec<bool>) {
        let (Some(running), Some(given)) = (&mut self.state.applications, &self.scenario.applications) else {
            return (0.0, Vec::new());
        };
        let host = given.hosts[node as usize];
        let gpus = running.execution.busy_gpus(running.execution.now(), host).collect();
        (running.execution.load_of_host(host), gpus)
    }

    /// Ends the application of a job that is killed or preempted.
    pub(super) fn stop_application(&mut self, job: u32) {
        if self.view().has_application(job) {
            if let Some(running) = &mut self.state.applications {
                running.execution.stop(job);
            }
            if self.cursor.notice.as_ref().is_some_and(|(of, _)| *of == job) {
                self.cursor.notice = None;
            }
            self.forget_application(job);
        }
    }

    fn forget_application(&mut self, job: u32) {
        if let Some(running) = &mut self.state.applications {
            running.forget(job);
        }
    }

    /// Has the platform sampled as it has been until now.
    pub(super) fn sample_platform(&mut self) {
        if let (Some(sensor), Some(running)) = (&mut self.recorders.platform, &mut self.state.applications) {
            sensor.look(&mut running.execution, self.state.now);
        }
    }

    /// Lets time pass for applications: to the present instant, or, where nothing else happens at it, to the time within its
    /// float64 at which they have something to do (S1).
    pub(super) fn move_applications(&mut self, alone: bool) {
        let Some(running) = &mut self.state.applications else { return };
        let now = if alone { running.execution.next_time() } else { FineTime::at(self.state.now) };
        running.execution.move_to(now);
    }

    /// Takes note of when applications do something next; whether that is within the float64 of this instant. If they may,
    /// they go on to it.
    pub(super) fn look_at_applications(&mut self, may_go_on: bool) -> bool {
        let Some(running) = &mut self.state.applications else { return false };
        let next = running.execution.next_time();
        running.next = Time(next.floor());
        let is_now = running.next <= Time(self.state.now);
        if is_now && may_go_on {
            running.execution.move_to(next);
        }
        is_now
    }
}
