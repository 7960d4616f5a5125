//! A plan of reservations as far as totals tell it, for jobs whose fit is decided by the free total of one resource.
//!
//! Running jobs only give back: what is free in all at an instant is what is free now and what they have given back by then, less
//! what reservations hold then. Where no other reservation begins while a new one would hold its nodes, the total at its start
//! decides: the others that hold nodes then hold different ones, all of which were free. Where another begins meanwhile, it may
//! take nodes that are free at the start, or others that are free later: totals give a bound on either side. If the need lies
//! between the bounds, nodes decide, and this plan does not. O(k log n) for a reservation besides k others, O(k) for each
//! reservation that a job might delay.
use serde::{Deserialize, Serialize};

use crate::placement::Allocator;
use crate::state::View;

use super::plan::may_admit;
use super::shadow::{free_at, limiting_resource};

/// A job that is to hold its needs over [start, end).
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Reserved {
    job: u32,
    /// The resource whose total decides.
    resource: usize,
    start: f64,
    end: f64,
    /// What running jobs leave in all at its start.
    free: Vec<i64>,
    /// What it leaves of that, with all reservations that hold something then.
    left: Vec<i64>,
}

impl Reserved {
    fn holds_at(&self, instant: f64) -> bool {
        self.start <= instant && instant < self.end
    }
}

/// How much of the resource whose total decides a job is to hold over [start, end).
#[derive(Clone, Copy, Debug)]
struct Want {
    resource: usize,
    need: i64,
    start: f64,
    end: f64,
}

/// A job that may start now: until when it would hold its needs.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    job: u32,
    end: f64,
}

/// What totals tell about a time.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    Fits,
    /// At this instant less is left than is needed.
    Lacks(f64),
    /// Nodes decide.
    Open,
}

/// Reservations in the order in which they were made.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PlanByTotals {
    reserved: Vec<Reserved>,
    /// Whether jobs have started besides.
    has_admitted: bool,
}

/// The resource whose free total decides when a job fits, now and later; None where there is none, or where an allocator outside
/// may refuse the job.
pub fn deciding_resource(view: View<'_>, allocator: &Allocator, job: u32) -> Option<usize> {
    let request = view.scenario.job(job).request;
    let is_plain = allocator.as_external().is_none()
        && view.scenario.calendar.is_none()
        && view.scenario.node_sets.count() == 1;
    if is_plain { limiting_resource(view, allocator, job, request) } else { None }
}

impl PlanByTotals {
    /// Forgets all reservations.
    pub fn clear(&mut self) {
        self.reserved.clear();
        self.has_admitted = false;
    }

