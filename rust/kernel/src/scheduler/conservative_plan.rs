//! The plan of conservative backfilling: the reservations of the queued jobs beside the running ones, kept from pass to pass (S7).
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cluster::{NodeSets, NodeTasks, PlacementRequest, Profile, Request, Unanswered};
use crate::index::SharedColumn;
use crate::placement::Allocator;
use crate::state::View;
use crate::time::Time;

use super::freed::{Freed, Openings, Reserved};
use super::overdue::Overdue;

/// To look up openings anew costs about as much as so many trials for which they gave hope in vain.
const MOST_VAIN_TRIALS: u32 = 4;

/// Where and when a queued job is to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Reservation {
    /// Not a number where the job has none.
    start: f64,
    duration: f64,
    /// The number of the job's request, in the first of its node sets, and that of the openings of its class.
    request: u32,
    class: u32,
    tasks: u32,
    /// True if freed nodes are not the only way to an earlier start: a limit has kept the job from one, it
    /// would fit once overdue jobs are over, or its reservation has been given up.
    is_open: bool,
    placement: Vec<NodeTasks>,
}

impl Reservation {
    const NONE: Self = Self {
        start: f64::NAN,
        duration: 0.0,
        request: 0,
        class: 0,
        tasks: 0,
        is_open: false,
        placement: Vec::new(),
    };

    fn as_reserved(&self) -> Reserved<'_> {
        Reserved { start: self.start, duration: self.duration, placement: &self.placement }
    }
}

/// The reservations, and the profile that holds them and the running jobs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConservativePlan {
    profile: Profile,
    /// By slot; of queued jobs only.
    reservations: SharedColumn<Reservation>,
    by_start: BTreeSet<(Time, u32)>,
    overdue: Overdue,
    /// What was freed since the latest compression began; and since the one before. A job that was looked at in that one can
    /// start earlier only where one of these nodes makes room.
    freed: Freed,
    freed_twice: Freed,
    /// What that offers to each class of requests.
    openings: Vec<Openings>,
    /// Whether something was planned since the openings were looked up, and how many trials have been in vain since then.
    are_openings_wide: bool,
    vain_trials: u32,
    /// True if there is an open reservation, as far as is known since the latest compression began.
    is_any_open: bool,
    /// True if jobs with an infinite reservation are planned again, in this pass or the next.
    reexamines: bool,
    scratch: Vec<NodeTasks>,
}

impl ConservativePlan {
    /// No reservations yet on a machine of these capacities.
    #[must_use]
    pub fn new(resources: usize, capacity: &[i64], node_sets: &Arc<NodeSets>) -> Self {
        let nodes = capacity.len() / resources;
        Self {
            profile: Profile::new(resources, capacity, node_sets),
            reservations: SharedColumn::default(),
            by_start: BTreeSet::new(),
            overdue: Overdue::default(),
            freed: Freed::new(nodes),
            freed_twice: Freed::new(nodes),
            openings: Vec::new(),
            are_openings_wide: false,
            vain_trials: 0,
            is_any_open: false,
            reexamines: false,
            scratch: Vec::new(),
        }
    }

    /// Lets the next clone share what is kept of single jobs.
    pub fn share(&mut self) {
        self.reservations.share();
    }

    /// Takes note that jobs with an infinite reservation may get another.
    pub fn reexamine(&mut self) {
        self.reexamines = true;
    }

    /// Return whether jobs are planned again although nothing has happened.
    #[must_use]
    pub fn reexamines(&self) -> bool {
        self.reexamines
    }

    /// The first instant after the latest pass for which a reservation stands.
    #[must_use]
    pub fn next_start(&self) -> Time {
        let later = (Bound::Excluded((Time(self.profile.now()), u32::MAX)), Bound::Unbounded);
        self.by_start.range(later).next().map_or(Time::NEVER, |&(start, _)| start)
    }

