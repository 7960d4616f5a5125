//! One call of the backfill scheduler: every job in order starts, or is planned on nodes of its own (`_attempt_backfill`).
use serde::{Deserialize, Serialize};

use super::estimate::Occupation;
use super::node_bits::NodeBits;
use super::node_space::NodeSpace;
use super::parameters::Setup;
use super::situation::{Allotment, Entry, Held, Partition, Situation, Verdict};

/// What becomes of each entry of the queue.
#[must_use]
pub fn backfill(setup: &Setup, situation: &Situation, queue: &[Entry]) -> Vec<Verdict> {
    let mut call = Backfill::new(setup, situation.clone());
    queue.iter().map(|entry| call.consider(setup, entry)).collect()
}

/// A call on its way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Backfill {
    now: f64,
    /// The nodes of each partition that take jobs.
    members: Vec<NodeBits>,
    occupation: Occupation,
    space: NodeSpace,
    completing: NodeBits,
    started: Vec<u32>,
    /// Entries that were looked at, in all and by partition.
    tested: usize,
    tested_of: Vec<usize>,
    /// Plans by partition.
    plans_of: Vec<usize>,
    /// The second from which on the same call might decide otherwise though nothing but the time has changed.
    holds_until: f64,
    /// Whether some estimate was put off to the end of a plan.
    puts_off: bool,
}

impl Backfill {
    /// A call that begins now.
    #[must_use]
    pub fn new(setup: &Setup, situation: Situation) -> Self {
        let partitions = setup.partitions.len();
        let members = |partition: &Partition| {
            let mut nodes = partition.nodes.clone();
            nodes.keep(&situation.available);
            nodes
        };
        Self {
            now: situation.now,
            members: setup.partitions.iter().map(members).collect(),
            space: NodeSpace::new(situation.now, situation.available.clone(), &setup.backfill),
            completing: situation.completing_nodes(setup.nodes()),
            occupation: Occupation::of(setup, situation),
            started: Vec::new(),
            tested: 0,
            tested_of: vec![0; partitions],
            plans_of: vec![0; partitions],
            holds_until: f64::INFINITY,
            puts_off: false,
        }
    }

    /// The second from which on the same call might decide otherwise though nothing but the time has changed. Where the call
    /// starts nothing.
    #[must_use]
    pub fn holds_until(&self) -> f64 {
        self.holds_until.min(self.space.holds_until())
    }

    /// Whether some estimate was put off to the end of a plan: Slurm counts that as a change of the job.
    #[must_use]
    pub fn puts_off(&self) -> bool {
        self.puts_off
    }

    /// Whether as many entries were looked at as may be.
    #[must_use]
    pub fn is_over(&self, setup: &Setup) -> bool {
        self.tested >= setup.backfill.max_entries
    }

    /// Starts a job, plans it, or lets it wait.
    pub fn consider(&mut self, setup: &Setup, entry: &Entry) -> Verdict {
        if self.started.contains(&entry.job) || self.is_over(setup) {
            return Verdict::NotTried;
        }
        let most = setup.backfill.max_entries_of_partition;
        self.tested_of[entry.partition] += 1;
        if most > 0 && self.tested_of[entry.partition] > most {
            return Verdict::NotTried;
        }
        self.tested += 1;
        if !entry.is_open {
            return Verdict::Waits;
        }
        let plans = setup.backfill.plans_of_partition;
        let only_now = plans > 0 && self.plans_of[entry.partition] >= plans;
        let Some((start, chosen)) = self.earliest(setup, entry, only_now) else { return Verdict::Waits };
        if start > self.now {
            let nodes = nodes_of(setup, &chosen);
            self.space.plan(&nodes, start, start + entry.limit);
            self.plans_of[entry.partition] += 1;
            return Verdict::Planned(start, chosen);
        }
        // What starts is no plan: the jobs behind see it as one that runs.
        let held = Held::new(entry.job, start + entry.limit, chosen.clone(), setup.nodes());
        self.occupation.start(setup, held);
        self.started.push(entry.job);
        Verdict::Started(chosen)
    }

    /// When a job can start beside the plans made so far, and where.
    fn earliest(&mut self, setup: &Setup, entry: &Entry, only_now: bool) -> Option<(f64, Vec<Allotment>)> {
        let now = self.now;
        let mut from = now;
        loop {
            let (usable, later) =
                self.space.free(&self.members[entry.partition], from, from.max(now) + entry.limit);
            self.heed_free(from, entry.limit);
            if only_now {
                return self.fits_now(setup, entry, &usable);
            }
            // Looking again at one time would go on for ever.
            let later = later.filter(|&later| later > from);
            let is_enough = usable.count() >= entry.least_nodes() as usize;
            let estimate = is_enough.then(|| self.occupation.earliest(setup, entry, &usable)).flatten();
            let Some((start, chosen)) = estimate else {
                from = later?;
                continue;
            };
            self.heed(start);
            self.puts_off |= start < from;
            let chosen_nodes = nodes_of(setup, &chosen);
            let mut start = start.max(from);
            let awaits_answer = start <= now && chosen_nodes.meets(&self.completing);
            if awaits_answer {
                start = now + 1.0;
                self.heed(start);
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

    /// The start of a job that may start now or not at all.
    fn fits_now(&self, setup: &Setup, entry: &Entry, usable: &NodeBits) -> Option<(f64, Vec<Allotment>)> {
        let chosen = self.occupation.choose_now(setup, entry, usable)?;
        (!nodes_of(setup, &chosen).meets(&self.completing)).then_some((self.now, chosen))
    }

    /// What was found holds as long as a start that is later than now is.
    fn heed(&mut self, start: f64) {
        if start > self.now {
            self.holds_until = self.holds_until.min(start);
        }
    }

    /// The nodes that are free of plans from now on are others later.
    fn heed_free(&mut self, from: f64, limit: f64) {
        if from <= self.now {
            self.holds_until = self.holds_until.min(self.space.free_holds_until(self.now, limit));
        }
    }
}

fn nodes_of(setup: &Setup, chosen: &[Allotment]) -> NodeBits {
    NodeBits::of(setup.nodes(), chosen.iter().map(|each| each.node))
}
