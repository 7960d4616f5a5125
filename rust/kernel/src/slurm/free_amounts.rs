//! What jobs leave free on each node.
use serde::{Deserialize, Serialize};

use super::generic::GenericAmounts;
use super::node_bits::NodeBits;
use super::situation::{Amounts, Held};

/// The free amounts of all nodes. What a job takes or gives back costs O(its nodes).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FreeAmounts {
    left: Vec<Amounts>,
    generic: GenericAmounts,
    /// How many jobs hold nodes besides others, counted once for each such node.
    shared: usize,
    /// The nodes of which nothing is held.
    idle: NodeBits,
    /// The nodes with a free CPU.
    open: NodeBits,
}

impl FreeAmounts {
    /// All of the machine is free.
    pub fn of(machine: &[Amounts], generic: &GenericAmounts) -> Self {
        let nodes = machine.len();
        let has_cpus = |&(_, amounts): &(u32, &Amounts)| amounts.cpus > 0;
        let open = (0..).zip(machine).filter(has_cpus).map(|(node, _)| node);
        Self {
            left: machine.to_vec(),
            generic: generic.clone(),
            shared: 0,
            idle: NodeBits::full(nodes),
            open: NodeBits::of(nodes, open),
        }
    }

    /// What is left on each node.
    pub fn left(&self) -> &[Amounts] {
        &self.left
    }

    /// What is left of generic resources on each node.
    pub fn generic(&self) -> &GenericAmounts {
        &self.generic
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

    /// A job takes what it holds.
    pub fn take(&mut self, machine: &[Amounts], held: &Held) {
        for each in &held.allotments {
            let (left, all) = (&mut self.left[each.node as usize], machine[each.node as usize]);
            self.shared += usize::from(*left != all);
            left.cpus -= each.cpus;
            left.memory -= each.memory;
            self.idle.set(each.node, *left == all);
            self.open.set(each.node, left.cpus > 0);
        }
        if !held.generic.is_empty() {
            self.move_generic(held, |left, own| *left -= own);
        }
    }

    /// A job gives back what it holds.
    pub fn give_back(&mut self, machine: &[Amounts], held: &Held) {
        for each in &held.allotments {
            let (left, all) = (&mut self.left[each.node as usize], machine[each.node as usize]);
            left.cpus += each.cpus;
            left.memory += each.memory;
            self.shared = self.shared.saturating_sub(usize::from(*left != all));
            self.idle.set(each.node, *left == all);
            self.open.set(each.node, left.cpus > 0);
        }
        if !held.generic.is_empty() {
            self.move_generic(held, |left, own| *left += own);
        }
    }

    fn move_generic(&mut self, held: &Held, change: impl Fn(&mut i64, i64)) {
        let kinds = self.generic.kinds().max(1);
        for (each, own) in held.allotments.iter().zip(held.generic.chunks_exact(kinds)) {
            let left = self.generic.of_mut(each.node);
            left.iter_mut().zip(own).for_each(|(left, &own)| change(left, own));
        }
    }
}
