//! Estimate of the start of a job, with nodes, if only running jobs prevent it: `_will_run_test`.
use std::iter::Peekable;
use std::sync::Arc;

use super::controller_input::{Allotment, Amounts, Entry, Held, give_back};
use super::cores::{offered_cpus, wanted_cpus};
use super::free_amounts::FreeAmounts;
use super::linear;
use super::selection_input::SelectionInput;
use super::setup::Setup;
use super::victims;
use crate::index::NodeBits;

/// Under `cons_tres`, jobs are removed in groups with ends within a window: first this many seconds, then doubled.
const WINDOW: f64 = 30.0;

/// Result of the search: the last job removed (None if none), and the allotments of the job then.
type Fit<'a> = (Option<&'a Held>, Vec<Allotment>);

/// The search for the earliest start.
pub(super) struct Search<'a> {
    pub setup: &'a Setup,
    pub entry: &'a Entry,
    pub usable: &'a NodeBits,
    pub weights: &'a [u32],
    pub held: &'a [Arc<Held>],
    /// The nodes that are idle now, if nodes in use are preferred to them.
    pub idle_now: Option<&'a NodeBits>,
    /// Jobs that end later are not removed.
    pub until: Option<f64>,
}

impl<'a> Search<'a> {
    /// Return the jobs that stay until their ends, in order.
    fn staying(&self) -> impl Iterator<Item = &'a Held> {
        let members = &self.setup.partitions[self.entry.partition].nodes;
        let (rules, entry) = (&self.setup.precedence, self.entry);
        let has_none = rules.preempts.is_empty();
        let stays = move |held: &&Held| has_none || !(rules.may_go(entry, held) && held.nodes.meets(members));
        self.held.iter().map(|held| &**held).filter(stays)
    }

    fn removal(&self) -> Removal<'a, impl Iterator<Item = &'a Held>> {
        Removal::new(self.staying(), self.usable, self.setup.parameters.epoch)
    }

    /// Return whether a job with this end is removed.
    fn is_in_time(&self, end: f64) -> bool {
        self.until.is_none_or(|until| end <= until)
    }

    fn candidates(&self) -> Vec<&'a Held> {
        victims::candidates(self.setup, self.held, self.entry)
    }

    /// Search for whole nodes: until enough of them are idle.
    pub fn whole(&self, free: &FreeAmounts) -> Option<Fit<'a>> {
        let Self { setup, entry, usable, .. } = *self;
        let wanted = entry.least_nodes() as usize;
        let mut idle = Idle::of(usable, free);
        if idle.nodes.count() < wanted {
            for held in self.candidates() {
                idle.give_back(held, setup, usable);
            }
        }
        let mut last = None;
        let mut removal = self.removal();
        while idle.nodes.count() < wanted {
            let held = removal.next_job().filter(|held| self.is_in_time(held.end))?;
            last = Some(held);
            idle.give_back(held, setup, usable);
        }
        Some((last, linear::choose_of(entry, &idle.nodes, &setup.machine)?))
    }

    /// Search for shared nodes: try after each group of removed jobs. Restore `free` afterwards.
    pub fn shared(&self, free: &mut FreeAmounts) -> Option<Fit<'a>> {
        let mut removed = Vec::new();
        let fit = self.shared_removing(free, &mut removed);
        for held in removed {
            free.take(&self.setup.machine, held);
        }
        fit
    }

    /// Same as `shared`; append the removed jobs to a list.
    fn shared_removing(&self, free: &mut FreeAmounts, removed: &mut Vec<&'a Held>) -> Option<Fit<'a>> {
        let Self { setup, entry, usable, weights, .. } = *self;
        let offered = |free: &FreeAmounts, node: u32| offered_cpus(entry, &setup.machine, free, node);
        let wanted = wanted_cpus(entry);
        let choose = |free: &FreeAmounts, idle_now| {
            let input = setup.selection_input(entry, usable, weights, free);
            setup.parameters.select.choose(entry, SelectionInput { idle_now, ..input })
        };
        let mut sum: i64 = usable.iter_within(free.open()).map(|node| offered(free, node)).sum();
        if sum >= wanted
            && let Some(chosen) = choose(free, None)
        {
            return Some((None, chosen));
        }
        // If all nodes together offer too little, the job does not fit: no attempt is needed.
        let mut remove = |held: &'a Held, free: &mut FreeAmounts| {
            let nodes = || held.allotments.iter().map(|each| each.node).filter(|&node| usable.contains(node));
            sum -= nodes().map(|node| offered(free, node)).sum::<i64>();
            free.give_back(&setup.machine, held);
            sum += nodes().map(|node| offered(free, node)).sum::<i64>();
            removed.push(held);
            sum
        };
        let most = self.candidates().into_iter().map(|held| remove(held, free)).last();
        if most.is_some_and(|sum| sum >= wanted)
            && let Some(chosen) = choose(free, None)
        {
            return Some((None, chosen));
        }
        let mut removal = self.removal();
        loop {
            let mut sum = 0;
            let last = removal
                .next_group(|held| sum = remove(held, free))
                .filter(|last| self.is_in_time(last.end))?;
            if sum >= wanted
                && let Some(chosen) = choose(free, self.idle_now)
            {
                return Some((Some(last), chosen));
            }
        }
    }
}

