//! The allocators by name.
use super::AllocationRule;

/// An allocator: its name, its description, and the rule.
pub struct Entry {
    /// The name in spec strings.
    pub name: &'static str,
    /// Description in one line.
    pub summary: &'static str,
    /// The publication, if any.
    pub source: &'static str,
    /// The rule.
    pub rule: AllocationRule,
}

const OBAIDA: &str =
    "M. A. Obaida, J. Liu: Simulation of HPC job scheduling and large-scale parallel workloads. WSC 2017";

/// All allocators of the kernel.
pub const ALLOCATORS: [Entry; 14] = [
    Entry { name: "first_fit", summary: "nodes in their order", source: "", rule: AllocationRule::FirstFit },
    Entry { name: "best_fit", summary: "the busiest nodes first", source: "", rule: AllocationRule::BestFit },
    Entry {
        name: "worst_fit",
        summary: "the least busy nodes first",
        source: "",
        rule: AllocationRule::WorstFit,
    },
    Entry {
        name: "random",
        summary: "nodes in a random order, the same for the same seed of the run",
        source: "",
        rule: AllocationRule::Random,
    },
    Entry {
        name: "contiguous",
        summary: "the first row of neighbouring nodes that suffices",
        source: "",
        rule: AllocationRule::Contiguous,
    },
    Entry {
        name: "next_fit",
        summary: "nodes in their order, from where the latest start ended",
        source: "",
        rule: AllocationRule::NextFit,
    },
    Entry {
        name: "balanced",
        summary: "nodes with nothing free of mic and gpu, then those of the one that more nodes have",
        source: "A. Netti et al.: Heterogeneity-aware resource allocation in HPC systems. ISC 2018",
        rule: AllocationRule::Balanced,
    },
    Entry {
        name: "round_robin",
        summary: "nodes in an order in which freed ones go to the tail: round_robin(order=xyz, blocks=2)",
        source: OBAIDA,
        rule: AllocationRule::RoundRobin,
    },
    Entry {
        name: "dual_end",
        summary: "short jobs from the head of an order, long ones from its end: dual_end(threshold=3600)",
        source: OBAIDA,
        rule: AllocationRule::DualEnd,
    },
    Entry {
        name: "blocks",
        summary: "evenly from the heads of the blocks of an order: blocks(4, order=xyz)",
        source: OBAIDA,
        rule: AllocationRule::Blocks,
    },
    Entry {
        name: "compact",
        summary: "the nearest nodes around a centre: compact(by=mean_hops) or compact(by=diameter)",
        source: "S. O. Krumke et al.: Compact location problems. Theoretical Computer Science 181(2), 1997",
        rule: AllocationRule::Compact,
    },
    Entry {
        name: "hop_bytes",
        summary: "the nodes between which the messages of the job cross the fewest links",
        source: "Y. Georgiou et al.: Topology-aware job mapping. Int. J. High Performance Computing Applications 32(1), 2018",
        rule: AllocationRule::HopBytes,
    },
    Entry {
        name: "fewest_groups",
        summary: "below the lowest switch that suffices, by best fit: the fewest leaf switches or groups",
        source: "Slurm's topology/tree: https://slurm.schedmd.com/topology.html",
        rule: AllocationRule::FewestGroups,
    },
    Entry {
        name: "sub_torus",
        summary: "boxes of free nodes of a torus, the smallest that suffice and have the least surface",
        source: "Y. Aridor et al.: Resource allocation and utilization in the Blue Gene/L supercomputer. IBM J. R&D 2005",
        rule: AllocationRule::SubTorus,
    },
];

/// The rule with this name; None if unknown.
#[must_use]
pub fn named(name: &str) -> Option<AllocationRule> {
    ALLOCATORS.iter().find(|entry| entry.name == name).map(|entry| entry.rule)
}
