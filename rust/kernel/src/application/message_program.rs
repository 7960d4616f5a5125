//! Message passing rank by rank: flat lists of operations, and their messages.
//!
//! Receives name their sender, so the matching of sends and receives does not depend on time: messages are matched when
//! the program is created. Deadlocks are found by one pass without a clock, O(operations + messages).
use std::fmt;

use serde::{Deserialize, Serialize};

/// One operation of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Operation {
    /// Posts the send of a message.
    Send(u32),
    /// Posts the receive of a message.
    Receive(u32),
    /// Waits until the sender may reuse its buffer: not at all if eager, otherwise until the message has arrived.
    AwaitSend(u32),
    /// Waits until the message has arrived.
    AwaitReceive(u32),
    /// Computes a number of floating-point operations.
    Compute(f64),
    /// Waits a number of seconds, independent of other activities.
    Take(f64),
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// The sending rank.
    pub from: u32,
    /// The receiving rank.
    pub to: u32,
    /// Bytes on the network, including the envelope.
    pub bytes: f64,
    /// True if it is transferred as soon as it is sent; false if only after both sides have posted it.
    pub eager: bool,
}

/// The classes of the messages of a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MessageClasses {
    /// The names of the classes.
    pub names: Vec<String>,
    /// The class of each message, as an index into the names.
    pub of: Vec<u16>,
    /// Bytes of each message in addition to its payload.
    pub envelope: f64,
}

impl MessageClasses {
    /// Creates a single class for a number of messages.
    #[must_use]
    pub fn one(messages: usize) -> Self {
        Self { names: vec!["send".to_owned()], of: vec![0; messages], envelope: 0.0 }
    }

    /// Checks that each of `messages` messages has a valid class.
    pub(super) fn check(&self, messages: usize) -> Result<(), Malformed> {
        let known = self.of.iter().all(|class| (*class as usize) < self.names.len());
        let is_sound = self.of.len() == messages && known && !self.envelope.is_nan();
        is_sound.then_some(()).ok_or(Malformed("a message has no class, or one that is not there."))
    }
}

/// The operations of every rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MessageProgram {
    /// Start of each rank's operations, then the end of the last.
    first: Vec<u32>,
    operations: Vec<Operation>,
    messages: Vec<Message>,
    classes: MessageClasses,
}

/// A list with an index out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub(super) &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(text, "a message program: {}", self.0)
    }
}

impl std::error::Error for Malformed {}

impl MessageProgram {
    /// Creates a program, if its lists are consistent.
    pub fn new(
        first: Vec<u32>,
        operations: Vec<Operation>,
        messages: Vec<Message>,
    ) -> Result<Self, Malformed> {
        let ordered = first.windows(2).all(|pair| pair[0] <= pair[1]);
        let whole =
            first.first() == Some(&0) && first.last().is_some_and(|last| *last as usize == operations.len());
        if !ordered || !whole || first.len() < 2 {
            return Err(Malformed("the ranks do not divide the operations."));
        }
        let ranks = first.len() as u32 - 1;
        if messages.iter().any(|message| message.from >= ranks || message.to >= ranks) {
            return Err(Malformed("a message has a rank that is not there."));
        }
        let known = |operation: &Operation| match *operation {
            Operation::Send(message)
            | Operation::Receive(message)
            | Operation::AwaitSend(message)
            | Operation::AwaitReceive(message) => (message as usize) < messages.len(),
            Operation::Compute(amount) | Operation::Take(amount) => amount >= 0.0,
        };
        if !operations.iter().all(known) {
            return Err(Malformed("an operation names no message, or an amount below 0."));
        }
        let classes = MessageClasses::one(messages.len());
        Ok(Self { first, operations, messages, classes })
    }

    /// Replaces the classes of the messages.
    pub fn with_classes(self, classes: MessageClasses) -> Result<Self, Malformed> {
        classes.check(self.messages.len())?;
        Ok(Self { classes, ..self })
    }

    /// The classes of the messages.
    #[must_use]
    pub fn classes(&self) -> &MessageClasses {
        &self.classes
    }

