//! The plan of a backfill call: which nodes are free of plans at which time (`node_space_map`).
//!
//! It is not a profile of `cluster`: a plan takes whole nodes, whatever the job requests of them, its times are rounded to
//! `bf_resolution`, and at most two equal records are merged per plan, which decides when a later job is tried again.
//!
//! A plan costs O(records + records in it · nodes / 64).
use serde::{Deserialize, Serialize};

use super::parameters::SlurmParameters;
use crate::index::NodeBits;

/// The nodes that are free of plans in a time interval.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub begin: f64,
    pub end: f64,
    pub free: NodeBits,
}

/// Consecutive records in time order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct NodeSpace {
    records: Vec<Record>,
    /// Plans begin and end at multiples of the resolution in clock time.
    parameters: SlurmParameters,
    /// The second from which some plan that ends beyond the current window is within it.
    holds_until: f64,
}

impl NodeSpace {
    /// Create an empty plan: these nodes are free from now, rounded down, over the window of the parameters.
    pub(super) fn new(now: f64, free: NodeBits, parameters: &SlurmParameters) -> Self {
        let begin = parameters.rounded_down(now);
        let records = vec![Record { begin, end: begin + parameters.bf_window, free }];
        Self { records, parameters: *parameters, holds_until: f64::INFINITY }
    }

    /// Return the second from which some plan that ends beyond the current window is within it.
    pub(super) fn holds_until(&self) -> f64 {
        self.holds_until
    }

    /// Return the records in time order.
    pub(super) fn records(&self) -> &[Record] {
        &self.records
    }

    /// Return the first record that ends after a time.
    pub(super) fn first_after(&self, time: f64) -> usize {
        self.records.partition_point(|record| record.end <= time)
    }

    /// Return when to search again for nodes that are free until `end`: the end of the first record after which
    /// additional nodes are free.
    pub(super) fn later(&self, nodes: &NodeBits, first: usize, end: f64) -> Option<f64> {
        let mut free = nodes.clone();
        for pair in self.records.get(first..)?.windows(2) {
            if nodes.gains(&free, &pair[0].free, &pair[1].free) {
                return Some(pair[0].end);
            }
            if pair[0].begin > end {
                return None;
            }
            free.keep(&pair[0].free);
        }
        None
    }

    /// Return until when the set of nodes that are free of plans for this many seconds from now is constant, without
    /// new plans.
    pub(super) fn free_holds_until(&self, now: f64, seconds: f64) -> f64 {
        // The last record ends with the window, which moves with time.
        let within = &self.records[..self.records.len() - 1];
        let first = within.iter().find(|record| record.end > now);
        let beyond = self.records.iter().find(|record| record.begin > now + seconds);
        let until = first.map_or(f64::INFINITY, |record| record.end);
        beyond.map_or(until, |record| until.min(record.begin - seconds))
    }

    /// Return whether some plan holds one of these nodes in [start, end), both rounded down.
    pub(super) fn overlaps(&mut self, nodes: &NodeBits, start: f64, end: f64) -> bool {
        let (start, end) = (self.parameters.rounded_down(start), self.parameters.rounded_down(end));
        self.limit_by_window(start);
        let first = self.first_after(start);
        let within = self.records[first..].iter().take_while(|record| record.begin < end);
        within.into_iter().any(|record| !nodes.is_within(&record.free))
    }

    /// Plan a job on these nodes in [start, end), both rounded down. Return both.
    pub(super) fn plan(&mut self, nodes: &NodeBits, start: f64, end: f64) -> (f64, f64) {
        let start = self.parameters.rounded_down(start).max(self.records[0].begin);
        let end = self.parameters.rounded_down(end).max(start + self.parameters.bf_resolution);
        self.limit_by_window(end);
        self.cut_at(start);
        self.cut_at(end);
        for record in &mut self.records {
            if record.begin >= start && record.end <= end {
                record.free.remove(nodes);
            }
        }
        // Merge the first two adjacent records that are equal.
        if let Some(place) = self.records.windows(2).position(|pair| pair[0].free == pair[1].free) {
            self.records[place].end = self.records[place + 1].end;
            self.records.remove(place + 1);
        }
        (start, end)
    }

    /// Split the record that contains this time.
    fn cut_at(&mut self, time: f64) {
        let place = self.records.partition_point(|record| record.end <= time);
        if let Some(record) = self.records.get_mut(place)
            && record.begin < time
        {
            let before = Record { end: time, ..record.clone() };
            record.begin = time;
            self.records.insert(place, before);
        }
    }

    /// Limit the validity of the plan if a time is at or after the end of the window, which moves with time.
    fn limit_by_window(&mut self, time: f64) {
        let SlurmParameters { bf_window: window, bf_resolution: resolution, .. } = self.parameters;
        if time >= self.records[0].begin + window {
            self.holds_until = self.holds_until.min(time - window + resolution);
        }
    }
}
