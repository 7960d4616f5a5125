//! The plan of one backfill call: which nodes are free of plans when (`node_space_map`).
use super::node_bits::NodeBits;
use super::parameters::BackfillParameters;

/// The nodes that no plan holds from one time to another.
#[derive(Clone, Debug)]
struct Record {
    begin: f64,
    end: f64,
    free: NodeBits,
}

/// The records, one after the other in time.
pub(super) struct NodeSpace {
    records: Vec<Record>,
    /// Plans begin and end at multiples of so many seconds of the clock.
    resolution: f64,
    epoch: f64,
}

impl NodeSpace {
    /// No plan: these nodes are free from now, rounded down, over a window of so many seconds.
    pub(super) fn new(now: f64, free: NodeBits, parameters: &BackfillParameters) -> Self {
        let BackfillParameters { resolution, window, epoch } = *parameters;
        let begin = rounded_down(now, resolution, epoch);
        Self { records: vec![Record { begin, end: begin + window, free }], resolution, epoch }
    }

    /// Those of the nodes that are free of plans from `start` to `end`; a plan that begins just at the end counts. And the end
    /// of the first record after which others of the nodes are free: when to look again.
    pub(super) fn free(&self, nodes: &NodeBits, start: f64, end: f64) -> (NodeBits, Option<f64>) {
        let mut free = nodes.clone();
        let mut later = None;
        for (place, record) in self.records.iter().enumerate() {
            if record.end > start
                && later.is_none()
                && let Some(next) = self.records.get(place + 1)
                && gains(nodes, &free, &record.free, &next.free)
            {
                later = Some(record.end);
            }
            if record.end > start {
                if record.begin > end {
                    break;
                }
                free.keep(&record.free);
            }
        }
        (free, later)
    }

    /// Whether some plan holds one of these nodes in [start, end), rounded.
    pub(super) fn overlaps(&self, nodes: &NodeBits, start: f64, end: f64) -> bool {
        let (start, end) = (self.rounded(start), self.rounded(end));
        let mut records = self.records.iter();
        records.any(|record| record.end > start && record.begin < end && !nodes.is_within(&record.free))
    }

    /// Plans a job on these nodes in [start, end), rounded down.
    pub(super) fn plan(&mut self, nodes: &NodeBits, start: f64, end: f64) {
        let start = self.rounded(start).max(self.records[0].begin);
        let end = self.rounded(end).max(start + self.resolution);
        let mut records = Vec::with_capacity(self.records.len() + 2);
        for record in self.records.drain(..) {
            let mut begin = record.begin;
            for cut in [start, end, record.end] {
                if begin < cut && cut <= record.end {
                    let mut free = record.free.clone();
                    if begin >= start && cut <= end {
                        free.remove(nodes);
                    }
                    records.push(Record { begin, end: cut, free });
                    begin = cut;
                }
            }
        }
        self.records = records;
        // Of neighbours that are equal the first two become one.
        if let Some(place) = self.records.windows(2).position(|pair| pair[0].free == pair[1].free) {
            self.records[place].end = self.records[place + 1].end;
            self.records.remove(place + 1);
        }
    }

    fn rounded(&self, time: f64) -> f64 {
        rounded_down(time, self.resolution, self.epoch)
    }
}

/// A time rounded down to a multiple of the resolution on the clock.
fn rounded_down(time: f64, resolution: f64, epoch: f64) -> f64 {
    ((time + epoch) / resolution).floor() * resolution - epoch
}

/// Whether the next record has nodes that are not free up to this one.
fn gains(nodes: &NodeBits, free: &NodeBits, here: &NodeBits, next: &NodeBits) -> bool {
    let (mut so_far, mut then) = (free.clone(), nodes.clone());
    so_far.keep(here);
    then.keep(next);
    !then.is_within(&so_far)
}
