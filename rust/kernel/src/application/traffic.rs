//! Messages between the ranks: how a total is spread over their pairs.
use serde::{Deserialize, Serialize};

use super::payload::{ModelError, amount, explicit};
use super::{Formula, Scope};

/// Bytes between the ranks, or between their GPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// The total S.
    pub total: Formula,
    /// How it is spread over the pairs of n ranks.
    pub pattern: Communication,
}

/// How a total S is spread over the ordered pairs of n ranks. A single rank sends nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Communication {
    /// S / (n (n − 1)) from every rank to every other.
    AllToAll,
    /// S / (2n) from every rank to both of its neighbours.
    Ring,
    /// S / n from every rank to the next.
    RingClockwise,
    /// S / n from every rank to the one before.
    RingCounterClockwise,
    /// S / n from every rank but 0 to rank 0.
    Gather,
    /// S / n from rank 0 to every other.
    Scatter,
    /// 2S / (n − 1) from rank 0 to every other, and back.
    MasterWorker,
    /// These amounts, row by row: from rank i to rank j stands at i · n + j. There is no total.
    Matrix(Vec<f64>),
}

impl Traffic {
    /// Gives each ordered pair of ranks and what the first sends to the second, in bytes.
    ///
    /// Every pair comes once: a fat pipe serves the messages of each pair on their own.
    pub fn pairs(
        &self,
        ranks: u32,
        scope: &Scope,
        add: &mut dyn FnMut(u32, u32, f64),
    ) -> Result<(), ModelError> {
        if let Communication::Matrix(amounts) = &self.pattern {
            matrix(explicit(amounts, (ranks as usize).pow(2))?, ranks, add);
            return Ok(());
        }
        let total = amount(&self.total, scope)?;
        if ranks > 1 {
            self.pattern.spread(ranks, total, add);
        }
        Ok(())
    }

    /// Likewise for GPUs, of which every node has `gpus`: gives what nodes send to each other, and returns the bytes
    /// between the two GPUs of a node that exchange the most.
    pub fn gpu_pairs(
        &self,
        ranks: u32,
        gpus: u32,
        scope: &Scope,
        add: &mut dyn FnMut(u32, u32, f64),
    ) -> Result<f64, ModelError> {
        if gpus <= 1 {
            return self.pairs(ranks, scope, add).map(|()| 0.0);
        }
        let total = amount(&self.total, scope)?;
        let (nodes, per_node) = (f64::from(ranks), f64::from(gpus));
        let all = nodes * per_node;
        // Per GPU: what goes to its neighbour, and how many neighbours it sends to.
        let (share, ways) = match self.pattern {
            Communication::AllToAll => {
                let pair = total / (all * (all - 1.0));
                if ranks > 1 {
                    Communication::AllToAll.each(ranks, pair * per_node * per_node, add);
                }
                return Ok(2.0 * pair);
            }
            Communication::Ring => (total / (2.0 * all), 2.0),
            Communication::RingClockwise | Communication::RingCounterClockwise => (total / all, 1.0),
            _ => return Err(ModelError::Pattern),
        };
        if ranks > 1 {
            self.pattern.each(ranks, share, add);
        }
        let inside = share * ways * if ranks > 1 { per_node - 1.0 } else { per_node };
        Ok(self.pattern.busiest_pair(gpus, inside))
    }
}

impl Communication {
    /// The patterns of a total, by their names.
    const NAMES: [(&str, Self); 7] = [
        ("all_to_all", Self::AllToAll),
        ("ring", Self::Ring),
        ("ring_clockwise", Self::RingClockwise),
        ("ring_counter_clockwise", Self::RingCounterClockwise),
        ("gather", Self::Gather),
        ("scatter", Self::Scatter),
        ("master_worker", Self::MasterWorker),
    ];

    /// The pattern of a total that has this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find_map(|(known, pattern)| (known == name).then_some(pattern))
    }

    /// Spreads a total over the pairs of at least two ranks.
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

    /// Gives every pair of the pattern the same amount.
    fn each(&self, ranks: u32, share: f64, add: &mut dyn FnMut(u32, u32, f64)) {
        for rank in 0..ranks {
            let (next, previous) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
            match self {
                Self::AllToAll => {
                    (0..ranks).filter(|other| *other != rank).for_each(|other| add(rank, other, share));
                }
                Self::Ring if ranks == 2 => add(rank, next, 2.0 * share),
                Self::Ring => {
                    add(rank, next, share);
                    add(rank, previous, share);
                }
                Self::RingClockwise => add(rank, next, share),
                Self::RingCounterClockwise => add(rank, previous, share),
                Self::Gather if rank > 0 => add(rank, 0, share),
                Self::Scatter if rank > 0 => add(0, rank, share),
                Self::MasterWorker if rank > 0 => {
                    add(0, rank, share);
                    add(rank, 0, share);
                }
                Self::Gather | Self::Scatter | Self::MasterWorker | Self::Matrix(_) => {}
            }
        }
    }

    /// The bytes between the two GPUs of a node that exchange the most, of all that its GPUs send.
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