    /// Return whether a reservation is due.
    #[must_use]
    pub fn is_any_due(&self, view: View<'_>) -> bool {
        self.by_start.first().is_some_and(|&(start, _)| start.0 <= view.now())
    }

    /// Forgets all reservations, and holds the running jobs until their expected ends on the nodes that the machine offers now.
    pub fn begin_anew(&mut self, view: View<'_>) {
        self.profile = Profile::of_machine(&view.state.machine);
        self.profile.advance(view.now());
        self.overdue.clear();
        for job in view.running_jobs() {
            let until = view.expected_end(job).time.0;
            self.profile.hold(view.request(job), view.state.jobs.placement(job), view.now(), until);
            self.overdue.add(job, until);
        }
        for (_, job) in std::mem::take(&mut self.by_start) {
            self.reservations.get_mut(job as usize).start = f64::NAN;
        }
        self.freed.clear();
        self.freed_twice.clear();
        self.reexamines = false;
        self.hold_overdue(view);
    }

    /// Moves on to now, and takes back what ended jobs have held; whether some job has ended its run.
    pub fn advance(&mut self, view: View<'_>) -> bool {
        self.overdue.release(&mut self.profile, &mut self.freed, view);
        self.profile.advance(view.now());
        // A job that was rejected because of another gives nothing back.
        let has_run = |&job: &u32| !view.state.jobs.start_time(job).is_nan();
        let has_ended = view.state.ended.iter().any(has_run);
        if has_ended {
            self.release_ended(view);
        }
        has_ended
    }

    /// Return whether nodes of overdue jobs come free at this instant.
    pub fn is_any_ending(&mut self, view: View<'_>) -> bool {
        self.overdue.is_any_ending(view)
    }

    /// Has the profile hold the nodes of overdue jobs now.
    pub fn hold_overdue(&mut self, view: View<'_>) {
        self.overdue.hold(&mut self.profile, view);
    }

    /// Begins a compression; whether it may change something.
    pub fn begin_compression(&mut self, view: View<'_>) -> bool {
        std::mem::swap(&mut self.freed, &mut self.freed_twice);
        self.freed.clear();
        let may_change = std::mem::take(&mut self.is_any_open) || !self.freed_twice.is_over(view.now());
        if may_change {
            self.forget_openings();
        }
        may_change
    }

    /// The jobs that are to get reservations, in order: those that arrived, and those that have an infinite one but may get
    /// another. O(log q) for each.
    pub fn unreserved(&mut self, view: View<'_>) -> Vec<u32> {
        let arrived = &view.state.queue.arrived;
        let mut jobs: Vec<u32> = arrived.iter().copied().filter(|&job| self.is_new(view, job)).collect();
        if std::mem::take(&mut self.reexamines) {
            let infinite = self.by_start.split_off(&(Time::NEVER, 0));
            jobs.extend(infinite.into_iter().map(|(_, job)| job));
        }
        view.sort_by_rank(&mut jobs);
        jobs
    }

    /// Return whether a job that has arrived still waits, is not known to be over a limit, and has no reservation yet.
    fn is_new(&self, view: View<'_>, job: u32) -> bool {
        let is_open = view.is_in_queue(job) && !view.state.queue.closed.contains(job);
        is_open && reservation_of(&self.reservations, job).is_none()
    }

    /// What is free where something was freed is looked up when it is asked next.
    fn forget_openings(&mut self) {
        self.openings.iter_mut().for_each(Openings::forget);
        self.are_openings_wide = false;
        self.vain_trials = 0;
    }

    /// Jobs that ended before their estimate give the rest of their time back to the plan.
    fn release_ended(&mut self, view: View<'_>) {
        for &job in &view.state.ended {
            let until = view.expected_end(job).time.0;
            let placement = view.state.jobs.placement(job);
            // Of a job that never started no time is later.
            if until > view.now() {
                self.profile.release(view.request(job), placement, view.now(), until);
                self.freed.add(placement, view.now(), until);
            }
            if self.overdue.remove(job, until) {
                // At later instants the plan has held its nodes no more.
                self.freed.add(placement, view.now(), view.now().next_up());
            }
        }
    }

