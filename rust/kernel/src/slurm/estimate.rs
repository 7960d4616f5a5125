//! When and where a job could start if nothing but the jobs that run stood against it: `_will_run_test`.
use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::cores::{usable_cpus, wanted_cpus};
use super::linear;
use super::node_bits::NodeBits;
use super::offer::Offer;
use super::parameters::Setup;
use super::select::Select;
use super::situation::{Allotment, Amounts, Entry, Held, Situation, give_back, take};

/// Jobs under `cons_tres` are removed in groups whose ends lie within a window: first so many seconds, then twice as many.
const WINDOW: f64 = 30.0;

/// The jobs that hold nodes, by their ends, and what they leave.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Occupation {
    now: f64,
    left: Vec<Amounts>,
    /// The nodes of which nothing is held.
    idle: NodeBits,
    /// Whether several jobs hold a node.
    shares_nodes: bool,
    /// By end, then number.
    held: Vec<Held>,
}

impl Occupation {
    pub(super) fn of(setup: &Setup, situation: Situation) -> Self {
        let Situation { now, running: mut held, completing, .. } = situation;
        if setup.select == Select::Linear {
            // Nodes that have not answered count as held until now.
            held.extend(completing.into_iter().map(|each| Held { end: now, ..each }));
        }
        let mut left = setup.machine.clone();
        let mut taken = NodeBits::none(left.len());
        let mut shares_nodes = false;
        for each in &held {
            take(&mut left, &each.allotments);
            shares_nodes |= taken.meets(&each.nodes);
            taken.add(&each.nodes);
        }
        held.sort_by(order);
        let is_idle = |&(_, (all, left)): &(u32, (&Amounts, &Amounts))| all == left;
        let nodes = (0..).zip(setup.machine.iter().zip(&left)).filter(is_idle);
        let idle = NodeBits::of(left.len(), nodes.map(|(node, _)| node));
        Self { now, left, idle, shares_nodes, held }
    }

    /// A job starts now.
    pub(super) fn start(&mut self, setup: &Setup, held: Held) {
        take(&mut self.left, &held.allotments);
        for each in &held.allotments {
            let node = each.node as usize;
            if self.left[node] != setup.machine[node] {
                self.idle.take_out(each.node);
            }
        }
        let place = self.held.partition_point(|each| order(each, &held).is_lt());
        self.held.insert(place, held);
    }

    /// What a job gets on these nodes if it starts now; None where it does not fit.
    pub(super) fn choose_now(
        &self,
        setup: &Setup,
        entry: &Entry,
        usable: &NodeBits,
    ) -> Option<Vec<Allotment>> {
        let most_nodes = setup.partitions[entry.partition].most_nodes;
        let offer = Offer { usable, machine: &setup.machine, left: &self.left, most_nodes };
        setup.select.choose(entry, offer)
    }

    /// The earliest start on these nodes, and what the job gets there; None where it does not fit when all are idle.
    pub(super) fn earliest(
        &self,
        setup: &Setup,
        entry: &Entry,
        usable: &NodeBits,
    ) -> Option<(f64, Vec<Allotment>)> {
        let (last, chosen) = match setup.select {
            Select::Linear => self.earliest_whole(setup, entry, usable)?,
            Select::Cores => self.earliest_shared(setup, entry, usable)?,
        };
        // The end of a job that is late is taken to be near.
        let start = last.map_or(self.now, |last| if last > self.now { last } else { self.now + 1.0 });
        Some((start, chosen))
    }

    /// Whole nodes: as soon as enough of them are idle. The end of the last job removed; None where none is.
    fn earliest_whole(
        &self,
        setup: &Setup,
        entry: &Entry,
        usable: &NodeBits,
    ) -> Option<(Option<f64>, Vec<Allotment>)> {
        let wanted = entry.least_nodes() as usize;
        let mut idle = self.idle.clone();
        idle.keep(usable);
        let mut last = None;
        let mut left = if self.shares_nodes { self.left.clone() } else { Vec::new() };
        let mut removal = Removal::new(&self.held, usable, setup.backfill.epoch);
        while idle.count() < wanted {
            let held = removal.next_job()?;
            last = Some(held.end);
            if !self.shares_nodes {
                idle.add_within(&held.nodes, usable);
                continue;
            }
            give_back(&mut left, &held.allotments);
            for each in &held.allotments {
                let node = each.node as usize;
                if left[node] == setup.machine[node] && usable.contains(each.node) {
                    idle.insert(each.node);
                }
            }
        }
        Some((last, linear::choose_of(entry, &idle, &setup.machine)?))
    }

