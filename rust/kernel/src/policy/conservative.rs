//! Conservative backfilling (S7), after Feitelson and Weil (IPPS 1998): every queued job has a reservation that names nodes.
use std::collections::BTreeSet;
use std::ops::Bound;

use crate::time::Time;
use crate::workload::jobs::Share;

use super::backfill::Backfill;
use super::profile::Profile;
use super::site::Site;

/// Where and when a queued job is to run.
#[derive(Clone, Debug, Default)]
struct Reservation {
    start: f64,
    shares: Vec<Share>,
}

/// Conservative backfilling: nobody is delayed by a later job.
#[derive(Clone, Debug)]
pub struct Conservative {
    profile: Profile,
    reservations: Vec<Reservation>,
    by_start: BTreeSet<(Time, u32)>,
    shares: Vec<Share>,
}

impl Conservative {
    /// No reservations yet on a machine of these capacities.
    #[must_use]
    pub fn new(resources: usize, capacity: &[i64]) -> Self {
        Self {
            profile: Profile::new(resources, capacity),
            reservations: Vec::new(),
            by_start: BTreeSet::new(),
            shares: Vec::new(),
        }
    }
}

impl Backfill for Conservative {
    fn pass(&mut self, site: &mut Site) {
        self.profile.advance(site.now);
        if !site.ended.is_empty() {
            self.release_ended(site);
            site.reorder();
            self.compress(site);
        } else if !site.arrived.is_empty() {
            site.reorder();
        }
        for job in site.arrivals_in_order() {
            self.reserve(site, job);
        }
        self.start_due(site);
    }

    fn next_due(&self) -> Time {
        // What is overdue waits for something to happen.
        let later = (Bound::Excluded((Time(self.profile.now()), u32::MAX)), Bound::Unbounded);
        self.by_start.range(later).next().map_or(Time::NEVER, |&(start, _)| start)
    }
}

impl Conservative {
    /// Jobs that ended before their estimate give the rest of their time back to the plan.
    fn release_ended(&mut self, site: &Site) {
        for &job in &site.ended {
            let until = site.estimated_end(job).time.0;
            self.profile.release(site.request(job), site.jobs.placement(job), site.now, until);
        }
    }

    /// In order, each job gives up its reservation and takes the earliest one, never a later.
    fn compress(&mut self, site: &Site) {
        let mut queued = Vec::with_capacity(site.queue.len());
        site.queue.visit(&mut |rank| {
            queued.push(rank.job);
            true
        });
        for job in queued {
            if let Some(start) = self.reserved(job)
                && self.profile.may_start_before(&site.wish(job), start)
            {
                self.improve(site, job, start);
            }
        }
    }

    fn reserved(&self, job: u32) -> Option<f64> {
        let start = self.reservations.get(job as usize)?.start;
        self.by_start.contains(&(Time(start), job)).then_some(start)
    }

    fn improve(&mut self, site: &Site, job: u32, old: f64) {
        let wish = site.wish(job);
        let reservation = &mut self.reservations[job as usize];
        self.profile.release(wish.request, &reservation.shares, old, old + wish.duration);
        if let Some(start) = self.profile.earliest(&wish, old, &site.placer, &mut self.shares) {
            std::mem::swap(&mut reservation.shares, &mut self.shares);
            reservation.start = start;
            self.by_start.remove(&(Time(old), job));
            self.by_start.insert((Time(start), job));
        }
        self.profile.hold(wish.request, &reservation.shares, reservation.start, reservation.start + wish.duration);
    }

    /// A job without a reservation gets the earliest one.
    fn reserve(&mut self, site: &Site, job: u32) {
        let wish = site.wish(job);
        if self.reservations.len() <= job as usize {
            self.reservations.resize(job as usize + 1, Reservation::default());
        }
        let reservation = &mut self.reservations[job as usize];
        let earliest = self.profile.earliest(&wish, f64::INFINITY, &site.placer, &mut reservation.shares);
        // A job that fits on the empty machine fits once everything planned is over.
        let start = earliest.unwrap_or(f64::INFINITY);
        reservation.start = start;
        self.profile.hold(wish.request, &reservation.shares, start, start + wish.duration);
        self.by_start.insert((Time(start), job));
    }

    fn cancel(&mut self, site: &Site, job: u32) {
        let wish = site.wish(job);
        let Reservation { start, shares } = &self.reservations[job as usize];
        self.profile.release(wish.request, shares, *start, start + wish.duration);
        self.by_start.remove(&(Time(*start), job));
    }

    /// Starts the jobs whose reservations are due, in order.
    fn start_due(&mut self, site: &mut Site) {
        let mut due: Vec<u32> =
            self.by_start.iter().take_while(|(start, _)| start.0 <= site.now).map(|&(_, job)| job).collect();
        site.sort_by_rank(&mut due);
        for job in due {
            if !self.start_where_reserved(site, job) {
                self.cancel(site, job);
                self.reserve(site, job);
                if self.reservations[job as usize].start <= site.now {
                    self.start_where_reserved(site, job);
                }
            }
        }
    }

    /// Starts a job on its named nodes if they have room now.
    fn start_where_reserved(&mut self, site: &mut Site, job: u32) -> bool {
        let shares = std::mem::take(&mut self.reservations[job as usize].shares);
        let has_room = site.machine.has_room(site.request(job), &shares);
        self.reservations[job as usize].shares = shares;
        if !has_room {
            return false;
        }
        let start = self.reservations[job as usize].start;
        if start < site.now {
            // It runs from now, not from when it was to.
            self.cancel(site, job);
            self.reservations[job as usize].start = site.now;
            let wish = site.wish(job);
            let shares = &self.reservations[job as usize].shares;
            self.profile.hold(wish.request, shares, site.now, site.now + wish.duration);
        } else {
            self.by_start.remove(&(Time(start), job));
        }
        site.start(job, &std::mem::take(&mut self.reservations[job as usize].shares));
        true
    }
}
