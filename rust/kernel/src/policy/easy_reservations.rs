//! EASY with several reservations (S6): the first k jobs that do not fit are not delayed.
//!
//! A pass plans the running jobs anew, O(running shares), and checks each candidate by placing all reservations again.
use std::sync::Arc;

use crate::cluster::NodeSets;
use crate::workload::jobs::Share;

use super::allocate::Placer;
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
#[derive(Clone, Debug)]
struct Reserved {
    job: u32,
    start: f64,
    shares: Vec<Share>,
}

impl EasyReservations {
    /// For a machine of these capacities.
    #[must_use]
    pub fn new(count: usize, resources: usize, capacity: &[i64], node_sets: &Arc<NodeSets>) -> Self {
        Self { count, empty: Profile::new(resources, capacity, node_sets) }
    }
}

impl Backfill for EasyReservations {
    fn pass(&mut self, site: &mut Site) {
        if !site.may_start_some() {
            return;
        }
        site.reorder();
        let mut plan = Plan::of_running(&self.empty, site);
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

/// The plan of one pass: running jobs and reservations in the profile.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    profile: Profile,
    reserved: Vec<Reserved>,
}

impl Plan {
    /// The running jobs alone, on the profile of the empty machine, or of what it offers.
    pub(super) fn of_running(empty: &Profile, site: &Site) -> Self {
        let mut profile =
            if site.machine.withholds() { Profile::of_machine(&site.machine) } else { empty.clone() };
        profile.hold_running(site);
        Self { profile, reserved: Vec::new() }
    }

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

    /// Reserves at the earliest instant, given the reservations made before: that instant.
    pub(super) fn reserve(&mut self, site: &Site, job: u32) -> f64 {
        self.reserve_by(site, job, &site.placer)
    }

    /// The same, placed by another placer than that of now.
    pub(super) fn reserve_by(&mut self, site: &Site, job: u32, placer: &Placer) -> f64 {
        let mut shares = Vec::new();
        let earliest = self.profile.earliest(&site.wish(job), f64::INFINITY, placer, &mut shares);
        let start = earliest.unwrap_or(f64::INFINITY);
        let reserved = Reserved { job, start, shares };
        self.hold(site, &reserved);
        self.reserved.push(reserved);
        start
    }

    /// Reserves at this very instant; false where the job does not fit from then on.
    pub(super) fn reserve_at(&mut self, site: &Site, job: u32, start: f64) -> bool {
        self.place_again(site, &Reserved { job, start, shares: Vec::new() })
    }

    /// Gives up the reservation of a job.
    pub(super) fn give_up(&mut self, site: &Site, job: u32) {
        if let Some(at) = self.reserved.iter().position(|reserved| reserved.job == job) {
            let reserved = self.reserved.remove(at);
            self.release(site, &reserved);
        }
    }

    /// Takes a job into the plan if all reservations can be placed again beside it, each at its instant.
    pub(super) fn admit(&mut self, site: &Site, job: u32, shares: &[Share]) -> bool {
        let until = site.now + site.jobs.job(job).estimate;
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
        // What does not fit on what the machine offers holds nothing, and restrains nobody.
        let fits =
            start.is_infinite() || self.profile.fits_at(&site.wish(*job), *start, &site.placer, &mut shares);
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
