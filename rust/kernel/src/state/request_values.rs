//! Queue values for requests: if totals do not decide, a job may pass them and still fit on no nodes.
//!
//! The index of the queue stores for each request the minimum estimate and number of tasks of its jobs, so that a
//! search skips all jobs that have no slots for their tasks: O(log q) for each job found, times the number of requests.
//! This is done for few requests. With more requests, ranges of the queue with a single common request are recognised
//! by its number.
use serde::{Deserialize, Serialize};

use crate::cluster::Requests;

/// Maximum number of requests with values of their own.
const FEW: usize = 8;

/// How the values of a queued job encode its request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RequestValues {
    /// No encoding: totals decide which jobs fit.
    #[default]
    None,
    /// Its number, and minus its number.
    Number,
    /// For each of this many requests, the estimate as ordered bits and the tasks; `i64::MAX` if the job does not have
    /// the request.
    Each(usize),
}

impl RequestValues {
    /// Choose the encoding for a fixed set of requests.
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

    /// Choose the encoding for any requests on a machine.
    #[must_use]
    pub fn of_any(resources: usize) -> Self {
        if resources > 1 { Self::Number } else { Self::None }
    }

    /// Return the number of values.
    #[must_use]
    pub fn width(self) -> usize {
        match self {
            Self::None => 0,
            Self::Number => 2,
            Self::Each(count) => 2 * count,
        }
    }

    /// Append the values of a job with these requests.
    pub(super) fn list(self, values: &mut Vec<i64>, alternatives: &[u32], estimate: i64, tasks: u32) {
        match (self, alternatives) {
            (Self::None, _) => {}
            (Self::Number, &[request]) => values.extend([i64::from(request), -i64::from(request)]),
            (Self::Number, _) => values.extend([i64::MIN; 2]),
            (Self::Each(count), _) => {
                let begin = values.len();
                values.resize(begin + 2 * count, i64::MAX);
                for &request in alternatives {
                    // A request added later is encoded as zero tasks of the first one: such jobs are never skipped.
                    let is_known = (request as usize) < count;
                    let (at, tasks) = if is_known { (request as usize, tasks) } else { (0, 0) };
                    values[begin + 2 * at..][..2].copy_from_slice(&[estimate, i64::from(tasks)]);
                }
            }
        }
    }
}
