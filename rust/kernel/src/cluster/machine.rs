//! The machine now: capacities, free amounts, and the number of jobs on each node.
//!
//! Allocating or releasing k nodes costs O(k log n) for each node set that contains them. Finding the next node of a
//! set with free resources costs O(log n) for each of its ranges.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::index::SegmentTree;

use super::availability::Availability;
use super::breach::Breach;
use super::load_index::LoadIndex;
use super::node_order::{NodeOrder, OrderIndex};
use super::node_set::NodeSetId;
use super::node_sets::{NodeSets, totals_of};
use super::placement::NodeTasks;
use super::ranking::Ranking;
use super::request::Request;
use super::unavailable::Unavailable;

/// The nodes of a system and their free amounts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    resources: usize,
    node_sets: Arc<NodeSets>,
    capacity: Vec<i64>,
    jobs_on: Vec<u32>,
    /// Total free amounts, set-major.
    total_free: Vec<i64>,
    /// The free amounts of each node, then 1 for an idle node, −1 for a drained node, and 0 for others. Indexed by
    /// node, or by place in the order of the nodes.
    pub(super) by_index: SegmentTree,
    /// The nodes in order of load; None if no allocator uses it.
    pub(super) by_load: Option<LoadIndex>,
    /// The measure of load of that order.
    ranking: Ranking,
    /// The order of the nodes; None if the allocator uses none.
    pub(super) by_order: Option<Box<OrderIndex>>,
    unavailable: Option<Unavailable>,
    /// Number of changes after which nodes may admit more.
    gains: u64,
    /// Number of changes of nodes: allocations, releases and others.
    changes: u64,
    /// True if all nodes have the same capacity.
    are_equal: bool,
    /// The first change that no sequence of starts and ends can produce.
    breach: Option<Breach>,
}

impl Machine {
    /// Creates a machine of these capacities (node-major) without jobs. `loads` builds the index that orders nodes by
    /// load.
    ///
    /// Requires at least one resource and one node, and node sets for the same number of nodes.
    #[must_use]
    pub fn new(resources: usize, capacity: Vec<i64>, node_sets: Arc<NodeSets>, loads: bool) -> Self {
        let nodes = capacity.len() / resources;
        let mut indexed = Vec::with_capacity(nodes * (resources + 1));
        for node in capacity.chunks_exact(resources) {
            indexed.extend_from_slice(node);
            indexed.push(1);
        }
        let are_equal = capacity.chunks_exact(resources).all(|node| node == &capacity[..resources]);
        let mut machine = Self {
            resources,
            jobs_on: vec![0; nodes],
            total_free: totals_of(resources, &capacity, &node_sets),
            by_index: SegmentTree::new(resources + 1, &indexed),
            by_load: None,
            ranking: Ranking::default(),
            by_order: None,
            capacity,
            unavailable: None,
            gains: 0,
            changes: 0,
            are_equal,
            node_sets,
            breach: None,
        };
        if loads {
            machine.keep_loads(Ranking::Load);
        }
        machine
    }

    /// Builds the index that orders nodes by load, and maintains it from now on.
    pub fn keep_loads(&mut self, ranking: Ranking) {
        if self.by_load.is_some() && self.ranking == ranking {
            return;
        }
        let equal = self.are_equal.then(|| self.capacity_of(0));
        let mut index = LoadIndex::new(ranking, self.jobs_on.len(), self.resources, equal, &self.node_sets);
        for node in 0..self.node_count() {
            index.put(node, self.capacity_of(node), self.values(node), &self.node_sets);
        }
        (self.by_load, self.ranking) = (Some(index), ranking);
    }

    /// Builds the index that finds nodes in this order, and maintains it from now on; None removes it.
    pub fn keep_order(&mut self, order: Option<NodeOrder>) {
        let nodes = (0..self.nodes()).collect();
        let (index, tree) = OrderIndex::new(
            order.clone().unwrap_or_else(|| NodeOrder::new(nodes)),
            &self.node_sets,
            |node| self.values(node),
            self.whole_node(),
        );
        self.gains += 1;
        self.changes += 1;
        (self.by_order, self.by_index) = (order.map(|_| Box::new(index)), tree);
    }

