//! Selection of victims for a job that may preempt others (S16), after Slurm: least important jobs first, and few of
//! them.
//!
//! O(r log r) for r running jobs. If their totals suffice: also a copy of the machine, O(nodes), and a search for room
//! in it for each candidate.
use std::cmp::Ordering;

use crate::cluster::{Machine, NodeTasks, PlacementRequest, place_at};
use crate::decision::{Decision, Preemption};
use crate::placement::Allocator;
use crate::state::View;
use crate::workload::PreemptionMode;

use super::Step;

/// Preempt other jobs for a job that is within its limits and does not fit, if this makes it fit. None if it does not,
/// or if earlier victims of the job still run in their grace time.
pub(super) fn preempt_for(view: View<'_>, allocator: &Allocator, job: u32) -> Option<Step> {
    view.scenario.preemption.as_ref()?;
    preempt_among(view, allocator, job, view.placement_requests(job))
}

/// Preempt other jobs for a job that fits then with one of these requests.
pub(super) fn preempt_among<'a>(
    view: View<'_>,
    allocator: &Allocator,
    job: u32,
    mut wants: impl Iterator<Item = PlacementRequest<'a>>,
) -> Option<Step> {
    let rules = view.scenario.preemption.as_ref()?;
    if view.has_victims(job) {
        return None;
    }
    let candidates = candidates(view, job);
    if candidates.is_empty() {
        return None;
    }
    let victims = wants.find_map(|want| victims(view, allocator, &want, &candidates))?;
    let preempt = |job: u32| {
        let keep = match rules.mode {
            PreemptionMode::Cancel => return Decision::Kill(job),
            // Applications cannot be suspended with their work kept.
            PreemptionMode::Suspend if !view.has_application(job) => Preemption::Suspend,
            PreemptionMode::Suspend | PreemptionMode::Requeue => Preemption::Requeue,
        };
        Decision::Preempt { job, keep }
    };
    Some(Step::Preempt(job, victims.into_iter().map(preempt).collect()))
}

/// Return the running jobs that a job may preempt now, least important first.
fn candidates(view: View<'_>, job: u32) -> Vec<u32> {
    let Some(rules) = &view.scenario.preemption else { return Vec::new() };
    if rules.below(job).is_empty() {
        return Vec::new();
    }
    let jobs = &view.state.jobs;
    let may_be_victim = |&other: &u32| {
        rules.may_preempt(job, other)
            && view.state.holds_nodes(other)
            && jobs.start_time(other) + rules.exempt_time <= view.now()
            && !view.state.started.contains(&other)
            && !view.ends_now(other)
            && !view.is_completing(other)
            && !view.is_suspending(other)
            && !view.is_victim(other)
    };
    let mut found: Vec<u32> = view.state.running.jobs().into_iter().filter(may_be_victim).collect();
    let nodes = |other: u32| if rules.youngest_first { 0 } else { jobs.placement(other).len() };
    found.sort_unstable_by(|&one, &other| -> Ordering {
        rules
            .importance(one)
            .total_cmp(&rules.importance(other))
            .then_with(|| nodes(one).cmp(&nodes(other)))
            .then_with(|| jobs.start_time(other).total_cmp(&jobs.start_time(one)))
            .then_with(|| view.scenario.job(one).row.cmp(&view.scenario.job(other).row))
    });
    found
}

/// Return the candidates to remove so that a job fits in the node set of its request. None if removing all does not
/// suffice, or if none has to be removed.
fn victims(
    view: View<'_>,
    allocator: &Allocator,
    want: &PlacementRequest<'_>,
    candidates: &[u32],
) -> Option<Vec<u32>> {
    let sets = &view.scenario.node_sets;
    let is_its_own = |node| {
        sets.contains(want.request.nodes, node) && want.closed.is_none_or(|closed| !closed.contains(node))
    };
    let is_there = |job: &u32| view.state.jobs.placement(*job).iter().any(|part| is_its_own(part.node));
    let there: Vec<u32> = candidates.iter().copied().filter(is_there).collect();
    if !may_be_enough(view, want, &there) {
        return None;
    }
    let machine = view.state.machine.clone();
    let mut search = Search { view, allocator: allocator.for_plans(), want, machine, placement: Vec::new() };
    if search.fits() {
        // The job fits, but an external allocator has refused it.
        return None;
    }
    let mut found = search.take_until_fit(&there)?;
    if found.len() > 1 {
        search.machine = view.state.machine.clone();
        found.rotate_right(1);
        found = search.take_until_fit(&found)?;
        search.remove_unneeded(&mut found);
    }
    Some(found)
}

/// Return whether the totals may admit the job without these jobs. False only if it does not fit then.
fn may_be_enough(view: View<'_>, want: &PlacementRequest<'_>, jobs: &[u32]) -> bool {
    let machine = &view.state.machine;
    let held = |resource| {
        jobs.iter()
            .flat_map(|&job| view.state.jobs.placement(job).iter().map(move |&part| (job, part)))
            .map(|(job, part)| machine.held(view.request(job), part, resource))
            .sum::<i64>()
    };
    let free = machine.total_free_in(want.request.nodes);
    free.iter()
        .enumerate()
        .all(|(resource, &free)| want.need(resource) <= free.saturating_add(held(resource)))
}

/// Search on a copy of the machine without some jobs.
struct Search<'a> {
    view: View<'a>,
    allocator: Allocator,
    want: &'a PlacementRequest<'a>,
    machine: Machine,
    placement: Vec<NodeTasks>,
}

impl Search<'_> {
    fn fits(&mut self) -> bool {
        let Self { view, allocator, want, machine, placement } = self;
        place_at(allocator, machine, want, view.now(), placement) == Ok(true)
    }

    fn give_back(&mut self, job: u32) {
        self.machine.give_back(self.view.request(job), self.view.state.jobs.placement(job));
    }

    fn take(&mut self, job: u32) {
        self.machine.take(self.view.request(job), self.view.state.jobs.placement(job));
    }

    /// Return the shortest prefix of these jobs that must be removed. None if removing all does not suffice.
    fn take_until_fit(&mut self, jobs: &[u32]) -> Option<Vec<u32>> {
        for (at, &job) in jobs.iter().enumerate() {
            self.give_back(job);
            if self.fits() {
                return Some(jobs[..=at].to_vec());
            }
        }
        None
    }

    /// Remove victims that are not needed, from the last to the first.
    fn remove_unneeded(&mut self, victims: &mut Vec<u32>) {
        for at in (0..victims.len()).rev() {
            self.take(victims[at]);
            if self.fits() {
                victims.remove(at);
            } else {
                self.give_back(victims[at]);
            }
        }
    }
}
