//! An allocator outside the kernel, queried during a pass.
//!
//! A scheduling rule calls it like any allocator. If the answer is not known yet, the call returns [`Unanswered`]; the
//! simulation reverts the changes of the rule and queries the external allocator. Then the step of the rule runs again
//! from its beginning, and finds the earlier answers in the same order. So rules need no special code.
use serde::{Deserialize, Serialize};

use crate::cluster::{Availability, NodeTasks, PlacementRequest, Unanswered};

/// A query to an external allocator: the job, and the nodes at the time of the planned start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// The job.
    pub job: u32,
    /// Number of tasks to place.
    pub tasks: u32,
    /// Number of these tasks that each node admits.
    pub slots: Vec<u32>,
    /// The free amounts of each node, node-major; None for the free amounts now.
    pub free: Option<Vec<i64>>,
}

/// The queries and answers of one step.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ExternalAllocator {
    answers: Vec<Option<Vec<NodeTasks>>>,
    /// Number of answers that the step has used.
    used: usize,
    question: Option<Question>,
}

impl ExternalAllocator {
    /// The current query.
    #[must_use]
    pub fn question(&self) -> Option<&Question> {
        self.question.as_ref()
    }

    /// Answers the query: nodes that admit the tasks, or None if the job is not to be placed.
    pub fn answer(&mut self, placement: Option<Vec<NodeTasks>>) {
        self.question = None;
        self.answers.push(placement);
    }

    /// Begins a step, or repeats it.
    pub fn begin_step(&mut self) {
        self.used = 0;
    }

    /// Ends a step.
    pub fn end_step(&mut self) {
        self.answers.clear();
        self.used = 0;
    }

    /// Returns the next answer, or sends a query.
    pub(super) fn place(
        &mut self,
        room: &impl Availability,
        want: &PlacementRequest<'_>,
        placement: &mut Vec<NodeTasks>,
    ) -> Result<bool, Unanswered> {
        placement.clear();
        // If the slots of all nodes do not suffice, no placement exists: no query is needed.
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
