//! What a call found of an entry that waits (S15).
use serde::{Deserialize, Serialize};

/// The parameter because of which a call has not tried an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stop {
    /// A call that is not for the whole queue was over.
    DefaultQueueDepth,
    /// The call had looked at as many entries of the partition.
    PartitionJobDepth,
    /// The call had started as many jobs.
    SchedMaxJobStart,
    /// The cycle had looked at as many entries.
    BfMaxJobTest,
    /// The cycle had started as many jobs.
    BfMaxJobStart,
    /// The cycle had looked at as many entries of the partition.
    BfMaxJobPart,
    /// The cycle had looked at as many entries of the user.
    BfMaxJobUser,
    /// The cycle had looked at as many entries of the user in the partition.
    BfMaxJobUserPart,
    /// The cycle had looked at as many entries of the association.
    BfMaxJobAssoc,
    /// The cycle had planned as many tasks of the array.
    BfMaxJobArrayResv,
    /// The time of the cycle was over.
    BfMaxTime,
    /// Something changed in a pause of the cycle.
    BfContinue,
    /// No cycle has come upon it since it fits.
    BfInterval,
}

impl Stop {
    /// The parameters with their names, in the order of their numbers.
    pub const NAMES: [(&str, Self); 13] = [
        ("default_queue_depth", Self::DefaultQueueDepth),
        ("partition_job_depth", Self::PartitionJobDepth),
        ("sched_max_job_start", Self::SchedMaxJobStart),
        ("bf_max_job_test", Self::BfMaxJobTest),
        ("bf_max_job_start", Self::BfMaxJobStart),
        ("bf_max_job_part", Self::BfMaxJobPart),
        ("bf_max_job_user", Self::BfMaxJobUser),
        ("bf_max_job_user_part", Self::BfMaxJobUserPart),
        ("bf_max_job_assoc", Self::BfMaxJobAssoc),
        ("bf_max_job_array_resv", Self::BfMaxJobArrayResv),
        ("bf_max_time", Self::BfMaxTime),
        ("bf_continue", Self::BfContinue),
        ("bf_interval", Self::BfInterval),
    ];
}

/// What a call found of an entry; those further down stand for a job with several entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum Finding {
    /// The call tried it, and found no nodes.
    #[default]
    Tried,
    /// The call has not tried it.
    Stopped(Stop),
    /// The job of this number has closed nodes of its partition, or its reservation.
    Behind(u32),
    /// It would take nodes that are planned for the job of this number, from so many seconds later on.
    InTheWay(u32, f64),
    /// The call has preempted others for it.
    Preempted,
}

impl Finding {
    /// The place of the finding in the table of gates.
    #[must_use]
    pub fn rank(self) -> u8 {
        match self {
            Self::Tried => 0,
            Self::Stopped(_) => 1,
            Self::Behind(_) => 2,
            Self::InTheWay(..) => 3,
            Self::Preempted => 4,
        }
    }
}