    /// Shared nodes: tried after each group of jobs that is removed.
    fn earliest_shared(
        &self,
        setup: &Setup,
        entry: &Entry,
        usable: &NodeBits,
    ) -> Option<(Option<f64>, Vec<Allotment>)> {
        let offered = |left: &[Amounts], node: u32| {
            let place = node as usize;
            usable_cpus(entry, setup.machine[place], left[place])
        };
        let wanted = wanted_cpus(entry);
        let mut sum: i64 = usable.iter().map(|node| offered(&self.left, node)).sum();
        if sum >= wanted
            && let Some(chosen) = self.choose_now(setup, entry, usable)
        {
            return Some((None, chosen));
        }
        let most_nodes = setup.partitions[entry.partition].most_nodes;
        let mut left = self.left.clone();
        let mut removal = Removal::new(&self.held, usable, setup.backfill.epoch);
        loop {
            // Where all nodes together offer too little the job does not fit, however it is tried.
            let last = removal.next_group(|held| {
                let nodes =
                    || held.allotments.iter().map(|each| each.node).filter(|&node| usable.contains(node));
                sum -= nodes().map(|node| offered(&left, node)).sum::<i64>();
                give_back(&mut left, &held.allotments);
                sum += nodes().map(|node| offered(&left, node)).sum::<i64>();
            })?;
            let offer = Offer { usable, machine: &setup.machine, left: &left, most_nodes };
            if sum >= wanted
                && let Some(chosen) = setup.select.choose(entry, offer)
            {
                return Some((Some(last), chosen));
            }
        }
    }
}

/// By end, then number.
fn order(one: &Held, other: &Held) -> Ordering {
    one.end.total_cmp(&other.end).then(one.job.cmp(&other.job))
}

/// Takes jobs away in the order of their ends.
struct Removal<'a> {
    held: &'a [Held],
    usable: &'a NodeBits,
    epoch: f64,
    next: usize,
    window: f64,
    /// From when on the windows are counted: the end of the first job, rounded up.
    first: Option<f64>,
}

impl<'a> Removal<'a> {
    fn new(held: &'a [Held], usable: &'a NodeBits, epoch: f64) -> Self {
        Self { held, usable, epoch, next: 0, window: WINDOW, first: None }
    }

    /// The next job on a usable node.
    fn next_job(&mut self) -> Option<&'a Held> {
        let held = self.held[self.next..].iter().position(|held| held.nodes.meets(self.usable));
        let place = self.next + held?;
        self.next = place + 1;
        self.held.get(place)
    }

    /// Takes the jobs on usable nodes away whose ends are within the window: the last end. Others are passed over without a
    /// look at the window.
    fn next_group(&mut self, mut remove: impl FnMut(&Held)) -> Option<f64> {
        let mut last = None;
        while let Some(held) = self.held.get(self.next) {
            self.next += 1;
            if !held.nodes.meets(self.usable) {
                continue;
            }
            self.first.get_or_insert_with(|| {
                let end = held.end + self.epoch;
                end + (WINDOW - end.rem_euclid(WINDOW)) - self.epoch
            });
            last = Some(held.end);
            remove(held);
            if self.next_is_beyond() {
                break;
            }
        }
        loop {
            self.window *= 2.0;
            if !self.next_is_beyond() {
                return last;
            }
        }
    }

    /// Whether the next job ends after the window.
    fn next_is_beyond(&self) -> bool {
        let begin = self.first.unwrap_or_default();
        self.held.get(self.next).is_some_and(|held| held.end > begin + self.window)
    }
}
