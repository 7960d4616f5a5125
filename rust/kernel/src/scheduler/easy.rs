//! EASY backfilling (S6), after Lifka, "The ANL/IBM SP scheduling system" (JSSPP 1995).
//!
//! The reservation of the head is kept between passes. If nothing was released and the head is the same, a pass
//! examines only arrivals. If delaying the head depends on the nodes of a job, it does so only if the last pass started
//! nothing, since a start can send a job that would have delayed the head to other nodes. It depends on them if
//! capacity is counted node by node, if jobs take whole nodes, or if the head may use part of the machine only: nodes
//! outside that part do not delay it. Totals are those of the head's node set. Cost otherwise: O(log n) for the
//! reservation if totals decide (all tasks alike), else O(nodes of jobs that end before it, and the head's tasks), plus
//! O(n) for each trial if the nodes must be consecutive; then O(log q) for each later job that the totals admit.
use serde::{Deserialize, Serialize};

use crate::cluster::Unanswered;
use crate::placement::Allocator;
use crate::state::{Rank, View};

use super::delayed_head_cache::DelayedHeadCache;
use super::easy_heads::Heads;
use super::free_slots::FreeSlots;
use super::shadow::Shadow;
use super::shadow_availability::ShadowAvailability;
use super::victims::preempt_for;
use super::{Chance, SchedulingRule, Step, chance_of, start_chosen};

/// EASY backfilling: a job that fits may overtake unless it delays the head, the first job that does not fit.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Easy {
    shadow: Option<Shadow>,
    availability: ShadowAvailability,
    /// Cache of the jobs that would delay the head.
    delayed_head: DelayedHeadCache,
    #[serde(skip)]
    slots: FreeSlots,
    /// Number of releases when the whole queue was last examined.
    examined: u64,
    /// True if the last pass started a job.
    started: bool,
    /// Jobs that entered the queue since the last pass, in order.
    arrivals: Vec<u32>,
    pass: Pass,
    /// The heads, one in each set of connected partitions; None if there is a single set.
    heads: Option<Box<Heads>>,
    /// True if the heads are asked for after each pass.
    names_heads: bool,
}

/// State of a pass.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
enum Pass {
    #[default]
    Over,
    /// The reservation still holds: examine the arrivals.
    BegunWithArrivals,
    /// Examine all jobs.
    Begun,
    /// Examine the arrivals in order. Holds the index of the next one.
    Arrivals(usize),
    /// Start jobs in order until one does not fit.
    Heads,
    /// Look for a candidate behind this head, which does not fit. The reservation is computed only if there is a
    /// candidate.
    Held(Rank),
    /// Examine the jobs behind this one, in order.
    Behind(Rank),
}

impl SchedulingRule for Easy {
    fn needs_running(&self) -> bool {
        true
    }

    fn asks_for_running_seldom(&self) -> bool {
        true
    }

    fn asks_for_running(&self, view: View<'_>) -> bool {
        // The reservation of the head and the choice of victims need the running jobs.
        matches!(self.pass, Pass::Held(_)) || view.scenario.preemption.is_some() || self.heads.is_some()
    }

    fn reexamine(&mut self) {
        self.shadow = None;
    }

    fn begin(&mut self, view: View<'_>, keys_change: bool) -> bool {
        if view.scenario.node_sets.partitions().connected() > 1 {
            return self.heads.get_or_insert_default().begin(view, self.names_heads);
        }
        self.pass = if !view.may_start_some() {
            Pass::Over
        } else if !keys_change && self.still_holds(view) {
            Pass::BegunWithArrivals
        } else {
            Pass::Begun
        };
        matches!(self.pass, Pass::Begun) || self.names_heads
    }

    fn propose(&mut self, view: View<'_>, allocator: &mut Allocator) -> Result<Step, Unanswered> {
        if let Some(heads) = &mut self.heads {
            return heads.propose(view, allocator);
        }
        if self.head_is_over_limit(view) {
            self.pass = Pass::Begun;
        }
        loop {
            let job = match &self.pass {
                Pass::Over => return Ok(Step::Done),
                Pass::BegunWithArrivals => {
                    view.list_arrivals(&mut self.arrivals);
                    self.pass = Pass::Arrivals(0);
                    continue;
                }
                Pass::Begun => {
                    self.shadow = None;
                    self.examined = view.state.releases;
                    self.pass = Pass::Heads;
                    continue;
                }
                Pass::Heads => match view.state.queue.first() {
                    Some(head) => match chance_of(view, allocator, head.job)? {
                        Chance::Fits => return Ok(start_chosen(head.job)),
                        Chance::Closed(counter) => return Ok(Step::Close(head.job, counter)),
                        Chance::HoldsUp => None,
                        Chance::DoesNotFit => {
                            if let Some(step) = preempt_for(view, allocator, head.job) {
                                return Ok(step);
                            }
                            self.pass = Pass::Held(head);
                            return Ok(Step::PassOver(head.job));
                        }
                    },
                    None => None,
                },
                &Pass::Held(head) => {
                    let each = view.looks_at_each();
                    let has_slots = self.slots.test(view, allocator);
                    let may_fit = |values: &[i64]| each || (view.may_fit(values) && has_slots.passes(values));
                    let some = view.state.queue.first_matching(Some(&head), &may_fit);
                    if some.is_none() {
                        return Ok(self.end(view));
                    }
                    self.delayed_head.forget();
                    self.shadow = Some(Shadow::of(view, allocator, head.job, &mut self.availability));
                    self.pass = Pass::Behind(head);
                    continue;
                }
                Pass::Arrivals(..) => self.next_arrival(view, allocator),
                Pass::Behind(rank) => {
                    let rank = *rank;
                    self.next_behind(view, allocator, rank)
                }
            };
            let Some(job) = job else { return Ok(self.end(view)) };
            return Ok(match self.chance_behind(view, allocator, job)? {
                Chance::Fits => start_chosen(job),
                Chance::DoesNotFit => Step::PassOver(job),
                Chance::Closed(counter) => Step::Close(job, counter),
                Chance::HoldsUp => self.end(view),
            });
        }
    }
}

