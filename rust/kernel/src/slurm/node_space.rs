//! The plan of one backfill call: which nodes are free of plans when (`node_space_map`).
//!
//! A plan costs O(records + records in it · nodes / 64).
use serde::{Deserialize, Serialize};

use super::node_bits::NodeBits;
use super::parameters::BackfillParameters;

/// The nodes that no plan holds from one time to another.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub begin: f64,
    pub end: f64,
    pub free: NodeBits,
}

/// The records, one after the other in time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct NodeSpace {
    records: Vec<Record>,
    /// Plans begin and end at multiples of the resolution on the clock.
    parameters: BackfillParameters,
    /// The second from which on some plan that ends beyond the window now is within it.
    holds_until: f64,
}

impl NodeSpace {
    /// No plan: these nodes are free from now, rounded down, over a window of so many seconds.
    pub(super) fn new(now: f64, free: NodeBits, parameters: &BackfillParameters) -> Self {
        let begin = parameters.rounded_down(now);
        let records = vec![Record { begin, end: begin + parameters.window, free }];
        Self { records, parameters: *parameters, holds_until: f64::INFINITY }
    }

    /// The second from which on some plan that ends beyond the window now is within it.
    pub(super) fn holds_until(&self) -> f64 {
        self.holds_until
    }

    /// The records, one after the other in time.
    pub(super) fn records(&self) -> &[Record] {
        &self.records
    }

    /// The first record that ends after a time.
    pub(super) fn first_after(&self, time: f64) -> usize {
        self.records.partition_point(|record| record.end <= time)
    }

    /// When to look again for nodes that are free to `end`: the end of the first record, of these, after which others of the
    /// nodes are free.
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

    /// Until when the nodes that are free from now on for so many seconds are these, if no plan is made.
    pub(super) fn free_holds_until(&self, now: f64, seconds: f64) -> f64 {
        // The last record ends with the window, which moves on with the time.
        let within = &self.records[..self.records.len() - 1];
        let first = within.iter().find(|record| record.end > now);
        let beyond = self.records.iter().find(|record| record.begin > now + seconds);
        let until = first.map_or(f64::INFINITY, |record| record.end);
        beyond.map_or(until, |record| until.min(record.begin - seconds))
    }

    /// Whether some plan holds one of these nodes in [start, end), rounded.
    pub(super) fn overlaps(&mut self, nodes: &NodeBits, start: f64, end: f64) -> bool {
        let (start, end) = (self.parameters.rounded_down(start), self.parameters.rounded_down(end));
        self.heed_window(start);
        let first = self.first_after(start);
        let within = self.records[first..].iter().take_while(|record| record.begin < end);
        within.into_iter().any(|record| !nodes.is_within(&record.free))
    }

    /// Plans a job on these nodes in [start, end), rounded down.
    pub(super) fn plan(&mut self, nodes: &NodeBits, start: f64, end: f64) {
        let start = self.parameters.rounded_down(start).max(self.records[0].begin);
        let end = self.parameters.rounded_down(end).max(start + self.parameters.resolution);
        self.heed_window(end);
        self.cut_at(start);
        self.cut_at(end);
        for record in &mut self.records {
            if record.begin >= start && record.end <= end {
                record.free.remove(nodes);
            }
        }
        // Of neighbours that are equal the first two become one.
        if let Some(place) = self.records.windows(2).position(|pair| pair[0].free == pair[1].free) {
            self.records[place].end = self.records[place + 1].end;
            self.records.remove(place + 1);
        }
    }

    /// Cuts the record in which a time lies in two.
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

    /// What lies at the end of the window or after it is known when the window has moved on.
    fn heed_window(&mut self, time: f64) {
        let BackfillParameters { window, resolution, .. } = self.parameters;
        if time >= self.records[0].begin + window {
            self.holds_until = self.holds_until.min(time - window + resolution);
        }
    }
}
