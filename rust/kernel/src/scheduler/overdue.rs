//! Jobs that hold their nodes past their expected ends, under a plan that is kept from pass to pass (S7).
//!
//! The plan has such jobs hold their nodes at the instant of the pass, and at no later one. O(log n) for each job that starts or
//! ends; a pass costs O(nodes of overdue jobs).
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::cluster::Profile;
use crate::state::View;
use crate::time::Time;

use super::freed::Freed;

/// The running jobs by expected end, and those that are overdue.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Overdue {
    by_end: BTreeSet<(Time, u32)>,
    jobs: BTreeSet<u32>,
    /// Those that the profile holds at its present instant.
    held: BTreeSet<u32>,
}

impl Overdue {
    /// Adds a job that has started or runs on, until it is expected to end.
    pub fn add(&mut self, job: u32, until: f64) {
        self.by_end.insert((Time(until), job));
    }

    /// Removes a job that was expected to end then; whether it was overdue.
    pub fn remove(&mut self, job: u32, until: f64) -> bool {
        let was_overdue = self.jobs.remove(&job);
        if !was_overdue {
            self.by_end.remove(&(Time(until), job));
        }
        was_overdue
    }

    /// Forgets all jobs, for a profile that holds none of them.
    pub fn clear(&mut self) {
        self.by_end.clear();
        self.jobs.clear();
        self.held.clear();
    }

    /// Return whether the profile holds overdue jobs now.
    pub fn is_any(&self) -> bool {
        !self.held.is_empty()
    }

    /// Takes the overdue jobs out of the profile, before it moves on; `freed` gets the nodes that they have given back.
    pub fn release(&mut self, profile: &mut Profile, freed: &mut Freed, view: View<'_>) {
        let (before, now) = (profile.now(), view.now());
        for job in std::mem::take(&mut self.held) {
            let placement = view.state.jobs.placement(job);
            // What is past is forgotten anyway. The nodes of a job are known until the pass after its end is over.
            if Time(before) == Time(now) {
                profile.release(view.request(job), placement, now, now.next_up());
            }
            // A job may give its nodes back before its end is taken in.
            if !view.state.holds_nodes(job) || view.ends_now(job) {
                freed.add(placement, now, now.next_up());
            }
        }
    }

    /// Return whether an overdue job is about to end at this instant, so that its nodes come free in time.
    pub fn is_any_ending(&mut self, view: View<'_>) -> bool {
        self.find(view);
        self.jobs.iter().any(|&job| view.state.holds_nodes(job) && view.ends_now(job))
    }

    /// Has the profile hold the jobs that are overdue now at this instant, unless it holds them already.
    pub fn hold(&mut self, profile: &mut Profile, view: View<'_>) {
        self.find(view);
        let now = view.now();
        for &job in &self.jobs {
            if view.state.holds_nodes(job) && !view.ends_now(job) && self.held.insert(job) {
                profile.hold(view.request(job), view.state.jobs.placement(job), now, now.next_up());
            }
        }
    }

    /// Finds the jobs that have become overdue.
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
