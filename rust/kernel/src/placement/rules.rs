//! The allocators: their names, parameters and sources, and how each fills nodes.
//!
//! A new allocator is a variant of [`AllocationRule`], a line of [`ALLOCATORS`], and an arm of `Filling::by_rule`; one
//! that needs more than a few lines has a file of its own.
use serde::{Deserialize, Serialize};

use crate::cluster::{Availability, Ranked, Ranking};
use crate::parameter::{Kind, Parameter, Value, parameters, text, up_to_2_53, whole, word};
use crate::random::mix;

use super::filling::Filling;

/// The order in which nodes are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum AllocationRule {
    /// By index.
    FirstFit,
    /// Busiest first.
    BestFit,
    /// Least busy first.
    WorstFit,
    /// A random order for every job, from the run's seed.
    Random,
    /// By index, from the end of the latest start.
    NextFit,
    /// Consecutive nodes only.
    Contiguous,
    /// Nodes without free critical resources, then those with the most abundant one.
    Balanced,
    /// In an order in which freed nodes go to the tail.
    RoundRobin,
    /// Short jobs from the head of an order, long jobs from its end.
    DualEnd,
    /// The heads of the blocks of an order.
    Blocks,
    /// The nodes around a centre.
    Compact,
    /// The nodes with the fewest hop-bytes.
    HopBytes,
    /// The fewest groups of a network.
    FewestGroups,
    /// Box-shaped sub-tori only.
    SubTorus,
}

impl AllocationRule {
    /// Returns whether a job fits exactly if enough slots are free, on whichever nodes.
    #[must_use]
    pub fn is_free_to_spread(self) -> bool {
        !matches!(self, Self::Contiguous | Self::SubTorus)
    }

    /// Returns whether the placement depends only on the free nodes, and not on earlier starts.
    #[must_use]
    pub fn is_stateless(self) -> bool {
        !matches!(self, Self::NextFit | Self::RoundRobin)
    }

    /// Returns whether it fills nodes, without a mapping, in an order that depends only on the job's request and the
    /// state of the machine.
    #[must_use]
    pub fn fills_in_one_order(self) -> bool {
        use AllocationRule::{Balanced, BestFit, FirstFit, NextFit, WorstFit};
        matches!(self, FirstFit | BestFit | WorstFit | NextFit | Balanced)
    }
}

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
    /// Its parameters.
    pub keys: &'static [Key],
    /// The machine that it needs.
    pub needs: Needs,
}

/// A parameter of an allocator, with what differs from the table of all.
#[derive(Clone, Copy)]
pub struct Key {
    /// The name in [`AllocatorParameters`].
    name: &'static str,
    /// The names that it may have; the first is the default.
    words: &'static [&'static str],
    /// The default, if it is another one.
    usual: Option<i64>,
    /// True if specs give its value without its name.
    is_positional: bool,
}

/// The machine that an allocator needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Any.
    Nothing,
    /// One with a network.
    Network,
    /// One with a torus.
    Torus,
}

impl Needs {
    /// The name of the network; empty if none is needed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Network => "network",
            Self::Torus => "torus",
        }
    }
}

