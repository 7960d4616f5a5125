//! An allocator outside the kernel, asked in the middle of a pass.
//!
//! A rule that places a job calls it like any allocator. Where the answer is not known yet, the call gives
//! [`Unanswered`], the simulation restores what the rule has changed and asks outside; then the rule's step runs again
//! from its beginning and finds the answers of before in the same order. So rules stay plain code.
use serde::{Deserialize, Serialize};

use crate::cluster::{Availability, NodeTasks, PlacementRequest, Unanswered};

/// What an allocator outside is asked: the job, and the nodes as they are at the time in question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The job.
    pub job: u32,
    /// How many tasks are to be placed.
    pub tasks: u32,
    /// How many of them each node admits.
    pub slots: Vec<u32>,
    /// What is free on each node, node-major; None: what is free now.
    pub free: Option<Vec<i64>>,
}

/// The questions and answers of one step.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ExternalAllocator {
    answers: Vec<Option<Vec<NodeTasks>>>,
    /// How many of the answers the step has used.
    used: usize,
    question: Option<Question>,
}

impl ExternalAllocator {
    /// What is asked now.
    #[must_use]
    pub fn question(&self) -> Option<&Question> {
        self.question.as_ref()
    }

    /// Answers it: nodes that admit as many tasks, or None where the job is not to be placed.
    pub fn answer(&mut self, placement: Option<Vec<NodeTasks>>) {
        self.question = None;
        self.answers.push(placement);
    }

    /// A step begins, perhaps once more.
    pub fn begin_step(&mut self) {
        self.used = 0;
    }

    /// A step is done.
    pub fn end_step(&mut self) {
        self.answers.clear();
        self.used = 0;
    }

    /// Gives the next answer, or asks.
    pub(super) fn place(
        &mut self,
        room: &impl Availability,
        want: &PlacementRequest<'_>,
        placement: &mut Vec<NodeTasks>,
    ) -> Result<bool, Unanswered> {
        placement.clear();
        // Where the slots of all nodes do not suffice no placement can: no question is asked.
        if !room.holds(want.request, want.tasks) {
            return Ok(false);
        }
        if let Some(answer) = self.answers.get(self.used) {
            self.used += 1;
            placement.extend(answer.iter().flatten());
            return Ok(answer.is_some());
        }
        let slots = (0..room.nodes()).map(|node| room.slots(node, want.request)).collect();
        self.question = Some(Question { job: want.job, tasks: want.tasks, slots, free: room.free() });
        Err(Unanswered)
    }
}