/// The usable nodes that are idle after jobs were removed.
struct Idle {
    nodes: NodeBits,
    /// Remaining amounts of each node, if several jobs hold a node.
    left: Option<Vec<Amounts>>,
}

impl Idle {
    fn of(usable: &NodeBits, free: &FreeAmounts) -> Self {
        let mut nodes = free.idle().clone();
        nodes.keep(usable);
        Self { nodes, left: free.some_are_shared().then(|| free.left().to_vec()) }
    }

    fn give_back(&mut self, held: &Held, setup: &Setup, usable: &NodeBits) {
        let Some(left) = &mut self.left else { return held.nodes.add_to_within(&mut self.nodes, usable) };
        give_back(left, &held.allotments);
        for each in &held.allotments {
            let node = each.node as usize;
            if left[node] == setup.machine[node] && usable.contains(each.node) {
                self.nodes.insert(each.node);
            }
        }
    }
}

/// Removal of jobs in the order of their ends.
struct Removal<'a, I: Iterator> {
    jobs: Peekable<I>,
    usable: &'a NodeBits,
    epoch: f64,
    window: f64,
    /// Origin of the windows: the end of the first job, rounded up.
    first: Option<f64>,
}

impl<'a, I: Iterator<Item = &'a Held>> Removal<'a, I> {
    fn new(jobs: I, usable: &'a NodeBits, epoch: f64) -> Self {
        Self { jobs: jobs.peekable(), usable, epoch, window: WINDOW, first: None }
    }

    /// Return the next job on a usable node.
    fn next_job(&mut self) -> Option<&'a Held> {
        let usable = self.usable;
        self.jobs.find(|held| held.nodes.meets(usable))
    }

    /// Remove the jobs on usable nodes that end within the window. Return the last of them. Jobs on other nodes are
    /// skipped without a check of the window.
    fn next_group(&mut self, mut remove: impl FnMut(&'a Held)) -> Option<&'a Held> {
        let mut last = None;
        while let Some(held) = self.next_job() {
            self.first.get_or_insert_with(|| {
                let end = held.end + self.epoch;
                end + (WINDOW - end.rem_euclid(WINDOW)) - self.epoch
            });
            last = Some(held);
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

    /// Return whether the next job ends after the window.
    fn next_is_beyond(&mut self) -> bool {
        let until = self.first.unwrap_or_default() + self.window;
        self.jobs.peek().is_some_and(|held| held.end > until)
    }
}
