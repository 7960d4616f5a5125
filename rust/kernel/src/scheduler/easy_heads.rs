//! EASY with partitions that are not connected (S6, S11): one head in each set of connected partitions.
//!
//! A pass reads the queue once: O(log q) for each job that starts, becomes a head, or is admitted by the totals of its
//! nodes and the reservation there. A reservation costs as in `easy`, and is made when a job behind its head could
//! start.
use serde::{Deserialize, Serialize};

use crate::cluster::{PlacementRequest, Unanswered};
use crate::placement::Allocator;
use crate::state::{ClosedPartitions, Rank, View};
use crate::time::Time;

use super::delayed_head_cache::DelayedHeadCache;
use super::free_slots::FreeSlots;
use super::shadow::Shadow;
use super::shadow_availability::ShadowAvailability;
use super::victims::preempt_among;
use super::{Chance, Step, chance_among, start_chosen};

/// State of one set of connected partitions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Connected {
    /// The first job that does not fit.
    head: Option<u32>,
    /// The reservation of the head, once it was needed.
    shadow: Option<Shadow>,
    availability: ShadowAvailability,
    /// Cache of the jobs that would delay the head.
    delayed_head: DelayedHeadCache,
}

/// The heads of a pass.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Heads {
    /// Indexed by set of connected partitions.
    connected: Vec<Connected>,
    /// Partitions in which a job blocks all jobs behind it.
    closed: ClosedPartitions,
    #[serde(skip)]
    slots: FreeSlots,
    /// The pass continues behind this job.
    after: Option<Rank>,
    is_over: bool,
}

impl Heads {
    /// Begin a pass. Return whether it examines the whole queue, which it does to find the heads or if some job may start.
    pub fn begin(&mut self, view: View<'_>, names_heads: bool) -> bool {
        let count = view.scenario.node_sets.partitions().connected();
        self.connected.resize_with(count, Connected::default);
        for each in &mut self.connected {
            (each.head, each.shadow) = (None, None);
            each.delayed_head.forget();
        }
        self.closed.clear();
        self.after = None;
        self.is_over = !(names_heads || view.may_start_some());
        !self.is_over
    }

    /// Return the head of each set of connected partitions, with its requests there.
    pub fn listed(&self, view: View<'_>) -> Vec<Option<(u32, Vec<u32>)>> {
        let requests = |(number, each): (usize, &Connected)| {
            each.head.map(|head| (head, requests_in(view, head, number)))
        };
        self.connected.iter().enumerate().map(requests).collect()
    }

    /// Propose the next step of the pass.
    pub fn propose(&mut self, view: View<'_>, allocator: &mut Allocator) -> Result<Step, Unanswered> {
        let next = if self.is_over { None } else { self.next(view, allocator) };
        let Some(rank) = next else {
            self.is_over = true;
            return Ok(Step::Done);
        };
        let (job, before) = (rank.job, self.after.replace(rank));
        if self.closed.shut_out(view, job) {
            return Ok(Step::Continue);
        }
        if self.surely_delays(view, allocator, job) {
            return Ok(Step::PassOver(job));
        }
        Ok(match chance_among(view, allocator, job, self.closed.requests(view, job))? {
            Chance::Fits if self.admits(view, allocator, job) => start_chosen(job),
            Chance::Fits => Step::PassOver(job),
            Chance::Closed(counter) => Step::Close(job, counter),
            Chance::HoldsUp => {
                self.closed.close_connected(view, job);
                self.is_over = self.closed.has_all();
                Step::Continue
            }
            Chance::DoesNotFit => {
                if let Some(step) = preempt_among(view, allocator, job, self.headless(view, job)) {
                    // If the job does not start yet, the pass examines it again, and it may become a head.
                    self.after = before;
                    return Ok(step);
                }
                self.take_head(view, allocator, job);
                Step::PassOver(job)
            }
        })
    }

