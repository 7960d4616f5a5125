//! When and where a job could start if nothing but the jobs that run stood against it: `_will_run_test`.
use std::cmp::Ordering;
use std::iter::Peekable;

use serde::{Deserialize, Serialize};

use super::cores::{usable_cpus, wanted_cpus};
use super::linear;
use super::node_bits::NodeBits;
use super::offer::Offer;
use super::parameters::Setup;
use super::select::Select;
use super::situation::{Allotment, Amounts, Classes, Entry, Held, Situation, give_back, take};
use super::victims;

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
            // Nodes that have not answered count as held, and are free before others.
            let uncounted = |each: Held| Held { end: f64::NEG_INFINITY, ..each.of(Classes::default(), None) };
            held.extend(completing.into_iter().map(uncounted));
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

    /// The jobs that hold nodes.
    pub(super) fn held(&self) -> &[Held] {
        &self.held
    }

    /// What is to be selected from on these nodes.
    pub(super) fn offer<'a>(
        &'a self,
        setup: &'a Setup,
        entry: &Entry,
        usable: &'a NodeBits,
        weights: &'a [u32],
    ) -> Offer<'a> {
        let most_nodes = setup.partitions[entry.partition].most_nodes;
        Offer { usable, machine: &setup.machine, left: &self.left, weights, most_nodes }
    }

    /// The jobs that may be preempted for a job, in order.
    pub(super) fn candidates(&self, setup: &Setup, entry: &Entry) -> Vec<&Held> {
        if setup.precedence.preempts.is_empty() {
            return Vec::new();
        }
        victims::candidates(setup, &self.held, entry)
    }

    /// A job is preempted: its nodes.
    pub(super) fn remove(&mut self, setup: &Setup, job: u32) -> NodeBits {
        let Some(place) = self.held.iter().position(|held| held.job == job && held.began.is_some()) else {
            return NodeBits::none(setup.nodes());
        };
        let held = self.held.remove(place);
        give_back(&mut self.left, &held.allotments);
        for each in &held.allotments {
            let node = each.node as usize;
            if self.left[node] == setup.machine[node] {
                self.idle.insert(each.node);
            }
        }
        held.nodes
    }

    /// A job starts now on these nodes, and may not be preempted in this call.
    pub(super) fn start(&mut self, setup: &Setup, entry: &Entry, now: f64, chosen: &[Allotment]) {
        let held = Held::new(entry.job, now + entry.limit, chosen.to_vec(), setup.nodes());
        let held = held.of(entry.classes.clone(), None);
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
        weights: &[u32],
    ) -> Option<Vec<Allotment>> {
        setup.select.choose(entry, self.offer(setup, entry, usable, weights))
    }

    /// The earliest start on these nodes, and what the job gets there; None where it does not fit when all are idle. Jobs that
    /// may be preempted for it are gone at once.
    pub(super) fn earliest(
        &self,
        setup: &Setup,
        entry: &Entry,
        usable: &NodeBits,
        weights: &[u32],
    ) -> Option<(f64, Vec<Allotment>)> {
        let search = Search { setup, entry, usable, weights, occupation: self };
        let (last, chosen) = match setup.select {
            Select::Linear => search.whole()?,
            Select::Cores => search.shared()?,
        };
        let start = last.map_or(self.now, |last| {
            if last > self.now { last } else { (last + setup.backfill.kill_wait).max(self.now + 1.0) }
        });
        Some((start, chosen))
    }
}

/// When a job fits: the end of the last job removed, None where none is, and what it gets then.
type Fit = (Option<f64>, Vec<Allotment>);

/// The search for the earliest start.
struct Search<'a> {
    setup: &'a Setup,
    entry: &'a Entry,
    usable: &'a NodeBits,
    weights: &'a [u32],
    occupation: &'a Occupation,
}