    /// Number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.first.len() as u32 - 1
    }

    /// Start of a rank's operations.
    #[must_use]
    pub fn begin(&self, rank: u32) -> u32 {
        self.first[rank as usize]
    }

    /// An operation of a rank by its index among all operations; None after the rank's last.
    #[must_use]
    pub fn operation(&self, rank: u32, place: u32) -> Option<Operation> {
        (place < self.first[rank as usize + 1]).then(|| self.operations[place as usize])
    }

    /// The messages.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns whether any rank computes.
    #[must_use]
    pub fn computes(&self) -> bool {
        self.operations.iter().any(|operation| matches!(operation, Operation::Compute(flops) if *flops > 0.0))
    }

    /// The indices of the operations of ranks in a deadlock; empty for a valid program.
    #[must_use]
    pub fn stuck(&self) -> Vec<u32> {
        let mut states = MessageStates::new(self.messages.len());
        let mut next: Vec<u32> = self.first[..self.first.len() - 1].to_vec();
        let mut ready: Vec<u32> = (0..self.ranks()).rev().collect();
        while let Some(rank) = ready.pop() {
            while let Some(operation) = self.operation(rank, next[rank as usize]) {
                next[rank as usize] += 1;
                match states.perform(operation, &self.messages) {
                    Effect::None => {}
                    Effect::Transfer(message) => {
                        let Message { from, to, .. } = self.messages[message as usize];
                        let (sender, receiver) = states.arrive(message);
                        ready.extend(sender.then_some(from));
                        ready.extend(receiver.then_some(to));
                    }
                    Effect::Wait => {
                        // The rank waits at this operation until it is woken.
                        break;
                    }
                }
            }
        }
        states.waiting(self, &next)
    }
}

/// The effect of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// None: the rank continues.
    None,
    /// The transfer of a message begins.
    Transfer(u32),
    /// The rank waits until a message has arrived.
    Wait,
}

/// The progress of every message.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MessageStates(Vec<u8>);

const SENT: u8 = 1;
const EXPECTED: u8 = 2;
const ARRIVED: u8 = 4;
const SENDER_WAITS: u8 = 8;
const RECEIVER_WAITS: u8 = 16;

impl MessageStates {
    /// Creates the state of a number of messages that were not posted.
    #[must_use]
    pub fn new(messages: usize) -> Self {
        Self(vec![0; messages])
    }

    /// Resets all messages to the initial state.
    pub fn reset(&mut self) {
        self.0.fill(0);
    }

    /// Executes an operation of a rank on a message. Other operations have no effect.
    pub fn perform(&mut self, operation: Operation, messages: &[Message]) -> Effect {
        match operation {
            Operation::Send(message) => {
                let state = &mut self.0[message as usize];
                *state |= SENT;
                let goes = messages[message as usize].eager || *state & EXPECTED != 0;
                if goes { Effect::Transfer(message) } else { Effect::None }
            }
            Operation::Receive(message) => {
                let state = &mut self.0[message as usize];
                *state |= EXPECTED;
                let goes = !messages[message as usize].eager && *state & SENT != 0;
                if goes { Effect::Transfer(message) } else { Effect::None }
            }
            Operation::AwaitSend(message) if !messages[message as usize].eager => {
                self.wait(message, SENDER_WAITS)
            }
            Operation::AwaitReceive(message) => self.wait(message, RECEIVER_WAITS),
            Operation::AwaitSend(_) | Operation::Compute(_) | Operation::Take(_) => Effect::None,
        }
    }

    fn wait(&mut self, message: u32, side: u8) -> Effect {
        let state = &mut self.0[message as usize];
        if *state & ARRIVED != 0 {
            return Effect::None;
        }
        *state |= side;
        Effect::Wait
    }

    /// Records the arrival of a message; returns whether its sender and its receiver wait for it.
    pub fn arrive(&mut self, message: u32) -> (bool, bool) {
        let state = &mut self.0[message as usize];
        let waiting = (*state & SENDER_WAITS != 0, *state & RECEIVER_WAITS != 0);
        *state |= ARRIVED;
        waiting
    }

    /// The operations at which ranks wait for a message that has not arrived; `next` is one after them.
    fn waiting(&self, program: &MessageProgram, next: &[u32]) -> Vec<u32> {
        let stands = |(rank, &next): (usize, &u32)| {
            let place = next.checked_sub(1).filter(|place| *place >= program.first[rank])?;
            let (Operation::AwaitSend(message) | Operation::AwaitReceive(message)) =
                program.operations[place as usize]
            else {
                return None;
            };
            let side = if matches!(program.operations[place as usize], Operation::AwaitSend(_)) {
                SENDER_WAITS
            } else {
                RECEIVER_WAITS
            };
            let state = self.0[message as usize];
            (state & side != 0 && state & ARRIVED == 0).then_some(place)
        };
        next.iter().enumerate().filter_map(stands).collect()
    }
}
