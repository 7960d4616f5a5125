//! First fit (S5): start every job that fits, in order. Without a release, only arrivals can fit.
use serde::{Deserialize, Serialize};

use crate::cluster::Unanswered;
use crate::placement::Allocator;
use crate::state::{ClosedPartitions, Rank, View};

use super::victims::preempt_among;
use super::{Chance, SchedulingRule, Step, chance_among, start_chosen};

/// First-fit policy.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FirstFit {
    /// Number of releases when the whole queue was last examined.
    examined: u64,
    /// Jobs that entered the queue since the last pass, in order.
    arrivals: Vec<u32>,
    /// Partitions in which a job blocks all jobs behind it.
    closed: ClosedPartitions,
    pass: Pass,
}

/// State of a pass.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
enum Pass {
    #[default]
    Over,
    Begun,
    /// Examine the arrivals in order. Holds the index of the next one.
    Arrivals(usize),
    /// Examine the whole queue behind this job.
    Queue(Option<Rank>),
}

impl SchedulingRule for FirstFit {
    fn reexamine(&mut self) {
        self.examined = u64::MAX;
    }

    fn begin(&mut self, view: View<'_>, _: bool) -> bool {
        self.closed.clear();
        if !view.may_start_some() {
            self.examined = view.state.releases;
            self.pass = Pass::Over;
            return false;
        }
        self.pass = Pass::Begun;
        self.examined != view.state.releases || view.looks_at_each()
    }

    fn propose(&mut self, view: View<'_>, allocator: &mut Allocator) -> Result<Step, Unanswered> {
        loop {
            let before = view.victims_run_on().then(|| self.pass.clone());
            let job = match &mut self.pass {
                Pass::Over => return Ok(Step::Done),
                Pass::Begun if self.examined == view.state.releases && !view.looks_at_each() => {
                    view.list_arrivals(&mut self.arrivals);
                    self.pass = Pass::Arrivals(0);
                    continue;
                }
                Pass::Begun => {
                    self.examined = view.state.releases;
                    self.pass = Pass::Queue(None);
                    continue;
                }
                Pass::Arrivals(next) => {
                    *next += 1;
                    self.arrivals.get(*next - 1).copied()
                }
                Pass::Queue(at) => {
                    let each = view.looks_at_each();
                    let matters = |values: &[i64]| each || view.may_fit(values);
                    *at = view.state.queue.first_matching(at.as_ref(), &matters);
                    at.map(|rank| rank.job)
                }
            };
            let Some(job) = job else {
                self.pass = Pass::Over;
                return Ok(Step::Done);
            };
            if self.closed.shut_out(view, job) {
                return Ok(Step::Continue);
            }
            let wants = || self.closed.requests(view, job);
            return Ok(match chance_among(view, allocator, job, wants())? {
                Chance::Fits => start_chosen(job),
                Chance::DoesNotFit => match preempt_among(view, allocator, job, wants()) {
                    Some(step) => {
                        // If the job does not start yet, the pass examines it again and then skips it.
                        self.pass = before.unwrap_or_default();
                        step
                    }
                    None => Step::PassOver(job),
                },
                Chance::Closed(counter) => Step::Close(job, counter),
                Chance::HoldsUp => {
                    self.closed.close_connected(view, job);
                    if self.closed.has_all() {
                        self.pass = Pass::Over;
                    }
                    Step::Continue
                }
            });
        }
    }
}
