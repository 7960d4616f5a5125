//! What jobs leave free on each node.
use serde::{Deserialize, Serialize};

use super::node_bits::NodeBits;
use super::situation::{Allotment, Amounts};

/// The free amounts of all nodes. What a job takes or gives back costs O(its nodes).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FreeAmounts {
    left: Vec<Amounts>,
    /// How many jobs hold nodes besides others, counted once for each such node.
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
            let (left, all) = (&mut self.left[each.node as usize], machine[each.node as usize]);
            self.shared += usize::from(*left != all);
            left.cpus -= each.cpus;
            left.memory -= each.memory;
            self.idle.set(each.node, *left == all);
            self.open.set(each.node, left.cpus > 0);
        }
    }

    /// A job gives these back.
    pub fn give_back(&mut self, machine: &[Amounts], allotments: &[Allotment]) {
        for each in allotments {
            let (left, all) = (&mut self.left[each.node as usize], machine[each.node as usize]);
            left.cpus += each.cpus;
            left.memory += each.memory;
            self.shared = self.shared.saturating_sub(usize::from(*left != all));
            self.idle.set(each.node, *left == all);
            self.open.set(each.node, left.cpus > 0);
        }
    }
}
