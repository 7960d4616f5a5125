//! Why jobs waited, as intervals: looked at after each pass, where it was asked for.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::index::SharedColumn;
use crate::state::{Reason, View};

/// Times during which jobs waited for one reason; in columns.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ReasonLog {
    /// The jobs that wait, and since when for what.
    current: BTreeMap<u32, (Reason, f64)>,
    /// The job.
    pub job: SharedColumn<u32>,
    /// The reason's number.
    pub reason: SharedColumn<u32>,
    /// Since when, seconds.
    pub start_time: SharedColumn<f64>,
    /// Until when, seconds.
    pub end_time: SharedColumn<f64>,
}

impl ReasonLog {
    /// Lets the next clone share the entries.
    pub fn share(&mut self) {
        self.job.share();
        self.reason.share();
        self.start_time.share();
        self.end_time.share();
    }

    /// Looks at the waiting jobs after a pass. O(q · node sets + q log q).
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
        // What changed within an instant is no time.
        if until > since {
            self.job.push(job);
            self.reason.push(reason.number());
            self.start_time.push(since);
            self.end_time.push(until);
        }
    }

    /// The jobs that wait, the number of the reason, and since when.
    pub fn current(&self) -> impl Iterator<Item = (u32, u32, f64)> {
        self.current.iter().map(|(&job, &(reason, since))| (job, reason.number(), since))
    }
}
