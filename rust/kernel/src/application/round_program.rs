//! Message passing in rounds: the operations of the ranks of an aggregated skeleton, and the grouping of its messages.
//!
//! Messages come in batches: one batch of the messages that ranks post individually, and one for each round of a
//! collective; equal calls use the same batches. The order of execution and the round of each message follow from the
//! program alone (S23), and are computed once, O(operations + messages). Each round refers to a shape, so that rounds
//! with the same messages are computed once.
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::message_program::{Effect, Malformed, Message, MessageClasses, MessageStates, Operation};

/// The next entry of a rank.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Entry {
    /// An operation of the rank; messages are indices into the first batch.
    Operation(Operation),
    /// A collective, by number; it begins when all ranks that call it have arrived.
    Collective(u32),
}

/// Messages of a batch that belong to the same round.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Part {
    /// The batch.
    pub batch: u32,
    /// The indices of its messages; None for all.
    members: Option<Vec<u32>>,
}

/// The rounds of the messages of a batch, and their positions in them, each time the batch is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Position {
    /// All in one round, contiguous from a position on.
    Whole { round: u32, first: u32 },
    /// Round and position of each message.
    Each(Vec<(u32, u32)>),
}

/// The durations for [`RoundProgram::follow`].
pub trait Pace {
    /// Seconds of an operation that neither sends nor waits for a message.
    fn seconds(&self, rank: u32, operation: Operation) -> f64;
    /// Seconds of a rank before each send, and after each receive.
    fn overheads(&self) -> (f64, f64);
    /// The arrival of a message that is sent at `begin`: number `member` of a batch, in the sending of batches number
    /// `sending`.
    fn arrival(&mut self, sending: usize, member: usize, begin: f64) -> f64;
}

/// The entries of every rank, and the rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoundProgram {
    /// Start of each rank's entries, then the end of the last.
    first: Vec<u32>,
    entries: Vec<Entry>,
    /// The messages batch by batch; and the start of each batch, then the end of the last.
    messages: Vec<Message>,
    batches: Vec<u32>,
    classes: MessageClasses,
    /// The batches of each collective.
    calls: Vec<Vec<u32>>,
    /// Seconds before each send and after each receive of a collective.
    overheads: (f64, f64),
    /// The entries in an executable order, with one entry for each collective.
    schedule: Vec<(u32, u32)>,
    /// The entries of ranks in a deadlock.
    stuck: Vec<u32>,
    /// The positions for each time that a batch is sent, in the order of the schedule; the first is the first batch.
    positions: Vec<Position>,
    /// The shape of each round; and for each shape its parts, and the start of its messages in the list of those of all
    /// shapes.
    shape_of: Vec<u32>,
    shapes: Vec<Vec<Part>>,
    shape_first: Vec<usize>,
}

impl RoundProgram {
    /// Creates a program, if its lists are consistent.
    pub fn new(
        first: Vec<u32>,
        entries: Vec<Entry>,
        messages: Vec<Message>,
        batches: Vec<u32>,
        calls: Vec<Vec<u32>>,
        overheads: (f64, f64),
    ) -> Result<Self, Malformed> {
        divides(&first, entries.len())
            .then_some(())
            .ok_or(Malformed("the ranks do not divide the entries."))?;
        divides(&batches, messages.len())
            .then_some(())
            .ok_or(Malformed("the batches do not divide the messages."))?;
        let ranks = first.len() as u32 - 1;
        if messages.iter().any(|message| message.from >= ranks || message.to >= ranks) {
            return Err(Malformed("a message has a rank that is not there."));
        }
        let count = batches.len() as u32 - 1;
        if calls.iter().flatten().any(|batch| *batch == 0 || *batch >= count) {
            return Err(Malformed("a collective names no batch of its own."));
        }
        let known = |entry: &Entry| match *entry {
            Entry::Collective(call) => (call as usize) < calls.len(),
            Entry::Operation(
                Operation::Send(message)
                | Operation::Receive(message)
                | Operation::AwaitSend(message)
                | Operation::AwaitReceive(message),
            ) => message < batches[1],
            Entry::Operation(Operation::Compute(amount) | Operation::Take(amount)) => amount >= 0.0,
        };
        if !entries.iter().all(known) {
            return Err(Malformed("an entry names no message or collective, or an amount below 0."));
        }
        let classes = MessageClasses::one(messages.len());
        let mut made =
            Self { first, entries, messages, batches, classes, calls, overheads, ..Self::default() };
        made.find_schedule();
        if made.stuck.is_empty() {
            made.find_rounds();
        }
        Ok(made)
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

    /// A message by number.
    #[must_use]
    pub fn message(&self, number: u32) -> &Message {
        &self.messages[number as usize]
    }

    /// Number of ranks.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.first.len() as u32 - 1
    }