const fn key(name: &'static str, words: &'static [&'static str]) -> Key {
    Key { name, words, usual: None, is_positional: false }
}

const ORDER: Key = key("order", &[]);
const BLOCKS: Key = key("blocks", &[]);
const OBAIDA: &str =
    "M. A. Obaida, J. Liu: Simulation of HPC job scheduling and large-scale parallel workloads. WSC 2017";

/// All allocators of the kernel.
pub const ALLOCATORS: [Entry; 14] = [
    Entry {
        name: "first_fit",
        summary: "nodes in their order",
        source: "",
        rule: AllocationRule::FirstFit,
        keys: &[ORDER],
        needs: Needs::Nothing,
    },
    Entry {
        name: "best_fit",
        summary: "the busiest nodes first",
        source: "",
        rule: AllocationRule::BestFit,
        keys: &[key("by", &["load", "free"])],
        needs: Needs::Nothing,
    },
    Entry {
        name: "worst_fit",
        summary: "the least busy nodes first",
        source: "",
        rule: AllocationRule::WorstFit,
        keys: &[key("by", &["load", "free"])],
        needs: Needs::Nothing,
    },
    Entry {
        name: "random",
        summary: "nodes in a random order, the same for the same seed of the run",
        source: "",
        rule: AllocationRule::Random,
        keys: &[],
        needs: Needs::Nothing,
    },
    Entry {
        name: "contiguous",
        summary: "the first row of neighbouring nodes that suffices",
        source: "",
        rule: AllocationRule::Contiguous,
        keys: &[ORDER],
        needs: Needs::Nothing,
    },
    Entry {
        name: "next_fit",
        summary: "nodes in their order, from where the latest start ended",
        source: "",
        rule: AllocationRule::NextFit,
        keys: &[],
        needs: Needs::Nothing,
    },
    Entry {
        name: "balanced",
        summary: "nodes with nothing free of mic and gpu, then those of the one that more nodes have",
        source: "A. Netti et al.: Heterogeneity-aware resource allocation in HPC systems. ISC 2018",
        rule: AllocationRule::Balanced,
        keys: &[],
        needs: Needs::Nothing,
    },
    Entry {
        name: "round_robin",
        summary: "nodes in an order in which freed ones go to the tail: round_robin(order=xyz, blocks=2)",
        source: OBAIDA,
        rule: AllocationRule::RoundRobin,
        keys: &[ORDER, BLOCKS],
        needs: Needs::Nothing,
    },
    Entry {
        name: "dual_end",
        summary: "short jobs from the head of an order, long ones from its end: dual_end(threshold=3600)",
        source: OBAIDA,
        rule: AllocationRule::DualEnd,
        keys: &[ORDER, key("threshold", &[]), key("by", &["requested_time", "nodes"])],
        needs: Needs::Nothing,
    },
    Entry {
        name: "blocks",
        summary: "evenly from the heads of the blocks of an order: blocks(4, order=xyz)",
        source: OBAIDA,
        rule: AllocationRule::Blocks,
        keys: &[
            Key { usual: Some(2), is_positional: true, ..BLOCKS },
            ORDER,
            key("of", &["free", "machine"]),
        ],
        needs: Needs::Nothing,
    },
    Entry {
        name: "compact",
        summary: "the nearest nodes around a centre: compact(by=mean_hops) or compact(by=diameter)",
        source: "S. O. Krumke et al.: Compact location problems. Theoretical Computer Science 181(2), 1997",
        rule: AllocationRule::Compact,
        keys: &[ORDER, key("by", &["mean_hops", "diameter"]), key("centres", &[])],
        needs: Needs::Network,
    },
    Entry {
        name: "hop_bytes",
        summary: "the nodes between which the messages of the job cross the fewest links",
        source: "Y. Georgiou et al.: Topology-aware job mapping. Int. J. High Performance Computing Applications 32(1), 2018",
        rule: AllocationRule::HopBytes,
        keys: &[ORDER, key("centres", &[])],
        needs: Needs::Network,
    },
    Entry {
        name: "fewest_groups",
        summary: "below the lowest switch that suffices, by best fit: the fewest leaf switches or groups",
        source: "Slurm's topology/tree: https://slurm.schedmd.com/topology.html",
        rule: AllocationRule::FewestGroups,
        keys: &[ORDER],
        needs: Needs::Network,
    },
    Entry {
        name: "sub_torus",
        summary: "boxes of free nodes of a torus, the smallest that suffice and have the least surface",
        source: "Y. Aridor et al.: Resource allocation and utilization in the Blue Gene/L supercomputer. IBM J. R&D 2005",
        rule: AllocationRule::SubTorus,
        keys: &[ORDER],
        needs: Needs::Torus,
    },
];

/// The rule with this name; None if unknown.
#[must_use]
pub fn named(name: &str) -> Option<AllocationRule> {
    ALLOCATORS.iter().find(|entry| entry.name == name).map(|entry| entry.rule)
}

impl Entry {
    /// Returns the table of its parameters.
    #[must_use]
    pub fn parameters(&self) -> Vec<Parameter> {
        let all = AllocatorParameters::table();
        let line = |key: &Key| {
            let known = all.iter().find(|parameter| parameter.name == key.name)?.clone();
            let usual = key.usual.map(Value::Whole).or_else(|| key.words.first().map(|&name| name.into()));
            let kind = if key.words.is_empty() { known.kind } else { Kind::Word(key.words) };
            let usual = usual.unwrap_or(known.usual);
            Some(Parameter { kind, usual, is_positional: key.is_positional, ..known })
        };
        self.keys.iter().filter_map(line).collect()
    }
}

parameters! {
    /// The parameters of allocators; each has some of them.
    #[derive(Clone, Debug, PartialEq)]
    pub struct AllocatorParameters {
        /// The order in which nodes are searched.
        order: String = "index".into(), text();
        /// What is compared.
        by: String = String::new(), word(&[]);
        /// Number of blocks into which the order is divided.
        blocks: Option<u32> = None, whole(1..=2_147_483_647).by_default("not divided");
        /// What is divided into blocks: for each job the free nodes, or once all nodes of the machine.
        of: String = "free".into(), word(&["free", "machine"]);
        /// Jobs from this requested time or number of nodes on are long.
        threshold: Option<f64> = None, up_to_2_53().by_default("3600 s, or 512 nodes");
        /// Maximum number of free nodes that are tried as centres, evenly from all.
        centres: u32 = 64, whole(1..=2_147_483_647);
    }
}

impl AllocatorParameters {
    /// The measure of load, for allocators that compare loads.
    #[must_use]
    pub fn ranking(&self) -> Ranking {
        let known = Ranking::NAMES.into_iter().find(|(name, _)| *name == self.by);
        known.map_or_else(Ranking::default, |(_, ranking)| ranking)
    }
}

/// The state of an allocator that its rule reads.
#[derive(Clone, Copy)]
pub(super) struct Memory<'a> {
    pub(super) seed: u64,
    /// The measure of load, for `best_fit` and `worst_fit`.
    pub(super) ranking: Ranking,
    /// The resources that `balanced` spares, in the order of tie-breaking.
    pub(super) critical: &'a [usize],
    /// The last node of the latest start, for `next_fit`.
    pub(super) cursor: u32,
}

