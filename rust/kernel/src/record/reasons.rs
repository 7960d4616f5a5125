//! Reasons why jobs waited, as intervals: examined after each pass, if requested.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::index::SharedColumn;
use crate::record::column::{Columns, Log};
use crate::state::{Reason, View};

/// Intervals in which jobs waited for one reason, in columns.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReasonLog {
    /// The waiting jobs, with their current reason and its begin.
    current: BTreeMap<u32, (Reason, f64)>,
    /// The job.
    pub job: SharedColumn<u32>,
    /// The reason's number.
    pub reason: SharedColumn<u32>,
    /// Begin, seconds.
    pub start_time: SharedColumn<f64>,
    /// End, seconds.
    pub end_time: SharedColumn<f64>,
}

impl Log for ReasonLog {
    fn share(&mut self) {
        self.job.share();
        self.reason.share();
        self.start_time.share();
        self.end_time.share();
    }

    /// The intervals that are over, then those that go on, whose ends are NaN.
    fn columns(&self) -> Columns {
        let (mut rows, mut reasons) = (self.job.to_vec(), self.reason.to_vec());
        let (mut starts, mut ends) = (self.start_time.to_vec(), self.end_time.to_vec());
        for (&row, &(reason, since)) in &self.current {
            rows.push(row);
            reasons.push(reason.number());
            starts.push(since);
            ends.push(f64::NAN);
        }
        vec![
            ("row", rows.into()),
            ("reason", reasons.into()),
            ("start_time", starts.into()),
            ("end_time", ends.into()),
        ]
    }
}

impl ReasonLog {
    /// Examines the waiting jobs after a pass. O(q · node sets + q log q).
    pub fn look(&mut self, view: View<'_>) {
        let now = view.now();
        let reasons: BTreeMap<u32, Reason> = view.reasons().into_iter().collect();
        let before = std::mem::take(&mut self.current);
        for (job, (reason, since)) in before {
            if reasons.get(&job) == Some(&reason) {
                self.current.insert(job, (reason, since));
            } else {
                self.add(job, reason, since, now);
            }
        }
        for (job, reason) in reasons {
            self.current.entry(job).or_insert((reason, now));
        }
    }

    fn add(&mut self, job: u32, reason: Reason, since: f64, until: f64) {
        // A change within an instant is not an interval.
        if until > since {
            self.job.push(job);
            self.reason.push(reason.number());
            self.start_time.push(since);
            self.end_time.push(until);
        }
    }
}
