//! State of every job: one record per slot, in a column that forks share.
use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::cluster::{NodeTasks, Placement};
use crate::index::SharedColumn;
use crate::workload::{Job, JobState, Rejection};

/// Marks a job without a run.
const NOT_RUNNING: u32 = u32::MAX;

/// State of one job. Times in seconds, NaN if unknown.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Record {
    state: JobState,
    /// Reason of its rejection, now or at its submission.
    rejection: Option<Rejection>,
    /// Index of its run among the running jobs.
    run: u32,
    start_time: f64,
    end_time: f64,
    /// Used for planning; external events may change it.
    requested_time: f64,
    /// Maximum run time; external events may change it.
    time_limit: f64,
    /// Run time assumed by schedulers: the requested time, or a prediction.
    estimate: f64,
    /// Its work: the true run_time, or its estimate in a look-ahead that assumes estimates.
    run_time: f64,
    /// Seconds of work completed in interrupted runs.
    saved: f64,
    /// Time of the last resize in the current run.
    resized: f64,
    /// Its key in the queue.
    key: f64,
    placement: Placement,
}

impl Record {
    fn new(job: &Job, state: JobState) -> Self {
        Self {
            state,
            rejection: None,
            run: NOT_RUNNING,
            start_time: f64::NAN,
            end_time: f64::NAN,
            requested_time: job.requested_time,
            time_limit: job.time_limit,
            estimate: job.requested_time,
            run_time: job.run_time,
            saved: 0.0,
            resized: f64::NAN,
            key: 0.0,
            placement: Placement::Nowhere,
        }
    }
}

/// The records of all jobs. A streamed run releases a slot when its job is over, so that the number of slots is the
/// largest number of jobs alive at once.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JobRecords {
    records: SharedColumn<Record>,
    vacant: Vec<u32>,
}

impl JobRecords {
    /// Create the records of these jobs before the first event. `rejected` returns the reason if a job is to be
    /// rejected at submission.
    #[must_use]
    pub fn new(jobs: &[Job], rejected: impl Fn(usize) -> Option<Rejection>) -> Self {
        let records = jobs.iter().enumerate().map(|(slot, job)| {
            let rejection = rejected(slot);
            Record { rejection, ..Record::new(job, JobState::Loaded) }
        });
        Self { records: records.collect(), vacant: Vec::new() }
    }

    /// Return the number of slots.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Return whether there are no slots.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Add a job, in a vacant slot if possible.
    pub fn add(&mut self, job: &Job) -> u32 {
        let record = Record::new(job, JobState::Loaded);
        if let Some(slot) = self.vacant.pop() {
            *self.records.get_mut(slot as usize) = record;
            return slot;
        }
        self.records.push(record);
        (self.records.len() - 1) as u32
    }

    /// Forget the run of a job that is over, or that was not submitted, so that it can be submitted (again).
    pub fn submit_again(&mut self, slot: u32, job: &Job) {
        let record = self.of_mut(slot);
        let rejection = record.rejection;
        *record = Record { rejection, ..Record::new(job, JobState::Loaded) };
    }

    /// Release a slot and its record.
    pub fn forget(&mut self, slot: u32) {
        self.of_mut(slot).placement = Placement::Nowhere;
        self.vacant.push(slot);
    }

    /// Share the records with the next clone.
    pub fn share(&mut self) {
        self.records.share();
    }

    fn of(&self, slot: u32) -> &Record {
        self.records.get(slot as usize)
    }

    fn of_mut(&mut self, slot: u32) -> &mut Record {
        self.records.get_mut(slot as usize)
    }

    /// Return the state of a job.
    #[must_use]
    pub fn state(&self, slot: u32) -> JobState {
        self.of(slot).state
    }

    /// Return the states of all jobs.
    #[must_use]
    pub fn states(&self) -> Vec<JobState> {
        self.records.map_to_vec(|record| record.state)
    }

    /// Set the state of a job.
    pub fn set_state(&mut self, slot: u32, state: JobState) {
        self.of_mut(slot).state = state;
    }

    /// Return why the job was rejected or will be, or None.
    #[must_use]
    pub fn rejection(&self, slot: u32) -> Option<Rejection> {
        self.of(slot).rejection
    }

    /// Return why each job was rejected; None if it is not rejected yet.
    #[must_use]
    pub fn rejections(&self) -> Vec<Option<Rejection>> {
        let is_rejected = |record: &Record| record.state == JobState::Rejected;
        self.records.map_to_vec(|record| record.rejection.filter(|_| is_rejected(record)))
    }

    /// Reject the job.
    pub fn reject(&mut self, slot: u32, reason: Rejection) {
        let record = self.of_mut(slot);
        record.state = JobState::Rejected;
        record.rejection = Some(reason);
    }

