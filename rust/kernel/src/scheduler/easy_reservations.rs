//! EASY with several reservations (S6): the first k jobs that do not fit are not delayed.
//!
//! A pass plans the running jobs anew, O(nodes of the running jobs), and checks each candidate by placing all
//! reservations again.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cluster::{NodeSets, Profile, Unanswered};
use crate::placement::Allocator;
use crate::state::{Rank, View};

use super::plan::Plan;
use super::victims::preempt_for;
use super::{Chance, SchedulingRule, Step, chance_of, start_chosen};

/// EASY with `count` reservations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EasyReservations {
    count: usize,
    empty: Profile,
    /// The plan of the present pass, and the job behind which it goes on; None: the pass is over.
    pass: Option<(Plan, Option<Rank>)>,
    /// Whether a pass has begun that has not planned yet, or the running jobs are others than it planned with.
    begun: bool,
}

impl EasyReservations {
    /// For a machine of these capacities.
    #[must_use]
    pub fn new(count: usize, resources: usize, capacity: &[i64], node_sets: &Arc<NodeSets>) -> Self {
        Self { count, empty: Profile::new(resources, capacity, node_sets), pass: None, begun: false }
    }
}

impl SchedulingRule for EasyReservations {
    fn needs_running(&self) -> bool {
        true
    }

    fn begin(&mut self, view: View<'_>, _: bool) -> bool {
        self.pass = None;
        self.begun = view.may_start_some();
        self.begun
    }

    fn propose(&mut self, view: View<'_>, allocator: &mut Allocator) -> Result<Step, Unanswered> {
        if std::mem::take(&mut self.begun) {
            let behind = self.pass.take().and_then(|(_, behind)| behind);
            self.pass = Some((Plan::of_running(&self.empty, view), behind));
        }
        if let Some((plan, at)) = &mut self.pass {
            // While reservations are left to make, jobs that cannot fit matter too.
            let open = plan.len() < self.count;
            let each = open || view.looks_at_each();
            let may_matter = |values: &[i64]| each || view.may_fit(values);
            let Some(rank) = view.state.queue.first_matching(at.as_ref(), &may_matter) else {
                self.pass = None;
                return Ok(Step::Done);
            };
            let before = at.replace(rank);
            match chance_of(view, allocator, rank.job)? {
                Chance::Fits => {}
                Chance::DoesNotFit => {
                    if plan.len() == 0
                        && let Some(step) = preempt_for(view, allocator, rank.job)
                    {
                        self.begun = true;
                        if view.victims_run_on() {
                            // It does not start yet: the pass looks at it again, and may reserve for it.
                            *at = before;
                        }
                        return Ok(step);
                    }
                    if open {
                        plan.reserve(view, allocator, rank.job)?;
                    }
                    return Ok(Step::PassOver(rank.job));
                }
                Chance::Closed(counter) => return Ok(Step::Close(rank.job, counter)),
                Chance::HoldsUp => {
                    self.pass = None;
                    return Ok(Step::Done);
                }
            }
            let chosen = std::mem::take(&mut allocator.chosen);
            let admitted = plan.admit(view, allocator, rank.job, &chosen);
            allocator.chosen = chosen;
            if admitted? {
                return Ok(start_chosen(rank.job));
            }
            return Ok(Step::PassOver(rank.job));
        }
        Ok(Step::Done)
    }
}
