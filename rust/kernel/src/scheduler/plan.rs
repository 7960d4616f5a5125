//! A plan of running jobs and reservations in the profile, which is kept from pass to pass.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cluster::{NodeSets, NodeTasks, PlacementRequest, Profile, Supposed, Unanswered};
use crate::placement::Allocator;
use crate::state::{ExpectedEnd, View};
use crate::time::{Time, from_ordered_bits};

/// A job on nodes over [start, end): reserved, running, or supposed to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Held {
    job: u32,
    /// The number of its request: the slot of a job that is over can be that of another.
    request: u32,
    start: f64,
    end: f64,
    placement: Vec<NodeTasks>,
    /// The set of connected partitions in which a reservation stays; None where it may go to all nodes of its job.
    connected: Option<usize>,
}

impl Held {
    fn supposed<'a>(&'a self, view: View<'a>) -> Supposed<'a> {
        let request = view.scenario.requests.get(self.request);
        Supposed { request, placement: &self.placement, from: self.start, until: self.end }
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

/// The running jobs and the reservations, in the order in which they were made.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    empty: Profile,
    profile: Profile,
    /// By expected end, as they were when the plan was last brought up to date.
    running: Vec<(ExpectedEnd, Held)>,
    /// Those that have been admitted since.
    admitted: Vec<(ExpectedEnd, Held)>,
    reserved: Vec<Held>,
    /// How many of the reservations the profile holds: those made before another, while that is searched for.
    held: usize,
    /// When each reservation begins, and what is left in all then.
    left: Vec<(f64, Vec<i64>)>,
    /// Whether the running jobs are to be held anew, on what the machine offers now.
    is_void: bool,
    /// The machine's count of changes when the plan was last brought up to date; None: what is reserved would not be the same
    /// again.
    changes: Option<u64>,
}

/// The earliest start of a job in one of its node sets, the first of those that are equal; infinite where it fits in none.
fn earliest(
    profile: &Profile,
    view: View<'_>,
    allocator: &mut Allocator,
    job: u32,
) -> Result<(f64, Vec<NodeTasks>), Unanswered> {
    earliest_among(profile, allocator, view.placement_requests(job))
}

/// The same by one of these requests of the job.
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
    /// Nothing on a machine of these capacities.
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

    /// Takes note that the machine may offer something else.
    pub fn disturbed(&mut self) {
        self.is_void = true;
    }

    /// Whether all reservations would be the same again, if their jobs are.
    ///
    /// Nothing was given back, nothing started that the plan has not admitted, no reservation went to other nodes then, and none
    /// is due: less is free than when they were made, and at their instants they fit where they were put.
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

    /// Moves on to now with all reservations, which still hold.
    pub fn advance(&mut self, view: View<'_>) {
        self.profile.advance(view.now());
    }

    /// Forgets the reservations, and holds the jobs that run now. O(running jobs), and the nodes of those that are others than
    /// before.
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
        // What was admitted runs now.
        self.running.append(&mut self.admitted);
        self.running.sort_unstable_by_key(|&(end, _)| end);
        let mut before = std::mem::take(&mut self.running).into_iter().peekable();
        // What is over gives back its nodes before others take them: none is promised twice.
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

    /// Forgets the reservations from this one on.
    pub fn forget_from(&mut self, view: View<'_>, number: usize) {
        self.hold_first(view, self.held.min(number));
        self.reserved.truncate(number);
    }

    /// Has the profile hold the first so many reservations, and no others.
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

    /// The jobs that have reservations, in the order in which they were made.
    pub fn reserved_jobs(&self) -> impl Iterator<Item = u32> {
        self.reserved.iter().map(|reserved| reserved.job)
    }

    /// Whether jobs with such values of the queue may be admitted, as far as totals tell: false only if none of them is.
    #[must_use]
    pub fn may_admit(&self, view: View<'_>, values: &[i64]) -> bool {
        may_admit(view, values, self.left.iter().map(|(start, left)| (*start, &left[..])))
    }

