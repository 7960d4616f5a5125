//! The orders by name, with their keys and sources.
//!
//! Logarithms come from `libm`, with the same results on every platform.
use super::{Candidate, Priority};
use crate::accounting::JobSize;
use crate::parameter::{Parameter, Value, above_0_to, seed, text, up_to_2_53, word};

/// What the keys of an order need, in addition to a job's submission, estimate and tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// The least number of nodes of each job, which follows from the request of each job.
    Nodes,
    /// The columns that its formula names.
    Formula,
    /// Columns of jobs that only some workloads have.
    Columns,
}

impl Needs {
    /// The name; empty if nothing is needed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "",
            Self::Nodes => "nodes",
            Self::Formula => "formula",
            Self::Columns => "columns",
        }
    }
}

/// An order: its name, description, source, and key.
pub struct Entry {
    /// The name in spec strings.
    pub name: &'static str,
    /// Description: the jobs that come first.
    pub summary: &'static str,
    /// The publication, if any.
    pub source: &'static str,
    /// True if keys change with time.
    pub changes_with_time: bool,
    /// What the key needs.
    pub needs: Needs,
    /// The key, smallest first.
    pub key: fn(&Candidate<'_>) -> f64,
}

const TANG: &str = "W. Tang, Z. Lan, N. Desai, D. Buettner: Fault-aware, utility-based job scheduling on Blue Gene/P \
                    systems. IEEE CLUSTER 2009";
const OBAIDA: &str = "M. A. Obaida, J. Liu: Simulation of HPC job scheduling and large-scale parallel workloads. \
                      WSC 2017";
const CARASTAN: &str = "D. Carastan-Santos, R. Y. de Camargo: Obtaining dynamic scheduling policies with simulation and \
                        machine learning. SC'17";

const fn fixed(name: &'static str, summary: &'static str, key: fn(&Candidate<'_>) -> f64) -> Entry {
    Entry { name, summary, source: "", changes_with_time: false, needs: Needs::Nothing, key }
}

const fn learned(name: &'static str, summary: &'static str, key: fn(&Candidate<'_>) -> f64) -> Entry {
    Entry { name, summary, source: CARASTAN, changes_with_time: false, needs: Needs::Nothing, key }
}

const fn utility(name: &'static str, summary: &'static str, key: fn(&Candidate<'_>) -> f64) -> Entry {
    Entry { name, summary, source: TANG, changes_with_time: true, needs: Needs::Nothing, key }
}

/// All orders without a parameter; `random` and `expression` have one.
#[allow(
    clippy::redundant_closure_for_method_calls,
    reason = "a key is a function of any lifetime, a method's path of one"
)]
pub const PRIORITIES: [Entry; 16] = [
    fixed("fcfs", "first come, first served", |_| 0.0),
    fixed("sjf", "shortest requested time first", |job| job.estimate),
    fixed("ljf", "longest requested time first", |job| -job.estimate),
    fixed("saf", "smallest area (requested time × processors) first", |job| job.estimate * job.processors()),
    fixed("laf", "largest area (requested time × processors) first", |job| {
        -(job.estimate * job.processors())
    }),
    Entry {
        name: "sjf_node_hours",
        summary: "fewest node-hours (requested time × nodes) first",
        source: OBAIDA,
        changes_with_time: false,
        needs: Needs::Nodes,
        key: |job| job.estimate * job.nodes(),
    },
    Entry {
        name: "ljf_node_hours",
        summary: "most node-hours (requested time × nodes) first",
        source: OBAIDA,
        changes_with_time: false,
        needs: Needs::Nodes,
        key: |job| -(job.estimate * job.nodes()),
    },
    fixed("smallest", "fewest processors first", |job| job.processors()),
    fixed("largest", "most processors first", |job| -job.processors()),
    Entry {
        name: "mpp",
        summary: "the queue with the highest priority first; first come, first served in each queue",
        source: OBAIDA,
        changes_with_time: false,
        needs: Needs::Nothing,
        key: |job| -job.queue_priority(),
    },
    utility("wfp3", "largest (wait / requested time)³ × processors first", |job| {
        let quotient = job.wait() / job.estimate;
        -(quotient * quotient * quotient * job.processors())
    }),
    utility("unicef", "largest wait / (log2(processors) × requested time) first", |job| {
        -(job.wait() / (libm::log2(job.processors()) * job.estimate))
    }),
    learned("f1", "smallest log10(requested time) × processors + 870 × log10(submit time) first", |job| {
        libm::log10(job.estimate.max(1.0)) * job.processors() + 870.0 * age(job)
    }),
    learned("f2", "smallest √(requested time) × processors + 25600 × log10(submit time) first", |job| {
        job.estimate.sqrt() * job.processors() + 25_600.0 * age(job)
    }),
    learned("f3", "smallest requested time × processors + 6860000 × log10(submit time) first", |job| {
        job.estimate * job.processors() + 6_860_000.0 * age(job)
    }),
    learned("f4", "smallest requested time × √processors + 530000 × log10(submit time) first", |job| {
        job.estimate * job.processors().sqrt() + 530_000.0 * age(job)
    }),
];

fn age(job: &Candidate<'_>) -> f64 {
    libm::log10(job.submit_time().max(1.0))
}

/// The order with this name, if it has no parameter.
#[must_use]
pub fn named(name: &str) -> Option<Priority> {
    PRIORITIES.iter().position(|entry| entry.name == name).map(|place| Priority::Named(place as u8))
}

/// An order that is no key by name: its parameters, or its meaning, make it.
pub struct Described {
    /// The name in spec strings.
    pub name: &'static str,
    /// Description: the jobs that come first.
    pub summary: &'static str,
    /// The publication, if any.
    pub source: &'static str,
    /// What its keys need.
    pub needs: Needs,
    /// Its parameters.
    pub parameters: fn() -> Vec<Parameter>,
}

fn seed_of_random() -> Vec<Parameter> {
    vec![seed().positional().named("seed", "The same seed gives the same order.", Value::Seed(0))]
}

fn formula() -> Vec<Parameter> {
    let line = text().positional().by_default("required");
    vec![line.named("formula", "A quoted formula of columns; the smallest value comes first.", Value::None)]
}

fn growth() -> Vec<Parameter> {
    vec![up_to_2_53().named("growth", "Growth of the score for each second of waiting.", Value::Number(0.0))]
}

fn of_multifactor() -> Vec<Parameter> {
    let weight = |name, text| up_to_2_53().named(name, text, Value::Number(0.0));
    let shares = "Weights of the shares of resources that jobs request, such as \"core=500, gpu=1000\".";
    let period = "Seconds between two calculations; 0 to calculate in every pass.";
    vec![
        weight("age", "Weight of the age."),
        weight("association", "Weight of the association."),
        weight("fair_share", "Weight of fair share."),
        weight("job_size", "Weight of the job size."),
        weight("partition", "Weight of the partition."),
        weight("qos", "Weight of the quality of service."),
        text().by_default("no weights").named("tres", shares, Value::None),
        above_0_to(9_007_199_254_740_992.0, "seconds").named(
            "max_age",
            "Age at which its factor is 1, in seconds.",
            Value::Number(604_800.0),
        ),
        word(&JobSize::WORDS).named("favour", "Job sizes with a large factor.", JobSize::WORDS[0].into()),
        up_to_2_53().named("period", period, Value::Number(300.0)),
    ]
}

/// All orders with parameters, and `reject`.
pub const DESCRIBED: [Described; 5] = [
    Described {
        name: "random",
        summary: "a random order, the same for the same seed: random(7)",
        source: "",
        needs: Needs::Nothing,
        parameters: seed_of_random,
    },
    Described {
        name: "expression",
        summary: "smallest value of a formula first: expression(\"requested_time * tasks - wait_time\")",
        source: "",
        needs: Needs::Formula,
        parameters: formula,
    },
    Described {
        name: "sbp",
        summary: "largest score (a column of the jobs) first, growing as jobs wait: sbp(growth=0.1)",
        source: OBAIDA,
        needs: Needs::Columns,
        parameters: growth,
    },
    Described {
        name: "multifactor",
        summary: "largest weighted sum of age, size, fair share and other factors first: multifactor(age=1000)",
        source: "Slurm's manual: Multifactor Priority Plugin",
        needs: Needs::Columns,
        parameters: of_multifactor,
    },
    Described {
        name: "reject",
        summary: "rejects every job: the bare cost of the simulator",
        source: "",
        needs: Needs::Nothing,
        parameters: Vec::new,
    },
];