impl<A: Availability> Filling<'_, A> {
    /// Fills nodes according to a rule, without an order.
    pub(super) fn by_rule(&mut self, rule: AllocationRule, memory: Memory<'_>) {
        let nodes = self.room.nodes();
        match rule {
            // These rules have an order; without it in the machine, they fill by index.
            AllocationRule::FirstFit
            | AllocationRule::RoundRobin
            | AllocationRule::DualEnd
            | AllocationRule::Blocks
            | AllocationRule::Compact
            | AllocationRule::HopBytes
            | AllocationRule::FewestGroups
            | AllocationRule::SubTorus => self.by_index(0, nodes),
            AllocationRule::NextFit => {
                self.by_index(memory.cursor, nodes);
                self.by_index(0, memory.cursor);
            }
            AllocationRule::BestFit => self.by_load(Ranked { by: memory.ranking, busiest_first: true }),
            AllocationRule::WorstFit => self.by_load(Ranked { by: memory.ranking, busiest_first: false }),
            AllocationRule::Random => self.at_random(memory.seed),
            AllocationRule::Contiguous => self.first_window(),
            AllocationRule::Balanced => self.balanced(memory.critical),
        }
    }

    fn by_index(&mut self, from: u32, until: u32) {
        if self.left > 0 {
            let (room, request) = (self.room, self.want.request);
            room.visit_slots(from..until, request, &mut |node, slots| self.put(node, slots));
        }
    }

    fn by_load(&mut self, order: Ranked) {
        let (room, request) = (self.room, self.want.request);
        room.visit_by_load(request, order, &mut |node| self.fill(node));
    }

    fn at_random(&mut self, seed: u64) {
        let key = mix(seed, self.want.row);
        let mut nodes = Vec::new();
        self.room.visit_slots(0..self.room.nodes(), self.want.request, &mut |node, _| {
            nodes.push((mix(key, u64::from(node)), node));
            true
        });
        // Each node takes at least one task, so no more nodes than tasks are needed.
        let most = self.left as usize;
        if most > 0 && most < nodes.len() {
            nodes.select_nth_unstable(most);
            nodes.truncate(most);
        }
        nodes.sort_unstable();
        for (_, node) in nodes {
            if !self.fill(node) {
                return;
            }
        }
    }

    /// Fills first the nodes without free critical resources, by index. The others belong to the list of the critical
    /// resource with the greatest free amount: each step takes a node from the longest list, the one with least free.
    fn balanced(&mut self, critical: &[usize]) {
        let mut lists = vec![Vec::new(); critical.len()];
        let mut from = 0;
        while let Some(node) = self.room.next_with_slots(from, self.want.request) {
            from = node + 1;
            let mut most = (0, None);
            for (list, &resource) in critical.iter().enumerate() {
                let free = self.room.free_on(node, resource);
                if free > most.0 {
                    most = (free, Some(list));
                }
            }
            match most {
                (free, Some(list)) => lists[list].push((free, node)),
                _ if !self.fill(node) => return,
                _ => {}
            }
        }
        for list in &mut lists {
            // Nodes are popped from the end.
            list.sort_unstable_by(|a, b| b.cmp(a));
        }
        // Among lists of equal length the first is used; `max_by_key` returns the last, hence `rev`.
        while let Some((_, node)) = lists.iter_mut().rev().max_by_key(|list| list.len()).and_then(Vec::pop) {
            if !self.fill(node) {
                return;
            }
        }
    }

    /// Finds the first window of consecutive nodes with enough slots, with two pointers, and fills it.
    fn first_window(&mut self) {
        let needed = u64::from(self.left);
        let (mut begin, mut end, mut slots) = (0, 0, 0_u64);
        let (room, request) = (self.room, self.want.request);
        room.visit_slots(0..room.nodes(), request, &mut |node, admitted| {
            if node > end || slots == 0 {
                (begin, slots) = (node, 0);
            }
            end = node + 1;
            slots += u64::from(admitted);
            slots < needed
        });
        if slots >= needed {
            // The window had too few slots before its last node, so `begin` is minimal.
            for node in begin..end {
                self.fill(node);
            }
        }
    }
}
