//! Priorities: the keys by which queued jobs are sorted, smallest first.
mod formula;
mod registry;
mod service_order;

use serde::{Deserialize, Serialize};

use crate::accounting::{Factors, Multifactor, Size};
use crate::random::mix;
use crate::scenario::Scenario;
use crate::workload::{PlaceAttributes, value_of};

pub use formula::Expression;
pub use registry::{DESCRIBED, Described, Entry, Needs, PRIORITIES, named};
pub use service_order::ServiceOrder;

/// The names that a formula may use, followed by the workload's own columns.
pub const FORMULA_NAMES: [&str; 8] =
    ["now", "wait_time", "submit_time", "requested_time", "tasks", "processors", "estimate", "time_limit"];

/// The arguments of a key.
#[derive(Clone, Copy)]
pub struct Candidate<'a> {
    /// The workload.
    pub scenario: &'a Scenario,
    /// The slot of the job.
    pub job: u32,
    /// The estimate of its run_time, seconds.
    pub estimate: f64,
    /// The time with which schedulers plan, seconds.
    pub requested_time: f64,
    /// The time limit, seconds.
    pub time_limit: f64,
    /// Its remaining work.
    pub work: f64,
    /// The current time, seconds.
    pub now: f64,
    /// Seconds for which it was eligible at the latest calculation of priorities; negative if it was not eligible yet.
    pub eligible_for: f64,
    /// Its fair-share factor at that calculation.
    pub fair_share: f64,
}

impl Candidate<'_> {
    /// Seconds since its submission.
    #[must_use]
    pub fn wait(&self) -> f64 {
        self.now - self.submit_time()
    }

    /// Its submit time, seconds.
    #[must_use]
    pub fn submit_time(&self) -> f64 {
        self.scenario.job(self.job).submit_time
    }

    /// The priority of the queue that it waits in.
    #[must_use]
    pub fn queue_priority(&self) -> f64 {
        f64::from(self.scenario.attributes.queue_priority(self.job))
    }

    /// The least number of nodes that it needs.
    #[must_use]
    pub fn nodes(&self) -> f64 {
        self.scenario.attributes.nodes(self.job)
    }

    /// Its requested processors.
    #[must_use]
    pub fn processors(&self) -> f64 {
        self.scenario.processors(self.job)
    }
}

/// The order of the queue.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Priority {
    /// A rule of [`PRIORITIES`], by index.
    Named(u8),
    /// Random, from a seed.
    Random(u64),
    /// By a formula over [`FORMULA_NAMES`] and further columns.
    Formula(Expression),
    /// By the multifactor priority, highest first; keys do not change between its calculations.
    Multifactor(Box<Multifactor>),
    /// In the order of a service discipline; keys of running jobs do not change until they wait again.
    Service(ServiceOrder),
    /// By keys that are set from outside before a pass; they may change with time.
    External,
}

impl Priority {
    /// First come, first served.
    #[must_use]
    pub fn fcfs() -> Self {
        named("fcfs").unwrap_or(Self::External)
    }

    /// Returns whether keys come from outside.
    #[must_use]
    pub fn is_external(&self) -> bool {
        matches!(self, Self::External)
    }

    /// Returns whether keys change with time, and must be recomputed in every pass that examines the whole queue.
    #[must_use]
    pub fn changes_with_time(&self) -> bool {
        match self {
            Self::Named(rule) => PRIORITIES[usize::from(*rule)].changes_with_time,
            Self::Random(_) | Self::Multifactor(_) | Self::Service(_) => false,
            Self::Formula(formula) => formula.uses(0) || formula.uses(1),
            Self::External => true,
        }
    }

    /// Computes the key. NaN counts as 0, and −0 as 0.
    #[must_use]
    pub fn key(&self, candidate: &Candidate<'_>) -> f64 {
        let key = match self {
            Self::Named(rule) => (PRIORITIES[usize::from(*rule)].key)(candidate),
            Self::Random(seed) => mix(*seed, candidate.scenario.job(candidate.job).row) as f64,
            Self::Formula(formula) => formula.evaluate(|index| value(candidate, index)),
            Self::Multifactor(rule) => -f64::from(multifactor(rule, candidate, None)),
            Self::Service(order) => order.key(candidate),
            Self::External => 0.0,
        };
        if key.is_nan() { 0.0 } else { key + 0.0 }
    }
}

/// The multifactor priority of a job, in one of its partitions or overall.
#[must_use]
pub fn multifactor(rule: &Multifactor, candidate: &Candidate<'_>, place: Option<&PlaceAttributes>) -> u32 {
    let job = candidate.job;
    let size = Size {
        nodes: candidate.nodes(),
        processors: candidate.processors(),
        requested_time: candidate.requested_time,
    };
    let mut factors = Factors {
        age: rule.age(candidate.eligible_for),
        fair_share: candidate.fair_share,
        job_size: rule.job_size(size),
        ..Factors::default()
    };
    let Some(given) = &candidate.scenario.attributes.factors else { return rule.priority(&factors, &[]) };
    factors.association = value_of(&given.association, job);
    factors.partition = value_of(place.map_or(&given.partition, |place| &place.partition), job);
    factors.qos = value_of(&given.qos, job);
    factors.nice = value_of(&given.nice, job);
    let resources = place.map_or(&given.resources, |place| &place.resources);
    if resources.is_empty() {
        return rule.priority(&factors, &[]);
    }
    let parts: Vec<f64> = resources.iter().map(|column| value_of(column, job)).collect();
    rule.priority(&factors, &parts)
}

/// The value of a name in a formula.
fn value(candidate: &Candidate<'_>, index: usize) -> f64 {
    let job = candidate.scenario.job(candidate.job);
    match index {
        0 => candidate.now,
        1 => candidate.wait(),
        2 => job.submit_time,
        3 => candidate.requested_time,
        4 => f64::from(job.tasks),
        5 => candidate.processors(),
        6 => candidate.estimate,
        7 => candidate.time_limit,
        _ => candidate.scenario.column(index - FORMULA_NAMES.len(), candidate.job),
    }
}