    /// Return the next job that may become a head or that the totals admit.
    fn next(&mut self, view: View<'_>, allocator: &Allocator) -> Option<Rank> {
        let Self { connected, slots, after, .. } = self;
        let (each, has_slots) = (view.looks_at_each(), slots.test(view, allocator));
        let sets = &view.scenario.node_sets;
        let shadow_in = |set| sets.connected(set).and_then(|number| connected[number].shadow.as_ref());
        let matters = |values: &[i64]| {
            each || view.may_run_among(values, |number| connected[number].head.is_none())
                || (view.may_fit_where(values, |set, own| {
                    shadow_in(set).is_none_or(|shadow| shadow.may_admit(view, set, own))
                }) && has_slots.passes(values))
        };
        view.state.queue.first_matching(after.as_ref(), &matters)
    }

    /// Return whether a job with a single node set is known to delay the head there. Limits are checked too.
    fn surely_delays(&self, view: View<'_>, allocator: &Allocator, job: u32) -> bool {
        let &[request] = view.scenario.alternatives(job) else { return false };
        let set = view.scenario.requests.get(request).nodes;
        let Some(number) = view.scenario.node_sets.connected(set) else { return false };
        let Connected { shadow, delayed_head, .. } = &self.connected[number];
        shadow.as_ref().is_some_and(|shadow| delayed_head.is_known(view, allocator, shadow, job))
            && view.over_limit(job).is_none()
    }

    /// Return whether a job on the nodes chosen by the allocator does not delay the head there.
    fn admits(&mut self, view: View<'_>, allocator: &Allocator, job: u32) -> bool {
        let sets = &view.scenario.node_sets;
        let first = allocator.chosen.first().and_then(|part| sets.partitions().of_node(part.node));
        let Some(number) = first else { return true };
        let Connected { head, shadow, availability, delayed_head } = &mut self.connected[number];
        let Some(head) = *head else { return true };
        let shadow = shadow.get_or_insert_with(|| {
            let requests = requests_in(view, head, number);
            Shadow::among(view, allocator, head, &requests, availability)
        });
        let admitted = shadow.admit(view, allocator, job, &allocator.chosen, availability);
        if !admitted {
            delayed_head.note(view, allocator, shadow, job);
        }
        admitted
    }

    /// Return the requests of a job in sets of connected partitions without a head.
    fn headless<'a>(&'a self, view: View<'a>, job: u32) -> impl Iterator<Item = PlacementRequest<'a>> {
        let sets = &view.scenario.node_sets;
        let has_none = |number: usize| self.connected[number].head.is_none();
        self.closed
            .requests(view, job)
            .filter(move |want| sets.connected(want.request.nodes).is_some_and(has_none))
    }

    /// Make a job that does not fit the head of one set of connected partitions: the set in which it can start first.
    fn take_head(&mut self, view: View<'_>, allocator: &Allocator, job: u32) {
        let sets = &view.scenario.node_sets;
        let mut numbers: Vec<usize> =
            self.headless(view, job).filter_map(|want| sets.connected(want.request.nodes)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        if let [number] = *view.connected_of(job) {
            if numbers == [number] {
                self.connected[number].head = Some(job);
            }
            return;
        }
        // A job that may use several sets becomes head only of a set in which it can start.
        let alternatives = view.scenario.alternatives(job);
        let mut first: Option<((Time, Option<usize>), usize, Shadow)> = None;
        for number in numbers {
            let requests = requests_in(view, job, number);
            let shadow =
                Shadow::among(view, allocator, job, &requests, &mut self.connected[number].availability);
            let place = alternatives.iter().position(|&request| request == shadow.request);
            let start = (Time(shadow.time), place);
            let is_first = first.as_ref().is_none_or(|(best, ..)| start < *best);
            if shadow.time.is_finite() && is_first {
                first = Some((start, number, shadow));
            }
        }
        if let Some((_, number, shadow)) = first {
            let own = &mut self.connected[number];
            (own.head, own.shadow) = (Some(job), Some(shadow));
        }
    }
}

/// Return the requests of a job in one set of connected partitions.
fn requests_in(view: View<'_>, job: u32, number: usize) -> Vec<u32> {
    let sets = &view.scenario.node_sets;
    let is_there = |request: &u32| sets.connected(view.scenario.requests.get(*request).nodes) == Some(number);
    view.scenario.alternatives(job).iter().copied().filter(is_there).collect()
}
