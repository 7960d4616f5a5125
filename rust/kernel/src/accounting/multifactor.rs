//! The multifactor priority: a weighted sum of factors from 0 to 1, as Slurm computes it.
use serde::{Deserialize, Serialize};

/// The largest priority: 2³² − 1.
const LARGEST: f64 = 4_294_967_295.0;

/// The weights of the factors. A factor with weight 0 is not computed, and is 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Weights {
    /// Weight of the age.
    pub age: f64,
    /// Weight of the association.
    pub association: f64,
    /// Weight of fair share.
    pub fair_share: f64,
    /// Weight of the job size.
    pub job_size: f64,
    /// Weight of the partition.
    pub partition: f64,
    /// Weight of the quality of service.
    pub qos: f64,
    /// Weights of the requested fraction of each resource, in the order of the system's resources; or empty.
    pub resources: Vec<f64>,
}

/// The job sizes that the size factor favours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobSize {
    /// Jobs that request much of the machine.
    #[default]
    Large,
    /// Jobs that request little of the machine.
    Small,
    /// Jobs that request much of the machine relative to their requested time.
    RelativeToTime,
    /// Jobs that request little of the machine relative to their requested time.
    SmallRelativeToTime,
}

impl JobSize {
    /// The names in specs.
    pub const NAMES: [(&'static str, Self); 4] = [
        ("large", Self::Large),
        ("small", Self::Small),
        ("large_for_time", Self::RelativeToTime),
        ("small_for_time", Self::SmallRelativeToTime),
    ];
    /// The names alone.
    pub const WORDS: [&'static str; 4] =
        [Self::NAMES[0].0, Self::NAMES[1].0, Self::NAMES[2].0, Self::NAMES[3].0];
}

/// The whole machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Number of nodes.
    pub nodes: f64,
    /// Number of processors.
    pub processors: f64,
}

/// The size of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// The least number of nodes.
    pub nodes: f64,
    /// Number of processors.
    pub processors: f64,
    /// Requested time, seconds.
    pub requested_time: f64,
}

/// The factors of one job, and the terms added to their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Factors {
    /// From 0 to 1.
    pub age: f64,
    /// From 0 to 1, or raw.
    pub association: f64,
    /// From 0 to 1.
    pub fair_share: f64,
    /// From 0 to 1.
    pub job_size: f64,
    /// From 0 to 1, or raw.
    pub partition: f64,
    /// From 0 to 1, or raw.
    pub qos: f64,
    /// Subtracted from the sum.
    pub nice: f64,
    /// Added to the sum.
    pub site: f64,
}

/// The parameters of the multifactor priority.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Multifactor {
    /// The weights of the factors.
    pub weights: Weights,
    /// The age with factor 1, seconds, > 0.
    pub max_age: f64,
    /// The favoured job sizes.
    pub job_size: JobSize,
    /// The machine that sizes are relative to.
    pub machine: Machine,
}

impl Multifactor {
    /// The age factor of a job that has been eligible for a number of seconds; 0 if it is not eligible yet.
    #[must_use]
    pub fn age(&self, eligible_for: f64) -> f64 {
        if self.weights.age == 0.0 {
            return 0.0;
        }
        (eligible_for.max(0.0) / self.max_age).min(1.0)
    }

    /// The size factor of a job.
    #[must_use]
    pub fn job_size(&self, job: Size) -> f64 {
        if self.weights.job_size == 0.0 {
            return 0.0;
        }
        let Machine { nodes, processors } = self.machine;
        let factor = match self.job_size {
            JobSize::Large => f64::midpoint(job.nodes / nodes, job.processors / processors),
            JobSize::Small => {
                f64::midpoint((nodes - job.nodes) / nodes, (processors - job.processors) / processors)
            }
            JobSize::RelativeToTime => self.relative(job),
            JobSize::SmallRelativeToTime => 1.0 - self.relative(job),
        };
        // The factor of 0 of 0 processors is NaN.
        if factor.is_nan() { 0.0 } else { factor.clamp(0.0, 1.0) }
    }

    fn relative(&self, job: Size) -> f64 {
        let Machine { nodes, processors } = self.machine;
        let minutes = job.requested_time / 60.0;
        (job.nodes * processors / nodes).max(job.processors) / minutes / processors
    }

    /// The weighted sum before it is clamped to a priority. `resources` are the requested fractions of each resource.
    #[must_use]
    pub fn sum(&self, factors: &Factors, resources: &[f64]) -> f64 {
        let weights = &self.weights;
        let fixed = factors.site
            + weights.age * factors.age
            + weights.association * factors.association
            + weights.fair_share * factors.fair_share
            + weights.job_size * factors.job_size
            + weights.partition * factors.partition
            + weights.qos * factors.qos;
        let asked: f64 = weights.resources.iter().zip(resources).map(|(weight, part)| weight * part).sum();
        fixed + asked - factors.nice
    }

    /// The priority: the sum, clamped to 1 … 2³² − 1, without its fraction.
    #[must_use]
    pub fn priority(&self, factors: &Factors, resources: &[f64]) -> u32 {
        self.sum(factors, resources).clamp(1.0, LARGEST) as u32
    }
}
