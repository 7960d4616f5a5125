//! The plan of one pass: running jobs and reservations in the profile.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cluster::{NodeSets, NodeTasks, Profile, Unanswered};
use crate::placement::Allocator;
use crate::state::{ExpectedEnd, View};

/// A job on nodes over [start, end): reserved, running, or supposed to run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Held {
    job: u32,
    /// The number of its request: the slot of a job that is over can be that of another.
    request: u32,
    start: f64,
    end: f64,
    placement: Vec<NodeTasks>,
}

/// The running jobs and the reservations of a pass; the running jobs are kept from pass to pass.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    empty: Profile,
    profile: Profile,
    /// By expected end, as they were when the plan was last brought up to date.
    running: Vec<(ExpectedEnd, Held)>,
    /// Those that have been admitted since.
    admitted: Vec<Held>,
    reserved: Vec<Held>,
    /// Whether the running jobs are to be held anew, on what the machine offers now.
    is_void: bool,
}

/// Moves a profile on to now; the running jobs hold their nodes until their expected ends.
pub fn hold_running(profile: &mut Profile, view: View<'_>) {
    profile.advance(view.now());
    for job in view.running_jobs() {
        let until = view.expected_end(job).time.0;
        profile.hold(view.request(job), view.state.jobs.placement(job), view.now(), until);
    }
}

/// The earliest start of a job in one of its node sets, the first of those that are equal; infinite where it fits in none.
pub fn earliest(
    profile: &Profile,
    view: View<'_>,
    allocator: &mut Allocator,
    job: u32,
) -> Result<(f64, Vec<NodeTasks>), Unanswered> {
    let mut first = (f64::INFINITY, Vec::new());
    for want in view.placement_requests(job) {
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
            is_void: false,
        }
    }

    /// Takes note that the machine may offer something else.
    pub fn disturbed(&mut self) {
        self.is_void = true;
    }

    /// Forgets the reservations, and holds the jobs that run now. O(running jobs), and the nodes of those that are others than
    /// before.
    pub fn follow(&mut self, view: View<'_>) {
        let requests = &view.scenario.requests;
        for held in self.reserved.drain(..).chain(self.admitted.drain(..)) {
            self.profile.release(requests.get(held.request), &held.placement, held.start, held.end);
        }
        let machine = &view.state.machine;
        if std::mem::replace(&mut self.is_void, machine.has_unavailable()) || machine.has_unavailable() {
            self.running.clear();
            self.profile =
                if machine.has_unavailable() { Profile::of_machine(machine) } else { self.empty.clone() };
        }
        self.profile.advance(view.now());
        let mut before = std::mem::take(&mut self.running).into_iter().peekable();
        let release = |profile: &mut Profile, held: &Held| {
            profile.release(requests.get(held.request), &held.placement, held.start, held.end);
        };
        for job in view.running_jobs() {
            let end = view.expected_end(job);
            let placement = view.state.jobs.placement(job);
            while let Some((_, over)) = before.next_if(|(its_end, _)| *its_end < end) {
                release(&mut self.profile, &over);
            }
            let same = before.next_if(|(its_end, held)| *its_end == end && held.placement == placement);
            self.running.push(same.unwrap_or_else(|| {
                let request = view.scenario.job(job).request;
                let (start, until) = (view.now(), end.time.0);
                self.profile.hold(requests.get(request), placement, start, until);
                (end, Held { job, request, start, end: until, placement: placement.to_vec() })
            }));
        }
        for (_, over) in before {
            release(&mut self.profile, &over);
        }
    }

    /// Number of reservations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.reserved.len()
    }

    /// Reserves at the earliest instant, given the reservations made before: that instant.
    pub fn reserve(
        &mut self,
        view: View<'_>,
        allocator: &mut Allocator,
        job: u32,
    ) -> Result<f64, Unanswered> {
        let (start, placement) = earliest(&self.profile, view, allocator, job)?;
        self.hold_reserved(view, job, start, placement);
        Ok(start)
    }

    /// Reserves at this very instant; false where the job does not fit from then on.
    pub fn reserve_at(
        &mut self,
        view: View<'_>,
        allocator: &mut Allocator,
        job: u32,
        start: f64,
    ) -> Result<bool, Unanswered> {
        // What does not fit on what the machine offers holds nothing, and restrains no other job.
        let mut fits = start.is_infinite();
        let mut placement = Vec::new();
        for want in view.placement_requests(job) {
            fits = fits || self.profile.fits_at(&want, start, allocator, &mut placement)?;
        }
        if fits {
            self.hold_reserved(view, job, start, placement);
        }
        Ok(fits)
    }

    fn hold_reserved(&mut self, view: View<'_>, job: u32, start: f64, placement: Vec<NodeTasks>) {
        let request = view.scenario.job(job).request;
        let end = start + view.placement_request(job).duration;
        let held = Held { job, request, start, end, placement };
        self.hold(view, &held);
        self.reserved.push(held);
    }

    /// Gives up the reservation of a job.
    pub fn give_up(&mut self, view: View<'_>, job: u32) {
        if let Some(at) = self.reserved.iter().position(|reserved| reserved.job == job) {
            let reserved = self.reserved.remove(at);
            self.release(view, &reserved);
        }
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
        let request = view.scenario.job(job).request;
        let (start, end) = (view.now(), view.supposed_end(job, placement));
        let held = Held { job, request, start, end, placement: placement.to_vec() };
        // What is over before any reservation begins changes nothing where these are.
        if allocator.is_stateless() && self.reserved.iter().all(|reserved| end <= reserved.start) {
            self.hold(view, &held);
            self.admitted.push(held);
            return Ok(true);
        }
        let before = std::mem::take(&mut self.reserved);
        for reserved in &before {
            self.release(view, reserved);
        }
        self.hold(view, &held);
        let mut placed_again = true;
        for Held { job, start, .. } in &before {
            placed_again = placed_again && self.reserve_at(view, allocator, *job, *start)?;
        }
        if placed_again {
            self.admitted.push(held);
        } else {
            for reserved in std::mem::take(&mut self.reserved) {
                self.release(view, &reserved);
            }
            self.release(view, &held);
            for reserved in &before {
                self.hold(view, reserved);
            }
            self.reserved = before;
        }
        Ok(placed_again)
    }

    fn hold(&mut self, view: View<'_>, held: &Held) {
        let request = view.scenario.requests.get(held.request);
        self.profile.hold(request, &held.placement, held.start, held.end);
    }

    fn release(&mut self, view: View<'_>, held: &Held) {
        let request = view.scenario.requests.get(held.request);
        self.profile.release(request, &held.placement, held.start, held.end);
    }
}
