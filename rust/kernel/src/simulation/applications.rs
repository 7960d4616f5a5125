//! Jobs with applications: they end when the application ends, and can be resized if their type allows it.
//!
//! The execution reports ends, scheduling points and evolving requests. A job at a scheduling point waits until the
//! scheduler has been called, and continues at the same instant. Nodes added to a job between two scheduling points are
//! occupied at once; nodes removed from it are released at the next point.
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
    /// Return the simulation with an execution of the applications of its jobs.
    #[must_use]
    pub fn with_applications(mut self, execution: Execution) -> Self {
        self.state.index_running(&self.scenario, false);
        self.state.applications = Some(Box::new(ApplicationState::new(execution)));
        self.expect_looks();
        self.choose_kinds();
        self
    }

    /// Register the sampling times of the platform sensor with the execution, once both exist.
    pub(super) fn expect_looks(&mut self) {
        if let (Some(sensor), Some(running)) = (&self.recorders.platform, &mut self.state.applications) {
            running.execution.expect_looks(sensor.looks());
        }
    }

    /// Return the state of the running applications, if jobs may have any.
    pub fn applications(&self) -> Option<&ApplicationState> {
        self.state.applications.as_deref()
    }

    /// Return the minimum and maximum number of tasks of a job.
    #[must_use]
    pub fn sizes(&self, job: u32) -> (u32, u32) {
        let tasks = self.scenario.job(job).tasks;
        match self.view().application_job(job) {
            Some(carried) if carried.job_type != JobType::Rigid => (carried.tasks_min, carried.tasks_max),
            _ => (tasks, tasks),
        }
    }

    /// Return whether a running job can be resized at its scheduling points, or at this instant.
    pub fn is_resizable(&self, job: u32) -> bool {
        let least = self.sizes(job).0 as usize;
        self.check_resizable(job, least).is_ok()
    }

    pub(super) fn pending_allocation(&self, job: u32) -> Option<&[u32]> {
        self.applications().and_then(|running| running.pending_allocation(job))
    }

    /// Start the application of a job after its launch, on its current nodes.
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

    /// Return the seconds from a job's start until its work begins.
    fn seconds_before_work(&self, job: u32) -> f64 {
        let waking = self.state.ready_time(job) - self.state.jobs.start_time(job);
        waking + self.view().overhead(job).launch
    }

    /// Set the node of each rank of a job that has just received its nodes: as in `nodes`, or in the default order of
    /// ranks. The ranks describe its allocation until the end of its run, also before its application begins.
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

    /// Set the number of GPUs per node of a job that has just started.
    pub fn set_gpus(&mut self, job: u32, gpus: u32) {
        if let Some(running) = &mut self.state.applications {
            running.chosen_gpus.insert(job, gpus);
        }
    }

    /// Return when an application has its next event.
    pub(super) fn next_notice(&self) -> Time {
        self.state.applications.as_ref().map_or(Time::NEVER, |running| running.next)
    }

    /// Advance the applications until one has a notice or some time has passed. Return whether there is more to
    /// process.
    pub(super) fn find_notice(&mut self) -> bool {
        if self.cursor.notice.is_none()
            && let Some(running) = &mut self.state.applications
        {
            self.cursor.notice = running.execution.advance();
            return self.cursor.notice.is_some() || running.execution.is_unsettled();
        }
        self.cursor.notice.is_some()
    }

    /// Fail the run if no event is left while applications are active: their activity would end after the largest time
    /// that a float64 can represent.
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

    /// Process the pending notice of an application.
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

    /// End the application of a job after this many seconds: its completion phase begins, or the job ends.
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
        // The end is rounded once: start + all durations.
        let ran = self.seconds_before_work(job) + seconds + self.view().overhead(job).completion;
        let end = (self.state.jobs.start_time(job) + ran).max(self.state.now);
        let sequence = self.state.running.get(run).sequence;
        self.state.work.end_at(self.state.now, run, sequence, end);
    }

    /// Record the run time of an application that is cut at the job's limit, if it has begun.
    pub(super) fn note_cut_application(&mut self, job: u32) {
        if self.applications().is_some_and(|running| !running.ranks(job).is_empty()) {
            let seconds = self.allowed_from(job, self.view().work_begin(job));
            self.state.jobs.set_run_time(job, seconds);
        }
    }

    /// Record that a job has reached a scheduling point. Without an external scheduler it continues at once.
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
        // Observers may also have decided before.
        self.cursor.pass_is_due |= self.shrink_as_decided(point.job) || self.scheduler.is_external();
        if !self.scheduler.is_external() {
            self.leave_scheduling_points();
        }
    }

    /// Release the nodes that a job at a scheduling point loses by an earlier decision. Return whether there were any.
    pub(super) fn shrink_as_decided(&mut self, job: u32) -> bool {
        let Some(next) = self.pending_allocation(job).map(placement_of_ranks) else { return false };
        // A job that reaches its limit now may have released all nodes.
        self.state.holds_nodes(job)
            && *self.state.jobs.placement_by_index(job) != next
            && self.change_nodes(job, &next)
    }

    /// Continue the jobs at scheduling points, with their pending allocations.
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

    /// Return the current load of a link of the platform, bytes per second.
    pub fn link_load(&mut self, link: u32) -> f64 {
        self.state.applications.as_mut().map_or(0.0, |running| running.execution.load_of_link(link))
    }

    /// Return the current load of the CPU of a node, operations per second, and which of its GPUs are busy.
    pub fn node_load(&mut self, node: u32) -> (f64, Vec<bool>) {
        let (Some(running), Some(given)) = (&mut self.state.applications, &self.scenario.applications) else {
            return (0.0, Vec::new());
        };
        let host = given.hosts[node as usize];
        let gpus = running.execution.busy_gpus(running.execution.now(), host).collect();
        (running.execution.load_of_host(host), gpus)
    }

    /// Stop the application of a job that is killed or preempted.
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

    /// Sample the platform up to now.
    pub(super) fn sample_platform(&mut self) {
        if let (Some(sensor), Some(running)) = (&mut self.recorders.platform, &mut self.state.applications) {
            sensor.look(&mut running.execution, self.state.now);
        }
    }

    /// Advance the applications to the current instant; if nothing else happens at it, to the exact time of their next
    /// event within its float64 (S1).
    pub(super) fn move_applications(&mut self, alone: bool) {
        let Some(running) = &mut self.state.applications else { return };
        let now = if alone { running.execution.next_time() } else { FineTime::at(self.state.now) };
        running.execution.move_to(now);
    }

    /// Update the time of the next application event. Return whether it is within the float64 of this instant; if so
    /// and `may_go_on`, advance to it.
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
