//! One call of the backfill scheduler: every job in order starts, or is planned on nodes of its own (`_attempt_backfill`).
use super::estimate::Occupation;
use super::node_bits::NodeBits;
use super::node_space::NodeSpace;
use super::parameters::BackfillParameters;
use super::select::Select;
use super::situation::{Allotment, Entry, Held, Situation, Verdict};

/// What becomes of each entry of the queue.
#[must_use]
pub fn backfill(situation: &Situation, select: Select, parameters: &BackfillParameters) -> Vec<Verdict> {
    let mut call = Call {
        situation,
        occupation: Occupation::of(situation, select, parameters.epoch),
        space: NodeSpace::new(situation.now, situation.available.clone(), parameters),
        completing: situation.completing_nodes(),
        started: Vec::new(),
    };
    situation.queue.iter().map(|entry| call.consider(entry)).collect()
}

/// A call on its way.
struct Call<'a> {
    situation: &'a Situation,
    occupation: Occupation,
    space: NodeSpace,
    completing: NodeBits,
    started: Vec<u32>,
}

impl Call<'_> {
    /// Starts a job, plans it, or lets it wait.
    fn consider(&mut self, entry: &Entry) -> Verdict {
        if self.started.contains(&entry.job) {
            return Verdict::NotTried;
        }
        if !entry.is_open {
            return Verdict::Waits;
        }
        let Some((start, chosen)) = self.earliest(entry) else { return Verdict::Waits };
        if start > self.situation.now {
            self.space.plan(&self.nodes_of(&chosen), start, start + entry.limit);
            return Verdict::Planned(start, chosen);
        }
        // What starts is no plan: the jobs behind see it as one that runs.
        let held = Held::new(entry.job, start + entry.limit, chosen.clone(), self.situation.nodes());
        self.occupation.start(held);
        self.started.push(entry.job);
        Verdict::Started(chosen)
    }

    /// When a job can start beside the plans made so far, and where.
    fn earliest(&self, entry: &Entry) -> Option<(f64, Vec<Allotment>)> {
        let now = self.situation.now;
        let partition = &self.situation.partitions[entry.partition];
        let mut nodes = partition.nodes.clone();
        nodes.keep(&self.situation.available);
        let mut from = now;
        loop {
            let (usable, later) = self.space.free(&nodes, from, from.max(now) + entry.limit);
            // Looking again at one time would go on for ever.
            let later = later.filter(|&later| later > from);
            let is_enough = usable.count() >= entry.least_nodes() as usize;
            let estimate =
                is_enough.then(|| self.occupation.earliest(entry, &usable, partition.most_nodes)).flatten();
            let Some((start, chosen)) = estimate else {
                from = later?;
                continue;
            };
            let chosen_nodes = self.nodes_of(&chosen);
            let mut start = start.max(from);
            let awaits_answer = start <= now && chosen_nodes.meets(&self.completing);
            if awaits_answer {
                start = now + 1.0;
            }
            if start <= now {
                return Some((start, chosen));
            }
            match later {
                Some(later) if start > later && !awaits_answer => from = later,
                _ if self.space.overlaps(&chosen_nodes, start, start + entry.limit) => {
                    if start <= from {
                        return None;
                    }
                    from = start;
                }
                _ => return Some((start, chosen)),
            }
        }
    }

    fn nodes_of(&self, chosen: &[Allotment]) -> NodeBits {
        NodeBits::of(self.situation.nodes(), chosen.iter().map(|each| each.node))
    }
}
