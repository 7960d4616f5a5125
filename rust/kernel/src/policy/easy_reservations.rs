//! EASY with several reservations (S6): the first k jobs that do not fit are not delayed.
//!
//! A pass plans the running jobs anew, O(running shares), and checks each candidate by placing all reservations again.
use crate::workload::jobs::Share;

use super::backfill::Backfill;
use super::profile::Profile;
use super::site::Site;

/// EASY with `count` reservations.
#[derive(Clone, Debug)]
pub struct EasyReservations {
    count: usize,
    empty: Profile,
}

/// A reservation: the job, when it is to start, and where it is planned to be.
struct Reserved {
    job: u32,
    start: f64,
    shares: Vec<Share>,
}

impl EasyReservations {
    /// For a machine of these capacities.
    #[must_use]
    pub fn new(count: usize, resources: usize, capacity: &[i64]) -> Self {
        Self { count, empty: Profile::new(resources, capacity) }
    }
}

impl Backfill for EasyReservations {
    fn pass(&mut self, site: &mut Site) {
        if !site.may_start_some() {
            return;
        }
        site.reorder();
        let mut plan = Plan { profile: running(&self.empty, site), reserved: Vec::new() };
        let mut at = None;
        loop {
            // While reservations are left to make, jobs that cannot fit matter too.
            let open = plan.reserved.len() < self.count;
            let Some(rank) =
                site.queue.first_matching(at.as_ref(), &|values: &[i64]| open || site.may_fit(values))
            else {
                return;
            };
            plan.consider(site, rank.job, open);
            at = Some(rank);
        }
    }
}

/// The running jobs' holds on an empty profile.
fn running(empty: &Profile, site: &Site) -> Profile {
    let mut profile = empty.clone();
    profile.advance(site.now);
    site.running.visit(&mut |end| {
        profile.hold(site.request(end.job), site.jobs.placement(end.job), site.now, end.time.0);
        true
    });
    profile
}

/// The plan of one pass: running jobs and reservations in the profile.
struct Plan {
    profile: Profile,
    reserved: Vec<Reserved>,
}

impl Plan {
    fn consider(&mut self, site: &mut Site, job: u32, open: bool) {
        let mut shares = Vec::new();
        if !site.place_now(job, &mut shares) {
            if open {
                self.reserve(site, job);
            }
        } else if self.admit(site, job, &shares) {
            site.start(job, &shares);
        }
    }

    /// Reserves at the earliest instant, given the reservations made before.
    fn reserve(&mut self, site: &Site, job: u32) {
        let mut shares = Vec::new();
        let earliest = self.profile.earliest(&site.wish(job), f64::INFINITY, &site.placer, &mut shares);
        let reserved = Reserved { job, start: earliest.unwrap_or(f64::INFINITY), shares };
        self.hold(site, &reserved);
        self.reserved.push(reserved);
    }

    /// Takes a job into the plan if all reservations can be placed again beside it, each at its instant.
    fn admit(&mut self, site: &Site, job: u32, shares: &[Share]) -> bool {
        let until = site.now + site.jobs.job(job).requested_time;
        let before = std::mem::take(&mut self.reserved);
        for reserved in &before {
            self.release(site, reserved);
        }
        self.profile.hold(site.request(job), shares, site.now, until);
        let placed_again = before.iter().all(|reserved| self.place_again(site, reserved));
        if !placed_again {
            for reserved in std::mem::take(&mut self.reserved) {
                self.release(site, &reserved);
            }
            self.profile.release(site.request(job), shares, site.now, until);
            for reserved in &before {
                self.hold(site, reserved);
            }
            self.reserved = before;
        }
        placed_again
    }

    fn place_again(&mut self, site: &Site, Reserved { job, start, .. }: &Reserved) -> bool {
        let mut shares = Vec::new();
        let fits = self.profile.fits_at(&site.wish(*job), *start, &site.placer, &mut shares);
        if fits {
            let reserved = Reserved { job: *job, start: *start, shares };
            self.hold(site, &reserved);
            self.reserved.push(reserved);
        }
        fits
    }

    fn hold(&mut self, site: &Site, Reserved { job, start, shares }: &Reserved) {
        let wish = site.wish(*job);
        self.profile.hold(wish.request, shares, *start, start + wish.duration);
    }

    fn release(&mut self, site: &Site, Reserved { job, start, shares }: &Reserved) {
        let wish = site.wish(*job);
        self.profile.release(wish.request, shares, *start, start + wish.duration);
    }
}