    /// The values of a node that is entirely free, if all nodes are equal.
    fn whole_node(&self) -> Option<Vec<i64>> {
        self.are_equal.then(|| [self.capacity_of(0), &[1]].concat())
    }

    /// Number of changes after which nodes may admit more, or have other places in the order.
    #[must_use]
    pub fn gains(&self) -> u64 {
        self.gains
    }

    /// Number of changes of nodes: allocations, releases and others. While this number is unchanged, so are
    /// the free amounts.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns whether all nodes have the same capacity.
    #[must_use]
    pub fn has_equal_nodes(&self) -> bool {
        self.are_equal
    }

    /// The place of a node in the tree of free amounts.
    fn place(&self, node: u32) -> usize {
        self.by_order.as_ref().map_or(node, |index| index.order().place_of(node)) as usize
    }

    /// The free amounts of a node, then its state: 1 if idle, −1 if drained, otherwise 0.
    pub(super) fn values(&self, node: u32) -> &[i64] {
        self.by_index.values(self.place(node))
    }

    /// The current order of the nodes.
    #[must_use]
    pub fn order(&self) -> Option<&NodeOrder> {
        self.by_order.as_ref().map(|index| index.order())
    }

    /// The node sets of the scenario.
    #[must_use]
    pub fn node_sets(&self) -> &Arc<NodeSets> {
        &self.node_sets
    }

    /// Number of nodes.
    pub(super) fn node_count(&self) -> u32 {
        self.jobs_on.len() as u32
    }

    /// Number of resources.
    #[must_use]
    pub fn resources(&self) -> usize {
        self.resources
    }

    /// All capacities, node-major.
    #[must_use]
    pub fn capacity(&self) -> &[i64] {
        &self.capacity
    }

    /// Capacity of a node.
    #[must_use]
    pub fn capacity_of(&self, node: u32) -> &[i64] {
        let from = node as usize * self.resources;
        &self.capacity[from..from + self.resources]
    }

    /// Free amounts of a node.
    #[must_use]
    pub fn free_of(&self, node: u32) -> &[i64] {
        &self.values(node)[..self.resources]
    }

    /// The amounts of a node that no job holds, available to jobs or not.
    #[must_use]
    pub fn idle_of(&self, node: u32) -> &[i64] {
        let from = node as usize * self.resources;
        match &self.unavailable {
            None => self.free_of(node),
            Some(unavailable) => &unavailable.unused[from..from + self.resources],
        }
    }

    /// The first allocation or release that is impossible; None if there was none.
    #[must_use]
    pub fn breach(&self) -> Option<Breach> {
        self.breach
    }

    /// Returns whether any amount is unavailable. If so, free totals plus the amounts held by jobs do
    /// not add up to the capacity.
    #[must_use]
    pub fn has_unavailable(&self) -> bool {
        self.unavailable.is_some()
    }

    /// Returns whether a node is drained, i.e. accepts no job.
    #[must_use]
    pub fn is_drained(&self, node: u32) -> bool {
        self.unavailable.as_ref().is_some_and(|unavailable| unavailable.drained[node as usize])
    }

    /// Returns whether a node accepts jobs with all of its capacity: it is not drained, and nothing of it is withheld.
    #[must_use]
    pub fn offers_all(&self, node: u32) -> bool {
        self.unavailable.as_ref().is_none_or(|unavailable| !unavailable.holds_back(node as usize))
    }

    /// Returns whether amounts of nodes are reserved.
    #[must_use]
    pub fn has_reserved_amounts(&self) -> bool {
        let amounts = self.unavailable.as_ref().map(|unavailable| &unavailable.amounts);
        amounts.is_some_and(|amounts| amounts.iter().any(|&amount| amount != 0))
    }

    /// The capacities available to jobs, node-major: the capacity of each node minus unavailable amounts.
    #[must_use]
    pub fn available(&self) -> Vec<i64> {
        let Some(unavailable) = &self.unavailable else { return self.capacity.clone() };
        let offer = |(at, &capacity)| unavailable.offer(at / self.resources, at, capacity);
        self.capacity.iter().enumerate().map(offer).collect()
    }

    /// The amount of a resource on a node that jobs hold.
    #[must_use]
    pub fn used(&self, node: u32, resource: usize) -> i64 {
        self.capacity_of(node)[resource] - self.idle_of(node)[resource]
    }

