//! What queued jobs ask for, by request: where totals do not decide, a job may fit by them and yet on no nodes.
//!
//! The index of the queue keeps for each request the least estimate and the least number of tasks of its jobs, so that a search
//! skips all jobs whose tasks have no slots: O(log q) for each job that is found, times the number of requests. That is kept for
//! a few requests. Of more, ranges of the queue in which all jobs have one request are known by its number.
use serde::{Deserialize, Serialize};

use crate::cluster::Requests;

/// Up to so many requests are told apart.
const FEW: usize = 8;

/// How the values of a queued job tell its request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestValues {
    /// Not at all: totals decide which jobs fit.
    #[default]
    None,
    /// By its number, and minus its number.
    Number,
    /// For each of so many requests stand the estimate as ordered bits and the tasks; `i64::MAX` unless the job has the request.
    Each(usize),
}

impl RequestValues {
    /// The way that suits these requests, which are all that there will be.
    #[must_use]
    pub fn of(requests: &Requests) -> Self {
        match requests.count() {
            count if (0..count as u32).all(|request| requests.limiting_resource(request).is_some()) => {
                Self::None
            }
            count if count <= FEW => Self::Each(count),
            _ => Self::Number,
        }
    }

    /// The way that suits all requests there may be on a machine.
    #[must_use]
    pub fn of_any(resources: usize) -> Self {
        if resources > 1 { Self::Number } else { Self::None }
    }

    /// How many values that takes.
    #[must_use]
    pub fn width(self) -> usize {
        match self {
            Self::None => 0,
            Self::Number => 2,
            Self::Each(count) => 2 * count,
        }
    }

    /// Adds the values of a job with these requests.
    pub(super) fn list(self, values: &mut Vec<i64>, alternatives: &[u32], estimate: i64, tasks: u32) {
        match (self, alternatives) {
            (Self::None, _) => {}
            (Self::Number, &[request]) => values.extend([i64::from(request), -i64::from(request)]),
            (Self::Number, _) => values.extend([i64::MIN; 2]),
            (Self::Each(count), _) => {
                let begin = values.len();
                values.resize(begin + 2 * count, i64::MAX);
                for &request in alternatives {
                    // A request that came later stands as no tasks of the first one: such jobs are never skipped.
                    let is_known = (request as usize) < count;
                    let (at, tasks) = if is_known { (request as usize, tasks) } else { (0, 0) };
                    values[begin + 2 * at..][..2].copy_from_slice(&[estimate, i64::from(tasks)]);
                }
            }
        }
    }
}
