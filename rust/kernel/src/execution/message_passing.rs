//! How far the ranks and messages of a message program are.
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::application::{Effect, MessageProgram, MessageStates, Operation};

/// A message program and how far its ranks are.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MessagePassing {
    pub program: Arc<MessageProgram>,
    /// The place of each rank's next operation.
    next: Vec<u32>,
    pub states: MessageStates,
    /// How many ranks are not through.
    left: u32,
    /// When each message was posted and set out, if that is logged.
    pub times: Vec<(f64, f64)>,
    /// Where the messages of each class are counted; empty before the first one is.
    pub counted: Vec<u32>,
}

impl MessagePassing {
    /// Ranks that have not begun.
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

    /// Sets all ranks back to the beginning.
    fn reset(&mut self) {
        self.next.clear();
        self.next.extend((0..self.program.ranks()).map(|rank| self.program.begin(rank)));
        self.states.reset();
        self.left = self.program.ranks();
    }

    /// Takes a rank's next operation; None if it is through. The last one leaves the program as it was found.
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

    /// Notes when messages are posted and set out.
    pub fn note(&mut self, now: f64, operation: Operation, effect: Effect) {
        if let Operation::Send(message) = operation {
            self.times[message as usize].0 = now;
        }
        if let Effect::Transfer(message) = effect {
            self.times[message as usize].1 = now;
        }
    }
}