    /// Lets the jobs give up their reservations and take the earliest ones, never later ones, up to the first that takes or
    /// looks for another: the place of the next; None: that was all.
    pub fn compress(
        &mut self,
        view: View<'_>,
        allocator: &mut Allocator,
        jobs: &[u32],
        from: usize,
    ) -> Result<Option<usize>, Unanswered> {
        for (place, &job) in jobs.iter().enumerate().skip(from) {
            if let Some((first, before)) = self.chance(view, job) {
                self.improve(view, allocator, job, first, before)?;
                return Ok(Some(place + 1));
            }
        }
        Ok(None)
    }

    /// Within which instants a job may get an earlier reservation, if it can.
    fn chance(&mut self, view: View<'_>, job: u32) -> Option<(f64, f64)> {
        let reservation = reservation_of(&self.reservations, job)?;
        if reservation.is_open {
            return Some((self.profile.now(), reservation.start));
        }
        let Self { profile, freed_twice, openings, .. } = self;
        let alternatives = view.scenario.alternatives(job);
        let old = reservation.as_reserved();
        if alternatives.len() == 1 {
            let request = view.scenario.requests.get(reservation.request);
            let openings = &mut openings[reservation.class as usize];
            let (first, before) = openings.chance(profile, freed_twice, request, reservation.tasks, old)?;
            let first = profile.admitted_from(&view.placement_request(job), first, before, old.start)?;
            return Some((first, before));
        }
        let mut widest: Option<(f64, f64)> = None;
        for &request in alternatives {
            let request = view.scenario.requests.get(request);
            let Some(openings) = openings.iter_mut().find(|each| each.has(request)) else { continue };
            if let Some((first, before)) =
                openings.chance(profile, freed_twice, request, reservation.tasks, old)
            {
                widest = Some(widest.map_or((first, before), |(a, b)| (first.min(a), before.max(b))));
            }
        }
        widest
    }

    /// A job that may start earlier, within these instants, does so if it can.
    fn improve(
        &mut self,
        view: View<'_>,
        allocator: &mut Allocator,
        job: u32,
        first: f64,
        before: f64,
    ) -> Result<(), Unanswered> {
        let want = view.placement_request(job);
        let is_over_limit = view.over_limit(job).is_some();
        let reservation = self.reservations.get_mut(job as usize);
        reservation.is_open = is_over_limit;
        if is_over_limit {
            self.is_any_open = true;
            return Ok(());
        }
        let (old, duration) = (reservation.start, reservation.duration);
        self.profile.release(want.request, &reservation.placement, old, old + duration);
        let mut tried = std::mem::take(&mut self.scratch);
        let (mut earlier, mut placement) = (None, Vec::new());
        for want in view.placement_requests(job) {
            let before = earlier.unwrap_or(before);
            let (start, is_open) =
                earliest_within(&self.profile, &self.overdue, &want, (first, before), allocator, &mut tried)?;
            reservation.is_open |= is_open;
            if start.is_some() {
                earlier = start;
                std::mem::swap(&mut placement, &mut tried);
            }
        }
        self.is_any_open |= reservation.is_open;
        let Some(start) = earlier else {
            self.scratch = tried;
            self.profile.hold(want.request, &reservation.placement, old, old + duration);
            self.vain_trials += u32::from(self.are_openings_wide);
            if self.vain_trials >= MOST_VAIN_TRIALS {
                self.forget_openings();
            }
            return Ok(());
        };
        self.profile.hold(want.request, &placement, start, start + duration);
        reservation.start = start;
        let before = std::mem::replace(&mut reservation.placement, placement);
        self.by_start.remove(&(Time(old), job));
        self.by_start.insert((Time(start), job));
        self.give_up(want.request, &before, (old, start), job);
        self.scratch = before;
        Ok(())
    }

