//! Mappings: an order of the nodes, and the parameters of the rules that use it (S22).
use serde::{Deserialize, Serialize};

use crate::cluster::{Availability, NodeOrder};
use crate::platform::{Fabric, FabricKind};

use super::blocks::Blocks;
use super::compact::{Closeness, Compact};
use super::filling::Filling;
use super::rules::{AllocationRule, AllocatorParameters};
use super::taken_boxes::TakenBoxes;

/// The threshold from which a job is long.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Threshold {
    /// The requested time is at least this number of seconds.
    RequestedTime(f64),
    /// It needs at least this number of nodes from the head of the order.
    Nodes(f64),
}

/// An order of the nodes, and the parameters of its rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mapping {
    /// All nodes, each once.
    pub order: Vec<u32>,
    /// The blocks of the order, if it is cut.
    pub blocks: Option<Blocks>,
    /// The parameter of `dual_end`.
    pub threshold: Option<Threshold>,
    /// The parameters of `compact`.
    pub compact: Option<Compact>,
    /// The positions of the nodes in the network, for rules that use them.
    pub fabric: Option<Fabric>,
}

impl Mapping {
    /// An order of the nodes with the parameters of an allocator.
    #[must_use]
    pub fn of(parameters: &AllocatorParameters, order: Vec<u32>, fabric: Option<Fabric>) -> Self {
        let AllocatorParameters { by, blocks, of, threshold, centres, .. } = parameters;
        let known = Closeness::NAMES.into_iter().find(|(name, _)| name == by);
        let closeness = known.map_or(Closeness::MeanHops, |(_, closeness)| closeness);
        let is_long = if by == "nodes" { Threshold::Nodes } else { Threshold::RequestedTime };
        Self {
            order,
            blocks: blocks.map(|count| Blocks { count, are_fixed: of == "machine" }),
            threshold: threshold.map(is_long),
            compact: Some(Compact { by: closeness, centres: *centres }),
            fabric,
        }
    }

    /// Checks that the order contains every node once.
    pub fn check(&self, nodes: usize) -> Result<(), String> {
        let mut is_there = vec![false; nodes];
        for &node in &self.order {
            match is_there.get_mut(node as usize) {
                Some(there) if !*there => *there = true,
                _ => {
                    return Err(format!(
                        "the order of the nodes has node {node} twice, or there is no such node"
                    ));
                }
            }
        }
        if self.order.len() < nodes {
            return Err(format!("the order of the nodes has {} of {nodes} nodes", self.order.len()));
        }
        if self.fabric.as_ref().is_some_and(|fabric| fabric.nodes() != nodes) {
            return Err(format!("the network has places for other than {nodes} nodes"));
        }
        Ok(())
    }

    /// Fills nodes according to a rule, in the current order.
    pub(super) fn fill(
        &self,
        rule: AllocationRule,
        order: &NodeOrder,
        filling: &mut Filling<'_, impl Availability>,
        taken: &mut TakenBoxes,
    ) {
        if let Some(blocks) = self.blocks {
            return filling.blocks(order, blocks);
        }
        match (rule, &self.fabric) {
            (AllocationRule::Compact, Some(fabric)) if let Some(compact) = self.compact => {
                return filling.compact(order, fabric, compact);
            }
            (AllocationRule::HopBytes, Some(fabric)) if let Some(Compact { centres, .. }) = self.compact => {
                return filling.fewest_hop_bytes(order, fabric, centres);
            }
            (AllocationRule::FewestGroups, Some(fabric)) => return filling.fewest_groups(order, fabric),
            (AllocationRule::SubTorus, Some(fabric)) if fabric.kind() == FabricKind::Torus => {
                return filling.sub_torus(order, fabric, taken);
            }
            _ => {}
        }
        match (rule, self.threshold) {
            (AllocationRule::Contiguous, _) => filling.first_window_in_order(order),
            (AllocationRule::DualEnd, Some(Threshold::RequestedTime(least)))
                if filling.want.requested_time >= least =>
            {
                filling.last_in_order(order);
            }
            (AllocationRule::DualEnd, Some(Threshold::Nodes(least))) => {
                filling.dual_end_by_nodes(order, least);
            }
            _ => filling.in_order(order),
        }
    }
}
