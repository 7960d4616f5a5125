//! Conservative backfilling (S7), after Feitelson and Weil (IPPS 1998): every queued job has a reservation that names nodes.
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cluster::{NodeSets, NodeTasks, Profile, Request, Unanswered};
use crate::decision::{Decision, Where};
use crate::index::SharedColumn;
use crate::placement::Allocator;
use crate::state::View;
use crate::time::Time;

use super::freed::{Freed, Openings, Reserved};
use super::plan::{earliest, hold_running};
use super::{SchedulingRule, Step};

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
    placement: Vec<NodeTasks>,
}

impl Reservation {
    const NONE: Self =
        Self { start: f64::NAN, duration: 0.0, request: 0, class: 0, tasks: 0, placement: Vec::new() };

    fn as_reserved(&self) -> Reserved<'_> {
        Reserved { start: self.start, duration: self.duration, placement: &self.placement }
    }
}

/// How far a pass is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
enum Pass {
    #[default]
    Over,
    Begun,
    /// Gives each of these jobs an earlier reservation, if there is one; the next one's place.
    Compress(Vec<u32>, usize),
    /// Reserves for each of these jobs.
    Reserve(Vec<u32>, usize),
    /// Starts those of these jobs whose nodes have room.
    Start(Vec<u32>, usize),
}

/// Conservative backfilling: no job is delayed by a later one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Conservative {
    profile: Profile,
    /// By slot; of queued jobs only.
    reservations: SharedColumn<Reservation>,
    by_start: BTreeSet<(Time, u32)>,
    /// What was freed since the latest compression began; and since the one before. A job that was looked at in that one can
    /// start earlier only where one of these nodes makes room.
    freed: Freed,
    freed_twice: Freed,
    /// What that offers to each class of requests.
    openings: Vec<Openings>,
    /// Whether something was planned since the openings were looked up, and how many trials have been in vain since then.
    are_openings_wide: bool,
    vain_trials: u32,
    /// Whether something happened that no plan foresees, so that all of it is made anew.
    is_void: bool,
    /// Whether jobs for which no place was found are asked about again in this pass.
    reexamines: bool,
    pass: Pass,
    scratch: Vec<NodeTasks>,
}

impl Conservative {
    /// No reservations yet on a machine of these capacities.
    #[must_use]
    pub fn new(resources: usize, capacity: &[i64], node_sets: &Arc<NodeSets>) -> Self {
        let nodes = capacity.len() / resources;
        Self {
            profile: Profile::new(resources, capacity, node_sets),
            reservations: SharedColumn::default(),
            by_start: BTreeSet::new(),
            freed: Freed::new(nodes),
            freed_twice: Freed::new(nodes),
            openings: Vec::new(),
            are_openings_wide: false,
            vain_trials: 0,
            is_void: false,
            reexamines: false,
            pass: Pass::Over,
            scratch: Vec::new(),
        }
    }
}

impl SchedulingRule for Conservative {
    fn share(&mut self) {
        self.reservations.share();
    }

    fn disturbed(&mut self) {
        self.is_void = true;
    }

    fn reexamine(&mut self) {
        self.reexamines = true;
    }

    fn begin(&mut self, view: View<'_>, _: bool) -> bool {
        self.pass = Pass::Begun;
        let due = self.by_start.first().is_some_and(|&(start, _)| start.0 <= view.now());
        self.is_void || due || !view.state.ended.is_empty() || !view.state.queue.arrived.is_empty()
    }

    fn propose(&mut self, view: View<'_>, allocator: &mut Allocator) -> Result<Step, Unanswered> {
        match &mut self.pass {
            Pass::Over => return Ok(Step::Done),
            Pass::Begun => self.pass = self.release(view),
            Pass::Compress(jobs, next) => {
                let (jobs, next) = (std::mem::take(jobs), *next);
                self.pass = match self.compress(view, allocator, &jobs, next)? {
                    Some(next) => Pass::Compress(jobs, next),
                    None => Pass::Reserve(self.unreserved(view), 0),
                };
            }
            Pass::Reserve(jobs, next) => match jobs.get(*next).copied() {
                Some(job) => {
                    *next += 1;
                    if let Some((counter, _)) = view.over_limit(job) {
                        return Ok(Step::Close(job, counter));
                    }
                    self.reserve(view, allocator, job)?;
                }
                None => self.pass = Pass::Start(self.due(view), 0),
            },
            Pass::Start(jobs, next) => match jobs.get(*next).copied() {
                Some(job) => {
                    *next += 1;
                    if let Some(step) = self.start_due(view, allocator, job)? {
                        return Ok(step);
                    }
                }
                None => self.pass = Pass::Over,
            },
        }
        // What was planned stands: the pass can be left here, and questions to an allocator are not asked again.
        Ok(Step::Continue)
    }

    fn next_due(&self) -> Time {
        // Overdue reservations are retried at the next event.
        let later = (Bound::Excluded((Time(self.profile.now()), u32::MAX)), Bound::Unbounded);
        self.by_start.range(later).next().map_or(Time::NEVER, |&(start, _)| start)
    }
}

