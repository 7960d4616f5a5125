//! Who may overtake whom: one pass over the queue.
use crate::time::Time;

use super::conservative::Conservative;
use super::easy::Easy;
use super::easy_reservations::EasyReservations;
use super::outside::Outside;
use super::site::Site;

/// A backfilling rule.
pub trait Backfill {
    /// Starts whatever the rule lets start now.
    fn pass(&mut self, site: &mut Site);

    /// When a pass is due even if nothing happens.
    fn next_due(&self) -> Time {
        Time::NEVER
    }
}

/// The backfilling rules, and what each has to remember.
#[derive(Clone, Debug)]
pub enum Scheduler {
    /// Nobody overtakes.
    Blocking(Blocking),
    /// Whoever fits starts.
    FirstFit(FirstFit),
    /// The first that does not fit is not delayed.
    Easy(Easy),
    /// The first few that do not fit are not delayed.
    EasyReservations(EasyReservations),
    /// Nobody is delayed.
    Conservative(Box<Conservative>),
    /// Somebody outside the kernel decides.
    Outside(Box<Outside>),
    /// Everything is rejected at submission: the bare cost of the simulator.
    Reject,
}

impl Scheduler {
    /// Takes note that nodes came or went, or that jobs left queue or nodes otherwise than by starting or ending.
    pub fn disturbed(&mut self) {
        if let Self::Conservative(rule) = self {
            rule.void();
        }
    }
}

impl Backfill for Scheduler {
    fn pass(&mut self, site: &mut Site) {
        match self {
            Self::Blocking(rule) => rule.pass(site),
            Self::FirstFit(rule) => rule.pass(site),
            Self::Easy(rule) => rule.pass(site),
            Self::EasyReservations(rule) => rule.pass(site),
            Self::Conservative(rule) => rule.pass(site),
            Self::Outside(_) | Self::Reject => {}
        }
    }

    fn next_due(&self) -> Time {
        match self {
            Self::Conservative(rule) => rule.next_due(),
            _ => Time::NEVER,
        }
    }
}

/// No backfilling: start in order, stop at the first that does not fit. O(1) where that one is still blocked.
#[derive(Clone, Debug, Default)]
pub struct Blocking {
    blocked: Option<(u32, u64)>,
}

impl Backfill for Blocking {
    fn pass(&mut self, site: &mut Site) {
        if !site.may_start_some() {
            return;
        }
        site.reorder();
        while let Some(head) = site.queue.first() {
            let blocked = Some((head.job, site.releases));
            if self.blocked == blocked {
                return;
            }
            if !site.try_start(head.job) {
                self.blocked = blocked;
                return;
            }
        }
    }
}

/// First fit: every job that fits starts, in order. Without a release only arrivals can fit.
#[derive(Clone, Debug, Default)]
pub struct FirstFit {
    examined: u64,
}

impl Backfill for FirstFit {
    fn pass(&mut self, site: &mut Site) {
        if !site.may_start_some() {
            self.examined = site.releases;
            return;
        }
        if self.examined == site.releases {
            for job in site.arrivals_in_order() {
                site.try_start(job);
            }
            return;
        }
        self.examined = site.releases;
        site.reorder();
        let mut at = None;
        while let Some(rank) = site.queue.first_matching(at.as_ref(), &|values: &[i64]| site.may_fit(values))
        {
            site.try_start(rank.job);
            at = Some(rank);
        }
    }
}
