//! A plan of reservations by totals, for jobs that fit if the free total of one resource suffices.
//!
//! Running jobs only release resources: the free total at an instant is the current one, plus what they have released
//! by then, minus the reservations of that time. If no other reservation begins while a new one holds its resources,
//! the total at its start decides: the others hold different nodes, all of which were free. If another one begins in
//! that time, it may use nodes that are free at the start, or nodes that become free later: totals then give a lower
//! and an upper bound. If the need lies between the bounds, this plan does not decide, and nodes must be examined. O(k
//! log n) for a reservation beside k others, and O(k) for each reservation that a job might delay.
use serde::{Deserialize, Serialize};

use crate::placement::Allocator;
use crate::state::View;

use super::plan::may_admit;
use super::shadow::{free_at, limiting_resource};

/// A job with its reservation over [start, end).
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Reserved {
    job: u32,
    /// Index of the resource with the deciding total.
    resource: usize,
    start: f64,
    end: f64,
    /// Total amounts that running jobs leave free at its start.
    free: Vec<i64>,
    /// The part of `free` left by all reservations that hold resources then, including this one.
    left: Vec<i64>,
}

impl Reserved {
    fn holds_at(&self, instant: f64) -> bool {
        self.start <= instant && instant < self.end
    }
}

/// Amount of the deciding resource that a job needs over [start, end).
#[derive(Clone, Copy, Debug)]
struct Want {
    resource: usize,
    need: i64,
    start: f64,
    end: f64,
}

/// A job that may start now, and its expected end.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    job: u32,
    end: f64,
}

/// Result of a test by totals.
#[derive(Clone, Copy, Debug, PartialEq)]
enum TotalsOutcome {
    Fits,
    /// At this instant less is left than needed.
    Lacks(f64),
    /// Undecided: nodes must be examined.
    Undecided,
}

/// Reservations in the order in which they were made.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PlanByTotals {
    reserved: Vec<Reserved>,
    /// True if jobs have started since the reservations were made.
    has_admitted: bool,
}

/// Return the resource whose free total decides whether a job fits, now and later. None if there is no such resource,
/// or if an external allocator may refuse the job.
pub fn deciding_resource(view: View<'_>, allocator: &Allocator, job: u32) -> Option<usize> {
    let request = view.scenario.job(job).request;
    let is_plain = allocator.as_external().is_none()
        && view.scenario.calendar.is_none()
        && view.scenario.node_sets.count() == 1;
    if is_plain { limiting_resource(view, allocator, job, request) } else { None }
}

impl PlanByTotals {
    /// Delete all reservations.
    pub fn clear(&mut self) {
        self.reserved.clear();
        self.has_admitted = false;
    }

    /// Return the number of reservations.
    #[must_use]
    pub fn count(&self) -> usize {
        self.reserved.len()
    }

    /// Return whether jobs have started since the reservations were made.
    #[must_use]
    pub fn has_admitted(&self) -> bool {
        self.has_admitted
    }

    /// Return the jobs and starts of the reservations, in the order in which they were made.
    pub fn instants(&self) -> impl Iterator<Item = (u32, f64)> {
        self.reserved.iter().map(|one| (one.job, one.start))
    }

    /// Reserve at the earliest instant after the reservations made before. Return false if totals do not determine it.
    pub fn reserve(&mut self, view: View<'_>, allocator: &Allocator, job: u32) -> bool {
        let Some(resource) = deciding_resource(view, allocator, job) else { return false };
        let (need, duration) = (view.need(job, resource), view.placement_request(job).duration);
        let mut start = view.now();
        loop {
            let free = free_at(view, start);
            let want = Want { resource, need, start, end: start + duration };
            match self.outcome(view, self.reserved.len(), want, free[resource], None) {
                TotalsOutcome::Fits => {
                    let left = free.clone();
                    self.reserved.push(Reserved { job, resource, start, end: want.end, free, left });
                    self.count_left(view);
                    return true;
                }
                TotalsOutcome::Undecided => return false,
                TotalsOutcome::Lacks(instant) => match self.next_start(view, want, instant) {
                    Some(next) => start = next,
                    None => return false,
                },
            }
        }
    }

    /// Return whether jobs with these queue values may be admitted. False only if none of them is.
    #[must_use]
    pub fn may_admit(&self, view: View<'_>, values: &[i64]) -> bool {
        may_admit(view, values, self.reserved.iter().map(|one| (one.start, &one.left[..])))
    }

    /// Return whether each reservation keeps its start if a job, whose own fit is decided by totals, runs from now
    /// until `end`. If so, add the job to the plan. None if nodes must be examined.
    pub fn admit(&mut self, view: View<'_>, job: u32, end: f64) -> Option<bool> {
        let mut admits = Some(true);
        for (number, one) in self.reserved.iter().enumerate().filter(|(_, one)| one.start < end) {
            let resource = one.resource;
            let want = Want { resource, need: view.need(one.job, resource), start: one.start, end: one.end };
            match self.outcome(view, number, want, one.free[resource], Some(Candidate { job, end })) {
                TotalsOutcome::Fits => {}
                TotalsOutcome::Lacks(_) => return Some(false),
                TotalsOutcome::Undecided => admits = None,
            }
        }
        if admits == Some(true) {
            self.take_in(view, job, end);
        }
        admits
    }

    /// Add a job that runs from now until `end`.
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

    /// Test a job beside the first `count` reservations and a candidate. `free` is the amount that running jobs leave
    /// at its start.
    fn outcome(
        &self,
        view: View<'_>,
        count: usize,
        want: Want,
        free: i64,
        candidate: Option<Candidate>,
    ) -> TotalsOutcome {
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
            return TotalsOutcome::Lacks(want.start);
        }
        for one in others.iter().filter(|one| want.start < one.start && one.start < want.end) {
            if left_at(one.start, one.free[want.resource]) < want.need {
                return TotalsOutcome::Lacks(one.start);
            }
            // These reservations take at most this much of what is free at the start.
            least -= need(one);
        }
        if least < want.need { TotalsOutcome::Undecided } else { TotalsOutcome::Fits }
    }

    /// Return the first instant after `instant` at which a running job or a reservation releases resources that may
    /// suffice.
    fn next_start(&self, view: View<'_>, want: Want, instant: f64) -> Option<f64> {
        let holding = || self.reserved.iter().filter(|one| one.holds_at(instant));
        let held: i64 = holding().map(|one| view.need(one.job, want.resource)).sum();
        let mut carried = view.state.machine.free_totals().to_vec();
        let is_enough = |totals: &[i64]| totals[want.resource] >= want.need + held;
        let running = view.state.running.by_expected_end()?.first_prefix(&mut carried, &is_enough);
        holding().map(|one| one.end).chain(running.map(|end| end.time.0)).min_by(f64::total_cmp)
    }

    /// Update the amounts left at each reservation's start after the last reservation was added.
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
        // A reservation of zero length holds nothing, and others may begin on the same nodes.
        if last.holds_at(last.start) {
            take(&mut last.left, last.job);
        }
    }
}
