//! A plan of running jobs and reservations in the profile, kept between passes.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cluster::{NodeSets, NodeTasks, PlacementRequest, Profile, ProfileOverlay, Unanswered};
use crate::placement::Allocator;
use crate::state::{ExpectedEnd, View};
use crate::time::{Time, from_ordered_bits};

/// A job on nodes over [start, end): reserved, running, or assumed to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Held {
    job: u32,
    /// Index of its request; the slot of an ended job can be reused.
    request: u32,
    start: f64,
    end: f64,
    placement: Vec<NodeTasks>,
    /// The set of connected partitions that a reservation must stay in; None if it may use all nodes of its job.
    connected: Option<usize>,
}

impl Held {
    fn overlay<'a>(&'a self, view: View<'a>) -> ProfileOverlay<'a> {
        let request = view.scenario.requests.get(self.request);
        ProfileOverlay { request, placement: &self.placement, from: self.start, until: self.end }
    }

    fn hold(&self, profile: &mut Profile, view: View<'_>) {
        let request = view.scenario.requests.get(self.request);
        profile.hold(request, &self.placement, self.start, self.end);
    }

    fn release(&self, profile: &mut Profile, view: View<'_>) {
        let request = view.scenario.requests.get(self.request);
        profile.release(request, &self.placement, self.start, self.end);
    }
}

/// The running jobs, and the reservations in the order in which they were made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    empty: Profile,
    profile: Profile,
    /// By expected end, as of the last update of the plan.
    running: Vec<(ExpectedEnd, Held)>,
    /// Jobs admitted since then.
    admitted: Vec<(ExpectedEnd, Held)>,
    reserved: Vec<Held>,
    /// Number of reservations in the profile, counted from the first. Those before a job are in it while its start is
    /// searched.
    held: usize,
    /// Start of each reservation, and the total amounts left at that time.
    left: Vec<(f64, Vec<i64>)>,
    /// True if the running jobs have to be entered again, on the machine's current capacity.
    is_void: bool,
    /// The machine's change counter at the last update of the plan. None if recomputed reservations would differ.
    changes: Option<u64>,
}

/// Return the earliest start over the job's node sets (the first set wins ties; infinite if it fits in none), and its
/// placement.
fn earliest(
    profile: &Profile,
    view: View<'_>,
    allocator: &mut Allocator,
    job: u32,
) -> Result<(f64, Vec<NodeTasks>), Unanswered> {
    earliest_among(profile, allocator, view.placement_requests(job))
}

/// Return the earliest start with one of these requests of the job, and its placement.
fn earliest_among<'a>(
    profile: &Profile,
    allocator: &mut Allocator,
    wants: impl Iterator<Item = PlacementRequest<'a>>,
) -> Result<(f64, Vec<NodeTasks>), Unanswered> {
    let mut first = (f64::INFINITY, Vec::new());
    for want in wants {
        let mut placement = Vec::new();
        let before = first.0;
        if let Some(start) = profile.earliest(&want, before, allocator, &mut placement)? {
            first = (start, placement);
        }
    }
    Ok(first)
}

impl Plan {
    /// Create an empty plan for a machine with these capacities.
    #[must_use]
    pub fn new(resources: usize, capacity: &[i64], node_sets: &Arc<NodeSets>) -> Self {
        let empty = Profile::new(resources, capacity, node_sets);
        Self {
            profile: empty.clone(),
            empty,
            running: Vec::new(),
            admitted: Vec::new(),
            reserved: Vec::new(),
            held: 0,
            left: Vec::new(),
            is_void: false,
            changes: None,
        }
    }

    /// Handle the event that the machine's capacity may have changed.
    pub fn disturbed(&mut self) {
        self.is_void = true;
    }

