//! The allocators by name.
use super::AllocationRule;

/// An allocator: its name, what it does, and the rule.
pub struct Entry {
    /// The name in spec strings.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// The rule.
    pub rule: AllocationRule,
}

/// All allocators of the kernel.
pub const ALLOCATORS: [Entry; 6] = [
    Entry { name: "first_fit", summary: "nodes in their order", rule: AllocationRule::FirstFit },
    Entry { name: "best_fit", summary: "the busiest nodes first", rule: AllocationRule::BestFit },
    Entry { name: "worst_fit", summary: "the least busy nodes first", rule: AllocationRule::WorstFit },
    Entry {
        name: "random",
        summary: "nodes in a random order, the same for the same seed of the run",
        rule: AllocationRule::Random,
    },
    Entry {
        name: "contiguous",
        summary: "the first row of neighbouring nodes that suffices",
        rule: AllocationRule::Contiguous,
    },
    Entry {
        name: "next_fit",
        summary: "nodes in their order, from where the latest start ended",
        rule: AllocationRule::NextFit,
    },
];

/// The rule with a name.
#[must_use]
pub fn named(name: &str) -> Option<AllocationRule> {
    ALLOCATORS.iter().find(|entry| entry.name == name).map(|entry| entry.rule)
}
