//! The jobs that carry applications: how they may be sized, which nodes they have by rank, and which they are to have.
use std::collections::BTreeMap;

use crate::application::Elastic;
use crate::execution::Execution;
use crate::record::Stretches;
use crate::time::Time;
use crate::workload::jobs::Share;

use super::sensing::{Sensed, Sensing, Sensors};

/// The jobs that carry applications, and what they run on.
#[derive(Clone, Debug)]
pub struct Applications {
    /// What they run on.
    pub execution: Execution,
    /// By slot.
    pub(super) jobs: Vec<Elastic>,
    /// The host of each node.
    pub(super) hosts: Vec<u32>,
    /// The resource that counts GPUs, if there is one.
    pub(super) gpus: Option<usize>,
    /// By slot, the nodes of a job by rank; empty where it does not run.
    pub(super) ranks: Vec<Vec<u32>>,
    /// What running jobs are to have from their next point on, by rank.
    pub(super) wanted: BTreeMap<u32, Vec<u32>>,
    /// GPUs per node of jobs for which the scheduler chose them.
    pub(super) chosen_gpus: BTreeMap<u32, u32>,
    /// Jobs that are at a point until the scheduler has been asked; how many tasks they ask for, where they do.
    pub(super) at_point: Vec<(u32, Option<u32>)>,
    pub(super) resizes: Stretches,
    pub(super) sensing: Option<Sensing>,
    pub(super) next: Time,
}

impl Applications {
    /// Applications of jobs (by slot) on a platform; `hosts` gives each node's.
    #[must_use]
    pub fn new(execution: Execution, jobs: Vec<Elastic>, hosts: Vec<u32>, gpus: Option<usize>) -> Self {
        Self {
            execution,
            ranks: vec![Vec::new(); jobs.len()],
            jobs,
            hosts,
            gpus,
            wanted: BTreeMap::new(),
            chosen_gpus: BTreeMap::new(),
            at_point: Vec::new(),
            resizes: Stretches::default(),
            sensing: None,
            next: Time::NEVER,
        }
    }

    /// The same, looking at the platform as it goes.
    #[must_use]
    pub fn with_sensors(mut self, sensors: Sensors) -> Self {
        self.sensing = Some(Sensing::new(sensors));
        self
    }

    /// What was seen of the platform so far, where somebody looks.
    #[must_use]
    pub fn sensed(&self) -> Option<&Sensed> {
        self.sensing.as_ref().map(|sensing| &sensing.sensed)
    }

    /// Looks at how things have been until now.
    pub(super) fn look(&mut self, now: f64) {
        if let Some(sensing) = &mut self.sensing {
            sensing.look(&mut self.execution, now);
        }
    }

    /// What a job is besides its row of numbers.
    #[must_use]
    pub fn of(&self, job: u32) -> Option<&Elastic> {
        self.jobs.get(job as usize)
    }

    /// Whether a job carries an application, instead of a run time.
    #[must_use]
    pub fn runs(&self, job: u32) -> bool {
        self.of(job).is_some_and(|elastic| elastic.application.is_some())
    }

    /// The nodes of a running job by rank.
    #[must_use]
    pub fn ranks(&self, job: u32) -> &[u32] {
        self.ranks.get(job as usize).map_or(&[], Vec::as_slice)
    }

    /// What a running job is to have from its next point on, by rank.
    #[must_use]
    pub fn wanted(&self, job: u32) -> Option<&[u32]> {
        self.wanted.get(&job).map(Vec::as_slice)
    }

    /// The jobs at a point, and how many tasks they ask for, where they do.
    #[must_use]
    pub fn at_point(&self) -> &[(u32, Option<u32>)] {
        &self.at_point
    }

    /// What jobs had before they were resized.
    #[must_use]
    pub fn resizes(&self) -> &Stretches {
        &self.resizes
    }

    /// When an application does something next.
    pub(super) fn next_time(&self) -> Time {
        self.next
    }

    /// Ranks of a running job that it is to lose at its next point, and could keep as well; it is to have these nodes.
    pub(super) fn to_lose(&self, job: u32, wanted: &[u32]) -> Vec<u32> {
        if self.is_at_point(job) {
            return Vec::new();
        }
        let mut kept: BTreeMap<u32, usize> = BTreeMap::new();
        for &node in wanted {
            *kept.entry(node).or_default() += 1;
        }
        let is_lost = |node: &u32| match kept.get_mut(node) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            _ => true,
        };
        self.ranks(job).iter().copied().filter(is_lost).collect()
    }

    /// What a running job is to have, or has, by rank.
    pub(super) fn last_wanted(&self, job: u32) -> &[u32] {
        self.wanted(job).unwrap_or_else(|| self.ranks(job))
    }

    pub(super) fn is_at_point(&self, job: u32) -> bool {
        self.at_point.iter().any(|&(other, _)| other == job)
    }

    pub(super) fn hosts_of(&self, nodes: &[u32]) -> Vec<u32> {
        nodes.iter().map(|&node| self.hosts[node as usize]).collect()
    }

    pub(super) fn forget(&mut self, job: u32) {
        self.ranks[job as usize] = Vec::new();
        self.wanted.remove(&job);
        self.chosen_gpus.remove(&job);
        self.at_point.retain(|&(other, _)| other != job);
    }
}

/// Shares of one rank per entry, by node.
pub(super) fn shares_of(nodes: &[u32]) -> Vec<Share> {
    let mut sorted = nodes.to_vec();
    sorted.sort_unstable();
    let runs = sorted.chunk_by(|a, b| a == b);
    runs.map(|run| Share { node: run[0], tasks: run.len() as u32 }).collect()
}

/// What is held while `now` becomes `then`: on every node the greater of both.
pub(super) fn both(now: &[Share], then: &[Share]) -> Vec<Share> {
    let mut most: BTreeMap<u32, u32> = now.iter().map(|share| (share.node, share.tasks)).collect();
    for share in then {
        let tasks = most.entry(share.node).or_default();
        *tasks = (*tasks).max(share.tasks);
    }
    most.into_iter().map(|(node, tasks)| Share { node, tasks }).collect()
}