    /// Takes note of what a job gives up that starts earlier now: on nodes that it keeps, the end of its time.
    fn give_up(&mut self, request: &Request, before: &[NodeTasks], (old, start): (f64, f64), job: u32) {
        let Reservation { duration, placement, .. } = self.reservations.get(job as usize);
        // Most placements go by index. Of others some nodes that it keeps may not be found: what is given up is a bound.
        let mut now = placement.iter().peekable();
        let mut keeps = |part: &NodeTasks| {
            while now.next_if(|now| now.node < part.node).is_some() {}
            now.peek()
                .is_some_and(|now| now.node == part.node && (request.exclusive || now.tasks >= part.tasks))
        };
        let (kept, left): (Vec<NodeTasks>, Vec<NodeTasks>) = before.iter().partition(|part| keeps(part));
        for (nodes, begin) in [(left, old), (kept, old.max(start + duration))] {
            let end = old + duration;
            if !nodes.is_empty() {
                self.freed.add(&nodes, begin, end);
                self.freed_twice.add(&nodes, begin, end);
                for openings in &mut self.openings {
                    openings.add(&self.profile, &nodes, begin, end);
                }
            }
        }
        self.are_openings_wide = true;
    }

    /// A job without a reservation gets the earliest one.
    pub fn reserve(&mut self, view: View<'_>, allocator: &mut Allocator, job: u32) -> Result<(), Unanswered> {
        let want = view.placement_request(job);
        self.reservations.extend_to(job as usize + 1, &Reservation::NONE);
        // One that fits at no instant waits for overdue jobs, or until the machine offers more, and holds nothing.
        let (start, is_open, placement) = self.earliest(view, allocator, job)?;
        self.is_any_open |= is_open;
        self.reexamines |= start == f64::INFINITY && (is_open || view.scenario.calendar.is_some());
        self.profile.hold(want.request, &placement, start, start + want.duration);
        self.by_start.insert((Time(start), job));
        let request = view.scenario.job(job).request;
        let mut class = 0;
        for &request in view.scenario.alternatives(job).iter().rev() {
            class = self.class_of(view.scenario.requests.get(request));
        }
        let (duration, tasks) = (want.duration, want.tasks);
        *self.reservations.get_mut(job as usize) =
            Reservation { start, duration, request, class, tasks, is_open, placement };
        Ok(())
    }

    /// The earliest start of a job in one of its node sets, the first of those that are equal; infinite where it fits in none.
    /// Also whether it would fit in one once overdue jobs are over.
    fn earliest(
        &self,
        view: View<'_>,
        allocator: &mut Allocator,
        job: u32,
    ) -> Result<(f64, bool, Vec<NodeTasks>), Unanswered> {
        let (mut first, mut is_open) = ((f64::INFINITY, Vec::new()), false);
        for want in view.placement_requests(job) {
            let mut placement = Vec::new();
            let within = (self.profile.now(), first.0);
            let (start, skips) =
                earliest_within(&self.profile, &self.overdue, &want, within, allocator, &mut placement)?;
            is_open |= skips;
            if let Some(start) = start {
                first = (start, placement);
            }
        }
        Ok((first.0, is_open, first.1))
    }

    /// The class of a request, which is known or new.
    fn class_of(&mut self, request: &Request) -> u32 {
        let known = self.openings.iter_mut().position(|openings| openings.admit(request));
        known.unwrap_or_else(|| {
            self.openings.push(Openings::of(request));
            self.openings.len() - 1
        }) as u32
    }

    /// Cancels the reservation of a job, which has none then.
    pub fn cancel(&mut self, view: View<'_>, job: u32) {
        let want = view.placement_request(job);
        let reservation = self.reservations.get_mut(job as usize);
        let start = std::mem::replace(&mut reservation.start, f64::NAN);
        let end = start + reservation.duration;
        self.freed.add(&reservation.placement, start, end);
        self.profile.release(want.request, &reservation.placement, start, end);
        self.by_start.remove(&(Time(start), job));
    }