    /// How many reservations there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.reserved.len()
    }

    /// Whether jobs have started besides.
    #[must_use]
    pub fn has_admitted(&self) -> bool {
        self.has_admitted
    }

    /// The jobs and the instants of the reservations, in the order in which they were made.
    pub fn instants(&self) -> impl Iterator<Item = (u32, f64)> {
        self.reserved.iter().map(|one| (one.job, one.start))
    }

    /// Reserves at the earliest instant, given the reservations made before; false where totals do not tell it.
    pub fn reserve(&mut self, view: View<'_>, allocator: &Allocator, job: u32) -> bool {
        let Some(resource) = deciding_resource(view, allocator, job) else { return false };
        let (need, duration) = (view.need(job, resource), view.placement_request(job).duration);
        let mut start = view.now();
        loop {
            let free = free_at(view, start);
            let want = Want { resource, need, start, end: start + duration };
            match self.verdict(view, self.reserved.len(), want, free[resource], None) {
                Verdict::Fits => {
                    let left = free.clone();
                    self.reserved.push(Reserved { job, resource, start, end: want.end, free, left });
                    self.count_left(view);
                    return true;
                }
                Verdict::Open => return false,
                Verdict::Lacks(instant) => match self.next_start(view, want, instant) {
                    Some(next) => start = next,
                    None => return false,
                },
            }
        }
    }

    /// Whether jobs with such values of the queue may be admitted: false only if none of them is.
    #[must_use]
    pub fn may_admit(&self, view: View<'_>, values: &[i64]) -> bool {
        may_admit(view, values, self.reserved.iter().map(|one| (one.start, &one.left[..])))
    }

    /// Whether each reservation keeps its instant if a job, whose own total decides, runs from now on until `end`; if so, it does.
    /// None where nodes decide.
    pub fn admit(&mut self, view: View<'_>, job: u32, end: f64) -> Option<bool> {
        let mut admits = Some(true);
        for (number, one) in self.reserved.iter().enumerate().filter(|(_, one)| one.start < end) {
            let resource = one.resource;
            let want = Want { resource, need: view.need(one.job, resource), start: one.start, end: one.end };
            match self.verdict(view, number, want, one.free[resource], Some(Candidate { job, end })) {
                Verdict::Fits => {}
                Verdict::Lacks(_) => return Some(false),
                Verdict::Open => admits = None,
            }
        }
        if admits == Some(true) {
            self.take_in(view, job, end);
        }
        admits
    }

    /// A job runs from now on until `end`.
    fn take_in(&mut self, view: View<'_>, job: u32, end: f64) {
        self.has_admitted = true;
        for one in self.reserved.iter_mut().filter(|one| one.start < end) {
            for (resource, free) in one.free.iter_mut().enumerate() {
                let need = view.need(job, resource);
                *free -= need;
                one.left[resource] -= need;
            }
        }
    }

    /// What totals tell about a job besides the first `count` reservations and a candidate; `free` is what running jobs leave at its
    /// start.
    fn verdict(
        &self,
        view: View<'_>,
        count: usize,
        want: Want,
        free: i64,
        candidate: Option<Candidate>,
    ) -> Verdict {
        let others = &self.reserved[..count];
        let need = |one: &Reserved| view.need(one.job, want.resource);
        let left_at = |instant: f64, free: i64| {
            let begun = candidate.filter(|candidate| instant < candidate.end);
            let begun = begun.map_or(0, |candidate| view.need(candidate.job, want.resource));
            let held: i64 = others.iter().filter(|one| one.holds_at(instant)).map(need).sum();
            free - begun - held
        };
        let mut least = left_at(want.start, free);
        if least < want.need {
            return Verdict::Lacks(want.start);
        }
        for one in others.iter().filter(|one| want.start < one.start && one.start < want.end) {
            if left_at(one.start, one.free[want.resource]) < want.need {
                return Verdict::Lacks(one.start);
            }
            // At most as much of what is free at the start will have been taken.
            least -= need(one);
        }
        if least < want.need { Verdict::Open } else { Verdict::Fits }
    }

    /// The first instant behind one that lacks something at which a running job or a reservation gives back what may be enough.
    fn next_start(&self, view: View<'_>, want: Want, instant: f64) -> Option<f64> {
        let holding = || self.reserved.iter().filter(|one| one.holds_at(instant));
        let held: i64 = holding().map(|one| view.need(one.job, want.resource)).sum();
        let mut carried = view.state.machine.free_totals().to_vec();
        let is_enough = |totals: &[i64]| totals[want.resource] >= want.need + held;
        let running = view.state.running.by_expected_end()?.first_prefix(&mut carried, &is_enough);
        holding().map(|one| one.end).chain(running.map(|end| end.time.0)).min_by(f64::total_cmp)
    }

    /// Counts what is left at the start of each reservation, of which the last is new.
    fn count_left(&mut self, view: View<'_>) {
        let Some((last, before)) = self.reserved.split_last_mut() else { return };
        let take = |left: &mut [i64], job| {
            for (resource, left) in left.iter_mut().enumerate() {
                *left -= view.need(job, resource);
            }
        };
        for one in before.iter_mut() {
            if last.holds_at(one.start) {
                take(&mut one.left, last.job);
            }
            if one.holds_at(last.start) {
                take(&mut last.left, one.job);
            }
        }
        // What has no length holds nothing, and others may begin on the same nodes.
        if last.holds_at(last.start) {
            take(&mut last.left, last.job);
        }
    }
}