    /// Return the start of the job; NaN before its start.
    #[must_use]
    pub fn start_time(&self, slot: u32) -> f64 {
        self.of(slot).start_time
    }

    /// Set the start of a job that is over.
    pub fn set_start_time(&mut self, slot: u32, seconds: f64) {
        self.of_mut(slot).start_time = seconds;
    }

    /// Return the start of each job; NaN before its start.
    #[must_use]
    pub fn start_times(&self) -> Vec<f64> {
        self.records.map_to_vec(|record| record.start_time)
    }

    /// Return the end of the job; NaN before its end.
    #[must_use]
    pub fn end_time(&self, slot: u32) -> f64 {
        self.of(slot).end_time
    }

    /// Return the end of each job; NaN before its end.
    #[must_use]
    pub fn end_times(&self) -> Vec<f64> {
        self.records.map_to_vec(|record| record.end_time)
    }

    /// Return since when a running job has had its current nodes: its start, or its last resize.
    #[must_use]
    pub fn allocated_since(&self, slot: u32) -> f64 {
        let record = self.of(slot);
        if record.resized.is_nan() { record.start_time } else { record.resized }
    }

    /// Return the requested time, seconds, including changes by external events.
    #[must_use]
    pub fn requested_time(&self, slot: u32) -> f64 {
        self.of(slot).requested_time
    }

    /// Return the requested time of each job, seconds.
    #[must_use]
    pub fn requested_times(&self) -> Vec<f64> {
        self.records.map_to_vec(|record| record.requested_time)
    }

    /// Return the time limit, seconds, including changes by external events; infinite if there is none.
    #[must_use]
    pub fn time_limit(&self, slot: u32) -> f64 {
        self.of(slot).time_limit
    }

    /// Return the time limit of each job, seconds; None if all equal the requested times.
    #[must_use]
    pub fn time_limits(&self) -> Option<Vec<f64>> {
        let differs = |record: &Record| record.time_limit.to_bits() != record.requested_time.to_bits();
        self.records.iter().any(differs).then(|| self.records.map_to_vec(|record| record.time_limit))
    }

    /// Set the requested time and the time limit, seconds.
    pub fn set_requested_time(&mut self, slot: u32, seconds: f64) {
        let record = self.of_mut(slot);
        record.requested_time = seconds;
        record.time_limit = seconds;
    }

    /// Return the run time that schedulers assume, seconds.
    #[must_use]
    pub fn estimate(&self, slot: u32) -> f64 {
        self.of(slot).estimate
    }

    /// Set the run time that schedulers assume, seconds.
    pub fn set_estimate(&mut self, slot: u32, estimate: f64) {
        self.of_mut(slot).estimate = estimate;
    }

    /// Return the estimate and the requested time, seconds.
    #[must_use]
    pub fn times_known(&self, slot: u32) -> (f64, f64) {
        let record = self.of(slot);
        (record.estimate, record.requested_time)
    }

    /// Set how long the application of a job ran; known when it has ended.
    pub fn set_run_time(&mut self, slot: u32, seconds: f64) {
        self.of_mut(slot).run_time = seconds;
    }

    /// Return the job's work, seconds at rate 1: its run_time, or the estimate in a look-ahead. For a job with an
    /// application: its duration, once it has ended.
    #[must_use]
    pub fn run_time(&self, slot: u32) -> f64 {
        self.of(slot).run_time
    }

    /// Return the work completed in interrupted runs and kept, seconds.
    #[must_use]
    pub fn saved(&self, slot: u32) -> f64 {
        self.of(slot).saved
    }

    /// Set the job's work and the part of it that is already completed, seconds.
    pub fn begin_leg(&mut self, slot: u32, run_time: f64, saved: f64) {
        let record = self.of_mut(slot);
        record.run_time = run_time;
        record.saved = saved;
    }

    /// Return the job's remaining work at its start, seconds.
    #[must_use]
    pub fn work_left(&self, slot: u32) -> f64 {
        let record = self.of(slot);
        (record.run_time - record.saved).max(0.0)
    }

    /// Set the job's work to its estimate, with nothing completed.
    pub fn assume_estimate(&mut self, slot: u32) {
        let record = self.of_mut(slot);
        record.run_time = record.estimate;
        record.saved = 0.0;
    }

    /// Return the key of a queued job.
    #[must_use]
    pub fn key(&self, slot: u32) -> f64 {
        self.of(slot).key
    }

    /// Set the key of a queued job.
    pub fn set_key(&mut self, slot: u32, key: f64) {
        self.of_mut(slot).key = key;
    }

    /// Return the index of a running job among the running jobs.
    #[must_use]
    pub fn run(&self, slot: u32) -> Option<u32> {
        let run = self.of(slot).run;
        (run != NOT_RUNNING).then_some(run)
    }

