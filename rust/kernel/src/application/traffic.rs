//! Messages between the ranks: the distribution of a total over their pairs.
use serde::{Deserialize, Serialize};

use super::formula::Formula;
use super::payload::{ModelError, amount, explicit};
use super::scope::Scope;

/// Bytes between the ranks, or between their GPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// The total S.
    pub total: Formula,
    /// The distribution over the pairs of n ranks.
    pub pattern: Communication,
}

/// The distribution of a total S over the ordered pairs of n ranks. A single rank sends nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Communication {
    /// S / (n (n − 1)) from every rank to every other.
    AllToAll,
    /// S / (2n) from every rank to both of its neighbours.
    Ring,
    /// S / n from every rank to the next.
    RingClockwise,
    /// S / n from every rank to the previous one.
    RingCounterClockwise,
    /// S / n from every rank except 0 to rank 0.
    Gather,
    /// S / n from rank 0 to every other.
    Scatter,
    /// 2S / (n − 1) from rank 0 to every other, and back.
    MasterWorker,
    /// Explicit amounts, row by row: the amount from rank i to rank j is at i · n + j. There is no total.
    Matrix(Vec<f64>),
}

impl Traffic {
    /// The total for a number of ranks; 0 if the amounts are explicit.
    pub fn total(&self, ranks: u32, gpus: u32, scope: &Scope) -> Result<f64, ModelError> {
        match &self.pattern {
            Communication::Matrix(amounts) if gpus <= 1 => {
                explicit(amounts, (ranks as usize).pow(2)).map(|_| 0.0)
            }
            pattern if gpus > 1 && !pattern.knows_gpus() => Err(ModelError::Pattern),
            _ => amount(&self.total, scope),
        }
    }
}

impl Communication {
    /// The patterns of a total with their names.
    const NAMES: [(&str, Self); 7] = [
        ("all_to_all", Self::AllToAll),
        ("ring", Self::Ring),
        ("ring_clockwise", Self::RingClockwise),
        ("ring_counter_clockwise", Self::RingCounterClockwise),
        ("gather", Self::Gather),
        ("scatter", Self::Scatter),
        ("master_worker", Self::MasterWorker),
    ];

    /// The pattern of a total with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find_map(|(known, pattern)| (known == name).then_some(pattern))
    }

    /// Calls `add` with each ordered pair of ranks, row by row, and the bytes that the first sends to the second.
    ///
    /// Every pair occurs once: a fat pipe serves the messages of each pair separately.
    pub fn pairs(
        &self,
        ranks: u32,
        total: f64,
        add: &mut dyn FnMut(u32, u32, f64),
    ) -> Result<(), ModelError> {
        if let Self::Matrix(amounts) = self {
            matrix(explicit(amounts, (ranks as usize).pow(2))?, ranks, add);
        } else if ranks > 1 {
            self.spread(ranks, total, add);
        }
        Ok(())
    }

    /// Like `pairs`, for nodes with `gpus` GPUs each: calls `add` with the bytes between nodes, and returns the bytes
    /// between the two GPUs of a node that exchange most.
    pub fn gpu_pairs(
        &self,
        ranks: u32,
        gpus: u32,
        total: f64,
        add: &mut dyn FnMut(u32, u32, f64),
    ) -> Result<f64, ModelError> {
        if gpus <= 1 {
            return self.pairs(ranks, total, add).map(|()| 0.0);
        }
        let (nodes, per_node) = (f64::from(ranks), f64::from(gpus));
        let all = nodes * per_node;
        // Per GPU: the bytes to each neighbour, and the number of neighbours that it sends to.
        let (share, ways) = match self {
            Self::AllToAll => {
                let pair = total / (all * (all - 1.0));
                if ranks > 1 {
                    self.each(ranks, pair * per_node * per_node, add);
                }
                return Ok(2.0 * pair);
            }
            Self::Ring => (total / (2.0 * all), 2.0),
            Self::RingClockwise | Self::RingCounterClockwise => (total / all, 1.0),
            _ => return Err(ModelError::Pattern),
        };
        if ranks > 1 {
            self.each(ranks, share, add);
        }
        let inside = share * ways * if ranks > 1 { per_node - 1.0 } else { per_node };
        Ok(self.busiest_pair(gpus, inside))
    }

    /// Returns whether the pattern supports nodes with several GPUs.
    fn knows_gpus(&self) -> bool {
        matches!(self, Self::AllToAll | Self::Ring | Self::RingClockwise | Self::RingCounterClockwise)
    }

    /// Distributes a total over the pairs of at least two ranks.
    fn spread(&self, ranks: u32, total: f64, add: &mut dyn FnMut(u32, u32, f64)) {
        let n = f64::from(ranks);
        let share = match self {
            Self::AllToAll => total / (n * (n - 1.0)),
            Self::Ring => total / (2.0 * n),
            Self::MasterWorker => 2.0 * total / (n - 1.0),
            _ => total / n,
        };
        self.each(ranks, share, add);
    }

    /// Calls `add` with the same amount for every pair of the pattern, row by row.
    fn each(&self, ranks: u32, share: f64, add: &mut dyn FnMut(u32, u32, f64)) {
        for rank in 0..ranks {
            let (next, previous) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
            match self {
                Self::AllToAll => {
                    (0..ranks).filter(|other| *other != rank).for_each(|other| add(rank, other, share));
                }
                Self::Ring if ranks == 2 => add(rank, next, 2.0 * share),
                Self::Ring => {
                    add(rank, next.min(previous), share);
                    add(rank, next.max(previous), share);
                }
                Self::RingClockwise => add(rank, next, share),
                Self::RingCounterClockwise => add(rank, previous, share),
                Self::Scatter | Self::MasterWorker if rank == 0 => {
                    (1..ranks).for_each(|other| add(0, other, share));
                }
                Self::Gather | Self::MasterWorker if rank > 0 => add(rank, 0, share),
                Self::Gather | Self::Scatter | Self::MasterWorker | Self::Matrix(_) => {}
            }
        }
    }

    /// The bytes between the two GPUs of a node that exchange most, given the total of its GPUs.
    fn busiest_pair(&self, gpus: u32, total: f64) -> f64 {
        let n = gpus as usize;
        let mut bytes = vec![0.0; n * n];
        self.spread(gpus, total, &mut |from, to, amount| {
            bytes[from.min(to) as usize * n + from.max(to) as usize] += amount;
        });
        bytes.into_iter().fold(0.0, f64::max)
    }
}

fn matrix(amounts: &[f64], ranks: u32, add: &mut dyn FnMut(u32, u32, f64)) {
    for (index, amount) in amounts.iter().enumerate() {
        let (from, to) = (index as u32 / ranks, index as u32 % ranks);
        if *amount > 0.0 {
            add(from, to, *amount);
        }
    }
}
