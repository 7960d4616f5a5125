//! Selection of the jobs to preempt for another (`_run_now`).
use std::cmp::Reverse;
use std::sync::Arc;

use super::controller_input::{Entry, Held};
use super::selection_input::SelectionInput;
use super::setup::{Precedence, Setup};
use crate::index::NodeBits;

/// Number of reorderings of the candidates (`preempt_reorder_count=1`, plus one).
const REORDERINGS: usize = 2;

impl Precedence {
    /// Return whether a job may be preempted for another.
    pub(super) fn may_go(&self, entry: &Entry, held: &Held) -> bool {
        let below = self.preempts.get(entry.classes.preemption as usize);
        held.began.is_some() && below.is_some_and(|below| below.contains(&held.classes.preemption))
    }

    fn importance(&self, held: &Held) -> f64 {
        self.importance.get(held.classes.preemption as usize).copied().unwrap_or_default()
    }
}

/// Return the jobs on nodes of its partition that may be preempted for a job: least important first, then smallest.
pub(super) fn candidates<'a>(setup: &Setup, held: &'a [Arc<Held>], entry: &Entry) -> Vec<&'a Held> {
    let rules = &setup.precedence;
    if rules.preempts.is_empty() {
        return Vec::new();
    }
    let members = &setup.partitions[entry.partition].nodes;
    let may_go = |held: &&Held| rules.may_go(entry, held) && held.nodes.meets(members);
    let mut found: Vec<&Held> = held.iter().map(|held| &**held).filter(may_go).collect();
    let within = |held: &Held| match held.began {
        Some(began) if rules.youngest_first => -began,
        _ => held.allotments.len() as f64,
    };
    found.sort_by(|one, other| {
        let importance = rules.importance(one).total_cmp(&rules.importance(other));
        importance.then(within(one).total_cmp(&within(other))).then(one.row.cmp(&other.row))
    });
    found
}

/// Return the candidates to remove so that a job fits; empty if removing all does not suffice. They are removed one by
/// one. Up to two more rounds reorder them: the last one first, then by the number of chosen nodes that they hold.
pub(super) fn victims<'a>(
    setup: &Setup,
    entry: &Entry,
    mut order: Vec<&'a Held>,
    input: SelectionInput<'_>,
) -> Vec<&'a Held> {
    let mut round = 0;
    loop {
        let Some((last, chosen)) = take_until_fit(setup, entry, &order, input) else { return Vec::new() };
        round += 1;
        if round > REORDERINGS || order.len() <= round {
            order.truncate(last + 1);
            order.retain(|held| held.nodes.meets(&chosen) && held.nodes.meets(input.usable));
            return order;
        }
        let mut ranked: Vec<(usize, &Held)> = order.iter().map(|held| (0, *held)).collect();
        for (rank, held) in &mut ranked[..last] {
            *rank = held.nodes.count_in(&chosen);
        }
        ranked[last].0 = usize::MAX;
        ranked.sort_by_key(|&(rank, _)| Reverse(rank));
        order = ranked.into_iter().map(|(_, held)| held).collect();
    }
}

/// Return the index of the last job that must be removed, and the nodes chosen then.
fn take_until_fit(
    setup: &Setup,
    entry: &Entry,
    order: &[&Held],
    input: SelectionInput<'_>,
) -> Option<(usize, NodeBits)> {
    let mut free = input.free.clone();
    for (place, held) in order.iter().enumerate() {
        if !held.nodes.meets(input.usable) {
            continue;
        }
        free.give_back(&setup.machine, held);
        if let Some(chosen) = setup.parameters.select.choose(entry, SelectionInput { free: &free, ..input }) {
            return Some((place, NodeBits::of(setup.nodes(), chosen.iter().map(|each| each.node))));
        }
    }
    None
}