    /// Counts what is left in all when reservations begin. Wherever they go, they take as much, except for jobs that take nodes
    /// whole: nothing is known where there are some.
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

    /// Reserves at the earliest instant, given the reservations made before: that instant.
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

    /// Reserves in one of the sets of connected partitions that are admitted, and stays there: which that is. None where the job
    /// can start in none of them, and has no reservation.
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

    /// Reserves at this very instant; false where the job does not fit from then on.
    pub fn reserve_at(
        &mut self,
        view: View<'_>,
        allocator: &mut Allocator,
        job: u32,
        start: f64,
    ) -> Result<bool, Unanswered> {
        self.hold_first(view, 0);
        let others: Vec<Supposed<'_>> = self.reserved.iter().map(|held| held.supposed(view)).collect();
        let placement = place_besides(&mut self.profile, view, allocator, (job, start, None), &others)?;
        let fits = placement.is_some();
        self.reserved.extend(placement.map(|placement| reservation(view, job, start, placement)));
        Ok(fits)
    }

    /// Gives up the reservation of a job.
    pub fn give_up(&mut self, view: View<'_>, job: u32) {
        self.hold_first(view, 0);
        self.reserved.retain(|reserved| reserved.job != job);
    }

    /// Takes a job into the plan, on these nodes from now on, if all reservations can be placed again with it there, each
    /// at its instant.
    pub fn admit(
        &mut self,
        view: View<'_>,
        allocator: &mut Allocator,
        job: u32,
        placement: &[NodeTasks],
    ) -> Result<bool, Unanswered> {
        self.hold_first(view, 0);
        let request = view.scenario.job(job).request;
        let (start, end) = (view.now(), view.supposed_end(job, placement));
        let held = Held { job, request, start, end, placement: placement.to_vec(), connected: None };
        // What is over before a reservation begins does not change where it is, nor where those before it are.
        let overlaps = |reserved: &Held| !allocator.is_stateless() || reserved.start < end;
        let first = self.reserved.iter().position(overlaps).unwrap_or(self.reserved.len());
        let mut again = self.reserved[..first].to_vec();
        for Held { job, start, connected, .. } in &self.reserved[first..] {
            let others: Vec<Supposed<'_>> =
                std::iter::once(&held).chain(&again).map(|held| held.supposed(view)).collect();
            let own = (*job, *start, *connected);
            let Some(placement) = place_besides(&mut self.profile, view, allocator, own, &others)? else {
                return Ok(false);
            };
            again.push(Held { connected: *connected, ..reservation(view, *job, *start, placement) });
        }
        let moved = self.reserved.iter().zip(&again).any(|(one, other)| one.placement != other.placement);
        if moved {
            self.changes = None;
        }
        self.reserved = again;
        held.hold(&mut self.profile, view);
        let row = view.scenario.job(job).row;
        self.admitted.push((ExpectedEnd { time: Time(end), row, job }, held));
        Ok(true)
    }
}

/// Whether jobs with such values of the queue may be admitted where so much is left in all when reservations begin.
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

/// Where a job goes at this very instant if others hold nodes besides, in its set of connected partitions; None where it does not
/// fit.
fn place_besides(
    profile: &mut Profile,
    view: View<'_>,
    allocator: &mut Allocator,
    (job, start, connected): (u32, f64, Option<usize>),
    others: &[Supposed<'_>],
) -> Result<Option<Vec<NodeTasks>>, Unanswered> {
    let mut placement = Vec::new();
    // What does not fit on what the machine offers holds nothing, and restrains no other job.
    let mut fits = start.is_infinite();
    let sets = &view.scenario.node_sets;
    let stays =
        |want: &PlacementRequest<'_>| connected.is_none() || sets.connected(want.request.nodes) == connected;
    for want in view.placement_requests(job).filter(stays) {
        fits = fits || profile.fits_besides(&want, start, others, allocator, &mut placement)?;
    }
    Ok(fits.then_some(placement))
}
