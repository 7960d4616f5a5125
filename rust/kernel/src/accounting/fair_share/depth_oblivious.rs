//! Depth-oblivious fair share: the ratio of usage to shares at each level, multiplied down the tree.
use super::{FactorTree, basis};
use crate::accounting::tree::AccountTree;

pub(super) fn standing(tree: &AccountTree, usage: &[f64]) -> FactorTree {
    let mut standing = basis(tree, usage);
    let ratios = ratios(tree, &standing);
    let effective = |node: usize| match standing.normalised_shares[node] {
        0.0 => 0.0,
        shares => ratios[node] * shares,
    };
    standing.effective_usage = tree.nodes().map(effective).collect();
    let factor = |node: usize| match standing.normalised_shares[node] {
        0.0 => 0.0,
        _ => libm::exp2(-ratios[node]),
    };
    standing.factor = tree.nodes().map(factor).collect();
    standing
}

/// The ratio of each node: the ratio of its account times its own among its siblings, damped if one is above 1 and the
/// other below.
fn ratios(tree: &AccountTree, standing: &FactorTree) -> Vec<f64> {
    let (shares, usage) = (&standing.normalised_shares, &standing.normalised_usage);
    let mut of_siblings = vec![0.0; usage.len()];
    for node in tree.nodes().skip(1).filter(|&node| !tree.follows_parent(node)) {
        of_siblings[tree.level_parent(node)] += usage[node];
    }
    let mut ratios = vec![1.0; usage.len()];
    for node in tree.nodes().skip(1) {
        let parent = tree.level_parent(node);
        ratios[node] = if tree.follows_parent(node) {
            ratios[parent]
        } else if usage[node] == 0.0 || shares[node] == 0.0 {
            0.0
        } else {
            let ratio = (usage[node] / shares[node]) / (of_siblings[parent] / shares[parent]);
            ratios[parent] * libm::pow(ratio, exponent(ratios[parent], ratio))
        };
    }
    ratios
}

fn exponent(above: f64, ratio: f64) -> f64 {
    let logarithm = libm::log(above);
    if logarithm * libm::log(ratio) >= 0.0 {
        1.0
    } else {
        1.0 / (1.0 + (5.0 * logarithm) * (5.0 * logarithm))
    }
}