    /// Returns whether any rank computes.
    #[must_use]
    pub fn computes(&self) -> bool {
        let computes =
            |entry: &Entry| matches!(entry, Entry::Operation(Operation::Compute(flops)) if *flops > 0.0);
        self.entries.iter().any(computes)
    }

    /// The indices of the entries of ranks in a deadlock; empty for a valid program.
    #[must_use]
    pub fn stuck(&self) -> &[u32] {
        &self.stuck
    }

    /// Number of rounds.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        self.shape_of.len() as u32
    }

    /// Number of shapes of the rounds.
    #[must_use]
    pub fn shapes(&self) -> u32 {
        self.shapes.len() as u32
    }

    /// The shape of a round.
    #[must_use]
    pub fn shape_of(&self, round: u32) -> u32 {
        self.shape_of[round as usize]
    }

    /// The numbers of the messages of a shape, in order.
    pub fn numbers(&self, shape: u32) -> impl Iterator<Item = u32> {
        self.shapes[shape as usize].iter().flat_map(|part| {
            let first = self.batches[part.batch as usize];
            let count = self.batches[part.batch as usize + 1] - first;
            let length = part.members.as_ref().map_or(count, |members| members.len() as u32);
            (0..length)
                .map(move |at| first + part.members.as_ref().map_or(at, |members| members[at as usize]))
        })
    }

    /// The messages of a shape, in order.
    pub fn messages(&self, shape: u32) -> impl Iterator<Item = &Message> {
        self.numbers(shape).map(|number| &self.messages[number as usize])
    }

    /// The round of a message, and its index in the list of the messages of all shapes; arguments as in
    /// [`Pace::arrival`].
    #[must_use]
    pub fn place(&self, sending: usize, member: usize) -> (u32, usize) {
        let (round, within) = match &self.positions[sending] {
            Position::Whole { round, first } => (*round, *first as usize + member),
            Position::Each(places) => (places[member].0, places[member].1 as usize),
        };
        (round, self.shape_first[self.shape_of[round as usize] as usize] + within)
    }

    /// Follows every rank through its entries; returns the end of each.
    pub fn follow(&self, pace: &mut impl Pace) -> Vec<f64> {
        let own = self.batches[1] as usize;
        let mut clocks = vec![0.0_f64; self.ranks() as usize];
        let (mut sent, mut expected) = (vec![0.0_f64; own], vec![0.0_f64; own]);
        let mut sending = 0;
        for &(rank, place) in &self.schedule {
            let clock = &mut clocks[rank as usize];
            let begin = |message: usize, sent: &[f64], expected: &[f64]| {
                let late = if self.messages[message].eager { 0.0 } else { expected[message] };
                sent[message].max(late)
            };
            match self.entries[place as usize] {
                Entry::Collective(call) => {
                    for &batch in &self.calls[call as usize] {
                        sending += 1;
                        self.send(batch, sending, &mut clocks, pace);
                    }
                }
                Entry::Operation(Operation::Send(message)) => sent[message as usize] = *clock,
                Entry::Operation(Operation::Receive(message)) => expected[message as usize] = *clock,
                Entry::Operation(Operation::AwaitSend(message)) => {
                    let message = message as usize;
                    if !self.messages[message].eager {
                        *clock = clock.max(pace.arrival(0, message, begin(message, &sent, &expected)));
                    }
                }
                Entry::Operation(Operation::AwaitReceive(message)) => {
                    let message = message as usize;
                    *clock = clock.max(pace.arrival(0, message, begin(message, &sent, &expected)));
                }
                Entry::Operation(operation) => *clock += pace.seconds(rank, operation),
            }
        }
        clocks
    }

    /// Executes a round of a collective: ranks post their receives, then their sends, and wait for the receives, then
    /// for the sends.
    fn send(&self, batch: u32, sending: usize, clocks: &mut [f64], pace: &mut impl Pace) {
        let messages =
            &self.messages[self.batches[batch as usize] as usize..self.batches[batch as usize + 1] as usize];
        let (before, after) = pace.overheads();
        let expected: Vec<f64> = messages.iter().map(|message| clocks[message.to as usize]).collect();
        let mut arrivals = Vec::with_capacity(messages.len());
        for (member, message) in messages.iter().enumerate() {
            let clock = &mut clocks[message.from as usize];
            *clock += before;
            let begin = if message.eager { *clock } else { clock.max(expected[member]) };
            arrivals.push(pace.arrival(sending, member, begin));
        }
        for (message, &arrival) in messages.iter().zip(&arrivals) {
            let clock = &mut clocks[message.to as usize];
            *clock = clock.max(arrival) + after;
        }
        for (message, &arrival) in messages.iter().zip(&arrivals).filter(|pair| !pair.0.eager) {
            let clock = &mut clocks[message.from as usize];
            *clock = clock.max(arrival);
        }
    }

    /// Seconds of a rank before each send of a collective, and after each receive.
    #[must_use]
    pub fn overheads(&self) -> (f64, f64) {
        self.overheads
    }

    /// Computes an executable order of the entries, or the ranks in a deadlock.
    fn find_schedule(&mut self) {
        let ranks = self.ranks() as usize;
        let mut states = MessageStates::new(self.batches[1] as usize);
        let mut missing = vec![0_u32; self.calls.len()];
        for entry in &self.entries {
            if let Entry::Collective(call) = entry {
                missing[*call as usize] += 1;
            }
        }
        let mut callers: Vec<Vec<u32>> = vec![Vec::new(); self.calls.len()];
        let mut next: Vec<u32> = self.first[..ranks].to_vec();
        let mut waits = vec![false; ranks];
        let mut ready: Vec<u32> = (0..ranks as u32).rev().collect();
        while let Some(rank) = ready.pop() {
            waits[rank as usize] = false;
            while !waits[rank as usize] && next[rank as usize] < self.first[rank as usize + 1] {
                let place = next[rank as usize];
                next[rank as usize] += 1;
                match self.entries[place as usize] {
                    Entry::Collective(call) => {
                        let call = call as usize;
                        waits[rank as usize] = true;
                        missing[call] -= 1;
                        callers[call].push(rank);
                        if missing[call] == 0 {
                            self.schedule.push((rank, place));
                            ready.extend(callers[call].drain(..).rev());
                        }
                    }
                    Entry::Operation(operation) => match states.perform(operation, &self.messages) {
                        Effect::None => self.schedule.push((rank, place)),
                        Effect::Wait => waits[rank as usize] = true,
                        Effect::Transfer(message) => {
                            self.schedule.push((rank, place));
                            let Message { from, to, .. } = self.messages[message as usize];
                            let (sender, receiver) = states.arrive(message);
                            for woken in
                                [sender.then_some(from), receiver.then_some(to)].into_iter().flatten()
                            {
                                self.schedule.push((woken, next[woken as usize] - 1));
                                ready.push(woken);
                            }
                        }
                    },
                }
            }
        }
        self.stuck = (0..ranks).filter(|rank| waits[*rank]).map(|rank| next[rank] - 1).collect();
    }

    /// Computes the round of every message: the length of the longest chain of messages before it.
    fn find_rounds(&mut self) {
        let mut depths = Depths { sendings: vec![Depth::Each(vec![0; self.batches[1] as usize])] };
        self.follow(&mut depths);
        let sent = self.schedule.iter().filter_map(|&(_, place)| match self.entries[place as usize] {
            Entry::Collective(call) => Some(&self.calls[call as usize]),
            Entry::Operation(_) => None,
        });
        let batches: Vec<u32> = std::iter::once(&0).chain(sent.flatten()).copied().collect();
        let mut rounds = Rounds::default();
        depths.sendings.resize(batches.len(), Depth::Each(Vec::new()));
        for (&batch, depth) in batches.iter().zip(depths.sendings) {
            self.positions.push(rounds.add(batch, depth));
        }
        let mut known: HashMap<Vec<Part>, u32> = HashMap::new();
        let mut before = 0;
        for (parts, length) in rounds.parts.into_iter().zip(rounds.lengths) {
            let shape = *known.entry(parts).or_insert_with_key(|parts| {
                self.shapes.push(parts.clone());
                self.shape_first.push(before);
                before += length as usize;
                self.shapes.len() as u32 - 1
            });
            self.shape_of.push(shape);
        }
    }
}

