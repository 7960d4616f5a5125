//! Queue values for the partitions in which jobs may run (S11).
use crate::cluster::NodeSetId;

use super::View;

impl View<'_> {
    /// Returns whether jobs with these queue values may run in a partition. False only if none of them may. Requires
    /// several partitions.
    #[must_use]
    pub fn may_run_in(self, values: &[i64], partition: usize) -> bool {
        let machine = &self.state.machine;
        let blocks = self.scenario.node_sets.count() * (machine.resources() + 1);
        let before = blocks + self.state.queue.requests().width();
        values[before + partition] == 0
    }

    /// Returns whether some job with these queue values has a node set in a set of connected partitions that `wants`
    /// accepts. False only if none has.
    #[must_use]
    pub fn may_run_among(self, values: &[i64], wants: impl Fn(usize) -> bool) -> bool {
        let (sets, width) = (&self.scenario.node_sets, self.state.machine.resources() + 1);
        let is_there = |set: NodeSetId| values[set.block(width)][0] != i64::MAX;
        sets.ids().any(|set| is_there(set) && sets.connected(set).is_some_and(&wants))
    }

    /// Lists the sets of connected partitions in which a job may run.
    #[must_use]
    pub fn connected_of(self, job: u32) -> Vec<usize> {
        let sets = &self.scenario.node_sets;
        let alternatives = self.scenario.alternatives(job).iter();
        let mut found: Vec<usize> = alternatives
            .filter_map(|&request| sets.connected(self.scenario.requests.get(request).nodes))
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}
