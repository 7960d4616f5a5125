//! The queue of Slurm's controller: one entry for each partition of a job, sorted independently.
use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::accounting::Multifactor;
use crate::state::{Rank, View};
use crate::time::Time;
use crate::workload::PreemptionRules;

use super::entries::used_by;
use super::relations::Waiting;

/// A waiting job in one of its partitions.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Queued {
    pub job: u32,
    /// Index of its request in this partition.
    pub request: u32,
    /// Its priority in this partition; minus the key of the order.
    pub priority: f64,
}

/// Return the queue entries of the first `most` waiting jobs, in order. O(jobs) if partitions have equal tiers and
/// priorities and there are no preemption, reservations or requeued jobs; else O(queue · log queue) and the cost of
/// preemption.
pub(super) fn queued(
    view: View<'_>,
    rule: Option<&Multifactor>,
    waiting: &Waiting,
    most: usize,
) -> Vec<Queued> {
    let has_calendar = view.scenario.calendar.is_some();
    let is_plain = !has_calendar && view.scenario.preemption.is_none() && waiting.all_are_eligible();
    let has_places = !view.scenario.attributes.places.is_empty();
    let is_in_order = is_plain && !has_places;
    let mut jobs = view.state.queue.first_jobs(if is_in_order { most } else { usize::MAX });
    if !is_plain {
        jobs.retain(|&job| waiting.may_start(view, job));
    }
    let mut entries = if has_places { placed(view, rule, &jobs) } else { in_order(view, &jobs) };
    if let Some(rules) = &view.scenario.preemption {
        entries = preemptors_first(rules, &entries);
    }
    if has_calendar {
        entries.sort_by_key(|entry| used_by(view.scenario, entry.job).is_none());
    }
    entries
}

/// Return the entries in the order of their jobs.
fn in_order(view: View<'_>, jobs: &[u32]) -> Vec<Queued> {
    let entries = |&job: &u32| {
        let priority = -view.state.jobs.key(job);
        view.scenario.alternatives(job).iter().map(move |&request| Queued { job, request, priority })
    };
    jobs.iter().flat_map(entries).collect()
}

/// Sort the entries by tier and priority of their partitions; equal entries of a job are in the order of its
/// partitions.
fn placed(view: View<'_>, rule: Option<&Multifactor>, jobs: &[u32]) -> Vec<Queued> {
    let places = &view.scenario.attributes.places;
    let mut entries: Vec<(Rank, Queued)> = Vec::with_capacity(jobs.len());
    for &job in jobs {
        let rank = view.state.rank_of(view.scenario, job);
        let requests = view.scenario.alternatives(job);
        for (&request, place) in requests.iter().zip(places) {
            let key = match rule {
                Some(rule) => view.state.key_in(view.scenario, rule, job, place),
                None => rank.key.0,
            };
            let own = Rank { tier: Reverse(place.tier(job)), key: Time(key), ..rank };
            entries.push((own, Queued { job, request, priority: -key }));
        }
    }
    entries.sort_by_key(|&(rank, _)| rank);
    entries.into_iter().map(|(_, entry)| entry).collect()
}

/// Move each entry before the first entry that it may preempt. O(entries · classes), and O(entries) for
/// each entry that moves.
fn preemptors_first(rules: &PreemptionRules, entries: &[Queued]) -> Vec<Queued> {
    let mut ordered: Vec<Queued> = Vec::with_capacity(entries.len());
    let mut first_of: BTreeMap<u32, usize> = BTreeMap::new();
    for &entry in entries {
        let below = rules.below(entry.job).iter().filter_map(|class| first_of.get(class)).min();
        let place = below.copied().unwrap_or(ordered.len());
        ordered.insert(place, entry);
        for first in first_of.values_mut().filter(|first| **first >= place) {
            *first += 1;
        }
        first_of
            .entry(rules.class_number(entry.job))
            .and_modify(|first| *first = place.min(*first))
            .or_insert(place);
    }
    ordered
}
