//! What jobs leave free on each node.
use serde::{Deserialize, Serialize};

use super::node_bits::NodeBits;
use super::situation::{Allotment, Amounts};

/// The free amounts of all nodes. What a job takes or gives back costs O(its nodes).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FreeAmounts {
    left: Vec<Amounts>,
    /// How many jobs hold each node, and how many nodes several jobs hold.
    holders: Vec<u32>,
    shared: usize,
    /// The nodes of which nothing is held.
    idle: NodeBits,
    /// The nodes with a free CPU.
    open: NodeBits,
}

impl FreeAmounts {
    /// All of this machine is free.
    pub fn of(machine: &[Amounts]) -> Self {
        let nodes = machine.len();
        let has_cpus = |&(_, amounts): &(u32, &Amounts)| amounts.cpus > 0;
        let open = (0..).zip(machine).filter(has_cpus).map(|(node, _)| node);
        Self {
            left: machine.to_vec(),
            holders: vec![0; nodes],
            shared: 0,
            idle: NodeBits::full(nodes),
            open: NodeBits::of(nodes, open),
        }
    }

    /// What is left on each node.
    pub fn left(&self) -> &[Amounts] {
        &self.left
    }

    /// The nodes of which nothing is held.
    pub fn idle(&self) -> &NodeBits {
        &self.idle
    }

    /// The nodes with a free CPU.
    pub fn open(&self) -> &NodeBits {
        &self.open
    }

    /// Whether several jobs hold a node.
    pub fn some_are_shared(&self) -> bool {
        self.shared > 0
    }

    /// A job takes these.
    pub fn take(&mut self, machine: &[Amounts], allotments: &[Allotment]) {
        for each in allotments {
            let node = each.node as usize;
            let holders = &mut self.holders[node];
            *holders += 1;
            self.shared += usize::from(*holders == 2);
            self.left[node].cpus -= each.cpus;
            self.left[node].memory -= each.memory;
            self.mark(machine, each.node);
        }
    }

    /// A job gives these back.
    pub fn give_back(&mut self, machine: &[Amounts], allotments: &[Allotment]) {
        for each in allotments {
            let node = each.node as usize;
            let holders = &mut self.holders[node];
            *holders -= 1;
            self.shared -= usize::from(*holders == 1);
            self.left[node].cpus += each.cpus;
            self.left[node].memory += each.memory;
            self.mark(machine, each.node);
        }
    }

    fn mark(&mut self, machine: &[Amounts], node: u32) {
        let left = self.left[node as usize];
        self.idle.set(node, left == machine[node as usize]);
        self.open.set(node, left.cpus > 0);
    }
}
