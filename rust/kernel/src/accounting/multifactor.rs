//! The multifactor priority: a weighted sum of factors from 0 to 1, as Slurm computes it.
use serde::{Deserialize, Serialize};

/// The largest priority: 2³² − 1.
const LARGEST: f64 = 4_294_967_295.0;

/// What each factor counts. A factor whose weight is 0 is not computed, and is 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Weights {
    /// Of the age.
    pub age: f64,
    /// Of the association.
    pub association: f64,
    /// Of fair share.
    pub fair_share: f64,
    /// Of the size.
    pub job_size: f64,
    /// Of the partition.
    pub partition: f64,
    /// Of the quality of service.
    pub qos: f64,
    /// Of the part of each resource that is asked for, in the order of the system's resources; or none.
    pub resources: Vec<f64>,
}

/// Which jobs the factor of the size favours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobSize {
    /// Those that ask for much of the machine.
    #[default]
    Large,
    /// Those that ask for little of it.
    Small,
    /// Those that ask for much of it, for the time that they ask for.
    RelativeToTime,
    /// Those that ask for little of it, for the time that they ask for.
    SmallRelativeToTime,
}

/// The whole machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Its nodes.
    pub nodes: f64,
    /// Its processors.
    pub processors: f64,
}

/// What a job asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// The fewest nodes that it takes.
    pub nodes: f64,
    /// Its processors.
    pub processors: f64,
    /// Its requested time, seconds.
    pub requested_time: f64,
}

/// The factors of one job, and what is added to their sum.
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

/// How priorities are computed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Multifactor {
    /// What each factor counts.
    pub weights: Weights,
    /// The age at which its factor is 1, seconds, above 0.
    pub max_age: f64,
    /// Which sizes are favoured.
    pub job_size: JobSize,
    /// What sizes are relative to.
    pub machine: Machine,
}

impl Multifactor {
    /// The factor of a job that has been eligible for some seconds; of one that is not yet, 0.
    #[must_use]
    pub fn age(&self, eligible_for: f64) -> f64 {
        if self.weights.age == 0.0 {
            return 0.0;
        }
        (eligible_for.max(0.0) / self.max_age).min(1.0)
    }

    /// The factor of a size.
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
        // 0 of 0 processors is no number.
        if factor.is_nan() { 0.0 } else { factor.clamp(0.0, 1.0) }
    }

    fn relative(&self, job: Size) -> f64 {
        let Machine { nodes, processors } = self.machine;
        let minutes = job.requested_time / 60.0;
        (job.nodes * processors / nodes).max(job.processors) / minutes / processors
    }

    /// The weighted sum, before it is cut to a priority. `resources` are the parts of each that the job asks for.
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

    /// The priority: the sum, at least 1 and at most 2³² − 1, without its fraction.
    #[must_use]
    pub fn priority(&self, factors: &Factors, resources: &[f64]) -> u32 {
        self.sum(factors, resources).clamp(1.0, LARGEST) as u32
    }
}
