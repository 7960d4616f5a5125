//! Read-only view of the scenario and the state for schedulers.
use std::borrow::Cow;

use crate::application::ApplicationJob;
use crate::cluster::{
    Availability, Expansion, HopBytes, JobCalendar, NodeSet, NodeSetId, NodeTasks, PlacementRequest,
    PowerState, Request,
};
use crate::scenario::{JobCheck, Overhead, Scenario};
use crate::time::Time;
use crate::workload::JobState;

use super::closed::VICTIM;
use super::{ExpectedEnd, Phase, PoweredNodes, Rank, State};

/// View of a run for schedulers: two references, cheap to copy.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The constant inputs.
    pub scenario: &'a Scenario,
    /// The current state.
    pub state: &'a State,
}

impl<'a> View<'a> {
    /// Return the current time, seconds.
    #[must_use]
    pub fn now(self) -> f64 {
        self.state.now
    }

    /// Return the current time for integrals over time, which begin at the first submission.
    #[must_use]
    pub fn integrated_until(self) -> f64 {
        self.state.now.max(self.scenario.first_submission)
    }

    /// Return the application data of a job. None also in a look-ahead, which treats applications as run times.
    #[must_use]
    pub fn application_job(self, job: u32) -> Option<&'a ApplicationJob> {
        self.state.applications.as_ref().and_then(|_| self.scenario.application_job(job))
    }

    /// Return whether a job has an application instead of a run time.
    #[must_use]
    pub fn has_application(self, job: u32) -> bool {
        self.application_job(job).is_some_and(|carried| carried.application.is_some())
    }

    /// Return the request per task of a job in its first node set.
    #[must_use]
    pub fn request(self, job: u32) -> &'a Request {
        self.scenario.request(job)
    }

    /// Return the request per task of a job in its first node set that contains all these nodes, or None.
    #[must_use]
    pub fn request_on(self, job: u32, placement: &[NodeTasks]) -> Option<&'a Request> {
        self.scenario.request_on(job, placement)
    }

    /// Return the request per task of a running job in the node set that it runs in.
    #[must_use]
    pub fn running_request(self, job: u32) -> &'a Request {
        self.request_on(job, self.state.jobs.placement(job)).unwrap_or_else(|| self.request(job))
    }

    /// Return the minimum amount of a resource that a job needs.
    #[must_use]
    pub fn need(self, job: u32, resource: usize) -> i64 {
        self.scenario.need(job, resource)
    }

    /// Return the data of a job for allocators and plans, for its estimated duration in its first node set.
    #[must_use]
    pub fn placement_request(self, job: u32) -> PlacementRequest<'a> {
        self.placement_request_of(job, self.scenario.job(job).request)
    }

    /// Return these data for each of its node sets, in the order in which they are tried.
    pub fn placement_requests(self, job: u32) -> impl Iterator<Item = PlacementRequest<'a>> {
        let alternatives = self.scenario.alternatives(job);
        alternatives.iter().map(move |&request| self.placement_request_of(job, request))
    }

    /// Return these data for one of the job's requests.
    #[must_use]
    pub fn placement_request_of(self, job: u32, request: u32) -> PlacementRequest<'a> {
        let row = self.scenario.job(job);
        let (duration, requested_time) = self.state.jobs.times_known(job);
        PlacementRequest {
            job,
            request: self.scenario.requests.get(request),
            tasks: row.tasks,
            row: row.row,
            duration,
            requested_time,
            calendar: self.calendar_of(job),
            closed: None,
            order: self.state.machine.order(),
            empty: &self.state.machine,
            messages: self.messages(job),
        }
    }

    /// Return the messages between the ranks of a job, if known.
    fn messages(self, job: u32) -> Option<&'a dyn HopBytes> {
        let carried = self.scenario.application_job(job)?;
        carried.messages.is_some().then_some(carried as &dyn HopBytes)
    }

    /// Return the reservations of the machine as they apply to a job; None if the machine has none.
    #[must_use]
    pub fn calendar_of(self, job: u32) -> Option<JobCalendar<'a>> {
        self.state.calendar_of(self.scenario, job)
    }

    /// Return whether none of these nodes is reserved for others between now and the limit of a queued job that starts
    /// now.
    #[must_use]
    pub fn is_open_to(self, job: u32, placement: &[NodeTasks]) -> bool {
        self.scenario.calendar.is_none() || {
            let closed = self.closed_nodes(job);
            placement.iter().all(|part| !closed.contains(part.node))
        }
    }

    /// Return the nodes reserved for others at some time between the start of a job (now if it waits) and its limit;
    /// for a running job also the nodes that are not on.
    #[must_use]
    pub fn closed_nodes(self, job: u32) -> NodeSet {
        let runs = self.state.jobs.state(job) == JobState::Running;
        let start = if runs { self.state.jobs.start_time(job) } else { self.now() };
        let reserved = self
            .calendar_of(job)
            .map_or_else(NodeSet::default, |calendar| calendar.closed_since(start, self.now()));
        match &self.state.sleep {
            // A running job does not wait for nodes to wake.
            Some(sleep) if runs && !sleep.are_all_on() => {
                let asleep = sleep.not_on().map(|node| node..node + 1);
                NodeSet::new(reserved.ranges_from(0).chain(asleep))
            }
            _ => reserved,
        }
    }

    /// Return the machine restricted to the nodes that are on, if jobs prefer these.
    #[must_use]
    pub fn powered_nodes(self) -> Option<PoweredNodes<'a>> {
        let prefers_on = self.scenario.sleep.as_ref().is_some_and(|rules| rules.prefers_on);
        let sleep = self.state.sleep.as_deref().filter(|sleep| prefers_on && !sleep.are_all_on())?;
        Some(PoweredNodes { machine: &self.state.machine, sleep })
    }

    /// Return whether a queued job is known to fit on the empty machine. False if part of the machine is unavailable,
    /// if submitted jobs are not checked for it, or if the job may use several node sets.
    #[must_use]
    pub fn fits_alone(self, job: u32) -> bool {
        self.scenario.job_check == JobCheck::Nodes
            && !self.state.machine.has_unavailable()
            && self.scenario.alternatives(job).len() == 1
    }

    /// Return whether some queued job may fit now, or may preempt others. False only if none may. O(1).
    #[must_use]
    pub fn may_start_some(self) -> bool {
        let may_preempt = self.scenario.preemption.is_some();
        self.state.queue.index.summary().is_some_and(|least| may_preempt || self.may_fit(least))
    }

    /// Return whether each pass examines all jobs one by one: a job over a limit may block those behind it, or a job
    /// that does not fit may preempt others.
    #[must_use]
    pub fn looks_at_each(self) -> bool {
        self.scenario.preemption.is_some()
            || self.scenario.limits.as_ref().is_some_and(|limits| limits.some_block())
    }

    /// Return the counter that a queued job exceeds now, or the pseudo-counter that prevents its start, and whether the
    /// job blocks those behind it.
    #[must_use]
    pub fn over_limit(self, job: u32) -> Option<(u32, bool)> {
        self.state.limited.as_ref()?;
        if self.waits_as_victim(job) {
            return Some((VICTIM, false));
        }
        let counter = self.state.over_limit(self.scenario, job, self.scenario.job(job).tasks)?;
        let limits = self.scenario.limits.as_ref().filter(|_| counter < VICTIM);
        Some((counter, limits.is_some_and(|limits| limits.cap(counter).blocks)))
    }

    /// Return whether a queued job has released its nodes for a job that still waits and is within its limits.
    fn waits_as_victim(self, job: u32) -> bool {
        let preemptor =
            self.state.preemption.as_ref().and_then(|preemption| preemption.waiting_victims.get(&job));
        preemptor.is_some_and(|&other| {
            let tasks = self.scenario.job(other).tasks;
            self.is_in_queue(other) && self.state.over_limit(self.scenario, other, tasks).is_none()
        })
    }

    /// Return whether needs (in queue values) are within the free totals of a node set.
    #[must_use]
    pub fn may_fit(self, values: &[i64]) -> bool {
        self.may_fit_where(values, |_, _| true)
    }

    /// Return whether for some node set the needs are within its free totals and `admits` accepts the set with its
    /// values.
    ///
    /// The same set must satisfy both conditions.
    #[must_use]
    pub fn may_fit_where(self, values: &[i64], admits: impl Fn(NodeSetId, &[i64]) -> bool) -> bool {
        let free = self.state.machine.free_totals();
        let width = self.state.machine.resources();
        let sets = self.scenario.node_sets.ids();
        sets.zip(values.chunks_exact(width + 1).zip(free.chunks_exact(width))).any(|(set, (own, free))| {
            own[1..].iter().zip(free).all(|(need, free)| need <= free) && admits(set, own)
        })
    }

    /// Return whether a job's needs are within the free totals of one of its node sets.
    #[must_use]
    pub fn may_fit_job(self, job: u32) -> bool {
        self.placement_requests(job).any(|want| self.may_fit_request(&want))
    }

    /// Return whether a job's needs are within the free totals of the node set of its request.
    #[must_use]
    pub fn may_fit_request(self, want: &PlacementRequest<'_>) -> bool {
        let free = self.state.machine.total_free_in(want.request.nodes);
        free.iter().enumerate().all(|(resource, &free)| want.need(resource) <= free)
    }

    /// Return the rank of a queued job.
    #[must_use]
    pub fn rank_of(self, job: u32) -> Rank {
        self.state.rank_of(self.scenario, job)
    }

    /// Sort jobs into queue order.
    pub fn sort_by_rank(self, jobs: &mut [u32]) {
        jobs.sort_unstable_by_key(|&job| self.rank_of(job));
    }

    /// Return the jobs that entered the queue since the last pass, in queue order.
    #[must_use]
    pub fn arrivals_in_order(self) -> Vec<u32> {
        let mut arrivals = Vec::new();
        self.list_arrivals(&mut arrivals);
        arrivals
    }

    /// Write the jobs that entered the queue since the last pass to `arrivals`, in queue order.
    pub fn list_arrivals(self, arrivals: &mut Vec<u32>) {
        arrivals.clear();
        arrivals.extend_from_slice(&self.state.queue.arrived);
        self.sort_by_rank(arrivals);
    }

    /// Return the queued jobs for which others were just preempted; they start before any other job is examined.
    pub fn preempting_jobs(self) -> impl Iterator<Item = u32> {
        let jobs = self.state.preemption.as_ref().map_or(&[][..], |preemption| &preemption.started_for);
        jobs.iter().copied().filter(move |&job| self.is_in_queue(job))
    }

    /// Return whether a job is in the queue and not on hold.
    #[must_use]
    pub fn is_in_queue(self, job: u32) -> bool {
        self.state.jobs.state(job) == JobState::Queued && !self.state.queue.on_hold.contains(&job)
    }

    /// Return whether running jobs will release their nodes for this job.
    #[must_use]
    pub fn has_victims(self, job: u32) -> bool {
        self.state.preemption.as_ref().is_some_and(|preemption| preemption.has_victims(job))
    }

    /// Return whether a running job will release its nodes for another job.
    #[must_use]
    pub fn is_victim(self, job: u32) -> bool {
        self.state.grace_end(job) != Time::NEVER
    }

    /// Return whether victims continue to run in a grace time.
    #[must_use]
    pub fn victims_run_on(self) -> bool {
        self.scenario.preemption.as_ref().is_some_and(|rules| rules.grace_time > 0.0)
    }

    /// Return the time that a job spends on its nodes in addition to its run; zero if its estimate is its total time.
    #[must_use]
    pub fn overhead(self, job: u32) -> Overhead {
        match &self.scenario.overheads {
            Some(overheads) if !self.state.assumes_estimates => {
                let overhead = overheads.of_job[job as usize];
                let resume = if self.state.jobs.saved(job) > 0.0 { overhead.resume } else { 0.0 };
                Overhead { launch: overhead.launch + resume, ..overhead }
            }
            _ => Overhead::default(),
        }
    }

    /// Return the end of a job that starts now on these nodes, according to its estimate.
    #[must_use]
    pub fn supposed_end(self, job: u32, placement: &[NodeTasks]) -> f64 {
        self.ready_on(placement) + self.state.jobs.estimate(job)
    }

    /// Return when the estimate of a job that starts now on these nodes begins to count.
    #[must_use]
    pub fn ready_on(self, placement: &[NodeTasks]) -> f64 {
        match (&self.scenario.sleep, &self.state.sleep) {
            (Some(rules), Some(sleep)) if !rules.counted => sleep.ready_on(rules, placement, self.now()),
            _ => self.now(),
        }
    }

    /// Return the power state of a node.
    #[must_use]
    pub fn power_state(self, node: u32) -> PowerState {
        self.state.sleep.as_ref().map_or(PowerState::On, |sleep| sleep.of(node))
    }

    /// Return the power state of a node after a job starts on it now.
    #[must_use]
    pub fn power_state_with_job(self, node: u32) -> PowerState {
        match (self.power_state(node), &self.scenario.sleep) {
            (PowerState::Asleep(level), Some(rules)) => rules.woken(node, level),
            (state, _) => state,
        }
    }

    /// Return how many tasks of a job fit on a node now, in the best of the job's node sets.
    #[must_use]
    pub fn slots_on(self, job: u32, node: u32) -> u32 {
        let slots = |&request: &u32| self.state.machine.slots(node, self.scenario.requests.get(request));
        self.scenario.alternatives(job).iter().map(slots).max().unwrap_or(0)
    }

    /// Return the nodes with free slots for tasks of a job, in order, with their slots. O(nodes with slots · log n).
    #[must_use]
    pub fn nodes_with_slots(self, job: u32) -> Vec<(u32, u32)> {
        let (machine, requests) = (&self.state.machine, &self.scenario.requests);
        let next_from = |from: u32| {
            let alternatives = self.scenario.alternatives(job).iter();
            alternatives.filter_map(|&request| machine.next_with_slots(from, requests.get(request))).min()
        };
        let (mut found, mut from) = (Vec::new(), 0);
        while let Some(node) = next_from(from) {
            found.push((node, self.slots_on(job, node)));
            from = node + 1;
        }
        found
    }

    /// Return how long a job may run within its limit, seconds.
    #[must_use]
    pub fn allowed_run(self, job: u32) -> f64 {
        let mut limit = self.state.jobs.time_limit(job);
        if self.scenario.sleep.as_ref().is_some_and(|rules| rules.counted) {
            limit = (limit - (self.state.ready_time(job) - self.state.jobs.start_time(job))).max(0.0);
        }
        match &self.scenario.overheads {
            Some(overheads) if overheads.counted && !self.state.assumes_estimates => {
                let Overhead { launch, completion, .. } = overheads.of_job[job as usize];
                (limit - launch - completion).max(0.0)
            }
            _ => limit,
        }
    }

    /// Return whether a running job ends at the end of its current phase.
    #[must_use]
    pub fn is_last_phase(self, place: u32) -> bool {
        let run = self.state.running.get(place);
        match run.phase {
            Phase::Launching | Phase::Suspending => false,
            Phase::Running => self.overhead(run.job).completion <= 0.0 && !self.waits_again(place),
            Phase::Completing(_) => true,
        }
    }

    /// Return whether an event makes a job wait again at the end of its current run; false if its limit comes first.
    #[must_use]
    pub fn waits_again(self, run: u32) -> bool {
        let is_event = self.state.run_event(self.scenario, self.state.running.get(run).job).is_some();
        is_event && {
            let work = self.state.work.end_key(run).map(|(time, _)| time);
            let limit = self.state.limits.key(run).map(|(time, _)| time);
            limit.is_none_or(|limit| work.is_some_and(|work| work <= limit))
        }
    }

    /// Return the running jobs with tasks on a node, by expected end, then by row. O(running jobs).
    #[must_use]
    pub fn jobs_on(self, node: u32) -> Vec<u32> {
        let is_there = |&job: &u32| self.state.jobs.has_node(job, node);
        self.running_jobs().into_iter().filter(is_there).collect()
    }

    /// Return whether a job has finished running but still holds its nodes.
    #[must_use]
    pub fn is_completing(self, job: u32) -> bool {
        let phase = |run| self.state.running.get(run).phase;
        self.state.jobs.run(job).is_some_and(|run| matches!(phase(run), Phase::Completing(_)))
    }

    /// Return when a running job begins its work; this may be in the future.
    #[must_use]
    pub fn work_begin(self, job: u32) -> f64 {
        self.state.ready_time(job) + self.overhead(job).launch
    }

    /// Return whether a job is suspended and still holds its nodes.
    #[must_use]
    pub fn is_suspending(self, job: u32) -> bool {
        self.state.suspension(job).is_some()
    }

    /// Return whether a running job ends at this instant.
    #[must_use]
    pub fn ends_now(self, job: u32) -> bool {
        let ends = |run| self.phase_ends_now(run) && self.is_last_phase(run);
        self.state.jobs.run(job).is_some_and(ends)
    }

    /// Return whether the current phase of a running job ends at this instant.
    #[must_use]
    pub fn phase_ends_now(self, run: u32) -> bool {
        let now = Time(self.now());
        self.state.work.end_key(run).is_some_and(|(time, _)| time <= now)
            || self.state.limits.key(run).is_some_and(|(time, _)| time <= now)
    }

    /// Return when a running job is expected to end; may be in the past.
    #[must_use]
    pub fn expected_end(self, job: u32) -> ExpectedEnd {
        self.state.expected_end(self.scenario, job)
    }

    /// Visit the running jobs by expected end until `visit` returns false. They must be indexed.
    pub fn visit_running(self, visit: &mut impl FnMut(ExpectedEnd) -> bool) {
        if let Some(index) = self.state.running.by_expected_end() {
            index.visit(visit);
        }
    }

    /// Return the running jobs by expected end.
    #[must_use]
    pub fn running_jobs(self) -> Vec<u32> {
        if !self.state.running.is_indexed() {
            let mut running = self.state.running.jobs();
            running.sort_unstable_by_key(|&job| self.expected_end(job));
            return running;
        }
        let mut ends = self.state.running.indexed();
        let fresh = self.state.running.fresh();
        if !fresh.is_empty() {
            ends.extend(fresh.iter().map(|&run| self.expected_end(self.state.running.get(run).job)));
            ends.sort();
        }
        ends.into_iter().map(|end| end.job).collect()
    }

    /// Return where additional tasks of a job fit.
    #[must_use]
    pub fn expansion(self, job: u32) -> Expansion<'a> {
        let runs = self.state.jobs.state(job) == JobState::Running;
        let own = if runs { self.state.jobs.placement_by_index(job) } else { Cow::default() };
        Expansion { machine: &self.state.machine, own, closed: self.closed_nodes(job) }
    }
}
