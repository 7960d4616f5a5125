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
    /// The task's name, as an index into [`TaskLog::names`].
    pub task: u32,
    /// When the rank came to it, in seconds.
    pub start: f64,
    /// When the rank went on to the next, in seconds; for an asynchronous transfer that is when it was issued.
    pub end: f64,
}

/// The log: the times of tasks in the order in which they ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TaskLog {
    names: Vec<String>,
    index: HashMap<String, u32>,
    entries: Vec<TaskTime>,
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