    /// The jobs whose reservations are due, in order.
    #[must_use]
    pub fn due(&self, view: View<'_>) -> Vec<u32> {
        let is_due = |(start, _): &&(Time, u32)| start.0 <= view.now();
        let mut due: Vec<u32> = self.by_start.iter().take_while(is_due).map(|&(_, job)| job).collect();
        view.sort_by_rank(&mut due);
        due
    }

    /// Replaces the reservation of a job by an infinite one.
    pub fn postpone(&mut self, view: View<'_>, job: u32) {
        self.cancel(view, job);
        let reservation = self.reservations.get_mut(job as usize);
        reservation.start = f64::INFINITY;
        reservation.is_open = true;
        self.is_any_open = true;
        reservation.placement.clear();
        self.by_start.insert((Time::NEVER, job));
        self.reexamines = true;
    }

    /// Forgets the infinite reservation of a job that is not to be planned, if it has one.
    pub fn forget(&mut self, job: u32) {
        if reservation_of(&self.reservations, job).is_some() {
            self.reservations.get_mut(job as usize).start = f64::NAN;
        }
    }

    /// Return whether the named nodes of a job have room for it now.
    #[must_use]
    pub fn has_room(&self, view: View<'_>, job: u32) -> bool {
        let placement = &self.reservations.get(job as usize).placement;
        let request = view.request_on(job, placement);
        request.is_some_and(|request| view.state.machine.has_room(request, placement))
            && view.is_open_to(job, placement)
    }

    /// Takes a job out of the reservations that starts now on its named nodes, and holds them until it is expected to end: the
    /// nodes.
    pub fn start(&mut self, view: View<'_>, job: u32) -> Vec<NodeTasks> {
        let start = self.reservations.get(job as usize).start;
        if start < view.now() {
            // It runs from now, not from when it was to.
            self.cancel(view, job);
        }
        let reservation = self.reservations.get_mut(job as usize);
        let placement = std::mem::take(&mut reservation.placement);
        let want = view.placement_request(job);
        let end = view.now() + want.duration;
        if start < view.now() {
            self.profile.hold(want.request, &placement, view.now(), end);
        } else {
            reservation.start = f64::NAN;
            self.by_start.remove(&(Time(start), job));
        }
        // Where nodes have to wake first, its estimate counts from then on.
        let supposed_end = view.supposed_end(job, &placement);
        if supposed_end > end {
            self.profile.release(want.request, &placement, view.now(), end);
            self.profile.hold(want.request, &placement, view.now(), supposed_end);
        }
        self.overdue.add(job, supposed_end.max(end));
        placement
    }
}

/// The reservation of a job; None if it has none.
fn reservation_of(reservations: &SharedColumn<Reservation>, job: u32) -> Option<&Reservation> {
    let is_known = (job as usize) < reservations.len();
    is_known.then(|| reservations.get(job as usize)).filter(|kept| !kept.start.is_nan())
}

/// The earliest instant in [from, before) at which a job fits for its whole duration, and its placement then. Also whether it fits
/// right after now, once overdue jobs are over.
///
/// That is no instant for a start: after now, the next one at which the plan changes is tried.
fn earliest_within(
    profile: &Profile,
    overdue: &Overdue,
    want: &PlacementRequest<'_>,
    (from, before): (f64, f64),
    allocator: &mut Allocator,
    placement: &mut Vec<NodeTasks>,
) -> Result<(Option<f64>, bool), Unanswered> {
    let found = profile.earliest_within(want, from, before, allocator, placement)?;
    let after_now = profile.now().next_up();
    if !overdue.is_any() || found != Some(after_now) {
        return Ok((found, false));
    }
    let next = profile.next_change(want, after_now);
    let found =
        if next < before { profile.earliest_within(want, next, before, allocator, placement)? } else { None };
    Ok((found, true))
}
