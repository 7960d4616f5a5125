//! Conservative backfilling (S7), after Feitelson and Weil (IPPS 1998): every queued job has a reservation that names nodes.
use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use crate::cluster::NodeSets;
use crate::time::Time;
use crate::workload::jobs::Share;

use super::backfill::Backfill;
use super::profile::Profile;
use super::site::{Site, Wish};

/// Where and when a queued job is to run.
#[derive(Clone, Debug, Default)]
struct Reservation {
    start: f64,
    shares: Vec<Share>,
}

/// What was given up in the plan, as one span of time per node: wide enough, not exact.
#[derive(Clone, Debug)]
struct Freed {
    spans: Vec<(f64, f64)>,
    nodes: Vec<u32>,
}

impl Freed {
    const NOTHING: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);

    fn new(nodes: usize) -> Self {
        Self { spans: vec![Self::NOTHING; nodes], nodes: Vec::new() }
    }

    fn add(&mut self, shares: &[Share], begin: f64, end: f64) {
        for share in shares {
            let span = &mut self.spans[share.node as usize];
            if *span == Self::NOTHING {
                self.nodes.push(share.node);
            }
            *span = (span.0.min(begin), span.1.max(end));
        }
    }

    fn clear(&mut self) {
        for node in self.nodes.drain(..) {
            self.spans[node as usize] = Self::NOTHING;
        }
    }

    /// The instants in [now, before) from which some freed node has a slot for the job that it may not have had.
    fn starts(&self, profile: &Profile, wish: &Wish<'_>, before: f64) -> (f64, f64) {
        self.nodes
            .iter()
            .filter_map(|&node| profile.starts_on(node, wish, self.spans[node as usize], before))
            .fold(Self::NOTHING, |(first, last), (earliest, latest)| (first.min(earliest), last.max(latest)))
    }
}

/// Conservative backfilling: nobody is delayed by a later job.
#[derive(Clone, Debug)]
pub struct Conservative {
    profile: Profile,
    reservations: Vec<Reservation>,
    by_start: BTreeSet<(Time, u32)>,
    /// Freed since the latest compression began, and between that and the one before. A job that was looked at in
    /// the latest compression can start earlier only where one of these nodes makes room.
    freed: Freed,
    freed_before: Freed,
    shares: Vec<Share>,
    /// Whether something happened that no plan foresees, so that all of it is made anew.
    is_void: bool,
}

impl Conservative {
    /// No reservations yet on a machine of these capacities.
    #[must_use]
    pub fn new(resources: usize, capacity: &[i64], node_sets: &Arc<NodeSets>) -> Self {
        let nodes = capacity.len() / resources;
        Self {
            profile: Profile::new(resources, capacity, node_sets),
            reservations: Vec::new(),
            by_start: BTreeSet::new(),
            freed: Freed::new(nodes),
            freed_before: Freed::new(nodes),
            shares: Vec::new(),
            is_void: false,
        }
    }

    /// The plan no longer holds: nodes came or went, or jobs left it otherwise than by ending.
    pub fn void(&mut self) {
        self.is_void = true;
    }
}

impl Backfill for Conservative {
    fn pass(&mut self, site: &mut Site) {
        if std::mem::take(&mut self.is_void) {
            return self.plan_anew(site);
        }
        self.profile.advance(site.now);
        let due = self.by_start.first().is_some_and(|&(start, _)| start.0 <= site.now);
        if due || !site.ended.is_empty() || !site.arrived.is_empty() {
            site.reorder();
        }
        if !site.ended.is_empty() {
            self.release_ended(site);
            self.compress(site);
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
    /// All reservations anew, in order, beside the running jobs on what the machine offers.
    fn plan_anew(&mut self, site: &mut Site) {
        self.profile = Profile::of_machine(&site.machine);
        self.profile.hold_running(site);
        self.by_start.clear();
        self.freed.clear();
        self.freed_before.clear();
        site.reorder();
        for job in site.queued() {
            self.reserve(site, job);
        }
        self.start_due(site);
    }

    /// Jobs that ended before their estimate give the rest of their time back to the plan.
    fn release_ended(&mut self, site: &Site) {
        for &job in &site.ended {
            let until = site.estimated_end(job).time.0;
            let shares = site.jobs.placement(job);
            // Who never started, being rejected for the sake of another, gives nothing back: no time is later.
            if until > site.now {
                self.profile.release(site.request(job), shares, site.now, until);
                self.freed.add(shares, site.now, until);
            }
        }
    }

    /// In order, each job gives up its reservation and takes the earliest one, never a later.
    fn compress(&mut self, site: &Site) {
        std::mem::swap(&mut self.freed, &mut self.freed_before);
        self.freed.clear();
        for job in site.queued() {
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
        let (first, last) = self.freed_before.starts(&self.profile, &wish, old);
        let (earliest, latest) = self.freed.starts(&self.profile, &wish, old);
        let (first, before) = (first.min(earliest), last.max(latest).next_up().min(old));
        if first < before
            && let Some(start) =
                self.profile.earliest_within(&wish, first, before, &site.placer, &mut self.shares)
        {
            self.freed.add(&reservation.shares, old, old + wish.duration);
            std::mem::swap(&mut reservation.shares, &mut self.shares);
            reservation.start = start;
            self.by_start.remove(&(Time(old), job));
            self.by_start.insert((Time(start), job));
        }
        self.profile.hold(
            wish.request,
            &reservation.shares,
            reservation.start,
            reservation.start + wish.duration,
        );
    }

    /// A job without a reservation gets the earliest one.
    fn reserve(&mut self, site: &Site, job: u32) {
        let wish = site.wish(job);
        if self.reservations.len() <= job as usize {
            self.reservations.resize(job as usize + 1, Reservation::default());
        }
        let reservation = &mut self.reservations[job as usize];
        let earliest = self.profile.earliest(&wish, f64::INFINITY, &site.placer, &mut reservation.shares);
        // A job that fits on what the machine offers fits once everything planned is over; another has to wait until
        // something is offered anew, and holds nothing.
        let start = earliest.unwrap_or(f64::INFINITY);
        reservation.start = start;
        self.profile.hold(wish.request, &reservation.shares, start, start + wish.duration);
        self.by_start.insert((Time(start), job));
    }

    fn cancel(&mut self, site: &Site, job: u32) {
        let wish = site.wish(job);
        let Reservation { start, shares } = &self.reservations[job as usize];
        self.freed.add(shares, *start, start + wish.duration);
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
