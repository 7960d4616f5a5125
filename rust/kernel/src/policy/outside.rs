//! A scheduler outside the kernel: it decides between two steps of the simulation. Here is what it has reserved.
//!
//! The first reservation of a pass is made and kept as EASY does (S6), which costs what it costs there; with a second
//! one, or one at a given instant, all are planned as by EASY with several reservations.
use crate::workload::jobs::Share;

use super::easy::{FutureRoom, Shadow};
use super::easy_reservations::Plan;
use super::profile::Profile;
use super::site::{Rank, Site};

/// The reservations of the present pass.
#[derive(Clone, Debug)]
pub struct Outside {
    empty: Profile,
    room: FutureRoom,
    first: Option<Shadow>,
    plan: Option<Plan>,
}

impl Outside {
    /// Nothing is reserved on a machine of these capacities.
    #[must_use]
    pub fn new(resources: usize, capacity: &[i64]) -> Self {
        let empty = Profile::new(resources, capacity);
        Self { empty, room: FutureRoom::default(), first: None, plan: None }
    }

    /// Forgets all reservations: they hold for one pass.
    pub fn begin(&mut self) {
        self.first = None;
        self.plan = None;
    }

    /// Reserves for a job at the earliest instant, given the reservations made before: that instant.
    pub fn reserve(&mut self, site: &Site, job: u32) -> f64 {
        if self.first.is_none() && self.plan.is_none() {
            let shadow = Shadow::of(site, job, &mut self.room);
            let time = shadow.time;
            self.first = Some(shadow);
            return time;
        }
        self.planned(site).reserve(site, job)
    }

    /// Reserves for a job at this instant; false where it does not fit from then on.
    pub fn reserve_at(&mut self, site: &Site, job: u32, start: f64) -> bool {
        self.planned(site).reserve_at(site, job, start)
    }

    /// Whether a job may start on these shares without delaying any reservation; if so, it is counted in.
    pub fn admit(&mut self, site: &Site, job: u32, shares: &[Share]) -> bool {
        if let Some(plan) = &mut self.plan {
            return plan.admit(site, job, shares);
        }
        self.first.as_mut().is_none_or(|shadow| shadow.admit(site, job, shares, &mut self.room))
    }

    /// A job needs its reservation no more; whether it had one.
    pub fn give_up(&mut self, site: &Site, job: u32) -> bool {
        if let Some(plan) = &mut self.plan {
            return plan.give_up(site, job);
        }
        let had_one = self.is_reserved(job);
        if had_one {
            self.first = None;
        }
        had_one
    }

    /// The first queued job behind `after`, in order, that may start now as far as totals tell and has no reservation.
    #[must_use]
    pub fn next_candidate(&self, site: &Site, after: Option<Rank>) -> Option<Rank> {
        let admits = |values: &[i64]| {
            site.may_fit(values)
                && self.first.as_ref().is_none_or(|shadow| shadow.may_admit(site.now, values))
        };
        let mut at = after;
        loop {
            at = site.queue.first_matching(at.as_ref(), &admits);
            if at.is_none_or(|rank| !self.is_reserved(rank.job)) {
                return at;
            }
        }
    }

    fn is_reserved(&self, job: u32) -> bool {
        self.first.as_ref().is_some_and(|shadow| shadow.head == job)
            || self.plan.as_ref().is_some_and(|plan| plan.is_reserved(job))
    }

    fn planned(&mut self, site: &Site) -> &mut Plan {
        let Self { empty, first, plan, .. } = self;
        plan.get_or_insert_with(|| {
            let mut plan = Plan::of_running(empty, site);
            if let Some(shadow) = first.take() {
                plan.reserve(site, shadow.head);
            }
            plan
        })
    }
}
