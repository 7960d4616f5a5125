//! No backfilling (S5): start in order, stop at the first job that does not fit. O(1) where that one is still blocked.
//!
//! Where the machine has several partitions such a job closes its own (S11), and the pass goes on with the jobs that may run in
//! others: O(log q) for each job that starts, and for each partition that is closed.
use serde::{Deserialize, Serialize};

use crate::cluster::Unanswered;
use crate::placement::Allocator;
use crate::state::{ClosedPartitions, Rank, View};

use super::victims::{preempt_among, preempt_for};
use super::{Chance, SchedulingRule, Step, chance_among, chance_of, start_chosen};

/// No job overtakes another.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Blocking {
    /// The job that did not fit, and the number of releases at that time.
    blocked: Option<(u32, u64)>,
    /// Where there are several partitions: those that the pass has closed, and behind which job it goes on.
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
        // Without a release it may still be over a limit now, by starts before it or by time alone, or preempt others.
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
    /// The next step where there are several partitions.
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
                    // Where it does not start yet, the pass looks at it again, and its partitions are closed.
                    self.after = before;
                    return Ok(step);
                }
                self.closed.close(view, allocator, job);
                Ok(Step::Continue)
            }
        }
    }

    /// The next job that may run in a partition that is open.
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
