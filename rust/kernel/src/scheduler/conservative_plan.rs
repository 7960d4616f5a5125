//! The plan of conservative backfilling (S7): reservations of queued jobs and nodes of running jobs, kept between
//! passes.
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cluster::{NodeSets, NodeTasks, Place, PlacementRequest, Profile, Request, Unanswered};
use crate::index::SharedColumn;
use crate::placement::Allocator;
use crate::state::View;
use crate::time::Time;

use super::contender::{Contender, HeldTime, part_on, sorted};
use super::freed_capacity::{FreedCapacity, Openings, Reserved};
use super::overdue::Overdue;

/// Number of failed trials after which the openings are recomputed: a recomputation costs about as much.
const MOST_VAIN_TRIALS: u32 = 4;

/// A reservation that a scheduler keeps for a queued job.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedStart {
    /// The planned start, seconds.
    pub start: f64,
    /// The nodes that it names.
    pub placement: Vec<NodeTasks>,
}

/// Start time and nodes reserved for a queued job.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Reservation {
    /// NaN if the job has no reservation.
    start: f64,
    duration: f64,
    /// Index of the job's request in its first node set, and index of its class in `openings`.
    request: u32,
    class: u32,
    tasks: u32,
    /// True if freed nodes are not the only way to an earlier start: a limit has prevented one, the job fits when
    /// overdue jobs end, or its reservation has been cancelled.
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

/// The reservations, and the profile that contains them and the running jobs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConservativePlan {
    profile: Profile,
    /// Indexed by slot; queued jobs only.
    reservations: SharedColumn<Reservation>,
    by_start: BTreeSet<(Time, u32)>,
    overdue: Overdue,
    /// Nodes freed since the latest compression began, and since the compression before it. A job that was examined in
    /// the earlier one can start earlier only if one of these nodes makes room.
    freed: FreedCapacity,
    freed_twice: FreedCapacity,
    /// Runs of free time on the freed nodes, for each class of requests.
    openings: Vec<Openings>,
    /// True if a reservation has moved since the openings were computed. The count is the number of failed trials since
    /// then.
    are_openings_wide: bool,
    vain_trials: u32,
    /// True if the latest compression, or a reservation made after it, has left an open reservation.
    is_any_open: bool,
    /// True if this pass or the next one plans jobs with an infinite reservation again.
    reexamines: bool,
    /// The jobs whose reservations were made, moved or cancelled in this pass, some more than once; None if nobody asks.
    changed: Option<Vec<u32>>,
    scratch: Vec<NodeTasks>,
}

impl ConservativePlan {
    /// Create a plan without reservations for a machine with these capacities.
    #[must_use]
    pub fn new(resources: usize, capacity: &[i64], node_sets: &Arc<NodeSets>) -> Self {
        let nodes = capacity.len() / resources;
        Self {
            profile: Profile::new(resources, capacity, node_sets),
            reservations: SharedColumn::default(),
            by_start: BTreeSet::new(),
            overdue: Overdue::default(),
            freed: FreedCapacity::new(nodes),
            freed_twice: FreedCapacity::new(nodes),
            openings: Vec::new(),
            are_openings_wide: false,
            vain_trials: 0,
            is_any_open: false,
            reexamines: false,
            changed: None,
            scratch: Vec::new(),
        }
    }

    /// Share the per-job data with the next clone.
    pub fn share(&mut self) {
        self.reservations.share();
    }

    /// Plan jobs with an infinite reservation again in the next pass.
    pub fn reexamine(&mut self) {
        self.reexamines = true;
    }

    /// Begin a pass, in which no reservation has changed yet.
    pub fn begin_pass(&mut self) {
        if let Some(changed) = &mut self.changed {
            changed.clear();
        }
    }

    /// Note the jobs whose reservations change, from now on.
    pub fn note_changes(&mut self) {
        self.changed.get_or_insert_default();
    }

