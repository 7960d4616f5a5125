//! What has become of every job: one record per slot, in a column that forks share.
use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::cluster::{NodeTasks, Placement};
use crate::index::SharedColumn;
use crate::workload::{Job, JobState, Rejection};

/// No run.
const NOT_RUNNING: u32 = u32::MAX;

/// What has become of one job. Times in seconds, NaN where they are not known.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Record {
    state: JobState,
    /// Why it was rejected, or is to be rejected when it is submitted.
    rejection: Option<Rejection>,
    /// Its place among the running jobs.
    run: u32,
    start_time: f64,
    end_time: f64,
    /// What schedulers plan with; external events may change it.
    requested_time: f64,
    /// How long it may run; external events may change it.
    time_limit: f64,
    /// What schedulers take its run_time to be: the requested time, or what a predictor says.
    estimate: f64,
    /// Its work: the true run_time, or its estimate in a look ahead that assumes estimates.
    run_time: f64,
    /// Seconds of its work that were done in runs that were cut short.
    saved: f64,
    /// When it was resized last in the present run.
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

/// The records of all jobs. A streamed run gives a slot back when its job is over, so that there are as many as jobs
/// were alive at once.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JobRecords {
    records: SharedColumn<Record>,
    vacant: Vec<u32>,
}

impl JobRecords {
    /// The records of these jobs before anything happens; `rejected` tells which are to be rejected at submission, and why.
    #[must_use]
    pub fn new(jobs: &[Job], rejected: impl Fn(usize) -> Option<Rejection>) -> Self {
        let records = jobs.iter().enumerate().map(|(slot, job)| {
            let rejection = rejected(slot);
            Record { rejection, ..Record::new(job, JobState::Loaded) }
        });
        Self { records: records.collect(), vacant: Vec::new() }
    }

    /// Number of slots.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is no slot.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Adds a job, in a vacant slot if there is one.
    pub fn add(&mut self, job: &Job) -> u32 {
        let record = Record::new(job, JobState::Loaded);
        if let Some(slot) = self.vacant.pop() {
            *self.records.get_mut(slot as usize) = record;
            return slot;
        }
        self.records.push(record);
        (self.records.len() - 1) as u32
    }

    /// Gives a slot back; what stood there is forgotten.
    pub fn forget(&mut self, slot: u32) {
        self.of_mut(slot).placement = Placement::Nowhere;
        self.vacant.push(slot);
    }

    /// Lets the next clone share the records.
    pub fn share(&mut self) {
        self.records.share();
    }

    fn of(&self, slot: u32) -> &Record {
        self.records.get(slot as usize)
    }

    fn of_mut(&mut self, slot: u32) -> &mut Record {
        self.records.get_mut(slot as usize)
    }

    /// The state of a job.
    #[must_use]
    pub fn state(&self, slot: u32) -> JobState {
        self.of(slot).state
    }

    /// The states of all jobs.
    #[must_use]
    pub fn states(&self) -> Vec<JobState> {
        self.records.map_to_vec(|record| record.state)
    }

    /// Sets the state.
    pub fn set_state(&mut self, slot: u32, state: JobState) {
        self.of_mut(slot).state = state;
    }

    /// Why the job was rejected, or is to be; None where it is not.
    #[must_use]
    pub fn rejection(&self, slot: u32) -> Option<Rejection> {
        self.of(slot).rejection
    }

    /// Why each job was rejected; None unless the job is rejected by now.
    #[must_use]
    pub fn rejections(&self) -> Vec<Option<Rejection>> {
        let is_rejected = |record: &Record| record.state == JobState::Rejected;
        self.records.map_to_vec(|record| record.rejection.filter(|_| is_rejected(record)))
    }

    /// Records that the job is rejected.
    pub fn reject(&mut self, slot: u32, reason: Rejection) {
        let record = self.of_mut(slot);
        record.state = JobState::Rejected;
        record.rejection = Some(reason);
    }

    /// When the job started; NaN where it has not.
    #[must_use]
    pub fn start_time(&self, slot: u32) -> f64 {
        self.of(slot).start_time
    }

    /// When each job started; NaN before its start.
    #[must_use]
    pub fn start_times(&self) -> Vec<f64> {
        self.records.map_to_vec(|record| record.start_time)
    }

    /// When the job ended; NaN where it has not.
    #[must_use]
    pub fn end_time(&self, slot: u32) -> f64 {
        self.of(slot).end_time
    }

    /// When each job ended; NaN before its end.
    #[must_use]
    pub fn end_times(&self) -> Vec<f64> {
        self.records.map_to_vec(|record| record.end_time)
    }

    /// Since when a running job has had its present nodes: its start, or when it was resized last.
    #[must_use]
    pub fn allocated_since(&self, slot: u32) -> f64 {
        let record = self.of(slot);
        if record.resized.is_nan() { record.start_time } else { record.resized }
    }

    /// What schedulers plan with, seconds, as external events have changed it.
    #[must_use]
    pub fn requested_time(&self, slot: u32) -> f64 {
        self.of(slot).requested_time
    }