    /// Return whether all reservations would be recomputed identically for the same jobs.
    ///
    /// This holds if nothing was released, only admitted jobs started, no reservation moved to other nodes at their
    /// admission, and no reservation is due: then less is free than when they were made, and they fit at their starts
    /// on their nodes.
    #[must_use]
    pub fn still_holds(&self, view: View<'_>, allocator: &Allocator) -> bool {
        let known = self.changes.map(|changes| changes + self.admitted.len() as u64);
        !self.is_void
            && known == Some(view.state.machine.changes())
            && allocator.is_stateless()
            && view.scenario.calendar.is_none()
            && view.scenario.preemption.is_none()
            && self.reserved.iter().all(|reserved| view.now() < reserved.start)
    }

    /// Advance to the current time with all reservations unchanged.
    pub fn advance(&mut self, view: View<'_>) {
        self.profile.advance(view.now());
    }

    /// Delete the reservations and enter the current running jobs. O(running jobs), and the nodes of those that have
    /// changed.
    pub fn follow(&mut self, view: View<'_>) {
        let machine = &view.state.machine;
        self.changes = Some(machine.changes());
        if std::mem::replace(&mut self.is_void, machine.has_unavailable()) || machine.has_unavailable() {
            self.forget_all();
            self.profile =
                if machine.has_unavailable() { Profile::of_machine(machine) } else { self.empty.clone() };
        }
        self.profile.advance(view.now());
        self.forget_from(view, 0);
        // Admitted jobs are running now.
        self.running.append(&mut self.admitted);
        self.running.sort_unstable_by_key(|&(end, _)| end);
        let mut before = std::mem::take(&mut self.running).into_iter().peekable();
        // Release the nodes of ended jobs before entering new ones: no node is counted twice.
        let mut begun = Vec::new();
        view.visit_running(&mut |end| {
            while let Some((_, over)) = before.next_if(|(its_end, _)| *its_end < end) {
                over.release(&mut self.profile, view);
            }
            let placement = view.state.jobs.placement(end.job);
            let same = before.next_if(|(its_end, held)| *its_end == end && held.placement == placement);
            let held = same.unwrap_or_else(|| {
                begun.push(self.running.len());
                let request = view.scenario.job(end.job).request;
                let (start, until) = (view.now(), end.time.0);
                let placement = placement.to_vec();
                (end, Held { job: end.job, request, start, end: until, placement, connected: None })
            });
            self.running.push(held);
            true
        });
        for (_, over) in before {
            over.release(&mut self.profile, view);
        }
        for number in begun {
            self.running[number].1.hold(&mut self.profile, view);
        }
    }

    fn forget_all(&mut self) {
        self.running.clear();
        self.admitted.clear();
        self.reserved.clear();
        self.held = 0;
    }

    /// Delete the reservations from this index on.
    pub fn forget_from(&mut self, view: View<'_>, number: usize) {
        self.hold_first(view, self.held.min(number));
        self.reserved.truncate(number);
    }

    /// Hold exactly the first `number` reservations in the profile.
    fn hold_first(&mut self, view: View<'_>, number: usize) {
        while self.held < number {
            self.reserved[self.held].hold(&mut self.profile, view);
            self.held += 1;
        }
        while self.held > number {
            self.held -= 1;
            self.reserved[self.held].release(&mut self.profile, view);
        }
    }

    /// Return the jobs with reservations, in the order in which they were made.
    pub fn reserved_jobs(&self) -> impl Iterator<Item = u32> {
        self.reserved.iter().map(|reserved| reserved.job)
    }

    /// Return the jobs with reservations, and when these begin.
    pub fn instants(&self) -> impl Iterator<Item = (u32, f64)> {
        self.reserved.iter().map(|reserved| (reserved.job, reserved.start))
    }

    /// Return whether jobs with these queue values may be admitted according to totals. False only if none of them is.
    #[must_use]
    pub fn may_admit(&self, view: View<'_>, values: &[i64]) -> bool {
        may_admit(view, values, self.left.iter().map(|(start, left)| (*start, &left[..])))
    }

