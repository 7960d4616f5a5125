//! The tree of accounts and their users.
//!
//! Node 0 is the root; every other node comes after its parent, so a loop over the numbers goes down the tree. An
//! account with the shares of its parent is passed through: its members compete with its siblings.
use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The shares of a member among its siblings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Shares {
    /// This number of all siblings' shares.
    Number(f64),
    /// No shares of its own: it has the fair share of its parent (Slurm's `Fairshare=parent`).
    Parent,
}

/// An account, or a user in an account.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// The number of its account; less than its own number.
    pub parent: u32,
    /// Its shares among its siblings.
    pub shares: Shares,
    /// True if it is a user; a user has no members.
    pub user: bool,
}

/// The reason why some members are not a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeDefect {
    /// The parent of the node with this number does not come before it.
    Order(usize),
    /// The parent of the node with this number is a user.
    Parent(usize),
    /// The shares of the node with this number are negative or not finite.
    Shares(usize),
}

impl fmt::Display for TreeDefect {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Order(node) => write!(text, "node {node} does not come after its parent"),
            Self::Parent(node) => write!(text, "node {node} has a user as its parent"),
            Self::Shares(node) => write!(text, "the shares of node {node} are not a number from 0 on"),
        }
    }
}

impl std::error::Error for TreeDefect {}

/// Accounts and users, with the fraction that each has of its siblings' shares. Immutable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AccountTree {
    members: Vec<Member>,
    /// The nearest ancestor that is not passed through.
    level: Vec<u32>,
    /// The node's shares over the shares of all siblings; 0 if these have none.
    portion: Vec<f64>,
    /// The members of each node, with passed-through accounts replaced by their members, one node after the other.
    children: Vec<u32>,
    first: Vec<u32>,
    users: usize,
}

impl AccountTree {
    /// Creates the tree of a root and these members, which are numbered from 1 on. O(members).
    pub fn new(members: &[Member]) -> Result<Self, TreeDefect> {
        let root = Member { parent: 0, shares: Shares::Number(1.0), user: false };
        let members: Vec<Member> = std::iter::once(root).chain(members.iter().copied()).collect();
        for (node, member) in members.iter().enumerate().skip(1) {
            check(node, member, &members)?;
        }
        let mut level = vec![0; members.len()];
        for (node, member) in members.iter().enumerate().skip(1) {
            let parent = member.parent;
            let passed = parent != 0 && members[parent as usize].shares == Shares::Parent;
            level[node] = if passed { level[parent as usize] } else { parent };
        }
        let (children, first) = children(&members, &level);
        let portion = portions(&members, &level);
        let users = members.iter().filter(|member| member.user).count();
        Ok(Self { members, level, portion, children, first, users })
    }

    /// The numbers of all nodes, including the root.
    #[must_use]
    pub fn nodes(&self) -> Range<usize> {
        0..self.members.len()
    }

    /// Number of nodes that are users in an account.
    #[must_use]
    pub fn users(&self) -> usize {
        self.users
    }

    /// Returns whether a node is a user.
    #[must_use]
    pub fn is_user(&self, node: usize) -> bool {
        self.members[node].user
    }

    /// Returns whether a node has the fair share of its parent.
    #[must_use]
    pub fn follows_parent(&self, node: usize) -> bool {
        self.members[node].shares == Shares::Parent
    }

    /// The nearest ancestor that is not passed through; the root's is the root.
    #[must_use]
    pub fn level_parent(&self, node: usize) -> usize {
        self.level[node] as usize
    }

    /// The shares of a node over those of all its siblings; 0 if it has none of its own.
    #[must_use]
    pub fn portion(&self, node: usize) -> f64 {
        self.portion[node]
    }

    /// The members of an account, including those of passed-through accounts.
    #[must_use]
    pub fn children(&self, node: usize) -> &[u32] {
        &self.children[self.first[node] as usize..self.first[node + 1] as usize]
    }

    /// A node and all its ancestors, the root last. O(depth).
    pub fn path(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let above = move |&at: &usize| (at != 0).then(|| self.members[at].parent as usize);
        std::iter::successors(Some(node), above)
    }

    /// Sums the charges of the nodes up to the root: the result includes the charges of members. O(nodes).
    #[must_use]
    pub fn totals(&self, mut charged: Vec<f64>) -> Vec<f64> {
        for node in self.nodes().skip(1).rev() {
            charged[self.members[node].parent as usize] += charged[node];
        }
        charged
    }
}

fn check(node: usize, member: &Member, members: &[Member]) -> Result<(), TreeDefect> {
    if member.parent as usize >= node {
        return Err(TreeDefect::Order(node));
    }
    if members[member.parent as usize].user {
        return Err(TreeDefect::Parent(node));
    }
    match member.shares {
        Shares::Number(shares) if !(shares.is_finite() && shares >= 0.0) => Err(TreeDefect::Shares(node)),
        _ => Ok(()),
    }
}

/// Returns whether a node is listed among the children of its level's account.
fn stands(member: &Member) -> bool {
    member.user || member.shares != Shares::Parent
}

fn children(members: &[Member], level: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut first = vec![0; members.len() + 1];
    let standing = || (1..members.len()).filter(|&node| stands(&members[node]));
    for node in standing() {
        first[level[node] as usize + 1] += 1;
    }
    for node in 0..members.len() {
        first[node + 1] += first[node];
    }
    let mut next = first.clone();
    let mut children = vec![0; first[members.len()] as usize];
    for node in standing() {
        let place = &mut next[level[node] as usize];
        children[*place as usize] = node as u32;
        *place += 1;
    }
    (children, first)
}

fn portions(members: &[Member], level: &[u32]) -> Vec<f64> {
    let number = |node: usize| match members[node].shares {
        Shares::Number(shares) => shares,
        Shares::Parent => 0.0,
    };
    let mut sums = vec![0.0; members.len()];
    for node in 1..members.len() {
        sums[level[node] as usize] += number(node);
    }
    let of = |node: usize| {
        let sum: f64 = sums[level[node] as usize];
        if node == 0 {
            1.0
        } else if sum > 0.0 {
            number(node) / sum
        } else {
            0.0
        }
    };
    (0..members.len()).map(of).collect()
}
