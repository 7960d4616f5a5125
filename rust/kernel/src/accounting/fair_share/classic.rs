//! Classic fair share: 2^(−(effective usage / shares) / damping).
use super::{FactorTree, basis};
use crate::accounting::tree::AccountTree;

pub(super) fn standing(tree: &AccountTree, usage: &[f64], damping: f64) -> FactorTree {
    let mut standing = basis(tree, usage);
    standing.effective_usage = effective(tree, &standing.normalised_usage);
    let factor = |node: usize| match standing.normalised_shares[node] {
        0.0 => 0.0,
        shares => libm::exp2(-(standing.effective_usage[node] / shares) / damping),
    };
    standing.factor = tree.nodes().map(factor).collect();
    standing
}

/// Normalised usage, mixed with the usage of the account above: the usage of a member's siblings counts partly as its
/// own.
pub(super) fn effective(tree: &AccountTree, normalised: &[f64]) -> Vec<f64> {
    let mut effective = normalised.to_vec();
    for node in tree.nodes().skip(1) {
        let parent = tree.level_parent(node);
        if tree.follows_parent(node) {
            effective[node] = effective[parent];
        } else if parent != 0 {
            effective[node] += (effective[parent] - normalised[node]) * tree.portion(node);
        }
    }
    effective
}
