//! `select/linear`: whole nodes, best fit over runs of consecutive free ones.
use super::offer::{Offer, runs};
use super::situation::{Allotment, Entry};

/// The smallest run that suffices; where none does all of the largest, and so on.
pub(super) fn choose(entry: &Entry, offer: Offer<'_>) -> Option<Vec<Allotment>> {
    let wanted = entry.least_nodes() as usize;
    let is_idle = |&node: &u32| offer.left[node as usize] == offer.machine[node as usize];
    let free: Vec<u32> = offer.usable.iter().filter(is_idle).collect();
    if free.len() < wanted {
        return None;
    }
    let mut runs = runs(&free, |&node| node);
    let mut chosen = Vec::with_capacity(wanted);
    while chosen.len() < wanted {
        let missing = wanted - chosen.len();
        let sufficient = (0..runs.len()).filter(|&run| runs[run].len() >= missing);
        // The first of equal ones.
        let best = sufficient.min_by_key(|&run| runs[run].len());
        let best = best.or_else(|| (0..runs.len()).rev().max_by_key(|&run| runs[run].len()))?;
        let run = runs.remove(best);
        chosen.extend_from_slice(&run[..missing.min(run.len())]);
    }
    chosen.sort_unstable();
    let whole = |node: u32| {
        let all = offer.machine[node as usize];
        Allotment { node, cpus: all.cpus, memory: all.memory }
    };
    Some(chosen.into_iter().map(whole).collect())
}
