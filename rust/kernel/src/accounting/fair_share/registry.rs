//! The fair-share rules by name, with descriptions and sources.
use serde::{Deserialize, Serialize};

/// The rule that converts shares and usage to factors.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum FairShareRule {
    /// 2 to the power of minus effective usage over shares.
    Classic {
        /// Divides the exponent; > 0.
        damping: f64,
    },
    /// Like classic, with a deviation that does not shrink with the depth.
    DepthOblivious,
    /// Users ranked by the level fair share on their paths.
    FairTree,
    /// Users ranked by usage over target on their paths.
    Pbs {
        /// Smaller usage counts as this value.
        least_usage: f64,
    },
}

/// A rule: its name, description, source, and constructor with two parameters.
pub struct Entry {
    /// The name in descriptions.
    pub name: &'static str,
    /// Description.
    pub summary: &'static str,
    /// Source of the definition.
    pub source: &'static str,
    /// Creates the rule; each rule uses only the parameters that it has.
    pub make: fn(damping: f64, least_usage: f64) -> FairShareRule,
}

/// All rules.
pub const RULES: [Entry; 4] = [
    Entry {
        name: "fair_tree",
        summary: "users ranked down the tree, at each level the greatest shares over usage first",
        source: "Slurm's manual, Fair Tree Fairshare Algorithm",
        make: |_, _| FairShareRule::FairTree,
    },
    Entry {
        name: "classic",
        summary: "2^(-usage / shares), usage mixed with that of the accounts above",
        source: "Slurm's manual, Classic Fairshare Algorithm",
        make: |damping, _| FairShareRule::Classic { damping },
    },
    Entry {
        name: "depth_oblivious",
        summary: "2^(-usage / shares), as sensitive deep in the tree as at its top",
        source: "Slurm's manual, Depth-Oblivious Fair-share Factor",
        make: |_, _| FairShareRule::DepthOblivious,
    },
    Entry {
        name: "pbs",
        summary: "users ranked down the tree, at each level the smallest usage over target first",
        source: "OpenPBS, scheduler/fairshare.cpp",
        make: |_, least_usage| FairShareRule::Pbs { least_usage },
    },
];

/// The entry with this name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Entry> {
    RULES.iter().find(|entry| entry.name == name)
}
