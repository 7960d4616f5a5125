//! Jobs that wait outside the queue for other jobs, a begin time or a place in an array, and their admission.
use crate::time::Time;
use crate::workload::{JobState, Rejection};

use super::triggers::Trigger;
use super::{Feed, Simulation};

impl<F: Feed> Simulation<F> {
    /// Return when the next begin time is reached or the next delay ends.
    pub(super) fn next_gate(&self) -> Time {
        self.state.conditions.as_ref().map_or(Time::NEVER, |conditions| conditions.next_time())
    }

    /// Return whether a job that is submitted now enters the queue at once.
    pub(super) fn is_eligible(&mut self, job: u32) -> bool {
        let now = Time(self.state.now);
        match (&self.scenario.conditions, &mut self.state.conditions) {
            (Some(given), Some(conditions)) => conditions.submit(given, job, now),
            _ => true,
        }
    }

    /// Process begin times and delays that are due. A pass follows if a job enters the queue.
    pub(super) fn open_gates(&mut self) {
        let (Some(given), Some(conditions)) = (&self.scenario.conditions, &mut self.state.conditions) else {
            return;
        };
        let decided = conditions.open_gates(given, Time(self.state.now));
        self.admit_and_notify(decided);
    }

    /// Process starts of jobs. A pass follows if other jobs enter the queue.
    pub(super) fn after_starts(&mut self, started: &[u32]) {
        let now = Time(self.state.now);
        for &job in started {
            let (Some(given), Some(conditions)) = (&self.scenario.conditions, &mut self.state.conditions)
            else {
                return;
            };
            let decided = conditions.started(given, job, now);
            self.admit_and_notify(decided);
        }
    }

    /// Process the end of a job: jobs that waited only for it enter the queue; jobs with unsatisfiable dependencies are
    /// rejected.
    pub(super) fn after_end(&mut self, job: u32, state: JobState) {
        let now = Time(self.state.now);
        if let (Some(given), Some(conditions)) = (&self.scenario.conditions, &mut self.state.conditions) {
            let decided = conditions.ended(given, job, state == JobState::Completed, now);
            self.admit_to_queue(decided);
        }
    }

    fn admit_and_notify(&mut self, decided: Vec<u32>) {
        if let Some(job) = self.admit_to_queue(decided) {
            self.happened(Trigger::Submission(job));
        }
    }

    /// Add the jobs that are eligible now to the queue, and reject those that never will be, with all consequences.
    /// Return the last job that entered the queue.
    fn admit_to_queue(&mut self, mut decided: Vec<u32>) -> Option<u32> {
        let now = Time(self.state.now);
        let mut entered = None;
        let mut next = 0;
        while let Some(&job) = decided.get(next) {
            next += 1;
            let (Some(given), Some(conditions)) = (&self.scenario.conditions, &mut self.state.conditions)
            else {
                break;
            };
            if conditions.becomes_eligible(given, job, now) {
                if !conditions.is_held(job) {
                    entered = Some(job);
                    self.state.queue.on_hold.remove(&job);
                    self.state.enqueue(&self.scenario, &self.priority, job);
                }
            } else if conditions.waits(job) && conditions.can_never_start(job) {
                decided.extend(conditions.ended(given, job, false, now));
                self.state.queue.on_hold.remove(&job);
                self.reject_alone(job, Rejection::Dependency);
                self.state.ended.push(job);
            }
        }
        entered
    }
}
