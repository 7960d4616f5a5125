//! The rules that convert shares and usage to factors from 0 to 1, one file each.
//!
//! All cost O(nodes), or O(nodes · log) if they sort.
mod classic;
mod depth_oblivious;
mod registry;
mod tree_walk;

pub use registry::{Entry, FairShareRule, RULES, named};

use super::tree::AccountTree;

/// The values of every node under a rule, in the order of the tree's nodes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FactorTree {
    /// Shares over all siblings' shares, times the same of each ancestor; with `fair_tree` the fraction at its own
    /// level.
    pub normalised_shares: Vec<f64>,
    /// Usage over the usage of the root; 0 if the root has none.
    pub normalised_usage: Vec<f64>,
    /// The usage that the rule compares with the shares.
    pub effective_usage: Vec<f64>,
    /// The fraction of shares over the fraction of usage, among siblings; infinity without usage.
    pub level_fair_share: Vec<f64>,
    /// The factor; NaN for accounts under rules that rank users.
    pub factor: Vec<f64>,
}

impl FairShareRule {
    /// Computes the values of all nodes from their usage, which includes that of their members.
    #[must_use]
    pub fn standing(self, tree: &AccountTree, usage: &[f64]) -> FactorTree {
        match self {
            Self::Classic { damping } => classic::standing(tree, usage, damping),
            Self::DepthOblivious => depth_oblivious::standing(tree, usage),
            Self::FairTree => tree_walk::fair_tree(tree, usage),
            Self::Pbs { least_usage } => tree_walk::pbs(tree, usage, least_usage),
        }
    }
}

/// Shares, usage and the level fair share, which do not depend on the rule.
fn basis(tree: &AccountTree, usage: &[f64]) -> FactorTree {
    let mut shares = vec![1.0; usage.len()];
    for node in tree.nodes().skip(1) {
        let parent = tree.level_parent(node);
        let own = if tree.follows_parent(node) { 1.0 } else { tree.portion(node) };
        shares[node] = shares[parent] * own;
    }
    let of_root = |node: usize| if usage[0] > 0.0 { usage[node] / usage[0] } else { 0.0 };
    FactorTree {
        normalised_shares: shares,
        normalised_usage: tree.nodes().map(of_root).collect(),
        effective_usage: vec![0.0; usage.len()],
        level_fair_share: tree.nodes().map(|node| level_fair_share(tree, usage, node)).collect(),
        factor: vec![f64::NAN; usage.len()],
    }
}

fn level_fair_share(tree: &AccountTree, usage: &[f64], node: usize) -> f64 {
    if node == 0 || tree.follows_parent(node) {
        return f64::INFINITY;
    }
    let (portion, of_parent) = (tree.portion(node), usage[tree.level_parent(node)]);
    if portion == 0.0 {
        0.0
    } else if usage[node] == 0.0 || of_parent == 0.0 {
        f64::INFINITY
    } else {
        portion / (usage[node] / of_parent)
    }
}
