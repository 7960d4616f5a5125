//! Where: a node order and greedy filling.
//!
//! Placing k nodes costs O(k log n) by index or by load, O(feasible nodes) for `random`, O(n) for `contiguous`.
use std::str::FromStr;

use crate::cluster::{Request, Room};
use crate::random::mix;
use crate::workload::jobs::Share;

/// The order in which nodes are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocator {
    /// By index.
    FirstFit,
    /// Busiest first.
    BestFit,
    /// Least busy first.
    WorstFit,
    /// A random order for every job, from the run's seed.
    Random,
    /// By index, from where the latest start ended.
    NextFit,
    /// Consecutive nodes only.
    Contiguous,
}

impl FromStr for Allocator {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Ok(match name {
            "first_fit" => Self::FirstFit,
            "best_fit" => Self::BestFit,
            "worst_fit" => Self::WorstFit,
            "random" => Self::Random,
            "next_fit" => Self::NextFit,
            "contiguous" => Self::Contiguous,
            _ => return Err(format!("no allocator named '{name}'")),
        })
    }
}

impl Allocator {
    /// Whether it asks for nodes by load.
    #[must_use]
    pub fn needs_loads(self) -> bool {
        matches!(self, Self::BestFit | Self::WorstFit)
    }

    /// Whether a job fits just where enough slots are free, however spread.
    #[must_use]
    pub fn is_free_to_spread(self) -> bool {
        self != Self::Contiguous
    }
}

/// An allocator at work: its seed and its cursor.
#[derive(Clone, Debug)]
pub struct Placer {
    allocator: Allocator,
    seed: u64,
    cursor: u32,
}

impl Placer {
    /// A placer at the first node.
    #[must_use]
    pub fn new(allocator: Allocator, seed: u64) -> Self {
        Self { allocator, seed, cursor: 0 }
    }

    /// The rule it follows.
    #[must_use]
    pub fn allocator(&self) -> Allocator {
        self.allocator
    }

    /// Puts into `shares` where the tasks of a job would go; whether it fits.
    pub fn place(
        &self,
        room: &impl Room,
        request: &Request,
        tasks: u32,
        row: u64,
        shares: &mut Vec<Share>,
    ) -> bool {
        shares.clear();
        let mut filling = Filling { room, request, left: tasks, shares };
        match self.allocator {
            Allocator::FirstFit => filling.by_index(0, room.nodes()),
            Allocator::NextFit => {
                filling.by_index(self.cursor, room.nodes());
                filling.by_index(0, self.cursor);
            }
            Allocator::BestFit | Allocator::WorstFit => {
                let busiest_first = self.allocator == Allocator::BestFit;
                room.visit_by_load(request, busiest_first, &mut |node| filling.fill(node));
            }
            Allocator::Random => filling.at_random(mix(self.seed, row)),
            Allocator::Contiguous => filling.first_window(),
        }
        filling.left == 0
    }

    /// Whether a job fits, wherever it goes.
    pub fn fits(&self, room: &impl Room, request: &Request, tasks: u32) -> bool {
        if self.allocator.is_free_to_spread() {
            room.holds(request, tasks)
        } else {
            self.place(room, request, tasks, 0, &mut Vec::new())
        }
    }

    /// Takes note of a start on these shares, in the order in which they were filled.
    pub fn started(&mut self, shares: &[Share]) {
        if let (Allocator::NextFit, Some(last)) = (self.allocator, shares.last()) {
            self.cursor = last.node;
        }
    }
}

/// The filling of nodes for one job.
struct Filling<'a, R> {
    room: &'a R,
    request: &'a Request,
    left: u32,
    shares: &'a mut Vec<Share>,
}

impl<R: Room> Filling<'_, R> {
    /// Puts tasks on a node; whether any are left.
    fn fill(&mut self, node: u32) -> bool {
        let tasks = self.room.slots(node, self.request).min(self.left);
        if tasks > 0 {
            self.shares.push(Share { node, tasks });
            self.left -= tasks;
        }
        self.left > 0
    }

    fn by_index(&mut self, from: u32, until: u32) {
        let mut from = from;
        while self.left > 0 {
            match self.room.next_with_slots(from, self.request) {
                Some(node) if node < until => self.fill(node),
                _ => return,
            };
            from = self.shares.last().map_or(until, |share| share.node) + 1;
        }
    }

    fn at_random(&mut self, key: u64) {
        let mut nodes = Vec::new();
        let mut from = 0;
        while let Some(node) = self.room.next_with_slots(from, self.request) {
            nodes.push((mix(key, u64::from(node)), node));
            from = node + 1;
        }
        nodes.sort_unstable();
        for (_, node) in nodes {
            if !self.fill(node) {
                return;
            }
        }
    }

    /// Finds the first window of consecutive nodes with enough slots, by two pointers, and fills it.
    fn first_window(&mut self) {
        let needed = u64::from(self.left);
        let (mut begin, mut end, mut slots) = (0, 0, 0_u64);
        while let Some(node) = self.room.next_with_slots(end, self.request) {
            if node > end || slots == 0 {
                (begin, slots) = (node, 0);
            }
            end = node + 1;
            slots += u64::from(self.room.slots(node, self.request));
            if slots >= needed {
                // The window begins as low as it can; it was not enough one node ago, so `begin` is the lowest.
                for node in begin..end {
                    self.fill(node);
                }
                return;
            }
        }
    }
}