impl<'a> Search<'a> {
    /// Jobs that stay until their ends, in order.
    fn staying(&self) -> impl Iterator<Item = &'a Held> + Clone {
        let members = &self.setup.partitions[self.entry.partition].nodes;
        let (rules, entry) = (&self.setup.precedence, self.entry);
        let has_none = rules.preempts.is_empty();
        let stays = move |held: &&Held| has_none || !(rules.may_go(entry, held) && held.nodes.meets(members));
        self.occupation.held.iter().filter(stays)
    }

    fn removal(&self) -> Removal<'a, impl Iterator<Item = &'a Held> + Clone> {
        Removal::new(self.staying(), self.usable, self.setup.backfill.epoch)
    }

    /// Whole nodes: as soon as enough of them are idle.
    fn whole(&self) -> Option<Fit> {
        let Self { setup, entry, usable, .. } = *self;
        let wanted = entry.least_nodes() as usize;
        let mut idle = Idle::of(self);
        if idle.nodes.count() < wanted {
            for held in self.occupation.candidates(setup, entry) {
                idle.give_back(held, setup, usable);
            }
        }
        let mut last = None;
        let mut removal = self.removal();
        while idle.nodes.count() < wanted {
            let held = removal.next_job()?;
            last = Some(held.end);
            idle.give_back(held, setup, usable);
        }
        Some((last, linear::choose_of(entry, &idle.nodes, &setup.machine)?))
    }

    /// Shared nodes: tried after each group of jobs that is removed.
    fn shared(&self) -> Option<Fit> {
        let Self { setup, entry, usable, weights, occupation } = *self;
        let offered = |left: &[Amounts], node: u32| {
            let place = node as usize;
            usable_cpus(entry, setup.machine[place], left[place])
        };
        let wanted = wanted_cpus(entry);
        let mut sum: i64 = usable.iter().map(|node| offered(&occupation.left, node)).sum();
        if sum >= wanted
            && let Some(chosen) = occupation.choose_now(setup, entry, usable, weights)
        {
            return Some((None, chosen));
        }
        let mut left = occupation.left.clone();
        // Where all nodes together offer too little the job does not fit, however it is tried.
        let mut remove = |held: &Held, left: &mut Vec<Amounts>| {
            let nodes = || held.allotments.iter().map(|each| each.node).filter(|&node| usable.contains(node));
            sum -= nodes().map(|node| offered(left, node)).sum::<i64>();
            give_back(left, &held.allotments);
            sum += nodes().map(|node| offered(left, node)).sum::<i64>();
            sum
        };
        let choose = |left: &[Amounts]| {
            setup.select.choose(entry, Offer { left, ..occupation.offer(setup, entry, usable, weights) })
        };
        let candidates = occupation.candidates(setup, entry);
        let most = candidates.iter().map(|held| remove(held, &mut left)).last();
        if most.is_some_and(|sum| sum >= wanted)
            && let Some(chosen) = choose(&left)
        {
            return Some((None, chosen));
        }
        let mut removal = self.removal();
        loop {
            let mut sum = 0;
            let last = removal.next_group(|held| sum = remove(held, &mut left))?;
            if sum >= wanted
                && let Some(chosen) = choose(&left)
            {
                return Some((Some(last), chosen));
            }
        }
    }
}

/// The usable nodes that are idle, as jobs go.
struct Idle {
    nodes: NodeBits,
    /// What is left on each node, where several jobs hold one.
    left: Option<Vec<Amounts>>,
}

impl Idle {
    fn of(search: &Search<'_>) -> Self {
        let Occupation { idle, left, shares_nodes, .. } = search.occupation;
        let mut nodes = idle.clone();
        nodes.keep(search.usable);
        Self { nodes, left: shares_nodes.then(|| left.clone()) }
    }

    fn give_back(&mut self, held: &Held, setup: &Setup, usable: &NodeBits) {
        let Some(left) = &mut self.left else { return self.nodes.add_within(&held.nodes, usable) };
        give_back(left, &held.allotments);
        for each in &held.allotments {
            let node = each.node as usize;
            if left[node] == setup.machine[node] && usable.contains(each.node) {
                self.nodes.insert(each.node);
            }
        }
    }
}

/// By end, then number.
fn order(one: &Held, other: &Held) -> Ordering {
    one.end.total_cmp(&other.end).then(one.job.cmp(&other.job))
}

/// Takes jobs away in the order of their ends.
struct Removal<'a, I: Iterator> {
    jobs: Peekable<I>,
    usable: &'a NodeBits,
    epoch: f64,
    window: f64,
    /// From when on the windows are counted: the end of the first job, rounded up.
    first: Option<f64>,
}

impl<'a, I: Iterator<Item = &'a Held>> Removal<'a, I> {
    fn new(jobs: I, usable: &'a NodeBits, epoch: f64) -> Self {
        Self { jobs: jobs.peekable(), usable, epoch, window: WINDOW, first: None }
    }

    /// The next job on a usable node.
    fn next_job(&mut self) -> Option<&'a Held> {
        let usable = self.usable;
        self.jobs.find(|held| held.nodes.meets(usable))
    }

    /// Takes the jobs on usable nodes away whose ends are within the window: the last end. Others are passed over without a
    /// look at the window.
    fn next_group(&mut self, mut remove: impl FnMut(&Held)) -> Option<f64> {
        let mut last = None;
        while let Some(held) = self.next_job() {
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
    fn next_is_beyond(&mut self) -> bool {
        let until = self.first.unwrap_or_default() + self.window;
        self.jobs.peek().is_some_and(|held| held.end > until)
    }
}
