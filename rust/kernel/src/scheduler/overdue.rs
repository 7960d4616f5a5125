//! Jobs that hold their nodes past their expected ends, in a plan that is kept between passes (S7).
//!
//! The plan reserves their nodes at the instant of the pass only. O(log n) for each job that starts or ends, and
//! O(nodes of overdue jobs) for a pass.
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::cluster::Profile;
use crate::state::View;
use crate::time::Time;

use super::freed_capacity::FreedCapacity;

/// Running jobs by expected end, and overdue jobs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Overdue {
    by_end: BTreeSet<(Time, u32)>,
    jobs: BTreeSet<u32>,
    /// Overdue jobs in the profile at its current instant.
    held: BTreeSet<u32>,
}

impl Overdue {
    /// Add a running job with its expected end.
    pub fn add(&mut self, job: u32, until: f64) {
        self.by_end.insert((Time(until), job));
    }

    /// Remove an ended job with this expected end. If it was overdue, add its nodes to `freed`.
    pub fn end(&mut self, job: u32, until: f64, freed: &mut FreedCapacity, view: View<'_>) {
        if self.jobs.remove(&job) {
            free(job, freed, view);
        } else {
            self.by_end.remove(&(Time(until), job));
        }
    }

    /// Remove all jobs; the profile contains none of them.
    pub fn clear(&mut self) {
        self.by_end.clear();
        self.jobs.clear();
        self.held.clear();
    }

    /// Return whether the profile holds overdue jobs now.
    pub fn is_any(&self) -> bool {
        !self.held.is_empty()
    }

    /// Remove the overdue jobs from the profile before it advances. Add the nodes that they have released to `freed`.
    pub fn release(&mut self, profile: &mut Profile, freed: &mut FreedCapacity, view: View<'_>) {
        let (before, now) = (profile.now(), view.now());
        for job in std::mem::take(&mut self.held) {
            let placement = view.state.jobs.placement(job);
            // The profile discards the past anyway. The nodes of an ended job stay known until the next pass is over.
            if Time(before) == Time(now) {
                profile.release(view.request(job), placement, now, now.next_up());
            }
            // A job may release its nodes before its end is processed.
            if !view.state.holds_nodes(job) || view.ends_now(job) {
                free(job, freed, view);
            }
        }
    }

    /// Return whether an overdue job ends at this instant, so that its nodes become free in time.
    pub fn is_any_ending(&mut self, view: View<'_>) -> bool {
        self.find(view);
        self.jobs.iter().any(|&job| view.state.holds_nodes(job) && view.ends_now(job))
    }

    /// Add the jobs that are overdue now to the profile at this instant.
    pub fn hold(&mut self, profile: &mut Profile, view: View<'_>) {
        self.find(view);
        let now = view.now();
        for &job in &self.jobs {
            if view.state.holds_nodes(job) && !view.ends_now(job) && self.held.insert(job) {
                profile.hold(view.request(job), view.state.jobs.placement(job), now, now.next_up());
            }
        }
    }

    /// Find the jobs that have become overdue.
    fn find(&mut self, view: View<'_>) {
        let now = view.now();
        while let Some(&(until, job)) = self.by_end.first()
            && until.0 <= now
        {
            self.by_end.pop_first();
            self.jobs.insert(job);
        }
    }
}

/// Add the nodes of an overdue job to `freed` at this instant: from the next one on, the plan has already treated them
/// as free.
fn free(job: u32, freed: &mut FreedCapacity, view: View<'_>) {
    freed.add(view.state.jobs.placement(job), view.now(), view.now().next_up());
}