    /// The requested time of each job, which schedulers plan with; seconds.
    #[must_use]
    pub fn requested_times(&self) -> Vec<f64> {
        self.records.map_to_vec(|record| record.requested_time)
    }

    /// How long the job may run, seconds, as external events have changed it; infinite where it has no limit.
    #[must_use]
    pub fn time_limit(&self, slot: u32) -> f64 {
        self.of(slot).time_limit
    }

    /// The time limit of each job, seconds; None if all equal the requested times.
    #[must_use]
    pub fn time_limits(&self) -> Option<Vec<f64>> {
        let differs = |record: &Record| record.time_limit.to_bits() != record.requested_time.to_bits();
        self.records.iter().any(differs).then(|| self.records.map_to_vec(|record| record.time_limit))
    }

    /// Sets what the user asks for, seconds: the limit, and what schedulers plan with.
    pub fn set_requested_time(&mut self, slot: u32, seconds: f64) {
        let record = self.of_mut(slot);
        record.requested_time = seconds;
        record.time_limit = seconds;
    }

    /// What schedulers take the job's run_time to be.
    #[must_use]
    pub fn estimate(&self, slot: u32) -> f64 {
        self.of(slot).estimate
    }

    /// Sets what schedulers take the job's run_time to be.
    pub fn set_estimate(&mut self, slot: u32, estimate: f64) {
        self.of_mut(slot).estimate = estimate;
    }

    /// What schedulers take the job's run_time to be, and its requested_time, seconds.
    #[must_use]
    pub fn times_known(&self, slot: u32) -> (f64, f64) {
        let record = self.of(slot);
        (record.estimate, record.requested_time)
    }

    /// Sets how long the application of a job ran, which it is known for once it is over.
    pub fn set_run_time(&mut self, slot: u32, seconds: f64) {
        self.of_mut(slot).run_time = seconds;
    }

    /// The job's work, seconds at rate 1: its run_time, or what a look ahead assumes. Of a job with an application, how long that
    /// ran once it is over.
    #[must_use]
    pub fn run_time(&self, slot: u32) -> f64 {
        self.of(slot).run_time
    }

    /// The work that runs which were cut short have done and the job keeps.
    #[must_use]
    pub fn saved(&self, slot: u32) -> f64 {
        self.of(slot).saved
    }

    /// Gives a job other work, of which so much is done.
    pub fn begin_leg(&mut self, slot: u32, run_time: f64, saved: f64) {
        let record = self.of_mut(slot);
        record.run_time = run_time;
        record.saved = saved;
    }

    /// What is left of the job's work when it starts.
    #[must_use]
    pub fn work_left(&self, slot: u32) -> f64 {
        let record = self.of(slot);
        (record.run_time - record.saved).max(0.0)
    }

    /// Takes the job's work to be its estimate, all of which is still to be done.
    pub fn assume_estimate(&mut self, slot: u32) {
        let record = self.of_mut(slot);
        record.run_time = record.estimate;
        record.saved = 0.0;
    }

    /// The key of a queued job.
    #[must_use]
    pub fn key(&self, slot: u32) -> f64 {
        self.of(slot).key
    }

    /// Sets the key of a queued job.
    pub fn set_key(&mut self, slot: u32, key: f64) {
        self.of_mut(slot).key = key;
    }

    /// The place of a running job among the running ones.
    #[must_use]
    pub fn run(&self, slot: u32) -> Option<u32> {
        let run = self.of(slot).run;
        (run != NOT_RUNNING).then_some(run)
    }

    /// Where the job is, or was at last.
    #[must_use]
    pub fn last_placement(&self, slot: u32) -> &Placement {
        &self.of(slot).placement
    }

    /// Keeps the nodes of a job that ended in little memory.
    pub fn shorten(&mut self, slot: u32) {
        self.of_mut(slot).placement.shorten();
    }

    /// The nodes of a job whose end is not over, in the order of its ranks; empty where it has not started.
    #[must_use]
    pub fn placement(&self, slot: u32) -> &[NodeTasks] {
        self.of(slot).placement.nodes()
    }

    /// The same by index.
    #[must_use]
    pub fn placement_by_index(&self, slot: u32) -> Cow<'_, [NodeTasks]> {
        self.of(slot).placement.by_index()
    }

    /// Whether the job has a node, or had it at last.
    #[must_use]
    pub fn has_node(&self, slot: u32, node: u32) -> bool {
        self.of(slot).placement.has(node)
    }

    /// Records a start; ranks follow one another on the nodes in the order in which these come.
    pub fn start(&mut self, slot: u32, now: f64, placement: &[NodeTasks], run: u32) {
        let record = self.of_mut(slot);
        record.state = JobState::Running;
        record.run = run;
        record.start_time = now;
        record.placement = Placement::of(placement);
    }

    /// Records that a running job has other nodes from now on, ranks by index.
    pub fn resize(&mut self, slot: u32, now: f64, placement: &[NodeTasks]) {
        let record = self.of_mut(slot);
        record.resized = now;
        record.placement = Placement::of(placement);
    }

    /// Records that a running job gave up its nodes and waits again; `saved` seconds of its run_time need not be run again.
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

    /// Records an end.
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
