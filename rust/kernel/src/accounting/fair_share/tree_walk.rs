//! Rules that rank users on a walk down the tree: at each level the members in order, each account's members before the
//! next.
//!
//! Users with equal values share a rank, and the next rank skips. The members of accounts with equal values are merged
//! before they are sorted; a user with the same value as an account gets the rank of the best user in it.
//! merged before they are sorted; a user equal to them has the rank of the best user among them.
use super::classic::effective;
use super::{FactorTree, basis};
use crate::accounting::tree::AccountTree;

pub(super) fn fair_tree(tree: &AccountTree, usage: &[f64]) -> FactorTree {
    let mut standing = basis(tree, usage);
    for node in tree.nodes().skip(1) {
        let of_parent = usage[tree.level_parent(node)];
        standing.effective_usage[node] = if of_parent > 0.0 { usage[node] / of_parent } else { 0.0 };
        standing.normalised_shares[node] = if tree.follows_parent(node) { 1.0 } else { tree.portion(node) };
    }
    standing.effective_usage[0] = 1.0;
    standing.factor = ranks(tree, &standing.level_fair_share);
    standing
}

pub(super) fn pbs(tree: &AccountTree, usage: &[f64], least_usage: f64) -> FactorTree {
    let usage: Vec<f64> = usage.iter().map(|usage| usage.max(least_usage)).collect();
    let mut standing = basis(tree, &usage);
    standing.effective_usage = effective(tree, &standing.normalised_usage);
    let merit = |node: usize| match standing.normalised_shares[node] {
        0.0 => f64::NEG_INFINITY,
        target => 0.0 - usage[node] / target,
    };
    let merits: Vec<f64> = tree.nodes().map(merit).collect();
    standing.factor = ranks(tree, &merits);
    standing
}

/// For each user, its rank divided by the number of users; the greatest merit has rank `users`. Accounts have NaN.
fn ranks(tree: &AccountTree, merits: &[f64]) -> Vec<f64> {
    let users = tree.users();
    let mut walk = Walk {
        tree,
        merits,
        left: users,
        rank: users,
        tied: false,
        steps: Vec::new(),
        ranks: vec![f64::NAN; merits.len()],
    };
    walk.enter(tree.children(0).to_vec());
    while let Some(step) = walk.steps.pop() {
        match step {
            Step::Equals(members) => walk.rank_equals(&members),
            Step::TieEnds => walk.tied = false,
        }
    }
    walk.ranks.iter().map(|rank| rank / users as f64).collect()
}

/// Remaining steps, on an explicit stack: a tree may be deeper than the call stack allows.
enum Step {
    /// Members of equal merit, from several accounts if these have equal merit.
    Equals(Vec<u32>),
    /// Ends the tie of users with accounts of equal merit.
    TieEnds,
}

struct Walk<'a> {
    tree: &'a AccountTree,
    merits: &'a [f64],
    /// Number of users not yet ranked.
    left: usize,
    /// The rank of the last user.
    rank: usize,
    /// True if the next users share the rank of the last.
    tied: bool,
    steps: Vec<Step>,
    ranks: Vec<f64>,
}

impl Walk<'_> {
    /// Sorts members and pushes them on the stack, such that the best is popped first.
    fn enter(&mut self, mut members: Vec<u32>) {
        let merits = self.merits;
        // Merits are never NaN, and zeros compared here have the same sign.
        members.sort_by(|left, right| merits[*right as usize].total_cmp(&merits[*left as usize]));
        let equals: Vec<Step> = members
            .chunk_by(|left, right| merits[*left as usize].total_cmp(&merits[*right as usize]).is_eq())
            .map(|equals| Step::Equals(equals.to_vec()))
            .collect();
        self.steps.extend(equals.into_iter().rev());
    }

    fn rank_equals(&mut self, members: &[u32]) {
        let (users, accounts): (Vec<u32>, Vec<u32>) =
            members.iter().partition(|node| self.tree.is_user(**node as usize));
        if !users.is_empty() {
            if !self.tied {
                self.rank = self.left;
            }
            for user in &users {
                self.ranks[*user as usize] = self.rank as f64;
            }
            self.left -= users.len();
            self.tied = !accounts.is_empty();
            self.steps.push(Step::TieEnds);
        }
        let tree = self.tree;
        let below = accounts.iter().flat_map(|account| tree.children(*account as usize));
        self.enter(below.copied().collect());
    }
}
