//! Promised starts of waiting jobs (S15), as intervals: when the plan of the rule would start them, and what happened at
//! the instant of the pass that promised it.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::index::SharedColumn;
use crate::record::NONE;
use crate::record::column::{Columns, Log};
use crate::time::Time;

/// What can move a promise. The number of a cause is its bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A job released its nodes.
    End = 1,
    /// A job entered the queue.
    Arrival = 1 << 1,
    /// An external event about a job.
    Job = 1 << 2,
    /// Nodes were closed, opened or reserved.
    Node = 1 << 3,
    /// An external event about a limit.
    Limit = 1 << 4,
    /// An external event about a reservation of the machine.
    Reservation = 1 << 5,
    /// The scheduler was stopped or started.
    Scheduler = 1 << 6,
    /// A job started. Counts beside no other cause.
    Start = 1 << 7,
}

impl Cause {
    /// The causes by name, in the order of their bits.
    pub const NAMES: [(&str, Self); 8] = [
        ("end", Self::End),
        ("arrival", Self::Arrival),
        ("job", Self::Job),
        ("node", Self::Node),
        ("limit", Self::Limit),
        ("reservation", Self::Reservation),
        ("scheduler", Self::Scheduler),
        ("start", Self::Start),
    ];
}

// A name stands at the place of its bit.
const _: () = {
    let mut place = 0;
    while place < Cause::NAMES.len() {
        assert!(Cause::NAMES[place].1 as u8 == 1 << place);
        place += 1;
    }
};

/// Several causes, and their job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Causes {
    /// Bits of the causes.
    kinds: u8,
    /// The job, if all of them are about one job.
    job: Option<u32>,
}

impl Causes {
    fn add(&mut self, cause: Cause, job: Option<u32>) {
        let is_first = self.kinds == 0;
        self.kinds |= cause as u8;
        self.job = job.filter(|_| is_first || self.job == job);
    }
}

/// What has happened at an instant.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Happened {
    now: f64,
    events: Causes,
    starts: Causes,
    arrivals: Vec<u32>,
}

/// A promise that stands.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Promise {
    since: f64,
    start: f64,
    causes: Causes,
}

/// Promised starts, in columns.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PromiseLog {
    current: BTreeMap<u32, Promise>,
    /// The instant of the latest look, the events by then, and the promises that were looked at; NaN for none.
    looked_at: Option<f64>,
    /// The instant of the first look.
    first: Option<f64>,
    causes: Causes,
    changed: BTreeMap<u32, f64>,
    /// The only promise after the latest look, if `has_only`; otherwise there may be others.
    #[serde(skip)]
    only: Option<(u32, f64)>,
    #[serde(skip)]
    has_only: bool,
    happened: Happened,
    /// The job.
    row: SharedColumn<u32>,
    /// Begin, seconds.
    start: SharedColumn<f64>,
    /// End, seconds.
    end: SharedColumn<f64>,
    /// The promised start, seconds.
    promised: SharedColumn<f64>,
    /// Bits of the causes.
    cause: SharedColumn<u8>,
    /// The job of the causes, or [`NONE`].
    cause_row: SharedColumn<u32>,
}

impl Log for PromiseLog {
    fn share(&mut self) {
        self.row.share();
        self.start.share();
        self.end.share();
        self.promised.share();
        self.cause.share();
        self.cause_row.share();
    }

    /// The intervals that are over, then those that go on, whose ends are NaN.
    fn columns(&self) -> Columns {
        let mut all = self.clone();
        all.settle();
        for (job, promise) in std::mem::take(&mut all.current) {
            all.add(job, promise, f64::NAN);
        }
        vec![
            ("row", all.row.to_vec().into()),
            ("start", all.start.to_vec().into()),
            ("end", all.end.to_vec().into()),
            ("promised", all.promised.to_vec().into()),
            ("cause", all.cause.to_vec().into()),
            ("cause_row", all.cause_row.to_vec().into()),
        ]
    }
}

impl PromiseLog {
    /// Records what happens now; with its job, if it is about one.
    pub fn happens(&mut self, cause: Cause, job: Option<u32>, now: f64) {
        let happened = self.happened_at(now);
        match (cause, job) {
            (Cause::Arrival, Some(job)) => happened.arrivals.push(job),
            (Cause::Start, _) => happened.starts.add(cause, job),
            _ => happened.events.add(cause, job),
        }
    }

    fn happened_at(&mut self, now: f64) -> &mut Happened {
        if Time(self.happened.now) != Time(now) {
            let mut arrivals = std::mem::take(&mut self.happened.arrivals);
            arrivals.clear();
            self.happened = Happened { now, arrivals, ..Happened::default() };
        }
        &mut self.happened
    }

    /// Begins a look at the promises after a pass. Jobs that have entered the queue and left it are no cause; at the instant
    /// of the first look, others are the only one. Returns whether it is the first look.
    pub fn look(&mut self, now: f64, is_in_queue: impl Fn(u32) -> bool) -> bool {
        // What changes within an instant is not an interval.
        if self.looked_at.is_some_and(|before| now > before) {
            self.settle();
        }
        let is_first = self.looked_at.replace(now).is_none();
        let moves = now > *self.first.get_or_insert(now);
        let happened = self.happened_at(now);
        let mut causes = if moves { happened.events } else { Causes::default() };
        for &job in happened.arrivals.iter().filter(|&&job| is_in_queue(job)) {
            causes.add(Cause::Arrival, Some(job));
        }
        self.causes = if causes.kinds == 0 && moves { happened.starts } else { causes };
        is_first
    }

    /// Lets the promises of this look have no cause but time.
    pub fn move_by_time(&mut self) {
        self.causes = Causes::default();
    }

    /// Records the promised start of a job at the latest look; NaN for none. O(log of the jobs with promises).
    pub fn note(&mut self, job: u32, promised: f64) {
        self.has_only = false;
        self.changed.insert(job, promised);
    }

    /// Records the only promised start at the latest look, or none. O(1) if it stands.
    pub fn note_only(&mut self, promised: Option<(u32, f64)>) {
        let bits = |promised: Option<(u32, f64)>| promised.map(|(job, start)| (job, start.to_bits()));
        if self.has_only && bits(self.only) == bits(promised) {
            return;
        }
        for job in self.jobs() {
            self.note(job, f64::NAN);
        }
        if let Some((job, start)) = promised {
            self.note(job, start);
        }
        (self.has_only, self.only) = (true, promised);
    }

    /// Returns the jobs with promises.
    #[must_use]
    pub fn jobs(&self) -> Vec<u32> {
        let changed = self.changed.iter().filter(|(_, promised)| !promised.is_nan());
        self.current.keys().chain(changed.map(|(job, _)| job)).copied().collect()
    }

    /// Takes over the promises of the latest look.
    fn settle(&mut self) {
        let (Some(now), causes) = (self.looked_at, self.causes) else { return };
        for (job, start) in std::mem::take(&mut self.changed) {
            let before = self.current.get(&job).copied();
            if before.is_some_and(|before| before.start.to_bits() == start.to_bits()) {
                continue;
            }
            if let Some(before) = before {
                self.add(job, before, now);
            }
            if start.is_nan() {
                self.current.remove(&job);
            } else {
                self.current.insert(job, Promise { since: now, start, causes });
            }
        }
    }

    fn add(&mut self, job: u32, promise: Promise, until: f64) {
        self.row.push(job);
        self.start.push(promise.since);
        self.end.push(until);
        self.promised.push(promise.start);
        self.cause.push(promise.causes.kinds);
        self.cause_row.push(promise.causes.job.unwrap_or(NONE));
    }
}
