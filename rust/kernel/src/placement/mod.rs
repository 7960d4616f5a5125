//! Placement: the choice of a job's nodes, by an order of the nodes and greedy filling.
//!
//! Placing k nodes costs O(k log n) by index, by load or in an order; O(feasible nodes) for `random`; O(c f + f log f)
//! with c critical resources for `balanced`; O(n) for `contiguous` and blocks. The cost of compact rules is in their
//! files.
mod blocks;
mod compact;
mod external;
mod fewest_groups;
mod filling;
mod hop_bytes;
mod in_order;
mod mapping;
mod refusals;
mod rules;
mod sub_torus;
mod taken_boxes;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cluster::{
    Availability, EmptyMachine, Machine, NodeOrder, NodeTasks, Place, PlacementRequest, Ranking, Unanswered,
    place_at,
};

pub use external::{ExternalAllocator, Question};
pub use mapping::Mapping;
pub use rules::{ALLOCATORS, AllocationRule, AllocatorParameters, Needs, named};

use filling::Filling;
use refusals::{FitsWhenEmpty, Refusals};
use rules::Memory;
use taken_boxes::TakenBoxes;

/// An allocator with its state: its rule, its seed, and the end of the latest start; or an allocator outside the
/// kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Allocator {
    rule: AllocationRule,
    seed: u64,
    /// The measure of load, for `best_fit` and `worst_fit`.
    ranking: Ranking,
    /// The resources that `balanced` spares, in the order of tie-breaking.
    critical: Vec<usize>,
    /// The last node of the latest start, for `next_fit`.
    cursor: u32,
    external: Option<Box<ExternalAllocator>>,
    /// The order of the nodes, and the parameters of the rules that use it.
    mapping: Option<Arc<Mapping>>,
    /// Recent requests that did not fit, for the rules with which a fit depends on the shape.
    #[serde(skip)]
    refusals: Refusals,
    #[serde(skip)]
    fits_when_empty: FitsWhenEmpty,
    /// The boxes that are known not to be free.
    #[serde(skip)]
    taken: TakenBoxes,
    /// The placement chosen for the latest job, in the order in which the nodes were filled.
    pub chosen: Vec<NodeTasks>,
}

impl Allocator {
    /// Creates an allocator; `next_fit` begins at the first node.
    #[must_use]
    pub fn new(rule: AllocationRule, seed: u64) -> Self {
        Self {
            rule,
            seed,
            ranking: Ranking::default(),
            critical: Vec::new(),
            cursor: 0,
            external: None,
            mapping: None,
            refusals: Refusals::default(),
            fits_when_empty: FitsWhenEmpty::default(),
            taken: TakenBoxes::default(),
            chosen: Vec::new(),
        }
    }

    /// Sets the order of the nodes.
    #[must_use]
    pub fn with_mapping(self, mapping: Option<Mapping>) -> Self {
        Self { mapping: mapping.map(Arc::new), ..self }
    }

    /// The order in which it searches nodes, if it has one.
    #[must_use]
    pub fn node_order(&self) -> Option<NodeOrder> {
        let mapping = self.mapping.as_ref()?;
        let order = NodeOrder::new(mapping.order.clone()).rotating(self.rule == AllocationRule::RoundRobin);
        Some(order.cut(mapping.blocks.is_some()))
    }

    /// Sets the resources to spare, for rules that spare any.
    #[must_use]
    pub fn with_critical(self, critical: Vec<usize>) -> Self {
        Self { critical, ..self }
    }

    /// Sets the measure of load.
    #[must_use]
    pub fn ranking_by(self, ranking: Ranking) -> Self {
        Self { ranking, ..self }
    }

    /// Creates an allocator that queries one outside the kernel.
    #[must_use]
    pub fn external() -> Self {
        Self { external: Some(Box::default()), ..Self::new(AllocationRule::FirstFit, 0) }
    }

    /// The measure by which it searches the busiest or least busy nodes; None if it does not.
    #[must_use]
    pub fn ranking(&self) -> Option<Ranking> {
        matches!(self.rule, AllocationRule::BestFit | AllocationRule::WorstFit).then_some(self.ranking)
    }

    /// Returns whether a job fits exactly if enough slots are free, on whichever nodes.
    #[must_use]
    pub fn is_free_to_spread(&self) -> bool {
        self.rule.is_free_to_spread()
    }

    /// Returns whether it fills nodes in an order that depends only on the job's request and the state of the machine:
    /// more tasks use the nodes of fewer tasks, and further nodes.
    #[must_use]
    pub fn fills_in_one_order(&self) -> bool {
        self.external.is_none() && self.mapping.is_none() && self.rule.fills_in_one_order()
    }

    /// Returns whether it places jobs on consecutive nodes only.
    #[must_use]
    pub fn takes_neighbours(&self) -> bool {
        self.rule == AllocationRule::Contiguous && self.external.is_none() && self.mapping.is_none()
    }

    /// Returns whether the placement depends only on the free nodes, and not on earlier starts.
    #[must_use]
    pub fn is_stateless(&self) -> bool {
        self.external.is_none() && self.rule.is_stateless()
    }

