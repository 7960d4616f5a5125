//! The plan of one pass: running jobs and reservations in the profile.
use serde::{Deserialize, Serialize};

use crate::cluster::{NodeTasks, Profile, Unanswered};
use crate::placement::Allocator;
use crate::state::View;

/// A reservation: the job, when it is to start, and where it is planned to be.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Reserved {
    job: u32,
    start: f64,
    placement: Vec<NodeTasks>,
}

/// The running jobs and the reservations of one pass.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    profile: Profile,
    reserved: Vec<Reserved>,
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
    /// The running jobs alone, on the profile of the empty machine, or of what it offers.
    pub fn of_running(empty: &Profile, view: View<'_>) -> Self {
        let machine = &view.state.machine;
        let mut profile =
            if machine.has_unavailable() { Profile::of_machine(machine) } else { empty.clone() };
        hold_running(&mut profile, view);
        Self { profile, reserved: Vec::new() }
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
        let reserved = Reserved { job, start, placement };
        self.hold(view, &reserved);
        self.reserved.push(reserved);
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
        self.place_again(view, allocator, &Reserved { job, start, placement: Vec::new() })
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
        let until = view.supposed_end(job, placement);
        let before = std::mem::take(&mut self.reserved);
        for reserved in &before {
            self.release(view, reserved);
        }
        self.profile.hold(view.request(job), placement, view.now(), until);
        let mut placed_again = true;
        for reserved in &before {
            placed_again = placed_again && self.place_again(view, allocator, reserved)?;
        }
        if !placed_again {
            for reserved in std::mem::take(&mut self.reserved) {
                self.release(view, &reserved);
            }
            self.profile.release(view.request(job), placement, view.now(), until);
            for reserved in &before {
                self.hold(view, reserved);
            }
            self.reserved = before;
        }
        Ok(placed_again)
    }

    fn place_again(
        &mut self,
        view: View<'_>,
        allocator: &mut Allocator,
        Reserved { job, start, .. }: &Reserved,
    ) -> Result<bool, Unanswered> {
        let mut placement = Vec::new();
        // What does not fit on what the machine offers holds nothing, and restrains no other job.
        let mut fits = start.is_infinite();
        for want in view.placement_requests(*job) {
            fits = fits || self.profile.fits_at(&want, *start, allocator, &mut placement)?;
        }
        if fits {
            let reserved = Reserved { job: *job, start: *start, placement };
            self.hold(view, &reserved);
            self.reserved.push(reserved);
        }
        Ok(fits)
    }

    fn hold(&mut self, view: View<'_>, Reserved { job, start, placement }: &Reserved) {
        let want = view.placement_request(*job);
        self.profile.hold(want.request, placement, *start, start + want.duration);
    }

    fn release(&mut self, view: View<'_>, Reserved { job, start, placement }: &Reserved) {
        let want = view.placement_request(*job);
        self.profile.release(want.request, placement, *start, start + want.duration);
    }
}
