//! When every rank did every task, where that is recorded.
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// One task of one rank, all its iterations together.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskTime {
    /// The job.
    pub job: u32,
    /// The host on which the rank ran.
    pub host: u32,
    /// The rank.
    pub rank: u32,
    /// The task's name, as an index into [`TaskLog::names`].
    pub task: u32,
    /// When the rank came to it, in seconds.
    pub start: f64,
    /// When the rank went on to the next, in seconds; for an asynchronous transfer that is when it was issued.
    pub end: f64,
}

/// One message of a message program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageTime {
    /// The job.
    pub job: u32,
    /// Which of the job's message programs, and which of its messages.
    pub part: u32,
    /// See above.
    pub message: u32,
    /// When its sender posted it, when it set out, and when it arrived, in seconds.
    pub posted: f64,
    /// See above.
    pub begun: f64,
    /// See above.
    pub end: f64,
}

/// One round of an aggregated message program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundTime {
    /// The job.
    pub job: u32,
    /// Which of the job's programs of rounds, and which of its rounds.
    pub part: u32,
    /// See above.
    pub round: u32,
    /// When it began, its delay included, and when it ended, in seconds.
    pub begun: f64,
    /// See above.
    pub end: f64,
}

/// The log: the times of tasks in the order in which they ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TaskLog {
    names: Vec<String>,
    index: HashMap<String, u32>,
    entries: Vec<TaskTime>,
    messages: Vec<MessageTime>,
    rounds: Vec<RoundTime>,
}

impl TaskLog {
    /// The names of tasks, each once.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The times.
    #[must_use]
    pub fn entries(&self) -> &[TaskTime] {
        &self.entries
    }

    /// The messages, in the order in which they arrived.
    #[must_use]
    pub fn messages(&self) -> &[MessageTime] {
        &self.messages
    }

    /// The rounds, in the order in which they ended.
    #[must_use]
    pub fn rounds(&self) -> &[RoundTime] {
        &self.rounds
    }

    /// Writes down a round that has ended.
    pub(super) fn push_round(&mut self, round: RoundTime) {
        self.rounds.push(round);
    }

    /// Writes down a message that has arrived.
    pub(super) fn push_message(&mut self, message: MessageTime) {
        self.messages.push(message);
    }

    /// The place of a name among the names.
    pub(super) fn name(&mut self, name: &str) -> u32 {
        if let Some(&place) = self.index.get(name) {
            return place;
        }
        let place = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.index.insert(name.to_owned(), place);
        place
    }

    /// Writes down a task that is over.
    pub(super) fn push(&mut self, entry: TaskTime) {
        self.entries.push(entry);
    }
}
