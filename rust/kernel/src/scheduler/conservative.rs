//! Conservative backfilling (S7), after Feitelson and Weil (IPPS 1998): every queued job has a reservation that names nodes.
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cluster::{NodeSets, Unanswered};
use crate::decision::{Decision, Where};
use crate::placement::Allocator;
use crate::state::View;
use crate::time::Time;

use super::conservative_plan::{ConservativePlan, PlannedStart};
use super::{SchedulingRule, Step};

/// State of a pass.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
enum Pass {
    #[default]
    Over,
    Begun,
    /// Cancel the reservations of these due jobs if they are over a limit or if their nodes are not free. Holds the
    /// index of the next job.
    GiveUp(Vec<u32>, usize),
    /// Try to move the reservation of each of these jobs earlier. Holds the index of the next job.
    Compress(Vec<u32>, usize),
    /// Make a reservation for each of these jobs. Holds the index of the next job.
    Reserve(Vec<u32>, usize),
    /// Start these due jobs if they are within their limits and their nodes are free. Holds the index of the next job,
    /// and whether a job could not start.
    Start(Vec<u32>, usize, bool),
}

/// Conservative backfilling: no job is delayed by a later one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Conservative {
    plan: ConservativePlan,
    /// True if an event has invalidated the plan, so that the next pass computes it from scratch.
    is_void: bool,
    /// True if the next compression offers cancelled reservations to all jobs.
    offers: bool,
    /// True if no due job has been started yet in this pass.
    is_first: bool,
    pass: Pass,
}

impl Conservative {
    /// Create an empty plan for a machine with these capacities.
    #[must_use]
    pub fn new(resources: usize, capacity: &[i64], node_sets: &Arc<NodeSets>) -> Self {
        let plan = ConservativePlan::new(resources, capacity, node_sets);
        Self { plan, is_void: false, offers: false, is_first: false, pass: Pass::Over }
    }
}

impl SchedulingRule for Conservative {
    fn share(&mut self) {
        self.plan.share();
    }

    fn disturbed(&mut self) {
        self.is_void = true;
    }

    fn reexamine(&mut self) {
        self.plan.reexamine();
    }

    fn begin(&mut self, view: View<'_>, _: bool) -> bool {
        self.pass = Pass::Begun;
        self.plan.begin_pass();
        let has_changed = !view.state.ended.is_empty() || !view.state.queue.arrived.is_empty();
        self.is_void || has_changed || self.plan.reexamines() || self.plan.is_any_due(view)
    }

    fn propose(&mut self, view: View<'_>, allocator: &mut Allocator) -> Result<Step, Unanswered> {
        match &mut self.pass {
            Pass::Over => return Ok(Step::Done),
            Pass::Begun => self.pass = self.bring_up_to_date(view),
            Pass::GiveUp(jobs, next) => match jobs.get(*next).copied() {
                Some(job) => {
                    *next += 1;
                    if let Some(step) = self.give_up_late(view, job) {
                        return Ok(step);
                    }
                }
                None => self.pass = self.offer(view),
            },
            Pass::Compress(jobs, next) => {
                let (jobs, next) = (std::mem::take(jobs), *next);
                self.pass = match self.plan.compress(view, allocator, &jobs, next)? {
                    Some(next) => Pass::Compress(jobs, next),
                    None => Pass::Reserve(self.plan.unreserved(view), 0),
                };
            }
            Pass::Reserve(jobs, next) => match jobs.get(*next).copied() {
                Some(job) => {
                    *next += 1;
                    if let Some((counter, _)) = view.over_limit(job) {
                        self.plan.forget(job);
                        return Ok(Step::Close(job, counter));
                    }
                    self.plan.reserve(view, allocator, job)?;
                }
                None => self.pass = Pass::Start(self.plan.due(view), 0, false),
            },
            Pass::Start(jobs, next, is_late) => match jobs.get(*next).copied() {
                Some(job) => {
                    *next += 1;
                    if view.over_limit(job).is_none() && self.plan.has_room(view, job) {
                        let place = Where::Nodes(self.plan.start(view, job));
                        return Ok(Step::Propose(Decision::Start { job, place, tasks: None }));
                    }
                    *is_late = true;
                }
                None if *is_late => self.pass = Pass::GiveUp(self.plan.due(view), 0),
                None => self.pass = Pass::Over,
            },
        }
        // The plan is consistent here: the pass can be interrupted, and answers of an external allocator are not
        // requested again.
        Ok(Step::Continue)
    }

    fn next_due(&self) -> Time {
        self.plan.next_start()
    }
}

impl Conservative {
    /// Return the reservations, by slot.
    #[must_use]
    pub fn planned(&self) -> BTreeMap<u32, PlannedStart> {
        self.plan.planned()
    }

    /// Return the plan.
    #[must_use]
    pub fn plan(&self) -> &ConservativePlan {
        &self.plan
    }

    /// Note which reservations change, from now on.
    pub fn note_promises(&mut self) {
        self.plan.note_changes();
    }

    /// Begin in the middle of a run, with these reservations. `decided` is true if the pass of this instant is over.
    pub fn resume(&mut self, view: View<'_>, planned: &[(u32, &PlannedStart)], decided: bool) {
        (self.is_void, self.offers, self.pass) = (false, false, Pass::Over);
        self.plan.resume(view, planned, decided);
    }

    /// Update the plan with the events since the last pass. Return the next state of the pass.
    fn bring_up_to_date(&mut self, view: View<'_>) -> Pass {
        if std::mem::take(&mut self.is_void) {
            self.plan.begin_anew(view);
            (self.offers, self.is_first) = (false, false);
            return Pass::Reserve(view.state.queue.jobs(), 0);
        }
        (self.offers, self.is_first) = (self.plan.advance(view), true);
        Pass::GiveUp(self.plan.due(view), 0)
    }

    /// Cancel or postpone a due reservation that cannot start.
    fn give_up_late(&mut self, view: View<'_>, job: u32) -> Option<Step> {
        if let Some((counter, _)) = view.over_limit(job) {
            self.plan.cancel(view, job);
            self.offers = true;
            return Some(Step::Close(job, counter));
        }
        if !self.plan.has_room(view, job) && !self.plan.is_any_ending(view) {
            self.plan.postpone(view, job);
            self.offers = true;
        }
        None
    }

    /// Return the next state of a pass whose due reservations have started: a compression that offers the freed time to
    /// all jobs in order.
    fn offer(&mut self, view: View<'_>) -> Pass {
        let is_first = std::mem::take(&mut self.is_first);
        if !is_first && !self.offers {
            return Pass::Over;
        }
        self.plan.hold_overdue(view);
        if std::mem::take(&mut self.offers) && self.plan.begin_compression(view) {
            Pass::Compress(view.state.queue.jobs(), 0)
        } else {
            Pass::Reserve(self.plan.unreserved(view), 0)
        }
    }
}
