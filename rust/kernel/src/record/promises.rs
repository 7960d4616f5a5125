//! Promised starts of waiting jobs (S15), as intervals: when the plan of the rule would start them.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::index::SharedColumn;
use crate::record::column::{Columns, Log};

/// Promised starts, in columns.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PromiseLog {
    /// The jobs with a promise: since when it stands, and the start.
    current: BTreeMap<u32, (f64, f64)>,
    /// The instant of the latest changes, and the promises of the jobs that they concern; NaN for none.
    changed_at: f64,
    changed: BTreeMap<u32, f64>,
    /// The job.
    row: SharedColumn<u32>,
    /// Begin, seconds.
    start: SharedColumn<f64>,
    /// End, seconds.
    end: SharedColumn<f64>,
    /// The promised start, seconds.
    promised: SharedColumn<f64>,
}

impl Log for PromiseLog {
    fn share(&mut self) {
        self.row.share();
        self.start.share();
        self.end.share();
        self.promised.share();
    }

    /// The intervals that are over, then those that go on, whose ends are NaN.
    fn columns(&self) -> Columns {
        let mut all = self.clone();
        all.settle();
        for (job, (since, promised)) in std::mem::take(&mut all.current) {
            all.add(job, promised, (since, f64::NAN));
        }
        vec![
            ("row", all.row.to_vec().into()),
            ("start", all.start.to_vec().into()),
            ("end", all.end.to_vec().into()),
            ("promised", all.promised.to_vec().into()),
        ]
    }
}

impl PromiseLog {
    /// Notes the promised start of a job after a pass; NaN for none. O(log of the jobs with promises).
    pub fn note(&mut self, job: u32, promised: f64, now: f64) {
        // What changes within an instant is not an interval.
        if now > self.changed_at {
            self.settle();
        }
        self.changed_at = now;
        self.changed.insert(job, promised);
    }

    /// Returns the jobs with promises.
    #[must_use]
    pub fn jobs(&self) -> Vec<u32> {
        let changed = self.changed.iter().filter(|(_, promised)| !promised.is_nan());
        self.current.keys().chain(changed.map(|(job, _)| job)).copied().collect()
    }

    /// Takes over the latest changes.
    fn settle(&mut self) {
        let now = self.changed_at;
        for (job, promised) in std::mem::take(&mut self.changed) {
            let before = self.current.get(&job).copied();
            if before.is_some_and(|(_, before)| before.to_bits() == promised.to_bits()) {
                continue;
            }
            if let Some((since, before)) = before {
                self.add(job, before, (since, now));
            }
            if promised.is_nan() {
                self.current.remove(&job);
            } else {
                self.current.insert(job, (now, promised));
            }
        }
    }

    fn add(&mut self, job: u32, promised: f64, (since, until): (f64, f64)) {
        self.row.push(job);
        self.start.push(since);
        self.end.push(until);
        self.promised.push(promised);
    }
}
