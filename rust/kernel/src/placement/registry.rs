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
pub const ALLOCATORS: [Entry; 7] = [
    Entry {
        name: "balanced",
        summary: "nodes without critical resources first",
        rule: AllocationRule::Balanced,
    },
    Entry { name: "best_fit", summary: "busiest nodes first", rule: AllocationRule::BestFit },
    Entry { name: "contiguous", summary: "consecutive nodes only", rule: AllocationRule::Contiguous },
    Entry { name: "first_fit", summary: "nodes by index", rule: AllocationRule::FirstFit },
    Entry {
        name: "next_fit",
        summary: "nodes by index, from the last start on",
        rule: AllocationRule::NextFit,
    },
    Entry { name: "random", summary: "nodes in a random order", rule: AllocationRule::Random },
    Entry { name: "worst_fit", summary: "least busy nodes first", rule: AllocationRule::WorstFit },
];

/// The rule with a name.
#[must_use]
pub fn named(name: &str) -> Option<AllocationRule> {
    ALLOCATORS.iter().find(|entry| entry.name == name).map(|entry| entry.rule)
}
