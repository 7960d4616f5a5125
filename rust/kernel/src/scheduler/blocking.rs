//! No backfilling (S5): start in order, stop at the first job that does not fit. O(1) where that one is still blocked.
use serde::{Deserialize, Serialize};

use crate::cluster::Unanswered;
use crate::placement::Allocator;
use crate::state::View;

use super::victims::preempt_for;
use super::{Chance, SchedulingRule, Step, chance_of, start_chosen};

/// No job overtakes another.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Blocking {
    /// The job that did not fit, and the number of releases at that time.
    blocked: Option<(u32, u64)>,
}

impl SchedulingRule for Blocking {
    fn reexamine(&mut self) {
        self.blocked = None;
    }

    fn begin(&mut self, view: View<'_>, _: bool) -> bool {
        view.may_start_some()
    }

    fn propose(&mut self, view: View<'_>, allocator: &mut Allocator) -> Result<Step, Unanswered> {
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