    /// Return the current or last placement of the job.
    #[must_use]
    pub fn last_placement(&self, slot: u32) -> &Placement {
        &self.of(slot).placement
    }

    /// Compress the stored nodes of a job that has ended.
    pub fn shorten(&mut self, slot: u32) {
        self.of_mut(slot).placement.shorten();
    }

    /// Return the nodes of a job in rank order until its end is processed; empty before its start.
    #[must_use]
    pub fn placement(&self, slot: u32) -> &[NodeTasks] {
        self.of(slot).placement.nodes()
    }

    /// Return the nodes of a job sorted by index.
    #[must_use]
    pub fn placement_by_index(&self, slot: u32) -> Cow<'_, [NodeTasks]> {
        self.of(slot).placement.by_index()
    }

    /// Return whether the current or last placement of the job includes this node.
    #[must_use]
    pub fn has_node(&self, slot: u32, node: u32) -> bool {
        self.of(slot).placement.has(node)
    }

    /// Record a start; ranks are consecutive on the nodes in the order of `placement`.
    pub fn start(&mut self, slot: u32, now: f64, placement: &[NodeTasks], run: u32) {
        let record = self.of_mut(slot);
        record.state = JobState::Running;
        record.run = run;
        record.start_time = now;
        record.placement = Placement::of(placement);
    }

    /// Record that a running job uses other nodes from now on, with ranks in the order of node index.
    pub fn resize(&mut self, slot: u32, now: f64, placement: &[NodeTasks]) {
        let record = self.of_mut(slot);
        record.resized = now;
        record.placement = Placement::of(placement);
    }

    /// Return a running job to the queue without nodes, and add `saved` seconds to its completed work.
    pub fn requeue(&mut self, slot: u32, saved: f64) {
        let record = self.of_mut(slot);
        record.saved += saved;
        record.state = JobState::Queued;
        record.run = NOT_RUNNING;
        record.start_time = f64::NAN;
        record.end_time = f64::NAN;
        record.resized = f64::NAN;
        record.placement = Placement::Nowhere;
    }

    /// Record an end.
    pub fn end(&mut self, slot: u32, now: f64, state: JobState) {
        let record = self.of_mut(slot);
        record.state = state;
        record.run = NOT_RUNNING;
        record.end_time = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(row: u64) -> Job {
        let requested_time = 9.0;
        let time_limit = requested_time;
        Job { row, submit_time: 0.0, run_time: 5.0, requested_time, time_limit, tasks: 1, request: 0 }
    }

    #[test]
    fn a_slot_that_was_given_back_is_used_again_and_knows_nothing_of_before() {
        let mut records = JobRecords::default();
        let (first, second) = (records.add(&job(0)), records.add(&job(1)));
        records.start(first, 3.0, &[NodeTasks { node: 0, tasks: 1 }, NodeTasks { node: 2, tasks: 4 }], 0);
        records.end(first, 8.0, JobState::Completed);
        records.forget(first);
        assert_eq!(records.add(&job(2)), first);
        assert_eq!(records.len(), 2);
        assert_eq!(records.state(first), JobState::Loaded);
        assert!(records.placement(first).is_empty());
        assert!(records.start_time(first).is_nan() && records.end_time(first).is_nan());
        assert_eq!(records.run(first), None);
        assert_ne!(records.add(&job(3)), second);
    }

    #[test]
    fn a_clone_keeps_its_own_records() {
        let mut records = JobRecords::new(&[job(0), job(1)], |_| None);
        let fork = records.clone();
        records.start(1, 2.0, &[NodeTasks { node: 3, tasks: 1 }, NodeTasks { node: 1, tasks: 2 }], 0);
        assert_eq!(fork.state(1), JobState::Loaded);
        assert!(fork.placement(1).is_empty());
        let nodes: Vec<u32> = records.placement(1).iter().map(|part| part.node).collect();
        assert_eq!(nodes, [3, 1]);
        assert_eq!(records.placement_by_index(1)[0].node, 1);
        assert!(records.has_node(1, 3) && !records.has_node(1, 2));
    }

    #[test]
    fn what_was_saved_of_several_runs_adds_up() {
        let mut records = JobRecords::new(&[job(0)], |_| None);
        records.start(0, 0.0, &[NodeTasks { node: 0, tasks: 1 }], 0);
        records.requeue(0, 2.0);
        records.requeue(0, 1.5);
        assert_eq!(records.work_left(0).to_bits(), 1.5_f64.to_bits());
        records.requeue(0, 4.0);
        assert_eq!(records.work_left(0).to_bits(), 0.0_f64.to_bits());
    }
}
