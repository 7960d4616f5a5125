//! Which jobs hold nodes, by their ends, and what they leave.
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::time::Time;

use super::cores;
use super::estimate::Search;
use super::free_amounts::FreeAmounts;
use super::node_bits::NodeBits;
use super::offer::Offer;
use super::parameters::Setup;
use super::select::Select;
use super::situation::{Allotment, Classes, Entry, Held};
use super::victims;

/// The jobs that hold nodes, and what they leave. It may be kept from call to call: a job that begins to hold nodes, or holds
/// them no more, costs O(its nodes + jobs), of which the latter is a shift of pointers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Occupation {
    free: FreeAmounts,
    /// By end, then number.
    held: Vec<Arc<Held>>,
    /// When each job ends.
    ends: BTreeMap<u32, Time>,
    /// How many of the first jobs are taken to be gone, while it is seen what is free at a later time.
    gone: usize,
    /// The nodes that are idle then, where jobs have whole nodes.
    idle_then: NodeBits,
}

/// What a call knows of its second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Present<'a> {
    pub now: f64,
    /// The weights that nodes have.
    pub weights: &'a [u32],
    /// The nodes whose jobs are over, and that have not answered.
    pub completing: &'a NodeBits,
}

impl Occupation {
    /// No job holds a node.
    #[must_use]
    pub fn none(setup: &Setup) -> Self {
        Self {
            free: FreeAmounts::of(&setup.machine, &setup.generic),
            held: Vec::new(),
            ends: BTreeMap::new(),
            gone: 0,
            idle_then: NodeBits::default(),
        }
    }

    /// A job holds nodes from now on.
    pub fn insert(&mut self, setup: &Setup, held: Held) {
        self.free.take(&setup.machine, &held);
        self.ends.insert(held.job, Time(held.end));
        let place = self.place(Time(held.end), held.job);
        self.held.insert(place, Arc::new(held));
    }

    /// A job is over whose nodes have not all answered. Whole nodes count as held, and are free before others; shared ones
    /// count as free.
    pub fn insert_completing(&mut self, setup: &Setup, held: Held) {
        if setup.select == Select::Linear {
            self.insert(setup, Held { end: f64::NEG_INFINITY, ..held.of(Classes::default(), None) });
        }
    }

    /// A job holds nodes no more: what it held.
    pub fn remove(&mut self, setup: &Setup, job: u32) -> Option<Arc<Held>> {
        let end = self.ends.remove(&job)?;
        let held = self.held.remove(self.place(end, job));
        self.free.give_back(&setup.machine, &held);
        Some(held)
    }

    /// Sets since when a job runs that may be preempted from now on; None where it may not.
    pub fn set_began(&mut self, job: u32, began: Option<f64>) {
        let Some(&end) = self.ends.get(&job) else { return };
        let place = self.place(end, job);
        if self.held[place].began != began {
            Arc::make_mut(&mut self.held[place]).began = began;
        }
    }

    /// How many jobs come before one that ends then.
    fn place(&self, end: Time, job: u32) -> usize {
        self.held.partition_point(|held| (Time(held.end), held.job) < (end, job))
    }

    /// The jobs that hold nodes, by end.
    pub(super) fn held(&self) -> impl Iterator<Item = &Held> {
        self.held.iter().map(|held| &**held)
    }

    /// What is to be selected from on these nodes.
    pub(super) fn offer<'a>(
        &'a self,
        setup: &'a Setup,
        entry: &Entry,
        usable: &'a NodeBits,
        weights: &'a [u32],
    ) -> Offer<'a> {
        setup.offer(entry, usable, weights, &self.free)
    }

    /// The jobs that may be preempted for a job, in order.
    pub(super) fn candidates(&self, setup: &Setup, entry: &Entry) -> Vec<&Held> {
        victims::candidates(setup, &self.held, entry)
    }

    /// A job starts now on these nodes, and may not be preempted in this call.
    pub(super) fn start(&mut self, setup: &Setup, entry: &Entry, now: f64, chosen: &[Allotment]) {
        let held = Held::new(entry.job, now + entry.limit, chosen.to_vec());
        let held = held.with_generic(setup.generic_of(entry, chosen));
        self.insert(setup, held.of(entry.classes.clone(), None));
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

    /// Whether a job may fit on these nodes once the jobs are gone that end until then: false only if it does not. What is
    /// free is that of this time until `return_to_now`; it is not earlier than that of the latest question.
    ///
    /// O(jobs that end since the latest question + nodes with something free).
    pub(super) fn may_fit_by(&mut self, setup: &Setup, entry: &Entry, usable: &NodeBits, time: f64) -> bool {
        if !setup.precedence.preempts.is_empty() {
            // Others may make room.
            return true;
        }
        match setup.select {
            Select::Linear => self.may_have_idle_by(entry, usable, time),
            Select::Cores => {
                while let Some(held) = self.held.get(self.gone).filter(|held| held.end <= time) {
                    self.free.give_back(&setup.machine, held);
                    self.gone += 1;
                }
                cores::may_fit(entry, self.offer(setup, entry, usable, &setup.weights))
            }
        }
    }

    /// The same where jobs have whole nodes, each alone.
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

    /// The nodes that are idle, and not among those that are completing.
    fn idle_beside(&self, completing: &NodeBits) -> NodeBits {
        let mut idle = self.free.idle().clone();
        idle.remove(completing);
        idle
    }

    /// What is free is that of now again. O(jobs that were taken to be gone).
    pub(super) fn return_to_now(&mut self, setup: &Setup) {
        self.idle_then = NodeBits::default();
        let gone = std::mem::take(&mut self.gone);
        if setup.select == Select::Cores {
            self.held[..gone].iter().for_each(|held| self.free.take(&setup.machine, held));
        }
    }

    /// The earliest start on these nodes from now on, and what the job gets there; None where it does not fit when all are
    /// idle, or where it starts after `until`. Jobs that may be preempted for it are gone at once.
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
        let idle_now = setup.backfill.busy_first.then(|| self.idle_beside(completing));
        // Jobs that should be over by now end at some time after it.
        let until = until.map(|until| until.max(now));
        let idle_now = idle_now.as_ref();
        let search = Search { setup, entry, usable, weights, held: &self.held, idle_now, until };
        let (last, chosen) = match setup.select {
            Select::Linear => search.whole(&self.free)?,
            Select::Cores => search.shared(&mut self.free)?,
        };
        let start = last.map_or(now, |last| {
            let late = last.end + setup.backfill.kill_wait + last.over_time;
            if last.end > now { last.end } else { late.max(now + 1.0) }
        });
        Some((start, chosen))
    }
}
