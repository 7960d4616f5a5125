//! Progress of the ranks and messages of a message program.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::application::{Effect, MessageProgram, MessageStates, Operation};

/// A message program and the progress of its ranks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MessagePassing {
    pub program: Arc<MessageProgram>,
    /// The index of each rank's next operation.
    next: Vec<u32>,
    pub states: MessageStates,
    /// Number of ranks that have not finished.
    left: u32,
    /// The times at which each message was posted and began its transfer, if logged.
    pub times: Vec<(f64, f64)>,
    /// The indices of the totals of each message class; empty before the first message is counted.
    pub counted: Vec<u32>,
}

impl MessagePassing {
    /// Creates the state before any rank has begun.
    pub fn new(program: Arc<MessageProgram>, logged: bool) -> Self {
        let messages = program.messages().len();
        let mut passing = Self {
            next: Vec::new(),
            states: MessageStates::new(messages),
            left: 0,
            counted: Vec::new(),
            times: vec![(f64::NAN, f64::NAN); if logged { messages } else { 0 }],
            program,
        };
        passing.reset();
        passing
    }

    /// Resets all ranks to the beginning.
    fn reset(&mut self) {
        self.next.clear();
        self.next.extend((0..self.program.ranks()).map(|rank| self.program.begin(rank)));
        self.states.reset();
        self.left = self.program.ranks();
    }

    /// Returns a rank's next operation; None if it has finished. The last rank to finish resets the program.
    pub fn take(&mut self, rank: u32) -> Option<Operation> {
        let place = self.next[rank as usize];
        let operation = self.program.operation(rank, place);
        if operation.is_some() {
            self.next[rank as usize] = place + 1;
        } else {
            self.left -= 1;
            if self.left == 0 {
                self.reset();
            }
        }
        operation
    }

    /// Records the times at which messages are posted and begin their transfer.
    pub fn note(&mut self, now: f64, operation: Operation, effect: Effect) {
        if let Operation::Send(message) = operation {
            self.times[message as usize].0 = now;
        }
        if let Effect::Transfer(message) = effect {
            self.times[message as usize].1 = now;
        }
    }
}