    /// Compute the total amounts left at each reservation's start. They do not depend on the nodes chosen, except for
    /// exclusive jobs: if there are any, nothing is known.
    pub fn count_left(&mut self, view: View<'_>) {
        self.hold_first(view, 0);
        self.left.clear();
        if view.scenario.requests.has_exclusive() {
            return;
        }
        for one in &self.reserved {
            let Some(totals) = self.profile.totals_at(one.start) else { continue };
            let then = self.reserved.iter().filter(|other| other.start <= one.start && one.start < other.end);
            let mut left = totals.to_vec();
            for other in then {
                for (resource, left) in left.iter_mut().enumerate() {
                    *left -= view.need(other.job, resource);
                }
            }
            self.left.push((one.start, left));
        }
    }

    /// Reserve at the earliest instant after the reservations made before. Return this instant.
    pub fn reserve(
        &mut self,
        view: View<'_>,
        allocator: &mut Allocator,
        job: u32,
    ) -> Result<f64, Unanswered> {
        self.hold_first(view, self.reserved.len());
        let (start, placement) = earliest(&self.profile, view, allocator, job)?;
        self.reserved.push(reservation(view, job, start, placement));
        Ok(start)
    }

    /// Reserve in one of the admitted sets of connected partitions, and keep the reservation there. Return the set, or
    /// None if the job can start in none of them and has no reservation.
    pub fn reserve_among(
        &mut self,
        view: View<'_>,
        allocator: &mut Allocator,
        job: u32,
        admits: impl Fn(usize) -> bool,
    ) -> Result<Option<usize>, Unanswered> {
        self.hold_first(view, self.reserved.len());
        let sets = &view.scenario.node_sets;
        let wants = view
            .placement_requests(job)
            .filter(|want| sets.connected(want.request.nodes).is_some_and(&admits));
        let (start, placement) = earliest_among(&self.profile, allocator, wants)?;
        let connected = placement.first().and_then(|part| sets.partitions().of_node(part.node));
        if connected.is_some() {
            self.reserved.push(Held { connected, ..reservation(view, job, start, placement) });
        }
        Ok(connected)
    }

    /// Reserve at this instant. Return false if the job does not fit from then on.
    pub fn reserve_at(
        &mut self,
        view: View<'_>,
        allocator: &mut Allocator,
        job: u32,
        start: f64,
    ) -> Result<bool, Unanswered> {
        self.hold_first(view, 0);
        let others: Vec<ProfileOverlay<'_>> = self.reserved.iter().map(|held| held.overlay(view)).collect();
        let placement = place_besides(&mut self.profile, view, allocator, (job, start, None), &others)?;
        let fits = placement.is_some();
        self.reserved.extend(placement.map(|placement| reservation(view, job, start, placement)));
        Ok(fits)
    }

    /// Cancel the reservation of a job.
    pub fn give_up(&mut self, view: View<'_>, job: u32) {
        self.hold_first(view, 0);
        self.reserved.retain(|reserved| reserved.job != job);
    }

    /// Add a job that starts now on these nodes to the plan, if all reservations can be placed again at their starts.
    /// Return whether it was added.
    pub fn admit(
        &mut self,
        view: View<'_>,
        allocator: &mut Allocator,
        job: u32,
        placement: &[NodeTasks],
    ) -> Result<bool, Unanswered> {
        let held = assumed(view, job, placement);
        let (again, moved) = self.place_again(view, allocator, &held)?;
        if moved.is_some() {
            return Ok(false);
        }
        let moved = self.reserved.iter().zip(&again).any(|(one, other)| one.placement != other.placement);
        if moved {
            self.changes = None;
        }
        self.reserved = again;
        held.hold(&mut self.profile, view);
        let (row, end) = (view.scenario.job(job).row, held.end);
        self.admitted.push((ExpectedEnd { time: Time(end), row, job }, held));
        Ok(true)
    }

    /// Return the job of the first reservation that could not be placed again at its start beside a job that starts now
    /// on these nodes, this start, and the earliest instant at which the job would fit; None if there is none.
    pub fn first_moved(
        &mut self,
        view: View<'_>,
        allocator: &mut Allocator,
        job: u32,
        placement: &[NodeTasks],
    ) -> Result<Option<(u32, f64, f64)>, Unanswered> {
        let held = assumed(view, job, placement);
        let (again, moved) = self.place_again(view, allocator, &held)?;
        let Some((job, start, connected)) = moved else { return Ok(None) };
        let others = || std::iter::once(&held).chain(&again);
        others().for_each(|other| other.hold(&mut self.profile, view));
        let found = earliest_among(&self.profile, allocator, requests_in(view, job, connected));
        others().for_each(|other| other.release(&mut self.profile, view));
        Ok(Some((job, start, found?.0)))
    }