    /// The amount of a resource that would be free on a node if `gained` more of it became unused.
    #[must_use]
    pub fn free_with(&self, node: u32, resource: usize, gained: i64) -> i64 {
        let at = node as usize * self.resources + resource;
        match &self.unavailable {
            None => self.free_of(node)[resource] + gained,
            Some(unavailable) => unavailable.offer(node as usize, at, unavailable.unused[at] + gained),
        }
    }

    /// Drains a node (it accepts no further job), or resumes it. Running jobs continue.
    pub fn set_drained(&mut self, node: u32, drained: bool) {
        if drained || self.unavailable.is_some() {
            self.withhold(node, |unavailable| unavailable.drained[node as usize] = drained);
        }
    }

    /// Makes these amounts of a node unavailable, in place of those unavailable before; returns whether anything
    /// changes.
    pub fn reserve_capacity(&mut self, node: u32, amounts: &[i64]) -> bool {
        let from = node as usize * self.resources;
        let resources = self.resources;
        if self.unavailable.is_none() && amounts.iter().all(|&amount| amount == 0) {
            return false;
        }
        let mut changes = false;
        self.withhold(node, |unavailable| {
            let known = &mut unavailable.amounts[from..from + resources];
            changes = known != amounts;
            known.copy_from_slice(amounts);
        });
        changes
    }

    /// Changes the amounts that a node offers. Drops the record of unavailable amounts when all nodes offer everything
    /// again.
    fn withhold(&mut self, node: u32, change: impl FnOnce(&mut Unavailable)) {
        let unavailable = self.unavailable_mut();
        let held_back = unavailable.holds_back(node as usize);
        change(unavailable);
        let others = unavailable.nodes - usize::from(held_back);
        unavailable.nodes = others + usize::from(unavailable.holds_back(node as usize));
        let is_whole = unavailable.nodes == 0;
        self.offer_anew(node);
        if is_whole {
            self.unavailable = None;
        }
    }

    fn unavailable_mut(&mut self) -> &mut Unavailable {
        let known = self.unavailable.take();
        let made = known.unwrap_or_else(|| Unavailable {
            drained: vec![false; self.jobs_on.len()],
            amounts: vec![0; self.capacity.len()],
            unused: (0..self.nodes()).flat_map(|node| self.free_of(node)).copied().collect(),
            nodes: 0,
        });
        self.unavailable.insert(made)
    }

    fn offer_anew(&mut self, node: u32) {
        let nothing = Request { amounts: vec![0; self.resources], ..Request::NOTHING };
        self.change(&nothing, &[NodeTasks { node, tasks: 0 }], 0);
    }

    /// Number of jobs on a node.
    #[must_use]
    pub fn jobs_on(&self, node: u32) -> u32 {
        self.jobs_on[node as usize]
    }

    /// Total free amount of each resource.
    #[must_use]
    pub fn total_free(&self) -> &[i64] {
        self.total_free_in(NodeSetId::ALL)
    }

    /// Free amount of each resource on the nodes of a set.
    #[must_use]
    pub fn total_free_in(&self, set: NodeSetId) -> &[i64] {
        &self.total_free[set.block(self.resources)]
    }

    /// Free amounts on the nodes of each set, set-major.
    #[must_use]
    pub fn free_totals(&self) -> &[i64] {
        &self.total_free
    }

    /// Returns whether the job fits on the nodes of a placement now.
    #[must_use]
    pub fn has_room(&self, request: &Request, placement: &[NodeTasks]) -> bool {
        placement.iter().all(|part| self.slots(part.node, request) >= part.tasks)
    }

    /// The amount of `resource` that a job with this request holds on the node of a part of its placement.
    #[must_use]
    pub fn held(&self, request: &Request, part: NodeTasks, resource: usize) -> i64 {
        if request.exclusive {
            self.capacity[part.node as usize * self.resources + resource]
        } else {
            request.amounts[resource] * i64::from(part.tasks)
        }
    }

