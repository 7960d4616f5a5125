//! The cluster: nodes, their free amounts now and over time, and the indices that search them.
pub mod availability;
mod breach;
mod calendar;
mod empty_machine;
mod expansion;
mod free_now;
mod load_index;
mod load_levels;
mod machine;
mod most_tasks;
mod node_order;
mod node_set;
mod node_sets;
mod partitions;
mod placement;
mod profile;
mod ranking;
mod request;
mod sleep;
mod unavailable;
mod unreserved_nodes;
mod whole_nodes;

pub use availability::{
    Availability, EmptyNodes, HopBytes, Place, PlacementRequest, Unanswered, next_place_of_both,
    previous_place_of_both,
};
pub use breach::Breach;
pub use calendar::{Calendar, JobCalendar, Occurrences};
pub use empty_machine::EmptyMachine;
pub use expansion::Expansion;
pub use machine::Machine;
pub use node_order::NodeOrder;
pub use node_set::{NodeSet, NodeSetId};
pub use node_sets::NodeSets;
pub use partitions::Partitions;
pub use placement::{NodeRange, NodeTasks, Placement, placement_of_ranks, ranks_of_placement};
pub use profile::{Profile, ProfileOverlay};
pub use ranking::{Ranked, Ranking};
pub use request::{Request, Requests};
pub use sleep::{PowerState, SleepLevel, SleepRules, WarmNodes};
pub use unreserved_nodes::{UnreservedNodes, place_at};

#[cfg(test)]
mod tests;
