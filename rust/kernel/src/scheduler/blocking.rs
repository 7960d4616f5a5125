//! No backfilling (S5): jobs start in order until one does not fit. O(1) if the same job is still blocked.
//!
//! With several partitions, a job that does not fit closes its partitions (S11), and the pass continues with jobs that
//! may run in other partitions: O(log q) for each job that starts, and for each partition that is closed.
use serde::{Deserialize, Serialize};

use crate::cluster::Unanswered;
use crate::placement::Allocator;
use crate::state::{ClosedPartitions, Rank, View};

use super::victims::{preempt_among, preempt_for};
use super::{Chance, SchedulingRule, Step, chance_among, chance_of, start_chosen};

/// Policy without overtaking.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Blocking {
    /// The first job that does not fit, and the number of releases when it was tried.
    blocked: Option<(u32, u64)>,
    /// The partitions that this pass has closed, and the job behind which it continues. Used with several partitions
    /// only.
    closed: ClosedPartitions,
    after: Option<Rank>,
}

impl SchedulingRule for Blocking {
    fn reexamine(&mut self) {
        self.blocked = None;
    }

    fn begin(&mut self, view: View<'_>, _: bool) -> bool {
        self.closed.clear();
        self.after = None;
        view.may_start_some()
    }

    fn propose(&mut self, view: View<'_>, allocator: &mut Allocator) -> Result<Step, Unanswered> {
        if view.scenario.node_sets.partitions().count() > 1 {
            return self.propose_among(view, allocator);
        }
        let Some(head) = view.state.queue.first() else { return Ok(Step::Done) };
        let blocked = Some((head.job, view.state.releases));
        // Also without a release, an earlier start or the time may bring the job over a limit, or the job may preempt
        // others.
        let is_within_limits = || view.over_limit(head.job).is_none();
        if self.blocked == blocked && is_within_limits() && view.scenario.preemption.is_none() {
            return Ok(Step::Done);
        }
        let chance = chance_of(view, allocator, head.job)?;
        if chance == Chance::DoesNotFit
            && let Some(step) = preempt_for(view, allocator, head.job)
        {
            return Ok(step);
        }
        match chance {
            Chance::Fits => Ok(start_chosen(head.job)),
            Chance::Closed(counter) => Ok(Step::Close(head.job, counter)),
            Chance::DoesNotFit | Chance::HoldsUp => {
                self.blocked = blocked;
                Ok(Step::Done)
            }
        }
    }
}

impl Blocking {
    /// Propose the next step on a machine with several partitions.
    fn propose_among(&mut self, view: View<'_>, allocator: &mut Allocator) -> Result<Step, Unanswered> {
        let Some(rank) = self.next(view) else { return Ok(Step::Done) };
        let (job, before) = (rank.job, self.after.replace(rank));
        match chance_among(view, allocator, job, self.closed.requests(view, job))? {
            Chance::Fits => Ok(start_chosen(job)),
            Chance::Closed(counter) => Ok(Step::Close(job, counter)),
            Chance::HoldsUp => {
                self.closed.close_connected(view, job);
                Ok(Step::Continue)
            }
            Chance::DoesNotFit => {
                if let Some(step) = preempt_among(view, allocator, job, self.closed.requests(view, job)) {
                    // If the job does not start yet, the pass examines it again and then closes its partitions.
                    self.after = before;
                    return Ok(step);
                }
                self.closed.close(view, allocator, job);
                Ok(Step::Continue)
            }
        }
    }

    /// Return the next job that may run in an open partition.
    fn next(&self, view: View<'_>) -> Option<Rank> {
        let queue = &view.state.queue;
        if self.closed.has_all() {
            return None;
        }
        if self.closed.has_none() {
            return queue.first_matching(self.after.as_ref(), &|_| true);
        }
        let is_open = |values: &[i64]| self.closed.open().any(|partition| view.may_run_in(values, partition));
        queue.first_matching(self.after.as_ref(), &is_open)
    }
}
