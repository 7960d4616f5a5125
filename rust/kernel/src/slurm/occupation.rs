//! The jobs that hold nodes, by their ends, and the free resources.
//!
//! The index of running jobs by expected end in `state` has another order: Slurm adds a time limit in whole minutes to the
//! whole second of the start, and shortens it to the end of a grace time.
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::time::Time;

use super::controller_input::{Allotment, Classes, Entry, Held};
use super::cores;
use super::estimate::Search;
use super::free_amounts::FreeAmounts;
use super::select::Select;
use super::selection_input::SelectionInput;
use super::setup::Setup;
use super::sparse_nodes::SparseNodes;
use super::victims;
use crate::index::NodeBits;

/// The jobs that hold nodes, and the free resources. It may be kept between calls: adding or removing a job costs O(its
/// nodes + jobs), of which the latter is a shift of pointers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Occupation {
    free: FreeAmounts,
    /// Sorted by end, then row.
    held: Vec<Arc<Held>>,
    /// End and row of each job in this list.
    keys: BTreeMap<u32, (Time, u64)>,
    /// Completing jobs and their nodes, which have not all confirmed the end.
    completing: BTreeMap<u32, SparseNodes>,
    /// Number of first jobs that are assumed to have ended, while a later time is examined.
    gone: usize,
    /// Nodes that are idle at that time, if jobs have whole nodes.
    idle_then: NodeBits,
}

/// Data of a call for its second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Present<'a> {
    pub now: f64,
    /// Current node weights.
    pub weights: &'a [u32],
    /// Nodes of completing jobs that have not confirmed the end yet.
    pub completing: &'a NodeBits,
}

impl Occupation {
    /// Create an occupation without jobs.
    #[must_use]
    pub fn none(setup: &Setup) -> Self {
        Self {
            free: FreeAmounts::of(&setup.machine, &setup.generic),
            held: Vec::new(),
            keys: BTreeMap::new(),
            completing: BTreeMap::new(),
            gone: 0,
            idle_then: NodeBits::default(),
        }
    }

    /// Add a job that holds nodes from now on.
    pub fn insert(&mut self, setup: &Setup, held: Held) {
        self.free.take(&setup.machine, &held);
        let key = (Time(held.end), held.row);
        self.keys.insert(held.job, key);
        let place = self.place(key);
        self.held.insert(place, Arc::new(held));
    }

    /// Add a completing job with nodes that have not all confirmed the end. Whole nodes count as held, and become free
    /// before others; shared nodes count as free.
    pub fn insert_completing(&mut self, setup: &Setup, held: Held) {
        self.completing.insert(held.job, held.nodes.clone());
        if setup.parameters.select == Select::Linear {
            self.insert(setup, Held { end: f64::NEG_INFINITY, ..held.of(Classes::default(), None) });
        }
    }

    /// Remove a job. Return what it held, unless only its nodes were known.
    pub fn remove(&mut self, setup: &Setup, job: u32) -> Option<Arc<Held>> {
        self.completing.remove(&job);
        let key = self.keys.remove(&job)?;
        let held = self.held.remove(self.place(key));
        self.free.give_back(&setup.machine, &held);
        Some(held)
    }

    /// Set for each running job its start if it may be preempted from now on, otherwise None. O(running jobs).
    pub fn set_began(&mut self, began: impl Fn(u32) -> Option<f64>) {
        for held in self.held.iter_mut().filter(|held| !self.completing.contains_key(&held.job)) {
            let began = began(held.job);
            if held.began != began {
                Arc::make_mut(held).began = began;
            }
        }
    }

    /// Return the index of a job with this end and row.
    fn place(&self, key: (Time, u64)) -> usize {
        self.held.partition_point(|held| (Time(held.end), held.row) < key)
    }

    /// Return the nodes of completing jobs on a machine with this many nodes.
    pub(super) fn completing(&self, nodes: usize) -> NodeBits {
        let mut completing = NodeBits::none(nodes);
        self.completing.values().for_each(|held| held.add_to(&mut completing));
        completing
    }

    /// Return the jobs that hold nodes, by end.
    pub(super) fn held(&self) -> impl Iterator<Item = &Held> {
        self.held.iter().map(|held| &**held)
    }