    /// The amount of `resource` that is no longer free on the node of a part of a placement after a job with this
    /// request starts there.
    #[must_use]
    pub fn loss(&self, request: &Request, part: NodeTasks, resource: usize) -> i64 {
        // An exclusive job occupies an idle node, which may be partly unavailable: only the available amount is lost.
        if request.exclusive { self.free_of(part.node)[resource] } else { self.held(request, part, resource) }
    }

    /// Allocates a placement to a job.
    pub fn take(&mut self, request: &Request, placement: &[NodeTasks]) {
        self.change(request, placement, -1);
    }

    /// Releases the placement of a job; its nodes keep their places in the order.
    pub fn give_back(&mut self, request: &Request, placement: &[NodeTasks]) {
        self.change(request, placement, 1);
    }

    /// Releases the placement of a job. In a rotating order the nodes move to the tail, in the order of the placement.
    pub fn release(&mut self, request: &Request, placement: &[NodeTasks]) {
        if self.by_order.is_none() {
            return self.give_back(request, placement);
        }
        self.gains += 1;
        self.changes += 1;
        for &part in placement {
            self.change_one(request, part, 1);
        }
        if let Some(index) = &mut self.by_order {
            index.freed(placement.iter().map(|part| part.node), &self.node_sets, &mut self.by_index);
        }
    }

    fn change(&mut self, request: &Request, placement: &[NodeTasks], sign: i64) {
        self.gains += u64::from(sign >= 0);
        self.changes += 1;
        if self.by_order.is_some() {
            for &part in placement {
                self.change_one(request, part, sign);
            }
            if let Some(index) = &mut self.by_order {
                index.changed(placement.iter().map(|part| part.node), &self.node_sets, &mut self.by_index);
            }
            return;
        }
        // Neighbours share their ancestors in the tree: update these once.
        let mut first = 0;
        for (at, &part) in placement.iter().enumerate() {
            self.change_one(request, part, sign);
            let is_near = |next: &NodeTasks| next.node.wrapping_sub(part.node) <= 2;
            if !placement.get(at + 1).is_some_and(is_near) {
                self.by_index.refresh_range(placement[first].node as usize, part.node as usize);
                first = at + 1;
            }
        }
    }

    fn change_one(&mut self, request: &Request, part: NodeTasks, sign: i64) {
        let (node, place, first) =
            (part.node as usize, self.place(part.node), part.node as usize * self.resources);
        let jobs = &mut self.jobs_on[node];
        if sign > 0 && *jobs == 0 {
            note(&mut self.breach, Breach::Empty { node: part.node });
        }
        *jobs = jobs.wrapping_add_signed(-sign as i32);
        let is_empty = *jobs == 0;
        let values = self.by_index.values_mut(place);
        for (resource, &capacity) in self.capacity[first..first + self.resources].iter().enumerate() {
            let free = values[resource];
            let held = if request.exclusive { capacity } else { request.need(resource, part.tasks) };
            let (unused, offered) = match &mut self.unavailable {
                None => (free + sign * held, free + sign * held),
                Some(unavailable) => unavailable.change(node, first + resource, sign * held),
            };
            if unused < 0 || unused > capacity {
                let held = capacity - unused;
                note(&mut self.breach, Breach::Amount { node: part.node, resource, held, capacity });
            }
            values[resource] = offered;
            self.total_free[resource] += offered - free;
            if self.node_sets.count() > 1 {
                let others = self.node_sets.others_of(part.node);
                add_to_sets(&mut self.total_free, others, self.resources, (resource, offered - free));
            }
        }
        values[self.resources] = match &self.unavailable {
            Some(unavailable) if unavailable.drained[node] => -1,
            _ => i64::from(is_empty),
        };
        if let Some(index) = &mut self.by_load {
            let capacity = &self.capacity[first..first + self.resources];
            index.put(part.node, capacity, self.by_index.values(place), &self.node_sets);
        }
    }
}

/// Adds a gain of a resource to the totals of node sets, set-major.
#[inline(never)]
fn add_to_sets(totals: &mut [i64], sets: &[NodeSetId], resources: usize, (resource, gain): (usize, i64)) {
    for set in sets {
        totals[set.block(resources).start + resource] += gain;
    }
}

/// Records the first breach only.
#[cold]
fn note(first: &mut Option<Breach>, breach: Breach) {
    first.get_or_insert(breach);
}
