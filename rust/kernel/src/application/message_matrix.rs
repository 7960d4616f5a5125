//! The bytes that the ranks of a job send to each other, as a sparse matrix.
//!
//! It is built once for each job that is placed or mapped by it, O(messages · log of those of one rank).
use serde::{Deserialize, Serialize};

use super::message_program::{Message, MessageClasses};
use super::model::{Application, Stage, Task, Work};
use super::scope::Scope;

/// Bytes of payload between ranks; messages of a rank to itself are omitted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MessageMatrix {
    /// Start of the row of each rank, then the end of the last.
    first: Vec<usize>,
    /// Receivers and bytes, ascending within a row.
    entries: Vec<(u32, f64)>,
}

impl MessageMatrix {
    /// Creates the matrix of the sums of messages given as sender, receiver, bytes.
    #[must_use]
    pub fn new(ranks: u32, mut sent: Vec<(u32, u32, f64)>) -> Self {
        sent.retain(|&(from, to, bytes)| from != to && bytes > 0.0);
        // A stable sort, so that sums are always in the same order.
        sent.sort_by_key(|&(from, to, _)| (from, to));
        let mut first = vec![0; ranks as usize + 1];
        let mut entries = Vec::with_capacity(sent.len());
        for pair in sent.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
            entries.push((pair[0].1, pair.iter().map(|each| each.2).sum()));
            first[pair[0].0 as usize + 1] = entries.len();
        }
        for rank in 0..ranks as usize {
            first[rank + 1] = first[rank + 1].max(first[rank]);
        }
        Self { first, entries }
    }

    /// Creates the matrix of all messages of an application's skeletons, each counted as often as it is sent, with the
    /// size of the job in `scope`; None if it sends none.
    #[must_use]
    pub fn of_application(application: &Application, scope: Scope<'_>) -> Option<Self> {
        let ranks = scope.nodes;
        let mut sum = Sum { scope, ranks, sent: Vec::new() };
        if let Some(Stage { iterations, tasks }) = &application.on_init {
            sum.add(tasks, sum.times(iterations, 1.0));
        }
        for phase in &application.phases {
            sum.add(&phase.tasks, sum.times(&phase.iterations, 1.0));
        }
        let matrix = Self::new(ranks, sum.sent);
        (!matrix.entries.is_empty()).then_some(matrix)
    }

    /// Number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.first.len() as u32 - 1
    }

    /// The ranks that a rank sends to, and the bytes.
    #[must_use]
    pub fn row(&self, rank: u32) -> &[(u32, f64)] {
        &self.entries[self.first[rank as usize]..self.first[rank as usize + 1]]
    }

    /// The sum of the matrix and its transpose.
    #[must_use]
    pub fn both_ways(&self) -> Self {
        let there =
            (0..self.ranks()).flat_map(|from| self.row(from).iter().map(move |&(to, b)| (from, to, b)));
        let both = there.flat_map(|(from, to, bytes)| [(from, to, bytes), (to, from, bytes)]);
        Self::new(self.ranks(), both.collect())
    }

    /// The sum of hops × bytes with the ranks on these nodes. The result may be any number >= `most` if the sum is not
    /// below `most`.
    #[must_use]
    pub fn hop_bytes(&self, nodes: &[u32], hops: impl Fn(u32, u32) -> u32, most: f64) -> f64 {
        let mut sum = 0.0;
        for (rank, &from) in nodes.iter().enumerate() {
            for &(to, bytes) in self.row(rank as u32) {
                sum += f64::from(hops(from, nodes[to as usize])) * bytes;
            }
            if sum >= most {
                break;
            }
        }
        sum
    }
}

/// Accumulates the messages of tasks.
struct Sum<'a> {
    scope: Scope<'a>,
    ranks: u32,
    sent: Vec<(u32, u32, f64)>,
}

impl Sum<'_> {
    /// Number of repetitions; 0 if the formula has no value, because the job then fails at its start.
    fn times(&self, iterations: &super::formula::Formula, each: f64) -> f64 {
        iterations.count(&self.scope).map_or(0.0, |times| times as f64 * each)
    }

    fn add(&mut self, tasks: &[Task], times: f64) {
        for task in tasks {
            let times = self.times(&task.iterations, times);
            match &task.work {
                Work::Sequence { tasks } => self.add(tasks, times),
                Work::Messages(program) if program.ranks() == self.ranks => {
                    self.send(program.messages().iter(), program.classes(), times);
                }
                Work::Rounds(program) if program.ranks() == self.ranks => {
                    let rounds = (0..program.rounds()).map(|round| program.shape_of(round));
                    self.send(rounds.flat_map(|shape| program.messages(shape)), program.classes(), times);
                }
                _ => {}
            }
        }
    }

    fn send<'m>(&mut self, messages: impl Iterator<Item = &'m Message>, of: &MessageClasses, times: f64) {
        let payload = |bytes: f64| times * (bytes - of.envelope);
        self.sent.extend(messages.map(|message| (message.from, message.to, payload(message.bytes))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_by_pair() {
        let sent = vec![(2, 0, 5.0), (0, 1, 1.0), (1, 1, 9.0), (0, 2, 2.0), (0, 1, 3.0), (1, 0, 0.0)];
        let matrix = MessageMatrix::new(3, sent);
        assert_eq!(matrix.row(0), [(1, 4.0), (2, 2.0)]);
        assert!(matrix.row(1).is_empty());
        assert_eq!(matrix.both_ways().row(0), [(1, 4.0), (2, 7.0)]);
        let apart = |one: u32, other: u32| one.abs_diff(other);
        assert_eq!(matrix.hop_bytes(&[4, 5, 8], apart, f64::INFINITY).to_bits(), 32_f64.to_bits());
        assert!(matrix.hop_bytes(&[4, 5, 8], apart, 10.0) >= 10.0);
    }
}