fn divides(first: &[u32], count: usize) -> bool {
    let ordered = first.windows(2).all(|pair| pair[0] <= pair[1]);
    ordered && first.len() > 1 && first[0] == 0 && first.last().is_some_and(|last| *last as usize == count)
}

/// The depths of the messages of a batch.
#[derive(Clone, Debug)]
enum Depth {
    Same { depth: u32, count: u32 },
    Each(Vec<u32>),
}

/// Durations for which clocks are depths: each message takes 1, everything else 0.
struct Depths {
    sendings: Vec<Depth>,
}

impl Pace for Depths {
    fn seconds(&self, _: u32, _: Operation) -> f64 {
        0.0
    }

    fn overheads(&self) -> (f64, f64) {
        (0.0, 0.0)
    }

    fn arrival(&mut self, sending: usize, member: usize, begin: f64) -> f64 {
        let found = begin as u32;
        if sending == 0 {
            if let Depth::Each(depths) = &mut self.sendings[0] {
                depths[member] = found;
            }
            return begin + 1.0;
        }
        self.sendings.resize(self.sendings.len().max(sending + 1), Depth::Each(Vec::new()));
        let known = &mut self.sendings[sending];
        match known {
            Depth::Same { depth, count } if *depth == found => *count += 1,
            Depth::Same { depth, count } => {
                let mut depths = vec![*depth; *count as usize];
                depths.push(found);
                *known = Depth::Each(depths);
            }
            Depth::Each(depths) if depths.is_empty() => *known = Depth::Same { depth: found, count: 1 },
            Depth::Each(depths) => depths.push(found),
        }
        begin + 1.0
    }
}

