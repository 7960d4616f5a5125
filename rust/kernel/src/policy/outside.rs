//! A scheduler outside the kernel: it decides between two steps of the simulation. Here is what it has reserved.
//!
//! The first reservation of a pass is made and kept as EASY does (S6), which costs what it costs there; with a second
//! one, or one at a given instant, all are planned as by EASY with several reservations.
use std::sync::Arc;

use crate::cluster::NodeSets;
use crate::workload::jobs::Share;

use super::allocate::Placer;
use super::easy::{FutureRoom, Shadow};
use super::easy_reservations::Plan;
use super::profile::Profile;
use super::site::{Rank, Site};

/// The reservations of the present pass.
#[derive(Clone, Debug)]
pub struct Outside {
    empty: Profile,
    room: FutureRoom,
    /// What was asked for, in that order.
    made: Vec<Made>,
    first: Option<Shadow>,
    /// What EASY with several reservations would have placed the first one by.
    placer: Option<Placer>,
    plan: Option<Plan>,
}

/// A reservation as it was asked for: at a given instant, or at the earliest.
#[derive(Clone, Copy, Debug)]
struct Made {
    job: u32,
    at: Option<f64>,
}

impl Outside {
    /// Nothing is reserved on a machine of these capacities.
    #[must_use]
    pub fn new(resources: usize, capacity: &[i64], node_sets: &Arc<NodeSets>) -> Self {
        let empty = Profile::new(resources, capacity, node_sets);
        Self { empty, room: FutureRoom::default(), made: Vec::new(), first: None, placer: None, plan: None }
    }

    /// Forgets all reservations: they hold for one pass.
    pub fn begin(&mut self) {
        self.made.clear();
        self.first = None;
        self.plan = None;
    }

    /// Makes all reservations anew, in the order in which they were asked for; one whose instant is no longer
    /// possible gets the earliest.
    pub fn renew(&mut self, site: &Site) {
        let made = std::mem::take(&mut self.made);
        self.begin();
        for Made { job, at } in made {
            if !at.is_some_and(|time| self.reserve_at(site, job, time.max(site.now))) {
                self.reserve(site, job);
            }
        }
    }

    /// Reserves for a job at the earliest instant, given the reservations made before: that instant.
    ///
    /// A job that has a reservation changes it.
    pub fn reserve(&mut self, site: &Site, job: u32) -> f64 {
        self.give_up(site, job);
        self.made.push(Made { job, at: None });
        if self.plan.is_some() || self.made.len() > 1 {
            return self.planned(site).reserve(site, job);
        }
        let shadow = Shadow::of(site, job, &mut self.room);
        let time = shadow.time;
        self.first = Some(shadow);
        self.placer = Some(site.placer.clone());
        time
    }

    /// Reserves for a job at this instant; false where it does not fit from then on, and nothing is changed.
    pub fn reserve_at(&mut self, site: &Site, job: u32, start: f64) -> bool {
        let had_one = self.is_reserved(job);
        let before = had_one.then(|| self.clone());
        self.give_up(site, job);
        if self.planned(site).reserve_at(site, job, start) {
            self.made.push(Made { job, at: Some(start) });
            return true;
        }
        if let Some(before) = before {
            *self = before;
        }
        false
    }

    /// Whether a job may start on these shares without delaying the reservation of another; if so, it is counted in.
    pub fn admit(&mut self, site: &Site, job: u32, shares: &[Share]) -> bool {
        // Its own reservation must not stand in its way.
        let before = self.is_reserved(job).then(|| self.clone());
        self.give_up(site, job);
        let admitted = match (&mut self.plan, &mut self.first) {
            (Some(plan), _) => plan.admit(site, job, shares),
            (None, Some(shadow)) => shadow.admit(site, job, shares, &mut self.room),
            (None, None) => true,
        };
        if let (false, Some(before)) = (admitted, before) {
            *self = before;
        } else if admitted && self.first.is_some() {
            self.placer = Some(site.placer.clone());
        }
        admitted
    }

    /// A job needs its reservation no more.
    pub fn give_up(&mut self, site: &Site, job: u32) {
        if !self.is_reserved(job) {
            return;
        }
        self.made.retain(|made| made.job != job);
        self.first = None;
        if let Some(plan) = &mut self.plan {
            plan.give_up(site, job);
        }
    }

    /// The first queued job behind `after`, in order, that may start now as far as totals tell and has no reservation.
    #[must_use]
    pub fn next_candidate(&self, site: &Site, after: Option<Rank>) -> Option<Rank> {
        let admits = |values: &[i64]| {
            site.may_fit_where(values, |set, own| {
                self.first.as_ref().is_none_or(|shadow| shadow.may_admit(site, set, own))
            })
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
        self.made.iter().any(|made| made.job == job)
    }

    fn planned(&mut self, site: &Site) -> &mut Plan {
        let Self { empty, first, placer, plan, .. } = self;
        plan.get_or_insert_with(|| {
            let mut plan = Plan::of_running(empty, site);
            if let Some(shadow) = first.take() {
                plan.reserve_by(site, shadow.head, placer.as_ref().unwrap_or(&site.placer));
            }
            plan
        })
    }
}