impl Easy {
    /// Find the heads in each pass, also if no job may start.
    pub fn name_heads(&mut self) {
        self.names_heads = true;
    }

    /// Return whether each pass finds the heads.
    #[must_use]
    pub fn names_heads(&self) -> bool {
        self.names_heads
    }

    /// Return the head of each set of connected partitions after a pass, with its requests there.
    #[must_use]
    pub fn heads(&self, view: View<'_>) -> Vec<Option<(u32, Vec<u32>)>> {
        if let Some(heads) = &self.heads {
            return heads.listed(view);
        }
        let mut rank = view.state.queue.first();
        while let Some((each, (_, blocks))) = rank.and_then(|each| Some((each, view.over_limit(each.job)?))) {
            rank = if blocks { None } else { view.state.queue.first_matching(Some(&each), &|_| true) };
        }
        vec![rank.map(|rank| (rank.job, view.scenario.alternatives(rank.job).to_vec()))]
    }

    /// End the pass.
    fn end(&mut self, view: View<'_>) -> Step {
        self.pass = Pass::Over;
        self.started = !view.state.started.is_empty();
        Step::Done
    }

    fn still_holds(&self, view: View<'_>) -> bool {
        let head = view.state.queue.first().map(|rank| rank.job);
        // A start can bring the head over a limit.
        if view.looks_at_each() || head.is_some_and(|head| view.over_limit(head).is_some()) {
            return false;
        }
        let same_head = |shadow: &Shadow| Some(shadow.head) == head && view.now() <= shadow.time;
        let same_nodes = |shadow: &Shadow| !shadow.depends_on_nodes || !self.started;
        self.examined == view.state.releases
            && self.shadow.as_ref().is_some_and(|shadow| same_head(shadow) && same_nodes(shadow))
    }

    /// Return whether a start in this pass has brought the head over a limit, which cancels its reservation.
    fn head_is_over_limit(&self, view: View<'_>) -> bool {
        let is_behind = matches!(self.pass, Pass::Arrivals(_) | Pass::Behind(_));
        let shadow = self.shadow.as_ref().filter(|_| is_behind && view.state.limited.is_some());
        shadow.is_some_and(|shadow| view.over_limit(shadow.head).is_some())
    }

    /// Return the next arrival. If delaying the head depends on nodes and a job has started, continue with all jobs
    /// behind instead: the start can have changed the nodes of other jobs.
    fn next_arrival(&mut self, view: View<'_>, allocator: &Allocator) -> Option<u32> {
        let Pass::Arrivals(next) = &mut self.pass else { return None };
        let depends_on_nodes = self.shadow.as_ref().is_some_and(|shadow| shadow.depends_on_nodes);
        if depends_on_nodes && *next > 0 && !view.state.started.is_empty() {
            let latest = view.rank_of(self.arrivals[*next - 1]);
            return self.next_behind(view, allocator, latest);
        }
        *next += 1;
        self.arrivals.get(*next - 1).copied()
    }

    /// Return the next job behind `after` that the totals admit.
    fn next_behind(&mut self, view: View<'_>, allocator: &Allocator, after: Rank) -> Option<u32> {
        let Self { shadow, slots, delayed_head, .. } = self;
        let shadow = shadow.as_ref()?;
        let (each, has_slots) = (view.looks_at_each(), slots.test(view, allocator));
        let may_start = |values: &[i64]| {
            each || (view.may_fit_where(values, |set, own| shadow.may_admit(view, set, own))
                && has_slots
                    .passes_where(values, |least| delayed_head.may_admit(view, allocator, shadow, least)))
        };
        let found = view.state.queue.first_matching(Some(&after), &may_start)?;
        self.pass = Pass::Behind(found);
        Some(found.job)
    }

    /// Return whether a job behind the head is within its limits, fits, and does not delay the head.
    fn chance_behind(
        &mut self,
        view: View<'_>,
        allocator: &mut Allocator,
        job: u32,
    ) -> Result<Chance, Unanswered> {
        let Some(shadow) = &mut self.shadow else { return Ok(Chance::DoesNotFit) };
        if view.over_limit(job).is_none() && self.delayed_head.is_known(view, allocator, shadow, job) {
            return Ok(Chance::DoesNotFit);
        }
        let chance = chance_of(view, allocator, job)?;
        let delays_head = chance == Chance::Fits
            && !shadow.admit(view, allocator, job, &allocator.chosen, &mut self.availability);
        if delays_head {
            self.delayed_head.note(view, allocator, shadow, job);
        }
        Ok(if delays_head { Chance::DoesNotFit } else { chance })
    }
}
