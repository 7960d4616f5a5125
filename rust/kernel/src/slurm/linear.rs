//! `select/linear`: whole nodes, best fit over runs of consecutive idle ones.
use super::controller_input::{Allotment, Amounts, Entry};
use super::selection_input::SelectionInput;
use crate::index::NodeBits;

/// Choose idle nodes of an offer: the smallest sufficient run; if none suffices, the whole largest run, and then
/// continue.
pub(super) fn choose(entry: &Entry, input: SelectionInput<'_>) -> Option<Vec<Allotment>> {
    choose_of(entry, &idle(input), input.machine)
}

/// Choose from the nodes of the least weight; if they are too few, also from the next weight, and so on.
pub(super) fn choose_lightest(entry: &Entry, input: SelectionInput<'_>) -> Option<Vec<Allotment>> {
    let idle = idle(input);
    if idle.count() < entry.least_nodes() as usize {
        return None;
    }
    let weight = |node: u32| input.weights[node as usize];
    let mut steps: Vec<u32> = idle.iter().map(weight).collect();
    steps.sort_unstable();
    steps.dedup();
    steps.into_iter().find_map(|most| {
        let light = idle.iter().filter(|&node| weight(node) <= most);
        choose_of(entry, &NodeBits::of(input.machine.len(), light), input.machine)
    })
}

fn idle(input: SelectionInput<'_>) -> NodeBits {
    let mut idle = input.usable.clone();
    idle.keep(input.free.idle());
    idle
}

/// Choose from these nodes, which must all be idle.
pub(super) fn choose_of(entry: &Entry, idle: &NodeBits, machine: &[Amounts]) -> Option<Vec<Allotment>> {
    let mut missing = entry.least_nodes() as usize;
    if idle.count() < missing {
        return None;
    }
    let mut runs = runs(idle);
    let mut chosen = Vec::with_capacity(missing);
    while missing > 0 {
        let sufficient = (0..runs.len()).filter(|&run| runs[run].1 >= missing);
        // The first run wins ties.
        let best = sufficient.min_by_key(|&run| runs[run].1);
        let best = best.or_else(|| (0..runs.len()).rev().max_by_key(|&run| runs[run].1))?;
        let (first, length) = runs.remove(best);
        let taken = missing.min(length);
        missing -= taken;
        chosen.extend((first..).take(taken).map(|node| {
            let Amounts { cpus, memory } = machine[node as usize];
            Allotment { node, cpus, memory }
        }));
    }
    chosen.sort_unstable_by_key(|each| each.node);
    Some(chosen)
}

/// Return the runs of adjacent nodes: first node and length of each.
fn runs(nodes: &NodeBits) -> Vec<(u32, usize)> {
    let mut runs: Vec<(u32, usize)> = Vec::new();
    for node in nodes.iter() {
        match runs.last_mut() {
            Some((first, length)) if *first + *length as u32 == node => *length += 1,
            _ => runs.push((node, 1)),
        }
    }
    runs
}