    fn note(&mut self, job: u32) {
        if let Some(changed) = &mut self.changed {
            changed.push(job);
        }
    }

    /// Return the jobs whose reservations have changed in this pass, if they are noted.
    #[must_use]
    pub fn changed(&self) -> &[u32] {
        self.changed.as_deref().unwrap_or_default()
    }

    /// Return whether jobs are planned again although no event has occurred.
    #[must_use]
    pub fn reexamines(&self) -> bool {
        self.reexamines
    }

    /// Return the start of the earliest reservation after the latest pass.
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

    /// Cancel all reservations. Reserve the nodes of running jobs until their expected ends, on the machine's current
    /// capacity.
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
            self.note(job);
            self.reservations.get_mut(job as usize).start = f64::NAN;
        }
        self.freed.clear();
        self.freed_twice.clear();
        self.reexamines = false;
        self.hold_overdue(view);
    }

    /// Move the profile to the current time, and release the remaining time of ended jobs. Return whether a job has
    /// ended its run.
    pub fn advance(&mut self, view: View<'_>) -> bool {
        self.overdue.release(&mut self.profile, &mut self.freed, view);
        self.profile.advance(view.now());
        // A rejected job that never ran releases nothing.
        let has_run = |&job: &u32| !view.state.jobs.start_time(job).is_nan();
        let has_ended = view.state.ended.iter().any(has_run);
        if has_ended {
            self.release_ended(view);
        }
        has_ended
    }

    /// Return whether overdue jobs release nodes at this instant.
    pub fn is_any_ending(&mut self, view: View<'_>) -> bool {
        self.overdue.is_any_ending(view)
    }

    /// Add the nodes of overdue jobs to the profile at the current instant.
    pub fn hold_overdue(&mut self, view: View<'_>) {
        self.overdue.hold(&mut self.profile, view);
    }

    /// Begin a compression. Return whether it can change a reservation.
    pub fn begin_compression(&mut self, view: View<'_>) -> bool {
        std::mem::swap(&mut self.freed, &mut self.freed_twice);
        self.freed.clear();
        let may_change = std::mem::take(&mut self.is_any_open) || !self.freed_twice.is_over(view.now());
        if may_change {
            self.forget_openings();
        }
        may_change
    }

    /// Return the jobs to reserve for, in order: new arrivals, and jobs with an infinite reservation if these are
    /// planned again. O(log q) per job.
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

    /// Return whether an arrived job still waits, is not closed by a limit, and has no reservation yet.
    fn is_new(&self, view: View<'_>, job: u32) -> bool {
        let is_open = view.is_in_queue(job) && !view.state.queue.closed.contains(job);
        is_open && reservation_of(&self.reservations, job).is_none()
    }

    /// Invalidate the openings; the next query recomputes them.
    fn forget_openings(&mut self) {
        self.openings.iter_mut().for_each(Openings::forget);
        self.are_openings_wide = false;
        self.vain_trials = 0;
    }

    /// Release the unused part of the estimates of jobs that have ended.
    fn release_ended(&mut self, view: View<'_>) {
        for &job in &view.state.ended {
            let until = view.expected_end(job).time.0;
            let placement = view.state.jobs.placement(job);
            // For a job that never started, `until` is NaN and the condition is false.
            if until > view.now() {
                self.profile.release(view.request(job), placement, view.now(), until);
                self.freed.add(placement, view.now(), until);
            }
            self.overdue.end(job, until, &mut self.freed, view);
        }
    }

    /// Move reservations earlier, never later, from index `from` on until one job has been tried. Return the index of
    /// the next job, or None after the last one.
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

    /// Return the interval of instants in which the job may get an earlier start, or None if it cannot.
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

    /// Move the job's reservation to the earliest start within these instants, if it fits.
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
        self.note(job);
        self.by_start.remove(&(Time(old), job));
        self.by_start.insert((Time(start), job));
        self.give_up(want.request, &before, (old, start), job);
        self.scratch = before;
        Ok(())
    }

    /// Record the node time released by a job whose reservation has moved earlier; on nodes that it keeps, only the end
    /// of its time.
    fn give_up(&mut self, request: &Request, before: &[NodeTasks], (old, start): (f64, f64), job: u32) {
        let Reservation { duration, placement, .. } = self.reservations.get(job as usize);
        // Most placements are sorted by node index. In others, kept nodes may be missed: the released time is then an
        // upper bound.
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

    /// Return the reservations of queued jobs, by slot; without infinite ones.
    #[must_use]
    pub fn planned(&self) -> BTreeMap<u32, PlannedStart> {
        let finite = self.by_start.iter().filter(|(start, _)| *start < Time::NEVER);
        let planned = finite.map(|&(start, job)| {
            let placement = self.reservations.get(job as usize).placement.clone();
            (job, PlannedStart { start: start.0, placement })
        });
        planned.collect()
    }

    /// Begin with the running jobs and these reservations. If the pass of this instant is over, jobs without one are
    /// planned in the next pass. All reservations are examined by the next compression.
    pub fn resume(&mut self, view: View<'_>, planned: &[(u32, &PlannedStart)], decided: bool) {
        self.begin_anew(view);
        for &(job, planned) in planned {
            let want = view.placement_request(job);
            self.profile.hold(want.request, &planned.placement, planned.start, planned.start + want.duration);
            self.keep(view, job, planned.start, true, planned.placement.clone());
        }
        if decided {
            for job in view.state.queue.jobs() {
                if reservation_of(&self.reservations, job).is_none() {
                    self.keep(view, job, f64::INFINITY, true, Vec::new());
                }
            }
        }
        (self.is_any_open, self.reexamines) = (true, decided);
    }

    /// Keep a reservation of a job that has none.
    fn keep(&mut self, view: View<'_>, job: u32, start: f64, is_open: bool, placement: Vec<NodeTasks>) {
        self.reservations.extend_to(job as usize + 1, &Reservation::NONE);
        let want = view.placement_request(job);
        self.note(job);
        self.by_start.insert((Time(start), job));
        let request = view.scenario.job(job).request;
        let mut class = 0;
        for &request in view.scenario.alternatives(job).iter().rev() {
            class = self.class_of(view.scenario.requests.get(request));
        }
        let (duration, tasks) = (want.duration, want.tasks);
        *self.reservations.get_mut(job as usize) =
            Reservation { start, duration, request, class, tasks, is_open, placement };
    }

    /// Make the earliest reservation for a job that has none.
    pub fn reserve(&mut self, view: View<'_>, allocator: &mut Allocator, job: u32) -> Result<(), Unanswered> {
        let want = view.placement_request(job);
        // A job that never fits gets an infinite start and occupies no nodes; it waits for overdue jobs or for more
        // capacity.
        let (start, is_open, placement) = self.earliest(view, allocator, job)?;
        self.is_any_open |= is_open;
        self.reexamines |= start == f64::INFINITY && (is_open || view.scenario.calendar.is_some());
        self.profile.hold(want.request, &placement, start, start + want.duration);
        self.keep(view, job, start, is_open, placement);
        Ok(())
    }

    /// Return the earliest start over the job's node sets (the first set wins ties; infinite if it fits in none),
    /// whether it fits in one of them when overdue jobs end, and its placement.
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

    /// Return the class of a request; add a class if none matches.
    fn class_of(&mut self, request: &Request) -> u32 {
        let known = self.openings.iter_mut().position(|openings| openings.admit(request));
        known.unwrap_or_else(|| {
            self.openings.push(Openings::of(request));
            self.openings.len() - 1
        }) as u32
    }

    /// Cancel the reservation of a job.
    pub fn cancel(&mut self, view: View<'_>, job: u32) {
        let want = view.placement_request(job);
        let reservation = self.reservations.get_mut(job as usize);
        let start = std::mem::replace(&mut reservation.start, f64::NAN);
        let end = start + reservation.duration;
        self.freed.add(&reservation.placement, start, end);
        self.profile.release(want.request, &reservation.placement, start, end);
        self.by_start.remove(&(Time(start), job));
        self.note(job);
    }

    /// Return the jobs with a due reservation, in order.
    #[must_use]
    pub fn due(&self, view: View<'_>) -> Vec<u32> {
        let is_due = |(start, _): &&(Time, u32)| start.0 <= view.now();
        let mut due: Vec<u32> = self.by_start.iter().take_while(is_due).map(|&(_, job)| job).collect();
        view.sort_by_rank(&mut due);
        due
    }

    /// Replace the reservation of a job with an infinite one.
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

    /// Delete the infinite reservation, if any, of a job that must not be planned.
    pub fn forget(&mut self, job: u32) {
        if reservation_of(&self.reservations, job).is_some() {
            self.note(job);
            self.reservations.get_mut(job as usize).start = f64::NAN;
        }
    }

    /// Return whether the reserved nodes of a job have room for it now.
    #[must_use]
    pub fn has_room(&self, view: View<'_>, job: u32) -> bool {
        let placement = &self.reservations.get(job as usize).placement;
        let request = view.request_on(job, placement);
        request.is_some_and(|request| view.state.machine.has_room(request, placement))
            && view.is_open_to(job, placement)
    }

    /// Return the planned start of a queued job; None if it has none.
    #[must_use]
    pub fn planned_start(&self, job: u32) -> Option<f64> {
        let start = reservation_of(&self.reservations, job).map(|reservation| reservation.start);
        start.filter(|start| start.is_finite())
    }

    /// Return the first reservation, by instant and submission, that would lack nodes if a job started now on these nodes
    /// and did not end before, with its instant; of those that begin at `from` or later, and before `until` or now. The
    /// reservation of `without` is not in the way.
    ///
    /// O(reservations until the first one · their nodes), and O(log of the nodes of the job) for each node in common.
    #[must_use]
    pub fn obstacle(
        &self,
        view: View<'_>,
        other: &Contender<'_>,
        without: Option<u32>,
        (from, until): (f64, f64),
    ) -> Option<(f64, u32)> {
        let now = view.now();
        let own = without.and_then(|job| self.held_by(view, job));
        let own_parts = own.as_ref().map_or_else(Vec::new, |own| sorted(own.placement));
        let released = |node: u32, instant: f64| {
            let own = own.as_ref().filter(|own| own.start <= instant && instant < own.end)?;
            part_on(&own_parts, node).map(|part| (own.request, part))
        };
        let first = if from <= now { f64::NEG_INFINITY } else { from };
        let mut found: Option<(Time, (Time, u64), u32)> = None;
        let later = self.by_start.range((Time(first), 0)..);
        for &(start, job) in later.filter(|&&(_, job)| Some(job) != without) {
            let begin = start.0.max(now);
            let is_late = begin >= until && begin > now;
            if is_late || found.is_some_and(|(time, ..)| time < Time(begin)) || begin.is_infinite() {
                break;
            }
            let reservation = self.reservations.get(job as usize);
            let has_length = start.0 < start.0 + reservation.duration;
            let lacks = |part: &NodeTasks| {
                let has_room =
                    |own| self.profile.has_room_at(other.request, own, begin, released(own.node, begin));
                other.part_on(part.node).is_some_and(|own| !has_room(own))
            };
            if has_length && reservation.placement.iter().any(lacks) {
                let row = view.scenario.job(job);
                let this = (Time(begin), (Time(row.submit_time), row.row), job);
                found = Some(found.map_or(this, |other| other.min(this)));
            }
        }
        found.map(|(begin, _, job)| (begin.0, job))
    }

    /// Return the time that the reservation of a job holds; None if it has none that begins.
    fn held_by<'a>(&'a self, view: View<'a>, job: u32) -> Option<HeldTime<'a>> {
        let start = self.planned_start(job)?;
        let Reservation { duration, placement, .. } = self.reservations.get(job as usize);
        let request = view.placement_request(job).request;
        Some(HeldTime { request, placement, start, end: start + duration })
    }

    /// Return the earliest instant, from its own on, at which a job with a reservation would fit if another one started
    /// now on these nodes. `copy` is a copy of the profile, or None, and stays one for the next call of the pass.
    ///
    /// O(size of the profile) for a copy, O(its steps · nodes of the jobs), and a search.
    pub fn start_beside(
        &self,
        view: View<'_>,
        allocator: &Allocator,
        reserved: u32,
        other: &Contender<'_>,
        copy: &mut Option<Profile>,
    ) -> Result<f64, Unanswered> {
        let mut profile = copy.take().unwrap_or_else(|| self.profile.clone());
        let given_up = [self.held_by(view, other.job), self.held_by(view, reserved)];
        for held in given_up.iter().flatten() {
            profile.release(held.request, held.placement, held.start, held.end);
        }
        let (now, end) = (view.now(), view.now() + view.placement_request(other.job).duration);
        let can_undo = profile.hold_on_trial(other.request, &other.parts, now, end);
        let found = self.earliest_again(view, allocator, reserved, &profile);
        if can_undo {
            profile.release(other.request, &other.parts, now, end);
            for held in given_up.iter().flatten() {
                profile.hold(held.request, held.placement, held.start, held.end);
            }
            *copy = Some(profile);
        }
        found
    }

    /// Return the earliest instant, from its own on, at which a job with a reservation fits in a profile without it.
    fn earliest_again(
        &self,
        view: View<'_>,
        mut allocator: &Allocator,
        reserved: u32,
        profile: &Profile,
    ) -> Result<f64, Unanswered> {
        let start = self.reservations.get(reserved as usize).start;
        let mut tried = Vec::new();
        for want in view.placement_requests(reserved) {
            if profile.fits_at(&want, start, &mut allocator, &mut tried)? {
                return Ok(start);
            }
        }
        let mut earliest = f64::INFINITY;
        for want in view.placement_requests(reserved) {
            let within = (profile.next_change(&want, start), earliest);
            let (found, _) =
                earliest_within(profile, &self.overdue, &want, within, &mut allocator, &mut tried)?;
            earliest = found.unwrap_or(earliest);
        }
        Ok(earliest)
    }

    /// Convert a reservation into a start now: the profile reserves the nodes until the job's expected end. Return the
    /// nodes.
    pub fn start(&mut self, view: View<'_>, job: u32) -> Vec<NodeTasks> {
        let start = self.reservations.get(job as usize).start;
        self.note(job);
        if start < view.now() {
            // The reservation was due earlier; the job occupies its nodes from now on.
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
        // If nodes have to wake first, the estimate counts from the end of the wake-up.
        let supposed_end = view.supposed_end(job, &placement);
        if supposed_end > end {
            self.profile.release(want.request, &placement, view.now(), end);
            self.profile.hold(want.request, &placement, view.now(), supposed_end);
        }
        self.overdue.add(job, supposed_end.max(end));
        placement
    }
}

/// Return the reservation of a job, or None if it has none.
fn reservation_of(reservations: &SharedColumn<Reservation>, job: u32) -> Option<&Reservation> {
    let is_known = (job as usize) < reservations.len();
    is_known.then(|| reservations.get(job as usize)).filter(|kept| !kept.start.is_nan())
}

/// Find the earliest start in [from, before) at which a job fits for its whole duration. Return it, and whether the job
/// fits right after now, when overdue jobs end. Write its placement to `placement`.
///
/// A job cannot start right after now: the search then continues at the next instant at which the plan changes.
fn earliest_within(
    profile: &Profile,
    overdue: &Overdue,
    want: &PlacementRequest<'_>,
    (from, before): (f64, f64),
    allocator: &mut impl Place,
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