    /// Return the input of a selection on these nodes.
    pub(super) fn selection_input<'a>(
        &'a self,
        setup: &'a Setup,
        entry: &Entry,
        usable: &'a NodeBits,
        weights: &'a [u32],
    ) -> SelectionInput<'a> {
        setup.selection_input(entry, usable, weights, &self.free)
    }

    /// Return the jobs that may be preempted for a job, in order.
    pub(super) fn candidates(&self, setup: &Setup, entry: &Entry) -> Vec<&Held> {
        victims::candidates(setup, &self.held, entry)
    }

    /// Start a job now on these nodes. It cannot be preempted in this call.
    pub(super) fn start(&mut self, setup: &Setup, entry: &Entry, now: f64, chosen: &[Allotment]) {
        let held = Held::new(entry.job, entry.row, now + entry.limit, chosen.to_vec());
        let held = held.with_generic(setup.generic_of(entry, chosen));
        self.insert(setup, held.of(entry.classes.clone(), None));
    }

    /// Return the allotments of a job that starts now on these nodes; None if it does not fit.
    pub(super) fn choose_now(
        &self,
        setup: &Setup,
        entry: &Entry,
        usable: &NodeBits,
        weights: &[u32],
    ) -> Option<Vec<Allotment>> {
        setup.parameters.select.choose(entry, self.selection_input(setup, entry, usable, weights))
    }

    /// Return whether a job may fit on these nodes after the jobs that end until `time`. False only if it does not. The
    /// free amounts describe this time until `return_to_now`; `time` must not decrease between queries.
    ///
    /// O(jobs that end since the latest query + nodes with free resources).
    pub(super) fn may_fit_by(&mut self, setup: &Setup, entry: &Entry, usable: &NodeBits, time: f64) -> bool {
        if !setup.precedence.preempts.is_empty() {
            // Other jobs may be preempted.
            return true;
        }
        match setup.parameters.select {
            Select::Linear => self.may_have_idle_by(entry, usable, time),
            Select::Cores => {
                while let Some(held) = self.held.get(self.gone).filter(|held| held.end <= time) {
                    self.free.give_back(&setup.machine, held);
                    self.gone += 1;
                }
                cores::may_fit(entry, self.selection_input(setup, entry, usable, &setup.weights))
            }
        }
    }

    /// Same as `may_fit_by` for jobs with whole nodes of their own.
    fn may_have_idle_by(&mut self, entry: &Entry, usable: &NodeBits, time: f64) -> bool {
        if self.free.some_are_shared() {
            return true;
        }
        if self.gone == 0 {
            self.idle_then.clone_from(self.free.idle());
        }
        while let Some(held) = self.held.get(self.gone).filter(|held| held.end <= time) {
            held.nodes.add_to(&mut self.idle_then);
            self.gone += 1;
        }
        usable.count_in(&self.idle_then) >= entry.least_nodes() as usize
    }

    /// Return the idle nodes that are not completing.
    fn idle_beside(&self, completing: &NodeBits) -> NodeBits {
        let mut idle = self.free.idle().clone();
        idle.remove(completing);
        idle
    }

    /// Restore the current free amounts. O(jobs that were assumed to have ended).
    pub(super) fn return_to_now(&mut self, setup: &Setup) {
        self.idle_then = NodeBits::default();
        let gone = std::mem::take(&mut self.gone);
        if setup.parameters.select == Select::Cores {
            self.held[..gone].iter().for_each(|held| self.free.take(&setup.machine, held));
        }
    }

    /// Return the earliest start on these nodes from now on, with the job's allotments. None if it does not fit on the
    /// idle nodes, or if it starts after `until`. Jobs that may be preempted for it are removed at once.
    pub(super) fn earliest(
        &mut self,
        setup: &Setup,
        entry: &Entry,
        usable: &NodeBits,
        present: Present<'_>,
        until: Option<f64>,
    ) -> Option<(f64, Vec<Allotment>)> {
        self.return_to_now(setup);
        let Present { now, weights, completing } = present;
        let idle_now = setup.parameters.bf_busy_nodes.then(|| self.idle_beside(completing));
        // Jobs that should have ended by now are assumed to end later.
        let until = until.map(|until| until.max(now));
        let idle_now = idle_now.as_ref();
        let search = Search { setup, entry, usable, weights, held: &self.held, idle_now, until };
        let (last, chosen) = match setup.parameters.select {
            Select::Linear => search.whole(&self.free)?,
            Select::Cores => search.shared(&mut self.free)?,
        };
        let start = last.map_or(now, |last| {
            let late = last.end + setup.parameters.kill_wait + last.over_time;
            if last.end > now { last.end } else { late.max(now + 1.0) }
        });
        Some((start, chosen))
    }
}

#[cfg(test)]
mod tests {
    use crate::slurm::{Amounts, GenericAmounts, Precedence, SlurmParameters};

    use super::*;

    fn setup(select: Select) -> Setup {
        Setup {
            parameters: SlurmParameters { select, ..SlurmParameters::default() },
            machine: vec![Amounts { cpus: 2, memory: 0 }; 3],
            generic: GenericAmounts::default(),
            gpu: None,
            partitions: Vec::new(),
            weights: vec![1; 3],
            weighs: false,
            precedence: Precedence::default(),
        }
    }

    fn held(job: u32, row: u64) -> Held {
        Held::new(job, row, 60.0, vec![Allotment { node: job, cpus: 1, memory: 0 }])
    }

    #[test]
    fn jobs_that_end_together_are_in_the_order_of_rows() {
        let setup = setup(Select::Cores);
        let mut occupation = Occupation::none(&setup);
        for (job, row) in [(0, 7), (1, 9), (2, 3)] {
            occupation.insert(&setup, held(job, row));
        }
        assert!(occupation.held().map(|held| held.job).eq([2, 0, 1]));
        assert_eq!(occupation.remove(&setup, 0).map(|held| held.row), Some(7));
        assert!(occupation.held().map(|held| held.job).eq([2, 1]));
    }

    #[test]
    fn only_whole_nodes_of_completing_jobs_are_held() {
        for (select, is_held) in [(Select::Linear, true), (Select::Cores, false)] {
            let setup = setup(select);
            let mut occupation = Occupation::none(&setup);
            occupation.insert_completing(&setup, held(1, 1));
            assert!(occupation.completing(3).iter().eq([1]));
            assert_eq!(occupation.free.idle().contains(1), !is_held);
            occupation.set_began(|_| Some(0.0));
            assert!(occupation.held().all(|held| held.began.is_none()), "it is no victim");
            assert_eq!(occupation.remove(&setup, 1).is_some(), is_held);
            assert_eq!(occupation, Occupation::none(&setup));
        }
    }
}