impl Conservative {
    /// Brings the plan up to date with what has ended; what the pass does then.
    fn release(&mut self, view: View<'_>) -> Pass {
        if std::mem::take(&mut self.is_void) {
            // All reservations anew, in order, around the running jobs on what the machine offers.
            self.profile = Profile::of_machine(&view.state.machine);
            hold_running(&mut self.profile, view);
            for (_, job) in std::mem::take(&mut self.by_start) {
                self.reservations.get_mut(job as usize).start = f64::NAN;
            }
            self.freed.clear();
            self.freed_twice.clear();
            self.reexamines = false;
            return Pass::Reserve(view.state.queue.jobs(), 0);
        }
        self.profile.advance(view.now());
        // A job that was rejected because of another gives nothing back.
        let has_run = |&job: &u32| !view.state.jobs.start_time(job).is_nan();
        if !view.state.ended.iter().any(has_run) {
            return Pass::Reserve(self.unreserved(view), 0);
        }
        self.release_ended(view);
        std::mem::swap(&mut self.freed, &mut self.freed_twice);
        self.freed.clear();
        if self.freed_twice.is_over(view.now()) {
            return Pass::Reserve(self.unreserved(view), 0);
        }
        self.forget_openings();
        Pass::Compress(view.state.queue.jobs(), 0)
    }

    /// The jobs that are to get reservations, in order: those that arrived, and those for which an allocator outside found
    /// no place before. O(log q) for each.
    fn unreserved(&mut self, view: View<'_>) -> Vec<u32> {
        let mut jobs = view.arrivals_in_order();
        if std::mem::take(&mut self.reexamines) {
            let refused = self.by_start.split_off(&(Time::NEVER, 0));
            jobs.extend(refused.into_iter().map(|(_, job)| job));
            view.sort_by_rank(&mut jobs);
        }
        jobs
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
        }
    }

    /// Lets the jobs give up their reservations and take the earliest ones, never later ones, up to the first that takes or
    /// looks for another: the place of the next; None: that was all.
    fn compress(
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
        if job as usize >= self.reservations.len() {
            return None;
        }
        let reservation = self.reservations.get(job as usize);
        if reservation.start.is_nan() {
            return None;
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
        let reservation = self.reservations.get_mut(job as usize);
        let (old, duration) = (reservation.start, reservation.duration);
        self.profile.release(want.request, &reservation.placement, old, old + duration);
        let mut tried = std::mem::take(&mut self.scratch);
        let (mut earlier, mut placement) = (None, Vec::new());
        for want in view.placement_requests(job) {
            let before = earlier.unwrap_or(before);
            if let Some(start) = self.profile.earliest_within(&want, first, before, allocator, &mut tried)? {
                earlier = Some(start);
                std::mem::swap(&mut placement, &mut tried);
            }
        }
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
    fn reserve(&mut self, view: View<'_>, allocator: &mut Allocator, job: u32) -> Result<(), Unanswered> {
        let want = view.placement_request(job);
        self.reservations.extend_to(job as usize + 1, &Reservation::NONE);
        // A job that fits on what the machine offers fits once everything planned is over; another has to wait until
        // something is offered anew, and holds nothing.
        let (start, placement) = earliest(&self.profile, view, allocator, job)?;
        self.profile.hold(want.request, &placement, start, start + want.duration);
        self.by_start.insert((Time(start), job));
        let request = view.scenario.job(job).request;
        let mut class = 0;
        for &request in view.scenario.alternatives(job).iter().rev() {
            class = self.class_of(view.scenario.requests.get(request));
        }
        let (duration, tasks) = (want.duration, want.tasks);
        *self.reservations.get_mut(job as usize) =
            Reservation { start, duration, request, class, tasks, placement };
        Ok(())
    }

    /// The class of a request, which is known or new.
    fn class_of(&mut self, request: &Request) -> u32 {
        let known = self.openings.iter_mut().position(|openings| openings.admit(request));
        known.unwrap_or_else(|| {
            self.openings.push(Openings::of(request));
            self.openings.len() - 1
        }) as u32
    }

    fn cancel(&mut self, view: View<'_>, job: u32) {
        let want = view.placement_request(job);
        let reservation = self.reservations.get_mut(job as usize);
        let start = std::mem::replace(&mut reservation.start, f64::NAN);
        let end = start + reservation.duration;
        self.freed.add(&reservation.placement, start, end);
        self.profile.release(want.request, &reservation.placement, start, end);
        self.by_start.remove(&(Time(start), job));
    }

    /// The jobs whose reservations are due, in order.
    fn due(&self, view: View<'_>) -> Vec<u32> {
        let is_due = |(start, _): &&(Time, u32)| start.0 <= view.now();
        let mut due: Vec<u32> = self.by_start.iter().take_while(is_due).map(|&(_, job)| job).collect();
        view.sort_by_rank(&mut due);
        due
    }

    /// Starts a due job where it is reserved; or, where that has no room, where a new reservation for now is.
    fn start_due(
        &mut self,
        view: View<'_>,
        allocator: &mut Allocator,
        job: u32,
    ) -> Result<Option<Step>, Unanswered> {
        if let Some((counter, _)) = view.over_limit(job) {
            self.cancel(view, job);
            return Ok(Some(Step::Close(job, counter)));
        }
        if !self.has_room(view, job) {
            self.cancel(view, job);
            self.reserve(view, allocator, job)?;
            let start = self.reservations.get(job as usize).start;
            if start > view.now() || !self.has_room(view, job) {
                return Ok(None);
            }
        }
        Ok(Some(self.start_where_reserved(view, job)))
    }

    fn has_room(&self, view: View<'_>, job: u32) -> bool {
        let placement = &self.reservations.get(job as usize).placement;
        let request = view.request_on(job, placement);
        request.is_some_and(|request| view.state.machine.has_room(request, placement))
            && view.is_open_to(job, placement)
    }

    /// Starts a job on its named nodes, which have room now.
    fn start_where_reserved(&mut self, view: View<'_>, job: u32) -> Step {
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
            self.profile.hold(want.request, &placement, end, supposed_end);
        }
        Step::Propose(Decision::Start { job, place: Where::Nodes(placement), tasks: None })
    }
}
