//! Record of the times of tasks, messages and rounds, if enabled.
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

/// One task of one rank, with all its iterations.
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
    /// Begin of the task on the rank, seconds.
    pub start: f64,
    /// End of the task on the rank, seconds; for an asynchronous transfer the time at which it was issued.
    pub end: f64,
}

/// One message of a message program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageTime {
    /// The job.
    pub job: u32,
    /// The index of the job's message program.
    pub part: u32,
    /// The index of the message in its program.
    pub message: u32,
    /// The time at which its sender posted the message, seconds.
    pub posted: f64,
    /// The time at which its transfer began, seconds.
    pub begun: f64,
    /// The time at which it arrived, seconds.
    pub end: f64,
}

/// One round of an aggregated message program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundTime {
    /// The job.
    pub job: u32,
    /// The index of the job's program of rounds.
    pub part: u32,
    /// The index of the round in its program.
    pub round: u32,
    /// Begin of the round, before its delay, seconds.
    pub begun: f64,
    /// End of the round, seconds.
    pub end: f64,
}

/// The log: the times of tasks in order of their ends.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TaskLog {
    names: Vec<String>,
    index: HashMap<String, u32>,
    entries: Vec<TaskTime>,
    messages: Vec<MessageTime>,
    rounds: Vec<RoundTime>,
}

impl TaskLog {
    /// The distinct names of tasks.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The times of tasks.
    #[must_use]
    pub fn entries(&self) -> &[TaskTime] {
        &self.entries
    }

    /// The messages, in order of arrival.
    #[must_use]
    pub fn messages(&self) -> &[MessageTime] {
        &self.messages
    }

    /// The rounds, in order of their ends.
    #[must_use]
    pub fn rounds(&self) -> &[RoundTime] {
        &self.rounds
    }

    /// Records a round that has ended.
    pub(super) fn push_round(&mut self, round: RoundTime) {
        self.rounds.push(round);
    }

    /// Records a message that has arrived.
    pub(super) fn push_message(&mut self, message: MessageTime) {
        self.messages.push(message);
    }

    /// The index of a name; adds it if it is new.
    pub(super) fn name(&mut self, name: &str) -> u32 {
        if let Some(&place) = self.index.get(name) {
            return place;
        }
        let place = self.names.len() as u32;
        self.names.push(name.to_owned());
        self.index.insert(name.to_owned(), place);
        place
    }

    /// Records a task that has ended.
    pub(super) fn push(&mut self, entry: TaskTime) {
        self.entries.push(entry);
    }
}