/// Rounds under construction.
#[derive(Default)]
struct Rounds {
    parts: Vec<Vec<Part>>,
    lengths: Vec<u32>,
}

impl Rounds {
    /// Adds the messages of a batch to their rounds.
    fn add(&mut self, batch: u32, depth: Depth) -> Position {
        match depth {
            Depth::Same { depth, count } => {
                let first = self.extend(depth, Part { batch, members: None }, count);
                Position::Whole { round: depth, first }
            }
            Depth::Each(depths) => {
                let mut members: HashMap<u32, Vec<u32>> = HashMap::new();
                let mut positions: Vec<(u32, u32)> = Vec::with_capacity(depths.len());
                for (member, &depth) in depths.iter().enumerate() {
                    let there = members.entry(depth).or_default();
                    positions.push((depth, there.len() as u32));
                    there.push(member as u32);
                }
                let mut first = HashMap::new();
                for (depth, members) in members {
                    let count = members.len() as u32;
                    first.insert(depth, self.extend(depth, Part { batch, members: Some(members) }, count));
                }
                for (depth, place) in &mut positions {
                    *place += first[depth];
                }
                Position::Each(positions)
            }
        }
    }

    fn extend(&mut self, depth: u32, part: Part, count: u32) -> u32 {
        let round = depth as usize;
        if self.parts.len() <= round {
            self.parts.resize(round + 1, Vec::new());
            self.lengths.resize(round + 1, 0);
        }
        self.parts[round].push(part);
        let first = self.lengths[round];
        self.lengths[round] += count;
        first
    }
}
