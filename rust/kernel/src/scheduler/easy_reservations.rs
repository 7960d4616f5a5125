//! EASY with several reservations (S6): the first k jobs that do not fit are not delayed.
//!
//! The plan of the running jobs is kept from pass to pass, and brought up to date in those that make a reservation. Each
//! candidate is checked by placing again the reservations that begin before it is expected to end.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cluster::{NodeSets, Unanswered};
use crate::placement::Allocator;
use crate::state::{Rank, View};

use super::plan::Plan;
use super::victims::preempt_for;
use super::{Chance, SchedulingRule, Step, chance_of, start_chosen};

/// How far a pass is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Pass {
    Over,
    /// It goes on behind this job, and has no reservation yet.
    Free(Option<Rank>),
    /// The same with reservations in the plan.
    Reserved(Option<Rank>),
}

/// EASY with `count` reservations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EasyReservations {
    count: usize,
    plan: Plan,
    pass: Pass,
}

impl EasyReservations {
    /// For a machine of these capacities.
    #[must_use]
    pub fn new(count: usize, resources: usize, capacity: &[i64], node_sets: &Arc<NodeSets>) -> Self {
        Self { count, plan: Plan::new(resources, capacity, node_sets), pass: Pass::Over }
    }

    /// Reserves for a job that does not fit.
    fn reserve(&mut self, view: View<'_>, allocator: &mut Allocator, rank: Rank) -> Result<(), Unanswered> {
        if matches!(self.pass, Pass::Free(_)) {
            self.plan.follow(view);
        }
        self.plan.reserve(view, allocator, rank.job)?;
        self.pass = Pass::Reserved(Some(rank));
        Ok(())
    }

    /// Whether a job that would go where the allocator has chosen leaves each reservation its instant.
    fn admits(&mut self, view: View<'_>, allocator: &mut Allocator, job: u32) -> Result<bool, Unanswered> {
        if matches!(self.pass, Pass::Free(_)) {
            return Ok(true);
        }
        let chosen = std::mem::take(&mut allocator.chosen);
        let admitted = self.plan.admit(view, allocator, job, &chosen);
        allocator.chosen = chosen;
        admitted
    }
}

impl SchedulingRule for EasyReservations {
    fn needs_running(&self) -> bool {
        true
    }

    fn disturbed(&mut self) {
        self.plan.disturbed();
    }

    fn begin(&mut self, view: View<'_>, _: bool) -> bool {
        let begins = view.may_start_some();
        self.pass = if begins { Pass::Free(None) } else { Pass::Over };
        begins
    }

    fn propose(&mut self, view: View<'_>, allocator: &mut Allocator) -> Result<Step, Unanswered> {
        let (reserved, before) = match self.pass {
            Pass::Over => return Ok(Step::Done),
            Pass::Free(behind) => (0, behind),
            Pass::Reserved(behind) => (self.plan.len(), behind),
        };
        // While reservations are left to make, jobs that cannot fit matter too.
        let open = reserved < self.count;
        let each = open || view.looks_at_each();
        let may_matter = |values: &[i64]| each || view.may_fit(values);
        let Some(rank) = view.state.queue.first_matching(before.as_ref(), &may_matter) else {
            self.pass = Pass::Over;
            return Ok(Step::Done);
        };
        let (Pass::Free(behind) | Pass::Reserved(behind)) = &mut self.pass else { return Ok(Step::Done) };
        *behind = Some(rank);
        match chance_of(view, allocator, rank.job)? {
            Chance::Fits => {
                let admitted = self.admits(view, allocator, rank.job)?;
                Ok(if admitted { start_chosen(rank.job) } else { Step::PassOver(rank.job) })
            }
            Chance::DoesNotFit => {
                if reserved == 0
                    && let Some(step) = preempt_for(view, allocator, rank.job)
                {
                    // Where it does not start yet, the pass looks at it again, and may reserve for it.
                    self.pass = Pass::Free(if view.victims_run_on() { before } else { Some(rank) });
                    return Ok(step);
                }
                if open {
                    self.reserve(view, allocator, rank)?;
                }
                Ok(Step::PassOver(rank.job))
            }
            Chance::Closed(counter) => Ok(Step::Close(rank.job, counter)),
            Chance::HoldsUp => {
                self.pass = Pass::Over;
                Ok(Step::Done)
            }
        }
    }
}
