//! Free resources of each node, as Slurm counts them.
//!
//! They are not the free amounts of `cluster`. Slurm counts other amounts: under `select/linear` a job holds all of its
//! nodes; under `cons_tres` a task holds at least one CPU, an exclusive job holds the memory that it requests per CPU, and
//! a completing job holds nothing. Estimates and the search for victims also change the amounts to those of later times.
use serde::{Deserialize, Serialize};

use super::controller_input::{Amounts, Held};
use super::generic::GenericAmounts;
use crate::index::NodeBits;

/// Free amounts of all nodes. Taking or releasing the resources of a job costs O(its nodes).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FreeAmounts {
    left: Vec<Amounts>,
    generic: GenericAmounts,
    /// Number of allotments on nodes that other jobs also hold.
    shared: usize,
    /// Nodes without allotments.
    idle: NodeBits,
    /// Nodes with a free CPU.
    open: NodeBits,
}

impl FreeAmounts {
    /// Create the amounts of an idle machine.
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

    /// Return the free amounts of each node.
    pub fn left(&self) -> &[Amounts] {
        &self.left
    }

    /// Return the free generic resources of each node.
    pub fn generic(&self) -> &GenericAmounts {
        &self.generic
    }

    /// Return the nodes without allotments.
    pub fn idle(&self) -> &NodeBits {
        &self.idle
    }

    /// Return the nodes with a free CPU.
    pub fn open(&self) -> &NodeBits {
        &self.open
    }

    /// Return whether several jobs share a node.
    pub fn some_are_shared(&self) -> bool {
        self.shared > 0
    }

    /// Subtract what a job holds.
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

    /// Add what a job held.
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