    /// The allocator outside the kernel, if there is one.
    #[must_use]
    pub fn as_external(&self) -> Option<&ExternalAllocator> {
        self.external.as_deref()
    }

    /// Returns whether the nodes of a job depend on more than its request and its number of tasks.
    #[must_use]
    pub fn depends_on_job(&self) -> bool {
        self.mapping.is_some() || matches!(self.rule, AllocationRule::Random | AllocationRule::HopBytes)
    }

    /// The allocator outside the kernel, mutable, to be answered.
    pub fn as_external_mut(&mut self) -> Option<&mut ExternalAllocator> {
        self.external.as_deref_mut()
    }

    /// The allocator for plans that an external scheduler makes: itself, or `first_fit` instead of one outside the
    /// kernel.
    #[must_use]
    pub fn for_plans(&self) -> Self {
        Self { external: None, chosen: Vec::new(), ..self.clone() }
    }

    /// Returns whether a job would fit without other jobs; tries each request once.
    pub fn fits_when_empty(&mut self, machine: &Machine, want: &PlacementRequest<'_>) -> bool {
        if let Some(known) = self.fits_when_empty.of(want) {
            return known;
        }
        let fits = self.fits(&EmptyMachine(machine), want);
        self.fits_when_empty.add(want, fits);
        fits
    }

    /// Like `choose` on the current machine, but a job with a fit that depends on shape is not tried again before
    /// something is released.
    pub fn choose_on(
        &mut self,
        machine: &Machine,
        want: &PlacementRequest<'_>,
        now: f64,
    ) -> Result<bool, Unanswered> {
        // Reservations and other jobs may close nodes to one job and not to another.
        if self.is_free_to_spread() || want.calendar.is_some() || want.closed.is_some() {
            return self.choose(machine, want, now);
        }
        if self.refusals.has(machine, want) {
            return Ok(false);
        }
        let (mut taken, mut chosen) = (std::mem::take(&mut self.taken), std::mem::take(&mut self.chosen));
        taken.look(machine.gains());
        let fits = self.fill_knowing(machine, want, &mut chosen, &mut taken);
        (self.taken, self.chosen) = (taken, chosen);
        if !fits {
            self.refusals.add(machine, want);
        }
        Ok(fits)
    }

    /// Writes to `chosen` the placement of a job that starts now; returns whether it fits.
    pub fn choose(
        &mut self,
        room: &impl Availability,
        want: &PlacementRequest<'_>,
        now: f64,
    ) -> Result<bool, Unanswered> {
        let mut chosen = std::mem::take(&mut self.chosen);
        let fits = place_at(self, room, want, now, &mut chosen);
        self.chosen = chosen;
        fits
    }

    /// Returns whether a job fits on any nodes.
    pub fn fits(&self, room: &impl Availability, want: &PlacementRequest<'_>) -> bool {
        if self.is_free_to_spread() {
            room.holds(want.request, want.tasks)
        } else {
            self.fill(room, want, &mut Vec::new())
        }
    }

    /// Records a start on these nodes, in the order in which they were filled.
    pub fn started(&mut self, placement: &[NodeTasks]) {
        if let (AllocationRule::NextFit, Some(last)) = (self.rule, placement.last()) {
            self.cursor = last.node;
        }
    }

    /// The node that took the last task of the latest start, if the rule goes by it.
    #[must_use]
    pub fn last_node(&self) -> Option<u32> {
        (self.rule == AllocationRule::NextFit).then_some(self.cursor)
    }

    /// Writes to `placement` the placement of a job; returns whether it fits.
    pub fn fill(
        &self,
        room: &impl Availability,
        want: &PlacementRequest<'_>,
        placement: &mut Vec<NodeTasks>,
    ) -> bool {
        self.fill_knowing(room, want, placement, &mut TakenBoxes::default())
    }

    /// Like `fill`, with known taken boxes; adds further boxes found to be taken.
    fn fill_knowing(
        &self,
        room: &impl Availability,
        want: &PlacementRequest<'_>,
        placement: &mut Vec<NodeTasks>,
        taken: &mut TakenBoxes,
    ) -> bool {
        placement.clear();
        let mut filling = Filling::new(room, want, placement);
        if let (Some(mapping), Some(order)) = (&self.mapping, want.order) {
            mapping.fill(self.rule, order, &mut filling, taken);
            return filling.is_complete();
        }
        let Self { seed, ranking, ref critical, cursor, .. } = *self;
        filling.by_rule(self.rule, Memory { seed, ranking, critical, cursor });
        filling.is_complete()
    }
}

impl Place for Allocator {
    fn place(
        &mut self,
        room: &impl Availability,
        want: &PlacementRequest<'_>,
        placement: &mut Vec<NodeTasks>,
    ) -> Result<bool, Unanswered> {
        match &mut self.external {
            None => Ok(self.fill(room, want, placement)),
            Some(external) => external.place(room, want, placement),
        }
    }
}

/// Chooses without a note of the choice, for trials.
impl Place for &Allocator {
    fn place(
        &mut self,
        room: &impl Availability,
        want: &PlacementRequest<'_>,
        placement: &mut Vec<NodeTasks>,
    ) -> Result<bool, Unanswered> {
        Ok(self.fill(room, want, placement))
    }
}