    /// Place the reservations again at their starts beside an assumed job. Return those up to the first one for which
    /// that fails, and this one.
    fn place_again(
        &mut self,
        view: View<'_>,
        allocator: &mut Allocator,
        held: &Held,
    ) -> Result<(Vec<Held>, Option<Reserved>), Unanswered> {
        self.hold_first(view, 0);
        // A job that ends before a reservation begins does not change its placement, nor that of the reservations
        // before it.
        let overlaps = |reserved: &Held| !allocator.is_stateless() || reserved.start < held.end;
        let first = self.reserved.iter().position(overlaps).unwrap_or(self.reserved.len());
        let mut again = self.reserved[..first].to_vec();
        for Held { job, start, connected, .. } in &self.reserved[first..] {
            let others: Vec<ProfileOverlay<'_>> =
                std::iter::once(held).chain(&again).map(|held| held.overlay(view)).collect();
            let own = (*job, *start, *connected);
            let Some(placement) = place_besides(&mut self.profile, view, allocator, own, &others)? else {
                return Ok((again, Some(own)));
            };
            again.push(Held { connected: *connected, ..reservation(view, *job, *start, placement) });
        }
        Ok((again, None))
    }
}

/// A reservation: its job, its start, and the set of connected partitions that it must stay in.
type Reserved = (u32, f64, Option<usize>);

/// Return a job that is assumed to start now on these nodes.
fn assumed(view: View<'_>, job: u32, placement: &[NodeTasks]) -> Held {
    let request = view.scenario.job(job).request;
    let (start, end) = (view.now(), view.supposed_end(job, placement));
    Held { job, request, start, end, placement: placement.to_vec(), connected: None }
}

/// Return whether jobs with these queue values may be admitted, given the total amounts left at the start of each
/// reservation.
pub(super) fn may_admit<'a>(
    view: View<'_>,
    values: &[i64],
    mut left: impl Iterator<Item = (f64, &'a [i64])>,
) -> bool {
    let end = view.now() + from_ordered_bits(values[0]);
    let has_left = |left: &[i64]| values[1..].iter().zip(left).all(|(need, left)| need <= left);
    left.all(|(start, left)| end <= start || has_left(left))
}

fn reservation(view: View<'_>, job: u32, start: f64, placement: Vec<NodeTasks>) -> Held {
    let request = view.scenario.job(job).request;
    let end = start + view.placement_request(job).duration;
    Held { job, request, start, end, placement, connected: None }
}

/// Return the requests of a job in a set of connected partitions; all if it need not stay in one.
fn requests_in(
    view: View<'_>,
    job: u32,
    connected: Option<usize>,
) -> impl Iterator<Item = PlacementRequest<'_>> {
    let sets = &view.scenario.node_sets;
    view.placement_requests(job)
        .filter(move |want| connected.is_none() || sets.connected(want.request.nodes) == connected)
}

/// Place a job at this instant beside other jobs, in its set of connected partitions. None if it does not fit.
fn place_besides(
    profile: &mut Profile,
    view: View<'_>,
    allocator: &mut Allocator,
    (job, start, connected): Reserved,
    others: &[ProfileOverlay<'_>],
) -> Result<Option<Vec<NodeTasks>>, Unanswered> {
    let mut placement = Vec::new();
    // A job that never fits has an infinite start; it occupies no nodes and does not restrict other jobs.
    let mut fits = start.is_infinite();
    for want in requests_in(view, job, connected) {
        fits = fits || profile.fits_with_overlays(&want, start, others, allocator, &mut placement)?;
    }
    Ok(fits.then_some(placement))
}
